// The value stage as primitives: Shaw's value vectors by distance (arXiv 1803.02155) and rotated values, whose output
// may be rotated back (DeepSeek V4).
#include "cpu/lower/distances.h"
#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

void lower_values(std::monostate, Lowering&) {}

// Rows by i - j from -right on, learned or sines, as for ShawKeys.
void lower_values(const ShawValues& scheme, Lowering& lowering) {
  const ConstTensorView& table = lowering.weights.value.table;
  const std::int64_t count = scheme.left + scheme.right + 1;
  lowering.out.values =
      math::ValueDistance{.at = clipped_places(lowering, -scheme.right, scheme.left),
                          .count = count,
                          .per_head = table.rank == 3,
                          .vectors = scheme.sinusoidal ? shaw_sines(count, lowering.layer.value_dim) : read_all(table)};
}

void lower_values(const RotatedValues& scheme, Lowering& lowering) {
  lowering.out.values = math::ValueRotation{.inverse_on_output = scheme.inverse_on_output};
}

}  // namespace posenc::cpu

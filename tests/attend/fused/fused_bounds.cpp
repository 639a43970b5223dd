#include "attend/fused/fused_bounds.h"

#include <algorithm>
#include <variant>

#include "attend/lowered_size.h"
#include "cpu/lower/lower.h"
#include "support/pair_tolerances.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

// Queries or keys were not in bfloat16, or are not any more when they are multiplied.
bool rounds_scores(const math::Lowered& lowered, DType dtype) {
  const auto is_added = [](const math::Term& term) { return std::holds_alternative<math::KeyVector>(term); };
  return dtype != DType::bf16 || !lowered.rotations.empty() || std::ranges::any_of(lowered.terms, is_added);
}

bool rounds_values(const math::Lowered& lowered, DType dtype) {
  return dtype != DType::bf16 || std::holds_alternative<math::ValueRotation>(lowered.values);
}

}  // namespace

SchemeCall::Result fused_bounds(const SchemeCall& call, const SchemeCall::Result& wanted, DType dtype,
                                Products products) {
  const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
  const auto keys = static_cast<double>(call.sizes.keys);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  const LoweredSizes sizes(lowered, call, kRotatedInFloats);
  SchemeCall::Result bounds;
  for (std::size_t row = 0; row < wanted.lse.size(); ++row) {
    const ScoreSize size = sizes.score(row);
    const double score = fused_score(size.size, size.roundings);
    const bool rounds = products == Products::bf16;
    const double rounded = paired_score(size.size, rounds && rounds_scores(lowered, dtype));
    bounds.lse.push_back(fused_lse(score + rounded, keys, wanted.lse[row]));
    for (std::size_t c = 0; c < width; ++c) {
      const Values values = sizes.values(row, c);
      double bound = fused_output(score, values.half_range, keys, values.largest, values.error);
      if (rounds) {
        bound += paired_output(rounded, values.half_range, rounds_values(lowered, dtype) ? values.largest : 0.0);
      }
      bounds.out.push_back(stored_error(dtype, wanted.out[row * width + c], bound));
    }
  }
  return bounds;
}

}  // namespace posenc::test

// What positions add to values, o_i = sum_j a_ij (v_j + r(i, j)): the value half of Shaw et al., arXiv 1803.02155, and
// its sinusoidal form, NEZHA, arXiv 1909.00204.
#include "reference/value_terms.h"

#include <algorithm>

#include "posenc/input.h"
#include "posenc/reference.h"
#include "reference/relative_rows.h"

namespace posenc::inline v0_2::reference {

// Learned tables are stored by i - j, from -right on; NEZHA's sines are counted the other way, by j - i from -left.
std::vector<double> relative_row(const Clipping& clipping, const ShawWeights* weights, std::int64_t h,
                                 std::int64_t distance, std::int64_t channels) {
  const std::int64_t clipped = std::clamp(distance, -clipping.right, clipping.left);
  if (clipping.sinusoidal) return input_row(SinusoidalInput{}, channels, static_cast<double>(clipping.left - clipped));
  std::vector<double> out(index(channels));
  const ConstTensorView& table = weights->table;
  const std::int64_t place = clipped + clipping.right;
  for (std::int64_t c = 0; c < channels; ++c) {
    out[index(c)] = table.rank == 3 ? element(table, {h, place, c}) : element(table, {place, c});
  }
  return out;
}

std::vector<double> shaw_row(const ShawValues& scheme, const ShawWeights& weights, const Row& row, std::int64_t j) {
  return relative_row({scheme.left, scheme.right, scheme.sinusoidal}, &weights, row.h,
                      static_cast<std::int64_t>(row.distance(j)), row.layer.value_dim);
}

}  // namespace posenc::inline v0_2::reference

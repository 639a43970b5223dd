// What positions add to values, o_i = sum_j a_ij (v_j + r(i, j)): the value half of Shaw et al., arXiv 1803.02155, and
// its sinusoidal form, NEZHA, arXiv 1909.00204.
#include "reference/value_terms.h"

#include <algorithm>

#include "posenc/input.h"
#include "posenc/reference.h"
#include "reference/relative_rows.h"

namespace posenc::inline v0_2::reference {

// Learned tables are stored by i - j, from -right on; NEZHA's sines are counted the other way, by j - i from -left.
std::int64_t relative_place(const Clipping& clipping, std::int64_t distance) {
  return std::clamp(distance, -clipping.right, clipping.left) + clipping.right;
}

std::vector<double> relative_row(const Clipping& clipping, const ShawWeights* weights, std::int64_t h,
                                 std::int64_t distance, std::int64_t channels) {
  const std::int64_t place = relative_place(clipping, distance);
  if (clipping.sinusoidal) {
    return input_row(SinusoidalInput{}, channels, static_cast<double>(clipping.left + clipping.right - place));
  }
  std::vector<double> out(index(channels));
  const ConstTensorView& table = weights->table;
  for (std::int64_t c = 0; c < channels; ++c) {
    out[index(c)] = table.rank == 3 ? element(table, {h, place, c}) : element(table, {place, c});
  }
  return out;
}

// One table serves all heads, or each has its own.
void add_relative_row(const Clipping& clipping, const ShawWeights* weights, std::int64_t h, std::int64_t distance,
                      std::span<const double> d, std::string_view name, NamedSums& learned) {
  if (clipping.sinusoidal) return;
  const std::int64_t place = relative_place(clipping, distance);
  for (std::size_t c = 0; c < d.size(); ++c) {
    const auto channel = static_cast<std::int64_t>(c);
    if (weights->table.rank == 3) learned.add(name, {h, place, channel}, d[c]);
    if (weights->table.rank == 2) learned.add(name, {place, channel}, d[c]);
  }
}

std::vector<double> shaw_row(const ShawValues& scheme, const ShawWeights& weights, const Row& row, std::int64_t j) {
  return relative_row({scheme.left, scheme.right, scheme.sinusoidal}, &weights, row.h,
                      static_cast<std::int64_t>(row.distance(j)), row.layer.value_dim);
}

void shaw_row_backward(const ShawValues& scheme, const ShawWeights& weights, const Row& row, std::int64_t j,
                       std::span<const double> d, NamedSums& learned) {
  add_relative_row({scheme.left, scheme.right, scheme.sinusoidal}, &weights, row.h,
                   static_cast<std::int64_t>(row.distance(j)), d, "value_table", learned);
}

}  // namespace posenc::inline v0_2::reference

// Linear attention's feature maps and denominators, written once over a vector of floats V.
//
//   f(x) = elu(x) + 1, relu(x) or x                         features
//   totals[r] = q[r] . (before + sum of k up to r)          running totals: the denominator
//
// Katharopoulos et al., arXiv 2006.16236; with rotation RoFormer, arXiv 2104.09864, (19). Reference:
// posenc/reference_linear.h. Caller: src/cpu/linear/linear_unit.h.
#pragma once

#include "kernels/attention.h"
#include "kernels/exponential.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

// x[i] = change(x[i]) for a whole array; the tail is a load and a store of its lanes.
template <class V, class Change>
void change_floats(float* x, std::int64_t count, Change change) noexcept {
  std::int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) V::store(x + i, change(V::load(x + i, All{})), All{});
  const Some rest{count - i};
  if (rest.n > 0) V::store(x + i, change(V::load(x + i, rest)), rest);
}

// NaN stays NaN.
template <class V>
void features(const Features& x) noexcept {
  using Floats = typename V::Floats;
  const Floats zero = V::all(0.0F);
  switch (x.of) {
    case Feature::identity: return;
    case Feature::relu:
      return change_floats<V>(x.x, x.count, [zero](Floats a) noexcept { return V::where_less(a, zero, zero, a); });
    case Feature::elu_plus_one:
      return change_floats<V>(x.x, x.count, [zero](Floats a) noexcept {
        const Floats below = V::sub(a, V::max(a, zero));
        return V::where_less(a, zero, exp<V>(below), V::add(a, V::all(1.0F)));
      });
  }
}

// kRows rows from row r on: each total is one sum, whatever the rows beside it.
template <class V, int kRows>
void totals_of_rows(const RunningTotals& x, std::int64_t r) noexcept {
  using Floats = typename V::Floats;
  Floats totals[1][4] = {{V::all(0.0F), V::all(0.0F), V::all(0.0F), V::all(0.0F)}};
  const auto step = [&](std::int64_t c, auto count) noexcept {
    const Floats before = V::load(x.before + c, count);
    Floats sum = V::load(x.sum + c, count);
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      const std::int64_t at = (r + row) * x.width + c;
      if (x.k != nullptr) sum = V::add(sum, V::load(x.k + at, count));
      totals[0][row] = V::fma(V::load(x.q + at, count), V::add(before, sum), totals[0][row]);
    }
    V::store(x.sum + c, sum, count);
  };
  std::int64_t c = 0;
  for (; c + V::kLanes <= x.width; c += V::kLanes) step(c, All{});
  if (c < x.width) step(c, Some{x.width - c});
  float sums[4];
  V::store_sums(sums, 0, totals);
  for (int row = 0; row < kRows; ++row) x.totals[r + row] = sums[row];
}

template <class V>
void running_totals(const RunningTotals& x) noexcept {
  std::int64_t r = 0;
  for (; r + 4 <= x.rows; r += 4) totals_of_rows<V, 4>(x, r);
  for (; r < x.rows; ++r) totals_of_rows<V, 1>(x, r);
}

}  // namespace posenc::kernels

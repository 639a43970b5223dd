// The steps of attention's backward pass over a tile of scores, written once over a vector of floats V. kernels/
// attention.h has the formula of each; products are those of product_loop.h.
//
//   p = exp(z - lse),  dL/dz = p (dL/dp - delta)       FlashAttention-2, arXiv 2307.08691, algorithm 2
//
// Reference: posenc/reference_backward.h. Caller: src/cpu/backward.
#pragma once

#include "kernels/attention.h"
#include "kernels/exponential.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

// x where p is above 0 or NaN, else 0: what is hidden from a query has no part in any sum, whatever was multiplied. No
// weight is denormal.
template <class V>
typename V::Floats if_weighed(typename V::Floats p, typename V::Floats x) noexcept {
  return V::where_less(p, V::all(0x1p-126F), V::all(0.0F), x);
}

// What a soft cap does to a gradient: z = cap tanh(y / cap), dz/dy = 1 - (z / cap)^2.
template <class V>
typename V::Floats cap_slope(typename V::Floats z, typename V::Floats inverse_cap) noexcept {
  const typename V::Floats t = V::mul(z, inverse_cap);
  return V::sub(V::all(1.0F), V::mul(t, t));
}

template <class V>
void weight_gradients(const WeightGradients& x) noexcept {
  using Floats = typename V::Floats;
  const Floats inverse_cap = V::all(x.inverse_cap);
  for (std::int64_t m = 0; m < x.of.keys; ++m) {
    float* const scores = x.of.scores + m * x.of.lanes;
    float* const gradients = x.gradients + m * x.of.lanes;
    for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
      const Floats z = V::load(scores + l, All{});
      const Floats p = exp<V>(V::sub(z, V::load(x.lse + l, All{})));
      const Floats of_p = V::sub(V::load(gradients + l, All{}), V::load(x.delta + l, All{}));
      const Floats of_z = V::mul(V::mul(p, of_p), cap_slope<V>(z, inverse_cap));
      V::store(scores + l, p, All{});
      V::store(gradients + l, if_weighed<V>(p, of_z), All{});
    }
  }
}

// Scores that are hidden, -inf, have gradients of 0, and keep them.
template <class V>
void cap_gradients(const CapGradients& x) noexcept {
  using Floats = typename V::Floats;
  const Floats inverse_cap = V::all(x.inverse_cap);
  for (std::int64_t n = 0; n < x.of.keys * x.of.lanes; n += V::kLanes) {
    const Floats z = V::load(x.capped + n, All{});
    const Floats d = V::mul(V::load(x.of.scores + n, All{}), cap_slope<V>(z, inverse_cap));
    V::store(x.of.scores + n, V::where_less(V::all(kNothing), z, d, V::load(x.of.scores + n, All{})), All{});
  }
}

// The transpose of add_rows.
template <class V>
void sum_rows(const SumRows& x) noexcept {
  using Floats = typename V::Floats;
  for (std::int64_t m = 0; m < x.of.keys; ++m) {
    const float* const row = x.of.scores + m * x.of.lanes;
    float* const sums = x.sums + m * x.step;
    for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
      const Floats s = V::load(row + l, All{});
      const Floats by = x.factor == nullptr ? s : V::mul(V::load(x.factor + l, All{}), s);
      V::store(sums + l, V::add(V::load(sums + l, All{}), by), All{});
    }
  }
}

// Edges outside, keys inside, so that the two sums of an edge stay in registers.
template <class V>
void bending_gradients(const BendingGradients& x) noexcept {
  using Floats = typename V::Floats;
  const Floats nothing = V::all(0.0F);
  for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
    const Floats factor = V::load(x.factor + l, All{});
    const auto sum_beyond = [&](std::int64_t n, float edge, float slope) noexcept {
      float* const sums = x.sums + 2 * n * x.of.lanes + l;
      Floats of_one = V::load(sums, All{});
      Floats of_x = V::load(sums + x.of.lanes, All{});
      for (std::int64_t m = 0; m < x.of.keys; ++m) {
        const Floats at = V::mul(factor, V::load(x.along + m * x.step + l, All{}));
        const Floats d = V::where_less(V::all(edge), at, V::load(x.of.scores + m * x.of.lanes + l, All{}), nothing);
        of_one = V::add(of_one, d);
        of_x = V::fma(d, at, of_x);
        float* const to = x.of_x + m * x.of.lanes + l;
        V::store(to, V::fma(V::all(slope), d, n == 0 ? nothing : V::load(to, All{})), All{});
      }
      V::store(sums, of_one, All{});
      V::store(sums + x.of.lanes, of_x, All{});
    };
    sum_beyond(0, kNothing, x.slope);
    for (std::int64_t n = 0; n < x.count; ++n) sum_beyond(n + 1, x.edges[n], x.bends[n]);
    Floats of_factor = V::load(x.of_factor + l, All{});
    for (std::int64_t m = 0; m < x.of.keys; ++m) {
      const Floats own = V::load(x.of_x + m * x.of.lanes + l, All{});
      of_factor = V::fma(own, V::load(x.along + m * x.step + l, All{}), of_factor);
    }
    V::store(x.of_factor + l, of_factor, All{});
  }
}

// p_m, the sum of the gates of key m and of all after it, is found as the forward pass finds it, from the last key to
// the first. A gate is part of p of its own key and of all before: gradients are summed from the first key to the last.
template <class V>
void gate_gradients(const GateGradients& x) noexcept {
  using Floats = typename V::Floats;
  const Floats last = V::all(static_cast<float>(x.count - 1));
  const auto lanes = static_cast<std::int32_t>(x.of.lanes);
  for (std::int64_t m = x.of.keys - 1; m >= 0; --m) {
    for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
      const Floats before =
          m + 1 < x.of.keys ? V::load(x.places + (m + 1) * x.of.lanes + l, All{}) : V::load(x.carry + l, All{});
      const Floats gate = sigmoid<V>(V::load(x.of.scores + m * x.of.lanes + l, All{}));
      V::store(x.places + m * x.of.lanes + l, V::add(before, gate), All{});
    }
  }
  for (std::int64_t m = 0; m < x.of.keys; ++m) {
    for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
      const std::int64_t at = m * x.of.lanes + l;
      const Floats carried = V::load(x.places + at, All{});
      const Floats place = V::where_less(carried, last, carried, last);
      const Floats below = V::whole(place);
      const Floats at_below = V::gather_rows(x.table + l, below, lanes);
      const Floats up = V::sub(V::gather_rows(x.table + x.of.lanes + l, below, lanes), at_below);
      const Floats step = V::where_less(V::all(0.0F), V::sub(place, below), up, V::all(0.0F));  // at whole p: none
      const Floats d = V::load(x.gradients + at, All{});
      const Floats sum = V::fma(d, step, V::load(x.sum + l, All{}));
      V::store(x.sum + l, sum, All{});
      const Floats gate = sigmoid<V>(V::load(x.of.scores + at, All{}));
      V::store(x.to + at, V::mul(sum, V::mul(gate, V::sub(V::all(1.0F), gate))), All{});
      V::store(x.places + at, place, All{});
      for (std::int64_t n = 0; n < V::kLanes; ++n) {
        const float own = x.gradients[at + n];
        const auto row = static_cast<std::int64_t>(x.places[at + n]);
        const float share = x.places[at + n] - static_cast<float>(row);
        float* const to = x.of_table + row * x.of.lanes + l + n;
        to[0] += own * (1.0F - share);
        to[x.of.lanes] += own * share;
      }
    }
  }
}

}  // namespace posenc::kernels

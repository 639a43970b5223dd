// The steps over a tile of scores, written once over a vector of floats V: biases, soft cap, mask, CoPE's gates and the
// online softmax. attention.h has the formula of each.
//
//   m' = max(m, max_j s_j),  p_j = exp(s_j - m'),  sum' = sum exp(m - m') + sum_j p_j       rescale = exp(m - m')
//
// Online softmax: arXiv 1805.02867; over tiles: FlashAttention, arXiv 2205.14135. Soft cap: Gemma 2, arXiv 2408.00118.
// Reference: posenc/reference_attend.h. Caller: src/cpu/attend/tile_terms.h and attend_unit.h.
#pragma once

#include "kernels/attention.h"
#include "kernels/decode_loop.h"
#include "kernels/exponential.h"
#include "kernels/gradient_loop.h"
#include "kernels/lanes.h"
#include "kernels/linear_loop.h"
#include "kernels/product_loop.h"
#include "kernels/transpose_loop.h"

namespace posenc::kernels {

// f(row of the tile, its number, first lane) for every register of every row, kept in order of keys.
template <class V, class Change>
void change_scores(const Scores& x, Change change) noexcept {
  for (std::int64_t m = 0; m < x.keys; ++m) {
    float* const row = x.scores + m * x.lanes;
    for (std::int64_t l = 0; l < x.lanes; l += V::kLanes) {
      V::store(row + l, change(V::load(row + l, All{}), m, l), All{});
    }
  }
}

// s + factor[l] a, or s + a.
template <class V>
typename V::Floats added(typename V::Floats s, typename V::Floats a, const float* factor, std::int64_t l) noexcept {
  return factor == nullptr ? V::add(s, a) : V::fma(V::load(factor + l, All{}), a, s);
}

// A bias by distance where positions step by 1 (T5, ALiBi as a table, learned): the same numbers for each key, shifted
// by one lane.
template <class V>
void add_rows(const AddRows& x) noexcept {
  using Floats = typename V::Floats;
  change_scores<V>(x.to, [&x](Floats s, std::int64_t m, std::int64_t l) noexcept {
    return added<V>(s, V::load(x.added + m * x.step + l, All{}), x.factor, l);
  });
}

// A number for each key and one for each query, with a factor for each query: ALiBi as slope_h j, forget gates (FoX).
template <class V>
void add_column(const AddColumn& x) noexcept {
  using Floats = typename V::Floats;
  change_scores<V>(x.to, [&x](Floats s, std::int64_t m, std::int64_t l) noexcept {
    const Floats sum = x.row == nullptr ? s : V::add(s, V::load(x.row + l, All{}));
    return added<V>(sum, V::all(x.column[m]), x.factor, l);
  });
}

// Lane l of row r becomes that of row r + l, by blending rows that are 1, 2, 4 ... apart: a gather takes an access for
// each lane. Rows are those that `index` names, of one register of lanes.
template <class V>
struct Skew {
  using Floats = typename V::Floats;
  static constexpr std::int64_t kKeys = 64;
  Floats rows[kKeys + V::kLanes];

  void load(const float* table, const std::int32_t* index, std::int64_t count) noexcept {
    for (std::int64_t r = 0; r < count; ++r) rows[r] = V::load(table + index[r], All{});
    float numbers[V::kLanes];
    for (std::int64_t apart = 1; apart < V::kLanes; apart *= 2) {
      for (std::int64_t l = 0; l < V::kLanes; ++l) numbers[l] = static_cast<float>(l & apart);
      const Floats moves = V::load(numbers, All{});
      for (std::int64_t r = 0; r + apart < count; ++r) {
        rows[r] = V::where_less(V::all(0.0F), moves, rows[r + apart], rows[r]);
      }
    }
  }
};

// index[l - m], lane l of the table: of one register of lanes, rows of the table one further for each lane.
template <class V>
void add_skewed(const AddGathered& x) noexcept {
  for (std::int64_t l = 0; l < x.to.lanes; l += V::kLanes) {
    for (std::int64_t end = x.to.keys; end > 0; end -= Skew<V>::kKeys) {
      const std::int64_t keys = end < Skew<V>::kKeys ? end : Skew<V>::kKeys;
      Skew<V> skew;
      skew.load(x.table + l, x.index - (end - 1) + l, keys + V::kLanes - 1);
      for (std::int64_t r = 0; r < keys; ++r) {
        float* const s = x.to.scores + (end - 1 - r) * x.to.lanes + l;
        V::store(s, added<V>(V::load(s, All{}), skew.rows[r], x.factor, l), All{});
      }
    }
  }
}

// A bias looked up for each score, where positions do not step by 1, or products with rows of relative embeddings.
template <class V>
void add_gathered(const AddGathered& x) noexcept {
  using Floats = typename V::Floats;
  if (x.of_lane && x.index_step == -1 && x.table_step == 0) return add_skewed<V>(x);
  change_scores<V>(x.to, [&x](Floats s, std::int64_t m, std::int64_t l) noexcept {
    const float* const table = x.table + m * x.table_step;
    const std::int32_t* const index = x.index + m * x.index_step + l;
    return added<V>(s, x.of_lane ? V::gather_by_lane(table + l, index) : V::gather(table, index), x.factor, l);
  });
}

// A piecewise linear function of one number: FIRE's perceptron (src/cpu/lower/lower_fire.cpp).
template <class V>
void add_bending(const AddBending& x) noexcept {
  using Floats = typename V::Floats;
  const Floats intercept = V::all(x.intercept);
  const Floats slope = V::all(x.slope);
  change_scores<V>(x.to, [&x, intercept, slope](Floats s, std::int64_t m, std::int64_t l) noexcept {
    const Floats at = V::mul(V::load(x.factor + l, All{}), V::load(x.along + m * x.step + l, All{}));
    Floats added = V::fma(slope, at, intercept);
    for (std::int64_t n = 0; n < x.count; ++n) {
      const Floats beyond = V::max(V::all(0.0F), V::add(at, V::all(-x.edges[n])));
      added = V::fma(V::all(x.bends[n]), beyond, added);
    }
    return V::add(s, added);
  });
}

// Soft cap: cap tanh(s / cap), Gemma 2.
template <class V>
void cap_scores(const CapScores& x) noexcept {
  using Floats = typename V::Floats;
  const Floats cap = V::all(x.cap);
  const Floats inverse = V::all(1.0F / x.cap);
  change_scores<V>(x.of, [cap, inverse](Floats s, std::int64_t, std::int64_t) noexcept {
    const Floats capped = V::mul(cap, tanh<V>(V::mul(s, inverse)));
    return V::where_less(V::all(kNothing), s, capped, s);  // masked scores, -inf, stay so
  });
}

// The attention mask as an interval of orders for each query: causal, sliding window, chunk and prefix are all such.
template <class V>
void mask_scores(const MaskScores& x) noexcept {
  using Floats = typename V::Floats;
  change_scores<V>(x.of, [&x](Floats s, std::int64_t m, std::int64_t l) noexcept {
    const Floats order = V::all(x.order[m]);
    const Floats nothing = V::all(kNothing);
    const Floats above = V::where_less(order, V::load(x.low + l, All{}), nothing, s);
    return V::where_less(V::load(x.high + l, All{}), order, nothing, above);
  });
}

// CoPE, arXiv 2405.18719: gates are summed from the last key to the first, and E is interpolated between whole sums.
template <class V>
void gates(const Gates& x) noexcept {
  using Floats = typename V::Floats;
  const Floats last = V::all(static_cast<float>(x.count - 1));
  const auto lanes = static_cast<std::int32_t>(x.of.lanes);
  for (std::int64_t m = x.of.keys - 1; m >= 0; --m) {
    for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
      const Floats gate = sigmoid<V>(V::load(x.of.scores + m * x.of.lanes + l, All{}));
      const Floats carried = V::add(V::load(x.carry + l, All{}), gate);
      V::store(x.carry + l, carried, All{});
      const Floats place = V::where_less(carried, last, carried, last);
      const Floats below = V::whole(place);
      const Floats at_below = V::gather_rows(x.table + l, below, lanes);
      const Floats step = V::sub(V::gather_rows(x.table + x.of.lanes + l, below, lanes), at_below);
      V::store(x.out + m * x.of.lanes + l, V::fma(V::sub(place, below), step, at_below), All{});
    }
  }
}

// Online softmax of a tile, lane by lane: two passes over the keys, the maximum and then the exponentials. What was
// summed before is multiplied by rescale = exp(old max - new max); a lane that has seen no key yet keeps -inf and
// zeros.
template <class V, int kRegisters>
void softmax_lanes(const Softmax& x) noexcept {
  using Floats = typename V::Floats;
  const Floats nothing = V::all(kNothing);
  Floats before[kRegisters];
  Floats most[kRegisters];
  Floats sum[kRegisters];
#pragma GCC unroll 3
  for (int j = 0; j < kRegisters; ++j) most[j] = before[j] = V::load(x.max + j * V::kLanes, All{});
  for (std::int64_t m = 0; m < x.of.keys; ++m) {
    const float* const row = x.of.scores + m * x.of.lanes;
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) most[j] = V::max(V::load(row + j * V::kLanes, All{}), most[j]);
  }
#pragma GCC unroll 3
  for (int j = 0; j < kRegisters; ++j) {
    V::store(x.max + j * V::kLanes, most[j], All{});
    most[j] = V::where_less(nothing, most[j], most[j], V::all(0.0F));  // -inf - -inf would be NaN
    const Floats rescale = exp<V>(V::sub(before[j], most[j]));
    V::store(x.rescale + j * V::kLanes, rescale, All{});
    sum[j] = V::mul(V::load(x.sum + j * V::kLanes, All{}), rescale);
  }
  for (std::int64_t m = 0; m < x.of.keys; ++m) {
    float* const row = x.of.scores + m * x.of.lanes;
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) {
      const Floats p = exp<V>(V::sub(V::load(row + j * V::kLanes, All{}), most[j]));
      sum[j] = V::add(sum[j], p);
      V::store(row + j * V::kLanes, p, All{});
    }
  }
#pragma GCC unroll 3
  for (int j = 0; j < kRegisters; ++j) V::store(x.sum + j * V::kLanes, sum[j], All{});
}

template <class V>
void softmax(const Softmax& x) noexcept {
  switch (x.of.lanes / V::kLanes) {
    case 1: return softmax_lanes<V, 1>(x);
    case 2: return softmax_lanes<V, 2>(x);
    default: return softmax_lanes<V, 3>(x);
  }
}

// Lanes have columns of their own, so no two meet.
template <class V>
void add_mass(const AddMass& x) noexcept {
  for (std::int64_t m = 0; m < x.of.keys; ++m) {
    const std::int32_t* const index = x.index + m * x.index_step;
    const float* const p = x.of.scores + m * x.of.lanes;
    for (std::int64_t l = 0; l < x.of.lanes; ++l) x.mass[index[l] + l] += p[l];
  }
}

template <class V>
constexpr AttentionKernels attention() noexcept {
  return {.register_lanes = V::kLanes,
          .product = product<V>,
          .columns_of_rows = columns_of_rows<V>,
          .rows_of_columns = rows_of_columns<V>,
          .decode_dots = decode_dots<V>,
          .decode_weighted = decode_weighted<V>,
          .add_rows = add_rows<V>,
          .add_column = add_column<V>,
          .add_gathered = add_gathered<V>,
          .add_bending = add_bending<V>,
          .cap = cap_scores<V>,
          .mask = mask_scores<V>,
          .gates = gates<V>,
          .softmax = softmax<V>,
          .add_mass = add_mass<V>,
          .weight_gradients = weight_gradients<V>,
          .cap_gradients = cap_gradients<V>,
          .sum_rows = sum_rows<V>,
          .bending_gradients = bending_gradients<V>,
          .gate_gradients = gate_gradients<V>,
          .features = features<V>,
          .running_totals = running_totals<V>};
}

}  // namespace posenc::kernels

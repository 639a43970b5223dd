// Biases of the distance as primitives: numbers by distance (T5, KERPLE, Sandwich, windows, perceptrons), or a slope
// where they are a line (ALiBi, arXiv 2108.12409). Formulas: src/math/score.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "cpu/lower/distances.h"
#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"
#include "math/score/sandwich.h"
#include "posenc/scores.h"

namespace posenc::cpu {
namespace {

// of(d, heads) writes the numbers of all heads.
template <typename OfDistance>
math::DistanceBias bias(const Lowering& lowering, std::int64_t coordinate, DistanceRange range, OfDistance of) {
  require_table(range.count(), lowering.layer.heads, sizeof(float));
  return {.coordinate = coordinate, .low = range.low, .count = range.count(), .of = std::move(of)};
}

// Row place(d) of a learned table, [places, heads].
template <typename Place>
math::DistanceBias gathered(const Lowering& lowering, std::int64_t coordinate, const ConstTensorView& learned,
                            Place place) {
  const DistanceRange range = trimmed(distances(lowering, coordinate), place);
  return bias(lowering, coordinate, range, [learned, place](std::int64_t d, std::span<double> heads) {
    const std::int64_t row = place(d);
    for (std::size_t h = 0; h < heads.size(); ++h) heads[h] = read(learned, {row, static_cast<std::int64_t>(h)});
  });
}

// slope j of every key, [heads, keys], rounded as the form says (Falcon's in bfloat16).
std::vector<double> columns_of(const Alibi& scheme, const Lowering& lowering) {
  const std::vector<double>& keys = lowering.out.coordinates.front().k;
  const double scale = scheme.scaled ? lowering.layer.softmax_scale : 1.0;
  std::vector<double> out;
  out.reserve(keys.size() * index(scheme.heads));
  for (const double slope : alibi_slopes(scheme)) {
    for (const double j : keys) out.push_back(scale * alibi_bias(scheme, slope, 0.0, j));
  }
  return out;
}

}  // namespace

// The distance times a slope is cheaper than a table of it, and exact at any distance: slope i - slope j is not, at
// 2^31 with a slope of 1/2 it is off by 1e-7.
void lower_term(const Alibi& scheme, const ScoreWeights&, Lowering& lowering) {
  if (scheme.form != AlibiForm::relative) {
    lowering.out.terms.push_back(math::Column{.columns = columns_of(scheme, lowering), .last_keys = {}});
    return;
  }
  std::vector<double> slopes = alibi_slopes(scheme);
  for (double& slope : slopes) slope *= scheme.scaled ? -lowering.layer.softmax_scale : -1.0;
  lowering.out.terms.push_back(math::LinearDistance{.slopes = std::move(slopes), .symmetric = scheme.symmetric});
}

// WavLM's gate is a factor of the row, [heads, queries] here and [queries, heads] in the call.
void lower_term(const T5Bias& scheme, const ScoreWeights& weights, Lowering& lowering) {
  math::DistanceBias term = gathered(lowering, scheme.axis, std::get<T5Weights>(weights).table,
                                     [scheme](std::int64_t d) { return t5_bucket(scheme, d); });
  if (scheme.scaled) {
    term.of = [of = std::move(term.of), scale = lowering.layer.softmax_scale](std::int64_t d, std::span<double> heads) {
      of(d, heads);
      for (double& head : heads) head *= scale;
    };
  }
  if (scheme.gated) term.row_factor = read_transposed(lowering.inputs.row_gate);
  lowering.out.terms.push_back(std::move(term));
}

void lower_term(const ClippedBias& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto place = [scheme](std::int64_t d) { return std::clamp(d, -scheme.future, scheme.past) + scheme.future; };
  lowering.out.terms.push_back(gathered(lowering, 0, std::get<ClippedBiasWeights>(weights).table, place));
}

// The row of the table is linear in both differences, so it is the distance of two cell numbers, row (2 columns - 1) +
// column: in an image read line by line, it steps by 1 along a line.
void lower_term(const GridBias& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto line = static_cast<double>(2 * scheme.columns - 1);
  for (const std::int64_t axis : {0, 1}) distances(lowering, axis);  // throws for those that are not whole
  const auto cells = [&](const std::vector<double>& rows, const std::vector<double>& columns) {
    std::vector<double> out(rows.size());
    for (std::size_t t = 0; t < out.size(); ++t) out[t] = rows[t] * line + columns[t];
    return out;
  };
  const auto& at = lowering.out.coordinates;
  math::Coordinate numbers{.q = cells(at[0].q, at[1].q), .k = cells(at[0].k, at[1].k)};
  lowering.out.coordinates.push_back(std::move(numbers));
  const std::int64_t middle = grid_row(scheme, 0, 0);
  const ConstTensorView& learned = std::get<GridBiasWeights>(weights).table;
  const DistanceRange range{-middle, learned.shape[0] - 1 - middle};
  lowering.out.terms.push_back(bias(lowering, std::ssize(lowering.out.coordinates) - 1, range,
                                    [learned, middle](std::int64_t d, std::span<double> heads) {
                                      for (std::size_t h = 0; h < heads.size(); ++h) {
                                        heads[h] = read(learned, {d + middle, static_cast<std::int64_t>(h)});
                                      }
                                    }));
}

// The weights are read once into the closure, as doubles; Sandwich's frequencies and the perceptrons' layers, likewise.
void lower_term(const Kerple& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto of = [scheme, r1 = read_all(std::get<KerpleWeights>(weights).r1),
                   r2 = read_all(std::get<KerpleWeights>(weights).r2)](std::int64_t d, std::span<double> heads) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
      heads[h] = kerple_bias(scheme, r1[h], r2[h], static_cast<double>(d));
    }
  };
  lowering.out.terms.push_back(bias(lowering, 0, distances(lowering, 0), of));
}

void lower_term(const Sandwich& scheme, const ScoreWeights&, Lowering& lowering) {
  const auto of = [scheme, inv_freq = math::sandwich_inv_freq(scheme)](std::int64_t d, std::span<double> heads) {
    const double sum = math::sandwich_sum(inv_freq, static_cast<double>(d));
    for (std::size_t h = 0; h < heads.size(); ++h) {
      heads[h] = sum * math::sandwich_factor(scheme, static_cast<std::int64_t>(h));
    }
  };
  lowering.out.terms.push_back(bias(lowering, 0, distances(lowering, 0), of));
}

void lower_term(const MlpBias& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const std::vector<Linear>& given = std::get<MlpBiasWeights>(weights).layers;
  const auto of = [scheme, layers = std::vector<Projection>(given.begin(), given.end())](std::int64_t d,
                                                                                         std::span<double> heads) {
    std::vector<double> x{mlp_input(scheme, static_cast<double>(d))};
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      if (layer > 0) {
        for (double& y : x) y /= 1.0 + std::exp(-y);
      }
      x = layers[layer].of(x);
    }
    std::ranges::copy(x, heads.begin());
  };
  lowering.out.terms.push_back(bias(lowering, 0, distances(lowering, 0), of));
}

}  // namespace posenc::cpu

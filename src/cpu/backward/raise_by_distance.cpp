// Gradients of biases by distance: sums for each distance become those of tables by bucket, of KERPLE's numbers, of
// perceptrons' layers and of slopes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/formatted.h"
#include "cpu/backward/raise.h"
#include "cpu/lower/weight_reader.h"
#include "math/score/alibi.h"
#include "math/score/fire.h"
#include "math/score/gates.h"
#include "math/score/kerple.h"
#include "posenc/scores.h"

namespace posenc::cpu {
namespace {

// use(distance, head, gradient) for each number of the term.
template <typename Use>
void for_distances(const Raising& raising, const Use& use) {
  const auto& term = raising.term<math::DistanceBias>();
  for (std::int64_t h = 0; h < raising.layer().heads; ++h) {
    const float* const own = raising.sums().floats_of(h);
    for (std::int64_t n = 0; n < term.count; ++n) use(term.low + n, h, static_cast<double>(own[n]));
  }
}

// Rows [places, heads] of a table.
template <typename Place>
void raise_table(const ConstTensorView& table, const Raising& raising, double scale, const Place& place) {
  if (!raising.is_asked("table")) return;
  std::vector<double> out(index(table.shape[0] * table.shape[1]));
  for_distances(raising, [&](std::int64_t d, std::int64_t h, double gradient) {
    out[index(place(d) * table.shape[1] + h)] += scale * gradient;
  });
  raising.write("table", out);
}

}  // namespace

// A slope's share of each score is linear in it.
void raise_term(const Alibi& scheme, const ScoreWeights&, const Raising& raising) {
  if (!raising.is_asked("slopes")) return;
  const double scale = scheme.scaled ? raising.layer().softmax_scale : 1.0;
  std::vector<double> out(index(scheme.heads));
  const std::vector<double>& keys = raising.backward.call.lowered.coordinates.front().k;
  for (std::int64_t h = 0; h < scheme.heads; ++h) {
    if (scheme.form == AlibiForm::relative) {
      out[index(h)] = -scale * raising.sums().doubles_of(h)[0];
      continue;
    }
    const double* const columns = raising.rows().of_keys.data() + h * raising.backward.call.lowered.k_rows;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      out[index(h)] += scale * columns[j] * math::alibi_slope_derivative(scheme, 0.0, keys[j]);
    }
  }
  raising.write("slopes", out);
}

void raise_term(const T5Bias& scheme, const ScoreWeights& weights, const Raising& raising) {
  raise_table(std::get<T5Weights>(weights).table, raising, scheme.scaled ? raising.layer().softmax_scale : 1.0,
              [&](std::int64_t d) { return t5_bucket(scheme, d); });
}

void raise_term(const ClippedBias& scheme, const ScoreWeights& weights, const Raising& raising) {
  raise_table(std::get<ClippedBiasWeights>(weights).table, raising, 1.0,
              [&](std::int64_t d) { return std::clamp(d, -scheme.future, scheme.past) + scheme.future; });
}

void raise_term(const GridBias& scheme, const ScoreWeights& weights, const Raising& raising) {
  const std::int64_t middle = grid_row(scheme, 0, 0);
  raise_table(std::get<GridBiasWeights>(weights).table, raising, 1.0, [&](std::int64_t d) { return d + middle; });
}

void raise_term(const Kerple& scheme, const ScoreWeights& weights, const Raising& raising) {
  if (!raising.is_asked("r1") && !raising.is_asked("r2")) return;
  const auto& learned = std::get<KerpleWeights>(weights);
  std::vector<double> r1(index(raising.layer().heads));
  std::vector<double> r2(r1.size());
  for_distances(raising, [&](std::int64_t d, std::int64_t h, double gradient) {
    const math::KerpleDerivatives by =
        math::kerple_derivatives(scheme, read(learned.r1, {h}), read(learned.r2, {h}), static_cast<double>(d));
    r1[index(h)] += gradient * by.r1;
    r2[index(h)] += gradient * by.r2;
  });
  raising.write("r1", r1);
  raising.write("r2", r2);
}

void raise_term(const Sandwich&, const ScoreWeights&, const Raising&) {}

// Reverse mode through the layers, distance by distance.
void raise_term(const MlpBias& scheme, const ScoreWeights& weights, const Raising& raising) {
  if (raising.backward.wants[raising.place(0)] == 0) return;
  const std::vector<Linear>& given = std::get<MlpBiasWeights>(weights).layers;
  struct Layer {
    std::int64_t outputs;
    std::int64_t inputs;
    std::vector<double> weight;
    std::vector<double> bias;
    std::vector<double> d_weight;
    std::vector<double> d_bias;
    std::vector<double> in;   // SiLU of what the layer before has made
    std::vector<double> raw;  // what it has made
  };
  std::vector<Layer> layers;
  for (const Linear& one : given) {
    Layer& made = layers.emplace_back();
    made.outputs = one.weight.shape[0];
    made.inputs = one.weight.shape[1];
    made.weight = read_all(one.weight);
    made.bias = read_all(one.bias);
    made.bias.resize(index(made.outputs));
    made.d_weight.resize(made.weight.size());
    made.d_bias.resize(made.bias.size());
  }
  const auto& term = raising.term<math::DistanceBias>();
  for (std::int64_t n = 0; n < term.count; ++n) {
    std::vector<double> x{mlp_input(scheme, static_cast<double>(term.low + n))};
    for (Layer& layer : layers) {
      layer.raw = x;
      if (&layer != &layers.front()) {
        for (double& y : x) y = math::silu(y);
      }
      layer.in = x;
      x = layer.bias;
      for (std::int64_t o = 0; o < layer.outputs; ++o) {
        for (std::int64_t i = 0; i < layer.inputs; ++i) {
          x[index(o)] += layer.weight[index(o * layer.inputs + i)] * layer.in[index(i)];
        }
      }
    }
    std::vector<double> d(index(raising.layer().heads));
    for (std::int64_t h = 0; h < raising.layer().heads; ++h) {
      d[index(h)] = static_cast<double>(raising.sums().floats_of(h)[n]);
    }
    for (std::size_t l = layers.size(); l-- > 0;) {
      Layer& layer = layers[l];
      std::vector<double> before(index(layer.inputs));
      for (std::int64_t o = 0; o < layer.outputs; ++o) {
        layer.d_bias[index(o)] += d[index(o)];
        for (std::int64_t i = 0; i < layer.inputs; ++i) {
          layer.d_weight[index(o * layer.inputs + i)] += d[index(o)] * layer.in[index(i)];
          before[index(i)] += d[index(o)] * layer.weight[index(o * layer.inputs + i)];
        }
      }
      if (l > 0) {
        for (std::int64_t i = 0; i < layer.inputs; ++i) before[index(i)] *= math::silu_derivative(layer.raw[index(i)]);
      }
      d = std::move(before);
    }
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    raising.write(formatted("layers.{}.weight", l), layers[l].d_weight);
    if (!given[l].bias.empty()) raising.write(formatted("layers.{}.bias", l), layers[l].d_bias);
  }
}

// Of segment s of a head the term has sums of d and of d x: unit w takes those of the segments in which it is on.
// c and the threshold are in x = psi(d) / psi(max(L, i)).
void raise_term(const Fire&, const ScoreWeights& weights, const Raising& raising) {
  if (raising.backward.wants[raising.place(0)] == 0) return;
  const auto& learned = std::get<FireWeights>(weights);
  const auto& term = raising.term<math::Knots>();
  const std::int64_t heads = raising.layer().heads;
  const std::int64_t units = learned.hidden.weight.shape[0];
  const std::int64_t segments = std::ssize(term.edges) + 1;
  std::vector<double> out_weight(index(heads * units));
  std::vector<double> out_bias(index(heads));
  std::vector<double> hidden_weight(index(units));
  std::vector<double> hidden_bias(index(units));
  for (std::int64_t w = 0; w < units; ++w) {
    const double a = read(learned.hidden.weight, {w, 0});
    const double b = learned.hidden.bias.empty() ? 0.0 : read(learned.hidden.bias, {w});
    for (std::int64_t s = 0; s < segments; ++s) {
      // Any x of the segment tells whether the unit is on there.
      const double low = s == 0 ? 0.0 : term.edges[index(s - 1)];
      const double x = s + 1 == segments ? low + 1.0 : low + 0.5 * (term.edges[index(s)] - low);
      if (a * x + b <= 0.0) continue;
      for (std::int64_t h = 0; h < heads; ++h) {
        const double* const own = raising.sums().doubles_of(h) + 2 * s;
        const double weight = read(learned.out.weight, {h, w});
        out_weight[index(h * units + w)] += a * own[1] + b * own[0];
        hidden_weight[index(w)] += weight * own[1];
        hidden_bias[index(w)] += weight * own[0];
      }
    }
  }
  double c = 0.0;
  double threshold = 0.0;
  const std::vector<double>& queries = raising.backward.call.lowered.coordinates.front().q;
  for (std::int64_t h = 0; h < heads; ++h) {
    const double* const segment = raising.sums().doubles_of(h);
    for (std::int64_t s = 0; s < segments; ++s) out_bias[index(h)] += segment[2 * s];
    const double* const numerators = segment + 2 * segments;
    for (std::size_t n = 0; n < term.numerators.size(); ++n) {
      const double d = std::abs(static_cast<double>(term.low + static_cast<std::int64_t>(n)));
      c += numerators[n] * math::fire_psi_by_c(learned.c, d);
    }
    // The factor 1 / psi(longest).
    const double* const rows = raising.rows().of_queries.data() + h * std::ssize(queries);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const double longest = std::max(learned.threshold, queries[i]);
      const double psi = math::fire_psi(learned.c, longest);
      const double by_psi = -rows[i] / (psi * psi);
      c += by_psi * math::fire_psi_by_c(learned.c, longest);
      threshold +=
          by_psi * learned.c / (1.0 + learned.c * longest) * math::fire_is_threshold(learned.threshold, queries[i]);
    }
  }
  raising.write("c", std::span(&c, 1));
  raising.write("threshold", std::span(&threshold, 1));
  raising.write("hidden.weight", hidden_weight);
  raising.write("hidden.bias", hidden_bias);
  raising.write("out.weight", out_weight);
  raising.write("out.bias", out_bias);
}

}  // namespace posenc::cpu

// The bound of scores and outputs, of a port that rounds every stage to its dtype: u_d. u = 2^-24.
//
//   q~.k~   each pair of q and k is off by its angle (rotation_bound.cpp) and its roundings, relatively to the product
//           of both pairs' lengths; one rounding more of each side for a scale that is multiplied in before. Errors of
//           different pairs add up as independent ones do (rounding.h). The sum is accumulated in float32.
//   x       the stored product, the scale and the query scale: 3 u_d
//   terms   6 u_d of what a term adds up (term_sizes.cpp): the learned row, its projection, the product, and what
//           they are added to; 4 u_d of a bias, which is a product or a logarithm of few numbers
//   z       one rounding for each sum; of a soft cap the quotient, the tanh and the product, 3 u_d
//
// A weight p_j is multiplied by exp(e_j) and all are divided by their sum, so that exactly
//
//   o' - o = sum_j p_j (exp(e_j) - 1) (v_j - o) / sum_j p_j exp(e_j)
//
// which is at most sum_j p_j (exp(E_j) - 1) |v_j - o| / sum_j p_j exp(-E_j). A sink is a key whose value is 0. Weights
// are rounded to u_d before they meet the values, once as they are and once divided; sums over keys are in float32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "math/rope/rotation.h"
#include "math/rope/xpos.h"
#include "posenc/query_scale.h"
#include "posenc/regions.h"
#include "vectors/bounds.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr double kStored = 3;
constexpr double kTerm = 6;
constexpr double kBias = 4;
constexpr double kCapped = 3;
constexpr double kExponential = 3;  // exp, its argument's product with log2(e), in float32: attend_bound's of docs/

double element_of(const ConstTensorView& x, std::int64_t token, std::int64_t head, std::int64_t channel) {
  return static_cast<const double*>(x.data)[token * x.strides[0] + head * x.strides[1] + channel];
}

double length_of(const ConstTensorView& x, std::int64_t token, std::int64_t head) {
  double squares = 0.0;
  for (std::int64_t c = 0; c < x.shape[2]; ++c) squares += std::pow(element_of(x, token, head, c), 2);
  return std::sqrt(squares);
}

// Errors that add up as independent ones, and the magnitudes that they are of.
struct Adding {
  double most = 0.0;
  double squares = 0.0;
  double size = 0.0;
  void add(double of, double error) {
    most += error;
    squares += error * error;
    size += of;
  }
};

class ScoreErrors {
 public:
  ScoreErrors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
              const ScoreStages& stages, const Rounding& rounding)
      : layer_(vectors.layer),
        call_(call),
        turnings_(turnings),
        stages_(stages),
        rounding_(rounding),
        sizes_(vectors.layer, call.weights),
        group_(vectors.layer.heads / vectors.layer.kv_heads),
        rotates_(static_cast<std::size_t>(vectors.layer.head_dim)) {
    for (const Turning& turning : turnings) {
      const Rope& one = rope(*turning.rotate);
      for (std::int64_t c = 0; c < one.dim; ++c) rotates_[at(one.first_channel + c)] = true;
    }
  }

  double operator()(std::int64_t h, std::int64_t i, std::int64_t j) {
    const std::int64_t tokens = call_.q.shape[0];
    const std::size_t place = at((h * tokens + i) * tokens + j);
    if (std::isinf(stages_.final_scores[place])) return 0.0;
    const double unit = rounding_.unit;
    const double scale = std::abs(layer_.softmax_scale * tau(i));
    const Adding product = product_of(h, i, j);
    const double sum = summed(static_cast<double>(layer_.head_dim)) * kFloat;
    double error = scale * (together(product.most, product.squares) + sum * product.size);

    const double content = stages_.content[place];
    const bool is_capped_first = layer_.soft_cap && layer_.soft_cap->order == SoftCap::Order::before_bias;
    const double capped = is_capped_first ? layer_.soft_cap->cap * std::tanh(content / layer_.soft_cap->cap) : content;
    const double bias = stages_.biased[place] - capped;
    const TermSizes sizes = sizes_({.q = length_of(call_.q, i, h),
                                    .k = length_of(call_.k, j, h / group_),
                                    .scale = scale,
                                    .head = h,
                                    .query_place = static_cast<double>(call_.positions[at(i)]),
                                    .key_place = static_cast<double>(call_.positions[at(j)])});
    error += kStored * unit * (std::abs(content) + scale * rounding_.least);
    error += (kTerm * unit + sum) * sizes.content;
    error += kBias * unit * (std::abs(bias) + sizes.bias) + sum * sizes.bias;
    error += forgotten(h, i);
    const double gates = static_cast<double>(tokens) * (error / 4 + 4 * unit);  // each off by a quarter of its score
    error += sizes.places * gates;
    error += unit * (std::abs(stages_.biased[place]) + std::abs(content)) * static_cast<double>(layer_.score.size());
    if (layer_.soft_cap)
      error += (kCapped * unit + 10 * kFloat) * std::abs(is_capped_first ? capped : stages_.final_scores[place]);
    return error + 8 * rounding_.least;
  }

  double tau(std::int64_t i) const {
    const bool is_scaled = !std::holds_alternative<std::monostate>(layer_.query_scale);
    return is_scaled ? query_scale(layer_.query_scale, call_.positions[at(i)]) : 1.0;
  }

 private:
  // Roundings of each side: of the rotation, and of a scale before the product.
  double side() const { return rotation_roundings(rounding_) + rounding_.unit; }

  Adding product_of(std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t kv = h / group_;
    Adding out;
    for (const Turning& turning : turnings_) {
      const Rope& one = rope(*turning.rotate);
      const double factor = std::pow(turning.frequencies.attention_factor, 2);
      for (std::int64_t p = 0; p < one.pairs(); ++p) {
        const auto [a, b] = math::channels_of_pair(one.pairing, one.first_channel, one.dim, p);
        const double q = std::hypot(element_of(call_.q, i, h, a), element_of(call_.q, i, h, b));
        const double k = std::hypot(element_of(call_.k, j, kv, a), element_of(call_.k, j, kv, b));
        const auto [at_q, at_k] = coordinates(turning, p, i, j);
        double size = q * k * std::abs(factor);
        double relative =
            (1 + angle_error(turning, p, at_q) + side()) * (1 + angle_error(turning, p, at_k) + side()) - 1;
        if (const auto* xpos = std::get_if<XPos>(&turning.rotate->scheme)) {
          size *= math::xpos_decay(*xpos, p, at_q - at_k);
          // Each side has a power of its own, rounded to the dtype, whose exponent is a float32.
          const double exponent = std::abs(std::log(math::xpos_zeta(one, p))) * (at_q + at_k) / xpos->scale_base;
          relative += 4 * rounding_.unit + 4 * kFloat * (1 + exponent);
        }
        out.add(size, size * relative);
      }
    }
    for (std::int64_t c = 0; c < layer_.head_dim; ++c) {
      if (rotates_[at(c)]) continue;
      const double size = std::abs(element_of(call_.q, i, h, c) * element_of(call_.k, j, kv, c));
      out.add(size, 2 * rounding_.unit * size);
    }
    return out;
  }

  // Where both stand, to the rotation.
  Standing coordinates(const Turning& turning, std::int64_t pair, std::int64_t i, std::int64_t j) const {
    const std::int64_t pairs = rope(*turning.rotate).pairs();
    const double at_q = turning.coordinates[at(i * pairs + pair)];
    const double at_k = turning.coordinates[at(j * pairs + pair)];
    return rotates_alone(layer_) ? Standing{at_q, at_k} : standing(layer_.regions, at_q, at_k);
  }

  // Forget gates add up along the row: a near key's bias is a difference of far ones' sums, in float32.
  double forgotten(std::int64_t h, std::int64_t i) const {
    const bool sums = std::ranges::any_of(
        layer_.score, [](const ScoreTerm& term) { return std::holds_alternative<ForgetGate>(term); });
    if (!sums) return 0.0;
    const std::int64_t tokens = call_.q.shape[0];
    double most = 0.0;
    for (std::int64_t j = 0; j < tokens; ++j) {
      const std::size_t place = at((h * tokens + i) * tokens + j);
      if (std::isfinite(stages_.biased[place])) {
        most = std::max(most, std::abs(stages_.biased[place] - stages_.content[place]));
      }
    }
    return (2 * summed(static_cast<double>(tokens)) * kFloat) * most;
  }

  const LayerPlan& layer_;
  const VectorCall& call_;
  const std::vector<Turning>& turnings_;
  const ScoreStages& stages_;
  const Rounding& rounding_;
  TermSizer sizes_;
  std::int64_t group_;
  std::vector<bool> rotates_;  // [head_dim]
};

// Of values that rotate, relatively to their length: the largest over the pairs of a token.
double value_roundings(const std::vector<Turning>& turnings, std::int64_t token, const Rounding& rounding) {
  double out = 0.0;
  for (const Turning& turning : turnings) {
    const std::int64_t pairs = rope(*turning.rotate).pairs();
    double largest = 0.0;
    for (std::int64_t p = 0; p < pairs; ++p) {
      largest = std::max(largest, angle_error(turning, p, turning.coordinates[at(token * pairs + p)]));
    }
    out += largest + rotation_roundings(rounding);
  }
  return out;
}

// One query of one head, and what its keys add up to.
struct OutRow {
  double moved = 0.0;   // sum_j p_j (exp(E_j) - 1) |v_j - o|
  double met = 0.0;     // sum_j p_j |v_j|
  double turned = 0.0;  // sum_j p_j |v_j| times what rotating v_j is off
};

}  // namespace

std::vector<double> score_errors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
                                 const ScoreStages& stages, const Rounding& rounding) {
  const std::int64_t tokens = call.q.shape[0];
  ScoreErrors error(vectors, call, turnings, stages, rounding);
  std::vector<double> out;
  out.reserve(stages.final_scores.size());
  for (std::int64_t h = 0; h < vectors.layer.heads; ++h) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) out.push_back(error(h, i, j));
    }
  }
  return out;
}

std::vector<double> out_errors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
                               const ScoreStages& stages, const std::vector<double>& of_scores,
                               const Rounding& rounding) {
  const LayerPlan& layer = vectors.layer;
  const std::int64_t tokens = call.q.shape[0];
  const std::int64_t group = layer.heads / layer.kv_heads;
  const auto* rotates_values = std::get_if<RotatedValues>(&layer.value);
  double added = 0.0;  // to a value, at most
  TermSizer tables(layer, call.weights);
  if (const auto* shaw = std::get_if<ShawValues>(&layer.value)) {
    added = shaw->sinusoidal ? 1.0 : tables.largest(call.weights.value.table);
  }
  double factor = 1.0;  // of rotated values
  for (const Turning& turning : turnings) factor *= std::abs(turning.frequencies.attention_factor);
  const double sums = summed(static_cast<double>(tokens)) * kFloat;
  std::vector<double> out(stages.out.size());
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      const std::size_t row = at((h * tokens + i) * tokens);
      double largest = -std::numeric_limits<double>::infinity();
      double seen = 0.0;
      for (std::size_t j = 0; j < at(tokens); ++j) {
        largest = std::max(largest, stages.final_scores[row + j]);
        seen += stages.weights[row + j];
      }
      if (seen == 0.0) continue;  // no key is seen: 0
      // The sink's weight; below 2^-40 it is rounding of the sum.
      const double sink = layer.sinks && 1 - seen > 0x1p-40 ? 1 - seen : 0.0;
      const double sink_score = layer.sinks ? std::abs(tables.largest(call.weights.sinks)) : 0.0;
      const double sink_error = 2 * rounding.unit * sink_score + kExponential * kFloat * (1 + sink_score);
      double below = sink * std::exp(-sink_error);
      const std::size_t first = at((i * layer.heads + h) * layer.value_dim);
      const double out_length = [&] {
        double squares = 0.0;
        for (std::size_t c = 0; c < at(layer.value_dim); ++c) squares += std::pow(stages.out[first + c], 2);
        return std::sqrt(squares);
      }();
      std::vector<OutRow> channels(at(layer.value_dim));
      for (std::int64_t j = 0; j < tokens; ++j) {
        const double p = stages.weights[row + at(j)];
        if (p == 0.0) continue;
        const double behind = largest - stages.final_scores[row + at(j)];
        const double error = of_scores[row + at(j)] + kExponential * kFloat * (1 + behind);
        below += p * std::exp(-error);
        const double length = rotates_values != nullptr ? factor * length_of(call.v, j, h / group) : 0.0;
        const double turned = rotates_values != nullptr ? value_roundings(turnings, j, rounding) : 0.0;
        for (std::size_t c = 0; c < channels.size(); ++c) {
          const double v = element_of(call.v, j, h / group, static_cast<std::int64_t>(c));
          const double apart =
              rotates_values != nullptr ? length + out_length : std::abs(v - stages.out[first + c]) + added;
          const double size = rotates_values != nullptr ? length : std::abs(v) + added;
          channels[c].moved += p * std::expm1(error) * apart;
          channels[c].met += p * size;
          channels[c].turned += p * length * turned + p * (added > 0 ? rounding.unit * size : 0.0);
        }
      }
      const bool turns_back = rotates_values != nullptr && rotates_values->inverse_on_output;
      const double back = turns_back ? value_roundings(turnings, i, rounding) * out_length : 0.0;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        const double o = std::abs(stages.out[first + c]);
        const double moved = (channels[c].moved + sink * std::expm1(sink_error) * o) / below;
        out[first + c] = moved + channels[c].turned + (2 * rounding.unit + sums) * channels[c].met + back +
                         (rounding.unit + sums) * o + 4 * rounding.least;
      }
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden

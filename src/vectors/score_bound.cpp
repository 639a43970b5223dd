// The bound of scores and outputs, of a port that rounds every stage to its dtype: u_d. u = 2^-24.
//
//   q~.k~   each pair of q and k is off by its angle and its roundings (rotation_bound.cpp), relatively to the product
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
// e_j is at most Q_j + K_j, of the query's roundings and the key's own. What the query's move is added up as if all
// pointed one way; what different keys' move is as independent as they are. A sink is a key whose value is 0. Weights
// are rounded to u_d before they meet the values, once as they are and once divided; sums over keys are in float32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "math/rope/rotation.h"
#include "math/rope/xpos.h"
#include "posenc/scores.h"
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

// Errors of pairs, and of roundings alone.
struct Adding {
  double most = 0.0;
  double squares = 0.0;
  void add(double error) { add(error, error); }
  void add(double at_most, double independent) {
    most += at_most;
    squares += independent * independent;
  }
};

// Of one side of a product.
struct Side {
  Adding angles;
  Adding roundings;
  double error() const {
    return together(angles.most, angles.squares) + roundings_together(roundings.most, roundings.squares);
  }
};
struct ProductError {
  Side q;
  Side k;
  double size = 0.0;  // the magnitudes that it adds up
};

class ScoreBound {
 public:
  ScoreBound(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
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

  void add(std::int64_t h, std::int64_t i, std::int64_t j, ScoreErrors& to) {
    const std::int64_t tokens = call_.q.shape[0];
    const std::size_t place = at((h * tokens + i) * tokens + j);
    const bool is_seen = !std::isinf(stages_.final_scores[place]);
    const double scale = std::abs(layer_.softmax_scale * tau(i));
    const ProductError product = is_seen ? product_of(h, i, j) : ProductError{};
    to.of_query.push_back(is_seen ? scale * product.q.error() : 0.0);
    to.own.push_back(is_seen ? own_error(h, i, j, scale, product) : 0.0);
  }

 private:
  double own_error(std::int64_t h, std::int64_t i, std::int64_t j, double scale, const ProductError& product) {
    const std::int64_t tokens = call_.q.shape[0];
    const std::size_t place = at((h * tokens + i) * tokens + j);
    const double unit = rounding_.unit;
    const double sum = summed(static_cast<double>(layer_.head_dim)) * kFloat;
    double error = scale * (product.k.error() + sum * product.size);

    const double content = stages_.content[place];
    const double capped = capped_first(content);
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
    const double of_score = error + scale * product.q.error();
    error += sizes.places * static_cast<double>(tokens) * (of_score / 4 + 4 * unit);  // gates: a quarter of each score
    error += unit * (std::abs(stages_.biased[place]) + std::abs(content)) * static_cast<double>(layer_.score.size());
    if (layer_.soft_cap) {
      const double size = is_capped_first() ? capped : stages_.final_scores[place];
      error += (kCapped * unit + 10 * kFloat) * std::abs(size);
    }
    return error + 8 * rounding_.least;
  }

  bool is_capped_first() const { return layer_.soft_cap && layer_.soft_cap->order == SoftCap::Order::before_bias; }
  double capped_first(double content) const {
    return is_capped_first() ? layer_.soft_cap->cap * std::tanh(content / layer_.soft_cap->cap) : content;
  }

  double tau(std::int64_t i) const {
    const bool is_scaled = !std::holds_alternative<std::monostate>(layer_.query_scale);
    return is_scaled ? query_scale(layer_.query_scale, call_.positions[at(i)]) : 1.0;
  }

  ProductError product_of(std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t kv = h / group_;
    const double scaled = rounding_.unit;  // by a scale before the product
    const double most = rotation_roundings(rounding_) + scaled;
    const double independent = std::hypot(independent_rotation_roundings(rounding_), scaled);
    ProductError out;
    for (const Turning& turning : turnings_) {
      const Rope& one = rope(*turning.rotate);
      const double factor = std::pow(turning.frequencies.attention_factor, 2);
      for (std::int64_t p = 0; p < one.pairs(); ++p) {
        const auto [a, b] = math::channels_of_pair(one.pairing, one.first_channel, one.dim, p);
        const double q = std::hypot(element_of(call_.q, i, h, a), element_of(call_.q, i, h, b));
        const double k = std::hypot(element_of(call_.k, j, kv, a), element_of(call_.k, j, kv, b));
        const auto [at_q, at_k] = coordinates(turning, p, i, j);
        double size = q * k * std::abs(factor);
        double power = 0.0;
        if (const auto* xpos = std::get_if<XPos>(&turning.rotate->scheme)) {
          size *= math::xpos_decay(*xpos, p, at_q - at_k);
          // Each side has a power of its own, rounded to the dtype, whose exponent is a float32.
          const double exponent = std::abs(std::log(math::xpos_zeta(one, p))) * (at_q + at_k) / xpos->scale_base;
          power = 2 * rounding_.unit + 2 * kFloat * (1 + exponent);
        }
        out.size += size;
        // The products of two errors are below 1 % of them: angles of a float32 are off by less than that.
        out.q.angles.add(1.01 * size * (angle_error(turning, p, at_q) + power));
        out.k.angles.add(1.01 * size * (angle_error(turning, p, at_k) + power));
        out.q.roundings.add(1.02 * size * most, 1.02 * size * independent);
        out.k.roundings.add(1.02 * size * most, 1.02 * size * independent);
      }
    }
    for (std::int64_t c = 0; c < layer_.head_dim; ++c) {
      if (rotates_[at(c)]) continue;
      const double size = std::abs(element_of(call_.q, i, h, c) * element_of(call_.k, j, kv, c));
      out.size += size;
      out.q.roundings.add(scaled * size);
      out.k.roundings.add(scaled * size);
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

// What is known of one query of one head.
struct OutRow {
  std::size_t scores = 0;  // of its first key
  std::size_t out = 0;     // of its first channel
  double largest = 0.0;    // score
  double seen = 0.0;       // the weights of all keys
  double length = 0.0;     // of the output
};

// Of one channel of it.
struct OutChannel {
  double moved = 0.0;    // by the query: sum_j p_j Q_j |v_j - o|
  double most = 0.0;     // by each key: sum_j p_j K_j |v_j - o|
  double squares = 0.0;  // of these
  double met = 0.0;      // sum_j p_j |v_j|
  double turned = 0.0;   // sum_j p_j |v_j| times what rotating v_j, or adding to it, is off
};

class OutBound {
 public:
  OutBound(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
           const ScoreStages& stages, const ScoreErrors& of_scores, const Rounding& rounding)
      : layer_(vectors.layer),
        call_(call),
        turnings_(turnings),
        stages_(stages),
        of_scores_(of_scores),
        rounding_(rounding),
        rotates_values_(std::get_if<RotatedValues>(&vectors.layer.value)),
        tokens_(call.q.shape[0]),
        group_(vectors.layer.heads / vectors.layer.kv_heads) {
    TermSizer tables(layer_, call.weights);
    if (const auto* shaw = std::get_if<ShawValues>(&layer_.value)) {
      added_ = shaw->sinusoidal ? 1.0 : tables.largest(call.weights.value.table);
    }
    if (layer_.sinks) sink_ = tables.largest(call.weights.sinks);
    for (const Turning& turning : turnings) factor_ *= std::abs(turning.frequencies.attention_factor);
  }

  void add(std::int64_t i, std::int64_t h, std::vector<double>& to) const {
    const OutRow row = row_of(i, h);
    if (row.seen == 0.0) return;  // no key is seen: 0
    // The sink's weight; below 2^-40 it is rounding of the sum.
    const double sink = layer_.sinks && 1 - row.seen > 0x1p-40 ? 1 - row.seen : 0.0;
    const double sink_error = 2 * rounding_.unit * sink_ + kExponential * kFloat * (1 + sink_);
    double below = sink * std::exp(-sink_error);
    std::vector<OutChannel> channels(at(layer_.value_dim));
    for (std::int64_t j = 0; j < tokens_; ++j) below += add_key(row, h, j, channels);
    const double sums = summed(static_cast<double>(tokens_)) * kFloat;
    const bool turns_back = rotates_values_ != nullptr && rotates_values_->inverse_on_output;
    const double back = turns_back ? value_roundings(turnings_, i, rounding_) * row.length : 0.0;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const OutChannel& one = channels[c];
      const double o = std::abs(stages_.out[row.out + c]);
      const double moved = one.moved + std::min(one.most, std::sqrt(one.squares)) + sink * std::expm1(sink_error) * o;
      to[row.out + c] = moved / below + one.turned + (2 * rounding_.unit + sums) * one.met + back +
                        (rounding_.unit + sums) * o + 4 * rounding_.least;
    }
  }

 private:
  OutRow row_of(std::int64_t i, std::int64_t h) const {
    OutRow out{.scores = at((h * tokens_ + i) * tokens_),
               .out = at((i * layer_.heads + h) * layer_.value_dim),
               .largest = -std::numeric_limits<double>::infinity()};
    for (std::size_t j = 0; j < at(tokens_); ++j) {
      out.largest = std::max(out.largest, stages_.final_scores[out.scores + j]);
      out.seen += stages_.weights[out.scores + j];
    }
    for (std::size_t c = 0; c < at(layer_.value_dim); ++c) out.length += std::pow(stages_.out[out.out + c], 2);
    out.length = std::sqrt(out.length);
    return out;
  }

  // Gives p_j exp(-E_j). The bound of a score is 6 of its standard deviations, or what it is at most: the squares of
  // such bounds add up to that of the sum's.
  double add_key(const OutRow& row, std::int64_t h, std::int64_t j, std::vector<OutChannel>& to) const {
    const double p = stages_.weights[row.scores + at(j)];
    if (p == 0.0) return 0.0;
    const double behind = row.largest - stages_.final_scores[row.scores + at(j)];
    const double of_query = of_scores_.of_query[row.scores + at(j)];
    const double own = of_scores_.own[row.scores + at(j)] + kExponential * kFloat * (1 + behind);
    const double error = of_query + own;
    const double steeper = error > 0 ? std::expm1(error) / error : 1.0;
    const bool rotates = rotates_values_ != nullptr;
    const double length = rotates ? factor_ * length_of(call_.v, j, h / group_) : 0.0;
    const double turned = rotates ? value_roundings(turnings_, j, rounding_) : 0.0;
    for (std::size_t c = 0; c < to.size(); ++c) {
      const double v = element_of(call_.v, j, h / group_, static_cast<std::int64_t>(c));
      // Of rotated values a channel may have all of its head.
      const double apart = rotates ? length + row.length : std::abs(v - stages_.out[row.out + c]) + added_;
      const double size = rotates ? length : std::abs(v) + added_;
      const double by_key = p * steeper * own * apart;
      to[c].moved += p * steeper * of_query * apart;
      to[c].most += by_key;
      to[c].squares += by_key * by_key;
      to[c].met += p * size;
      to[c].turned += p * length * turned + p * (added_ > 0 ? rounding_.unit * size : 0.0);
    }
    return p * std::exp(-error);
  }

  const LayerPlan& layer_;
  const VectorCall& call_;
  const std::vector<Turning>& turnings_;
  const ScoreStages& stages_;
  const ScoreErrors& of_scores_;
  const Rounding& rounding_;
  const RotatedValues* rotates_values_;
  std::int64_t tokens_;
  std::int64_t group_;
  double added_ = 0.0;   // to a value, at most
  double sink_ = 0.0;    // its score, at most
  double factor_ = 1.0;  // of rotated values
};

}  // namespace

std::vector<double> ScoreErrors::both() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < own.size(); ++i) out.push_back(of_query[i] + own[i]);
  return out;
}

ScoreErrors score_errors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
                         const ScoreStages& stages, const Rounding& rounding) {
  const std::int64_t tokens = call.q.shape[0];
  ScoreBound bound(vectors, call, turnings, stages, rounding);
  ScoreErrors out;
  for (std::int64_t h = 0; h < vectors.layer.heads; ++h) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) bound.add(h, i, j, out);
    }
  }
  return out;
}

std::vector<double> out_errors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
                               const ScoreStages& stages, const ScoreErrors& of_scores, const Rounding& rounding) {
  const OutBound bound(vectors, call, turnings, stages, of_scores, rounding);
  std::vector<double> out(stages.out.size());
  for (std::int64_t i = 0; i < call.q.shape[0]; ++i) {
    for (std::int64_t h = 0; h < vectors.layer.heads; ++h) bound.add(i, h, out);
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden

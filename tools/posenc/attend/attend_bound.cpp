// The bound of docs/attention.md, of one output: score() gives a_j and e_j, output() sums p_j (a_j + e_j) D_j and adds
// what the sums over keys and the division are off. The page's S_j is ScoreError::size; in output() D_j is `apart`, O
// is `size`, and `met` adds up p_j V_j.
#include "attend/attend_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "posenc/reference.h"
#include "posenc/rope.h"
#include "posenc/scores.h"

namespace posenc::tool {
namespace {

// xPos: a float for the query, one for the key and one for the tile's origin, each with its product.
constexpr double kDecays = 6;
// cap tanh(s / cap): s times the rounded quotient 2; tanh 7, of (1 - e) / (1 + e) with e = exp(-2 |x|) below 0.29 that
// is off by 6 roundings; the product 1 (src/kernels/exponential.h).
constexpr double kCapped = 10;
constexpr double kTile = 64;        // keys
constexpr double kPaired = 0x1p-8;  // half a unit of bfloat16's 8 bits, relatively

// ---- lengths of learned rows ----

// Of a tensor of rows, the length of the longest; of all its elements together.
double longest_row(const ConstTensorView& x) {
  double out = 0.0;
  if (x.rank == 2) {
    for (std::int64_t r = 0; r < x.shape[0]; ++r) {
      double squares = 0.0;
      for (std::int64_t c = 0; c < x.shape[1]; ++c) squares += std::pow(reference::element(x, {r, c}), 2);
      out = std::max(out, std::sqrt(squares));
    }
  } else if (x.rank == 3) {
    // [heads, rows, channels]: a table for each head.
    for (std::int64_t r = 0; r < x.shape[0]; ++r) {
      ConstTensorView part{static_cast<const std::byte*>(x.data) + r * x.strides[0] * bytes_of(x.dtype),
                           x.dtype,
                           2,
                           {x.shape[1], x.shape[2]},
                           {x.strides[1], x.strides[2]}};
      out = std::max(out, longest_row(part));
    }
  }
  return out;
}
double length(const ConstTensorView& x) {
  if (x.rank == 1) return longest_row({x.data, x.dtype, 2, {1, x.shape[0]}, {0, x.strides[0]}});
  return x.rank == 2 ? longest_row(x) * std::sqrt(static_cast<double>(x.shape[0])) : 0.0;
}

// The largest magnitude of an element.
double largest(const ConstTensorView& x) {
  double out = 0.0;
  std::array<std::int64_t, kMaxRank> at{};
  const auto rank = static_cast<std::size_t>(x.rank);
  for (bool more = rank > 0; more;) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) offset += at[axis] * x.strides[axis];
    const void* const place = static_cast<const std::byte*>(x.data) + offset * bytes_of(x.dtype);
    out = std::max(out, std::abs(reference::element({place, x.dtype, 1, {1}, {1}}, {0})));
    more = false;
    for (std::size_t axis = rank; axis-- > 0 && !more;) {
      more = ++at[axis] < x.shape[axis];
      if (!more) at[axis] = 0;
    }
  }
  return out;
}

// ---- how large a score's terms are ----

struct Sizes {
  double q;  // lengths
  double k;
  double scale;    // of content
  double product;  // |q| |k|, rotated and scaled
  double head_dim;
  double keys;               // how many
  double product_roundings;  // of q.k
};

double length(const Linear& linear, double input) { return length(linear.weight) * input + length(linear.bias); }

// The magnitudes that a term adds up which takes q or k, at most, by Cauchy and Schwarz. Terms that take neither are
// seen in the scores.
double size_of(const std::monostate&, const Sizes&) { return 0.0; }
double size_of(const T5Weights&, const Sizes&) { return 0.0; }
double size_of(const ClippedBiasWeights&, const Sizes&) { return 0.0; }
double size_of(const GridBiasWeights&, const Sizes&) { return 0.0; }
double size_of(const KerpleWeights&, const Sizes&) { return 0.0; }
double size_of(const MlpBiasWeights&, const Sizes&) { return 0.0; }
// Its straight pieces are sums over the hidden units, which may cancel; they are asked for 0 to 1.
double size_of(const FireWeights& x, const Sizes&) {
  return longest_row(x.out.weight) * length(x.hidden, 1.0) + largest(x.out.bias);
}
double size_of(const ShawWeights& x, const Sizes& at) {
  // Sines where there is no table.
  return at.scale * (at.q + at.k) * (x.table.empty() ? std::sqrt(at.head_dim / 2) : longest_row(x.table));
}
// A sinusoid of n channels has length sqrt(n / 2): cos^2 + sin^2 = 1 in each pair. W r has at most the length of W
// times that.
double size_of(const TransformerXlWeights& x, const Sizes& at) {
  const double r = x.table.empty() ? std::sqrt(static_cast<double>(x.projection.shape[1]) / 2) : longest_row(x.table);
  const double row = length(x.projection) * r;
  return at.scale * ((at.q + longest_row(x.position_bias)) * row + longest_row(x.content_bias) * at.k);
}
double size_of(const XlNetWeights& x, const Sizes& at) {
  return size_of(x.positions, at) + at.scale * (at.q + longest_row(x.segment_bias)) * longest_row(x.segments);
}
// c2p, p2c and p2p, as if the layer had all three.
double size_of(const DebertaWeights& x, const Sizes& at) {
  const double row = longest_row(x.table);
  const double key = length(x.keys, row);
  const double query = length(x.queries, row);
  return at.scale * (at.q * key + at.k * query + key * query);
}
double size_of(const CopeWeights& x, const Sizes& at) { return longest_row(x.table) * at.q; }
double size_of(const DecomposedHwWeights& x, const Sizes& at) {
  return at.q * (longest_row(x.rows) + longest_row(x.columns));
}

// What a term is off besides, in roundings: CoPE reads its table at a place that gates add up to. Two rows are at most
// twice the longest apart. A gate is off by a quarter of its score, and by 4 roundings of its own; the sum counts only
// as long as it is below the number of rows.
template <typename Weights>
double besides(const Weights&, const Sizes&) {
  return 0.0;
}
double besides(const CopeWeights& x, const Sizes& at) {
  const double gates = at.product_roundings * at.product / 4 + 4;
  const double place = std::min(at.keys, static_cast<double>(x.table.shape[0]));
  return 2 * longest_row(x.table) * at.q * summed(at.keys) * (gates + place);
}

}  // namespace

double head_element(const ConstTensorView& x, std::int64_t sequence, std::int64_t token, std::int64_t head,
                    std::int64_t channel) {
  return x.rank == 4 ? reference::element(x, {sequence, head, token, channel})
                     : reference::element(x, {token, head, channel});
}

KeyHead key_head(const AttendCall& call, std::int64_t sequence, std::int64_t head) {
  KeyHead out;
  for (std::int64_t j = 0; j < call.keys(); ++j) {
    double squares = 0.0;
    for (std::int64_t c = 0; c < call.layer.head_dim; ++c)
      squares += std::pow(head_element(call.k, sequence, j, head, c), 2);
    out.lengths.push_back(std::sqrt(squares));
    for (std::int64_t c = 0; c < call.layer.value_dim; ++c)
      out.values.push_back(head_element(call.v, sequence, j, head, c));
    out.places.push_back(call.k_positions ? first_coordinate(*call.k_positions, {sequence, j})
                                          : static_cast<double>(j));
  }
  return out;
}

// Roundings that all scores of a call share: of q.k, the scale, the rotation of either side, xPos, each term, the
// softcap. A side that came rotated takes none here, and no attention factor.
AttendBound::AttendBound(const AttendCall& call) : call_(call), keys_(static_cast<double>(call.keys())) {
  const auto add = [](ScoreRoundings& to, double roundings) {
    to.most += roundings;
    to.squares += roundings;
  };
  const auto channels = static_cast<double>(call.layer.head_dim);
  of_key_ = {.most = summed(channels), .squares = channels};
  add(of_key_, 1);  // the scale
  for (const Rotate& one : call.layer.rotate) {
    if (one.role != RotateRole::main) continue;
    const double factor = frequencies(rope(one), call.length).attention_factor;
    if (!call.q_rotated) {
      of_query_ += kRotated;
      factor_ *= factor;
    }
    if (!call.k_rotated) {
      of_key_.most += kRotated;
      of_key_.squares += kRotated * kRotated;
      factor_ *= factor;
    }
    if (const auto* xpos = std::get_if<XPos>(&one.scheme)) {
      add(of_key_, kDecays);
      decay_ = std::log(1.4 / 0.4) / xpos->scale_base;  // its first pair's, 0.4 / 1.4, decays most
    }
  }
  product_ = of_query_ + of_key_.most;
  add(of_key_, static_cast<double>(call.layer.score.size()));  // each a product, rounded as q.k is, and a sum
  if (call.layer.soft_cap) add(of_key_, kCapped);
}

// S_j times the roundings. Scores before and behind the terms say how large the terms that take neither q nor k are;
// their difference stands in for them.
ScoreError AttendBound::score(const JudgedRow& row, const KeyHead& keys, std::size_t j, double largest_bias) const {
  const bool is_scaled = !std::holds_alternative<std::monostate>(call_.layer.query_scale);
  const auto order = std::max<std::int64_t>(static_cast<std::int64_t>(row.place), 0);
  const double tau = is_scaled ? query_scale(call_.layer.query_scale, order) : 1.0;
  const double ahead = std::max(0.0, keys.places[j] - row.place);
  Sizes at{.q = row.length,
           .k = keys.lengths[j],
           .scale = std::abs(call_.layer.softmax_scale * tau),
           .product = 0.0,
           .head_dim = static_cast<double>(call_.layer.head_dim),
           .keys = keys_,
           .product_roundings = product_};
  at.product = at.q * at.k * at.scale * factor_ * std::exp(decay_ * ahead);
  double size = at.product;
  double more = 0.0;
  for (const ScoreWeights& weights : call_.tables.weights.score) {
    size += std::visit([&](const auto& x) { return size_of(x, at); }, weights);
    more += std::visit([&](const auto& x) { return besides(x, at); }, weights);
  }
  if (!row.biased.empty()) size += std::max(largest_bias, std::abs(row.biased[j] - row.content[j]));
  return {.of_query = of_query_ * size + more,
          .of_key = of_key_.most * size,
          .squares = of_key_.squares * size * size,
          .size = size};
}

// Gates that are forgotten add up along the row, so a near key's bias is a difference of far ones' sums.
double AttendBound::largest_bias(const JudgedRow& row) const {
  const bool sums = std::ranges::any_of(call_.layer.score,
                                        [](const ScoreTerm& term) { return std::holds_alternative<ForgetGate>(term); });
  double out = 0.0;
  for (std::size_t j = 0; sums && j < row.biased.size(); ++j) {
    if (std::isfinite(row.biased[j])) out = std::max(out, std::abs(row.biased[j] - row.content[j]));
  }
  return out;
}

// Queries and keys that lie in bfloat16, neither rotated here nor added to, have exact products.
double AttendBound::paired_score(double size) const {
  const bool rotates = !call_.layer.rotate.empty() && !(call_.q_rotated && call_.k_rotated);
  const bool is_exact =
      call_.q.dtype == DType::bf16 && call_.k.dtype == DType::bf16 && !rotates && call_.layer.score.empty();
  return call_.products == Products::f32 || is_exact ? 0.0 : (2 * kPaired + kPaired * kPaired) * size;
}

// Of weights p_j that are multiplied with exp(x_j), |x_j| <= x, and with any c, the mean of values moves by
// sum p_j (exp(x_j) - c) (v_j - o) / sum p_j exp(x_j); at most sinh(x) exp(x) sum p_j |v_j - o| with c = cosh(x).
double AttendBound::paired_output(double score, double spread, double met) const {
  if (call_.products == Products::f32) return 0.0;
  const bool is_exact = call_.v.dtype == DType::bf16 && !std::holds_alternative<RotatedValues>(call_.layer.value);
  return std::expm1(2 * (score + kPaired)) / 2 * spread + (is_exact ? 0.0 : kPaired * met);
}

// [value_dim], absolute errors. A weight of 0: the key is masked, or its weight vanishes even in double. A query that
// attends to none has an output of exactly 0.
std::vector<double> AttendBound::output(const JudgedRow& row, const KeyHead& keys) const {
  const std::size_t width = row.out.size();
  const double most = row.weights.empty() ? 0.0 : std::ranges::max(row.weights);
  std::vector<double> out(width);
  if (most == 0.0) return out;  // no key is seen: 0

  const bool rotates_values = std::holds_alternative<RotatedValues>(call_.layer.value);
  double added = 0.0;  // to a value, at most
  if (const auto* shaw = std::get_if<ShawValues>(&call_.layer.value)) {
    added = shaw->sinusoidal ? 1.0 : largest(call_.tables.weights.value.table);
  }
  // Under ALiBi far tiles may be skipped (src/cpu/attend/far_tiles.h).
  const bool leaves_out =
      std::ranges::any_of(call_.layer.score, [](const ScoreTerm& term) { return std::holds_alternative<Alibi>(term); });
  const auto length = [](std::span<const double> x) {
    double squares = 0.0;
    for (const double one : x) squares += one * one;
    return std::sqrt(squares);
  };
  const double out_length = length(row.out);

  std::vector<double> moved(width);     // sum_j p_j e_j |v_j - o|, e_j of the query's own rotation
  std::vector<double> at_most(width);   // the same of what belongs to the key
  std::vector<double> squares(width);   // of the key's roundings by themselves
  std::vector<double> met(width);       // sum_j p_j |v_j|
  std::vector<double> spread(width);    // sum_j p_j |v_j - o|
  std::vector<double> farthest(width);  // the largest |v_j - o|
  double paired = 0.0;                  // of a score, at most
  // Less the maximum, times log2(e), which is rounded too, and the exponential (src/kernels/exponential.h).
  const auto behind = [&](double p) { return std::abs(std::log(most / p)); };
  const double bias = largest_bias(row);
  double seen = 0.0;
  double all = 0.0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double p = row.weights[j];
    if (p == 0.0) continue;
    seen += 1;
    all += p;
    const ScoreError error = score(row, keys, j, bias);
    paired = std::max(paired, paired_score(error.size));
    const double own = p * (error.of_key + 3 * behind(p) + 3);
    const double own_squares = p * p * (error.squares + 3 * behind(p) * behind(p) + 3);
    const std::span<const double> v = std::span(keys.values).subspan(j * width, width);
    // A channel may have all of its head.
    const double rotated = rotates_values ? length(v) * factor_ : 0.0;
    for (std::size_t c = 0; c < width; ++c) {
      const double apart = rotates_values ? rotated + out_length : std::abs(v[c] - row.out[c]) + added;
      moved[c] += p * error.of_query * apart;
      at_most[c] += own * apart;
      squares[c] += own_squares * apart * apart;
      met[c] += p * (rotates_values ? rotated : std::abs(v[c]) + added);
      spread[c] += p * apart;
      farthest[c] = std::max(farthest[c], apart);
    }
  }
  // What the weights of keys leave to 1 is the sink's; below 2^-40 it is rounding of the sum.
  const double sink = std::max(0.0, 1 - all);
  const bool has_sink = call_.layer.sinks && sink > 0x1p-40;
  // Both sums are rescaled when a tile's maximum is larger than those before: a factor, 3, and a product.
  const double sums = summed(seen + 4 * seen / kTile);
  for (std::size_t c = 0; c < width; ++c) {
    const double size = rotates_values ? out_length : std::abs(row.out[c]);
    moved[c] += std::min(at_most[c], 6 * std::sqrt(squares[c]));  // as summed()
    if (has_sink) moved[c] += sink * (3 * behind(sink) + 3) * size;
    if (has_sink) spread[c] += sink * size;
    out[c] = 1.05 * moved[c] + (sums + (rotates_values ? 2 * kRotated + 2 : 0.0)) * met[c] + (sums + 3) * size +
             (leaves_out ? 0.5 * farthest[c] : 0.0);  // keys of less than 2^-25 of the weight
    out[c] = out[c] * kRounding + paired_output(paired, spread[c], met[c]);
  }
  return out;
}

}  // namespace posenc::tool

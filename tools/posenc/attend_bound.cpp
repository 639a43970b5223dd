#include "attend_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "exit_code.h"
#include "failure.h"
#include "posenc/query_scale.h"
#include "posenc/reference.h"
#include "posenc/rope.h"

namespace posenc::tool {
namespace {

constexpr double kRounding = 0x1p-24;  // of a float
// A product of two heads that were turned in floats, in roundings of their lengths: of each, cos and sin are within an
// ulp, 2 roundings, of which a product takes one each, and its 2 products and their sum are rounded once.
const double kTurned = 2 * (2 + 2) * std::sqrt(2.0);

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

// ---- how large a score's terms are ----

struct Lengths {
  double q;
  double k;
  double keys;            // how many
  double scaled_product;  // |q| |k|, scaled
  double head_dim;
};

double length(const Linear& linear, double input) { return length(linear.weight) * input + length(linear.bias); }

// The magnitudes that a term which takes q or k adds up, at most, by Cauchy and Schwarz. Terms that take neither are
// seen in the scores.
double size_of(const std::monostate&, const Lengths&) { return 0.0; }
double size_of(const T5Weights&, const Lengths&) { return 0.0; }
double size_of(const ClippedBiasWeights&, const Lengths&) { return 0.0; }
double size_of(const GridBiasWeights&, const Lengths&) { return 0.0; }
double size_of(const KerpleWeights&, const Lengths&) { return 0.0; }
double size_of(const FireWeights&, const Lengths&) { return 0.0; }
double size_of(const MlpBiasWeights&, const Lengths&) { return 0.0; }
double size_of(const ShawWeights& x, const Lengths& at) {
  return at.q * (x.table.empty() ? std::sqrt(at.head_dim / 2) : longest_row(x.table));  // sines where there is none
}
double size_of(const TransformerXlWeights& x, const Lengths& at) {
  const double row = length(x.projection) * std::sqrt(static_cast<double>(x.projection.shape[1]) / 2);
  return (at.q + longest_row(x.position_bias)) * row + longest_row(x.content_bias) * at.k;
}
double size_of(const XlNetWeights& x, const Lengths& at) {
  return size_of(x.positions, at) + (at.q + longest_row(x.segment_bias)) * longest_row(x.segments);
}
double size_of(const DebertaWeights& x, const Lengths& at) {
  const double row = longest_row(x.table);
  const double key = length(x.keys, row);
  const double query = length(x.queries, row);
  return at.q * key + at.k * query + key * query;
}
// Two rows, at most twice the longest apart; the place between them moves with the gates, a quarter of what their
// scores move.
double size_of(const CopeWeights& x, const Lengths& at) {
  return longest_row(x.table) * at.q * (2 + at.keys * (1 + at.scaled_product / 4));
}
double size_of(const DecomposedHwWeights& x, const Lengths& at) {
  return at.q * (longest_row(x.rows) + longest_row(x.columns));
}

}  // namespace

double head_element(const ConstTensorView& x, std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t c) {
  return x.rank == 4 ? reference::element(x, {b, h, t, c}) : reference::element(x, {t, h, c});
}

KeyHead key_head(const AttendCall& call, std::int64_t b, std::int64_t h) {
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  KeyHead out{.least = std::vector<double>(width, kInfinite), .most = std::vector<double>(width, -kInfinite)};
  for (std::int64_t j = 0; j < call.keys(); ++j) {
    double squares = 0.0;
    for (std::int64_t c = 0; c < call.layer.head_dim; ++c) squares += std::pow(head_element(call.k, b, j, h, c), 2);
    out.longest_key = std::max(out.longest_key, std::sqrt(squares));
    squares = 0.0;
    for (std::size_t c = 0; c < width; ++c) {
      const double x = head_element(call.v, b, j, h, static_cast<std::int64_t>(c));
      squares += x * x;
      out.least[c] = std::min(out.least[c], x);
      out.most[c] = std::max(out.most[c], x);
    }
    out.longest_value = std::max(out.longest_value, std::sqrt(squares));
  }
  return out;
}

AttendBound::AttendBound(const AttendCall& call) : call_(call) {
  for (const Rotate& one : call.layer.rotate) {
    if (one.role != RotateRole::main) continue;
    if (std::holds_alternative<XPos>(one.scheme)) throw failure(kMalformed, "--check: the bound of xPos is not known");
    factor_ *= std::pow(frequencies(rope(one), call.length).attention_factor, 2);
    roundings_ += kTurned;
  }
  const auto terms = static_cast<double>(call.layer.score.size());
  roundings_ += static_cast<double>(call.layer.head_dim) * (1 + terms) + 2 * terms;
  const bool sums_along_keys = std::ranges::any_of(call.layer.score, [](const ScoreTerm& term) {
    return std::holds_alternative<ForgetGate>(term) || std::holds_alternative<ContextualPosition>(term);
  });
  if (sums_along_keys) roundings_ += static_cast<double>(call.keys());
}

double AttendBound::score(const QueryHead& query, double longest_key) const {
  const bool is_scaled = !std::holds_alternative<std::monostate>(call_.layer.query_scale);
  const double tau = is_scaled ? query_scale(call_.layer.query_scale, std::max<std::int64_t>(query.position, 0)) : 1.0;
  const double scale = std::abs(call_.layer.logit_scale) * std::max(tau, 1.0) * factor_;
  const Lengths at{.q = query.length,
                   .k = longest_key,
                   .keys = static_cast<double>(call_.keys()),
                   .scaled_product = query.length * longest_key * scale,
                   .head_dim = static_cast<double>(call_.layer.head_dim)};
  double size = at.scaled_product + query.largest_scores;
  for (const ScoreWeights& weights : call_.tables.weights.score) {
    size += std::visit([&](const auto& x) { return size_of(x, at); }, weights) * std::max(scale, 1.0);
  }
  return ((roundings_ + 2 * 2) * size + 3) * kRounding;
}

double AttendBound::output(double score, const KeyHead& head, std::size_t channel) const {
  const auto keys = static_cast<double>(call_.keys());
  double half_range = std::max(0.0, (head.most[channel] - head.least[channel]) / 2);
  double largest = std::max({0.0, -head.least[channel], head.most[channel]});
  double own = 0.0;
  if (std::holds_alternative<ShawValues>(call_.layer.value)) {
    const double added = longest_row(call_.tables.weights.value.table);
    half_range += added;
    largest += added;
  } else if (std::holds_alternative<RotatedValues>(call_.layer.value)) {  // a channel may have all of its head
    half_range = largest = head.longest_value * factor_;
    own = kTurned + 2;
  }
  return 1.05 * score * half_range + (2 * keys + keys / 32 + 3 + own) * kRounding * largest;
}

}  // namespace posenc::tool

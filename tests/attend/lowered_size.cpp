#include "attend/lowered_size.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "support/tolerances.h"

namespace posenc::test {
namespace {

struct Lengths {
  double q;
  double k;
  double keys;      // how many
  double content;   // of the scores before the biases, scaled
  double distance;  // the largest
};

double size_of(const math::DistanceBias& x, const Lengths&) {
  return largest(x.values) * (x.row_factor.empty() ? 1.0 : largest(x.row_factor));
}
double size_of(const math::LinearDistance& x, const Lengths& at) { return largest(x.slopes) * at.distance; }
double size_of(const math::Knots& x, const Lengths&) {
  return largest(x.intercepts) + largest(x.slopes) * largest(x.numerators) * largest(x.row_factor);
}
double size_of(const math::Column& x, const Lengths&) { return largest(x.rows) + largest(x.columns); }
double size_of(const math::QueryDistance& x, const Lengths& at) {
  return longest(x.vectors, kHeadDim) * (x.given.empty() ? at.q : longest(x.given, kHeadDim));
}
double size_of(const math::KeyDistance& x, const Lengths& at) { return longest(x.vectors, kHeadDim) * at.k; }
double size_of(const math::KeyVector& x, const Lengths& at) { return longest(x.vectors, kHeadDim) * at.k; }
double size_of(const math::Label& x, const Lengths& at) {
  return longest(x.vectors, kHeadDim) * at.q + largest(x.constants);
}
// Two rows, apart by at most twice the longest; the place between them moves with the gates, a quarter of what their
// scores move.
double size_of(const math::Running& x, const Lengths& at) {
  return longest(x.vectors, kHeadDim) * at.q * (2.0 + at.keys * (1.0 + at.content / 4));
}

bool is_content(const math::Term& term) {
  if (std::holds_alternative<math::KeyVector>(term) || std::holds_alternative<math::Label>(term)) return true;
  if (const auto* bias = std::get_if<math::DistanceBias>(&term)) return bias->part == math::Part::content;
  if (const auto* query = std::get_if<math::QueryDistance>(&term)) return query->part == math::Part::content;
  if (const auto* key = std::get_if<math::KeyDistance>(&term)) return key->part == math::Part::content;
  return false;
}

double largest_distance(const math::Coordinate& at) {
  double out = 0.0;
  for (const double i : at.q) {
    for (const double j : at.k) out = std::max(out, std::abs(i - j));
  }
  return out;
}

}  // namespace

double largest(std::span<const double> x) {
  double out = 0.0;
  for (const double one : x) out = std::max(out, std::abs(one));
  return out;
}

double longest(std::span<const double> x, std::int64_t channels) {
  double out = 0.0;
  double squares = 0.0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    squares += x[n] * x[n];
    if ((n + 1) % static_cast<std::size_t>(channels) != 0) continue;
    out = std::max(out, squares);
    squares = 0.0;
  }
  return std::sqrt(out);
}

ScoreSize score_size(const math::Lowered& lowered, const SchemeCall& call, std::size_t q_row, double turned) {
  Lengths at{.q = longest(std::span(call.q.values).subspan(q_row * kHeadDim, kHeadDim), kHeadDim),
             .k = longest(call.seen_by(q_row, call.k), kHeadDim),
             .keys = static_cast<double>(call.sizes.keys),
             .content = 0.0,
             .distance = largest_distance(lowered.coordinates.front())};
  // The dot product of a head, and the sum of terms: each a dot product of its own, of vectors that were projected,
  // from 10 channels at most.
  ScoreSize out{.roundings =
                    static_cast<double>(kHeadDim + (lowered.terms.empty() ? 0 : 10) + std::ssize(lowered.terms))};
  double product = at.q * at.k;
  for (const math::Rotation& rotation : lowered.rotations) {
    const double exponent = largest(rotation.decay) * at.distance;
    product *= rotation.factor * rotation.factor * std::exp(exponent);
    out.roundings += turned + (rotation.decay.empty() ? 0.0 : decayed_twice(exponent));
  }
  double content = product;
  for (const math::Term& term : lowered.terms) {
    if (is_content(term)) content += std::visit([&](const auto& x) { return size_of(x, at); }, term);
  }
  at.content = content * largest(lowered.row_scale);
  out.size = at.content;
  for (const math::Term& term : lowered.terms) {
    if (!is_content(term)) out.size += std::visit([&](const auto& x) { return size_of(x, at); }, term);
    if (std::holds_alternative<math::Column>(term)) out.roundings += at.keys;
  }
  return out;
}

Values values_of(const math::Lowered& lowered, const SchemeCall& call, std::size_t q_row, std::size_t c,
                 double turned) {
  const std::vector<double> seen = call.seen_by(q_row, call.v);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  if (std::holds_alternative<math::ValueRotation>(lowered.values)) {
    // Two turns, that of the value and that of the output, each made two ways; a channel may have all of its pair.
    const double longest_value = longest(seen, call.layer.value_dim);
    return {longest_value, longest_value, turned + 2};
  }
  double least = seen[c];
  double most = seen[c];
  for (std::size_t n = c; n < seen.size(); n += width) {
    least = std::min(least, seen[n]);
    most = std::max(most, seen[n]);
  }
  const auto* by_distance = std::get_if<math::ValueDistance>(&lowered.values);
  const double added = by_distance == nullptr ? 0.0 : largest(by_distance->vectors);
  return {std::max(-least, most) + added, (most - least) / 2 + added, 0.0};
}

}  // namespace posenc::test

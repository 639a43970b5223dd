#include "attend/lowered_size.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "cpu/lower/weight_reader.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

struct Lengths {
  std::int64_t heads;
  std::int64_t channels;  // of a head
  double q;
  double k;
  double keys;      // how many
  double content;   // of the scores before the biases, scaled
  double distance;  // the largest
};

// As W_h x + b_h, whose numbers add up to at most |W_h| |x| + |b_h|.
double longest_of(const math::PlaceVectors& x, const Lengths& at) {
  if (!x.values.empty()) return longest(x.values, at.channels);
  const std::int64_t width = x.rows.shape[1];
  const double product =
      longest(cpu::read_all(x.projection.weight), at.channels * width) * longest(cpu::read_all(x.rows), width);
  return product + (x.projection.bias.empty() ? 0.0 : longest(cpu::read_all(x.projection.bias), at.channels));
}

double size_of(const math::DistanceBias& x, const Lengths& at) {
  return largest(math::table_of(x, at.heads)) * (x.row_factor.empty() ? 1.0 : largest(x.row_factor));
}
double size_of(const math::LinearDistance& x, const Lengths& at) { return largest(x.slopes) * at.distance; }
double size_of(const math::Knots& x, const Lengths&) {
  return largest(x.intercepts) + largest(x.slopes) * largest(x.numerators) * largest(x.row_factor);
}
double size_of(const math::Column& x, const Lengths&) { return (x.is_of_past() ? 2 : 1) * largest(x.columns); }
double size_of(const math::QueryDistance& x, const Lengths& at) {
  return longest_of(x.vectors, at) * (x.given_places.empty() ? at.q : longest_of(x.given, at));
}
double size_of(const math::KeyDistance& x, const Lengths& at) { return longest_of(x.vectors, at) * at.k; }
// A matrix makes no vector longer than by the root of its squares' sum; a sine and its cosine have length 1.
double size_of(const math::SineDistance& x, const Lengths& at) {
  const std::int64_t width = x.projection.shape[1];
  const double q = at.q + (x.added.empty() ? 0.0 : longest(x.added, at.channels));
  return q * longest(cpu::read_all(x.projection), at.channels * width) * std::sqrt(static_cast<double>(width + 1) / 2);
}
double size_of(const math::KeyVector& x, const Lengths& at) { return longest(x.vectors, at.channels) * at.k; }
double size_of(const math::Label& x, const Lengths& at) {
  return longest(x.vectors, at.channels) * at.q + largest(x.constants);
}
// Two rows, apart by at most twice the longest; the place between them moves with the gates, a quarter of what their
// scores move.
double size_of(const math::Running& x, const Lengths& at) {
  return longest(x.vectors, at.channels) * at.q * (2.0 + at.keys * (1.0 + at.content / 4));
}

bool is_content(const math::Term& term) { return math::part_of(term) == math::Part::content; }

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

LoweredSizes::LoweredSizes(const math::Lowered& lowered, const SchemeCall& call, double rotated)
    : lowered_(lowered), call_(call), rotated_(rotated), distance_(largest_distance(lowered.coordinates.front())) {
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  const std::size_t rows = call.q.values.size() / static_cast<std::size_t>(call.layer.head_dim);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t group = call.group_of(row);
    if (group < seen_.size()) continue;
    seen_.resize(group + 1);
    const std::vector<double> values = call.seen_by(row, call.v);
    Seen& seen = seen_[group];
    seen.longest_key = longest(call.seen_by(row, call.k), call.layer.head_dim);
    seen.longest_value = longest(values, call.layer.value_dim);
    seen.least.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(width));
    seen.most = seen.least;
    for (std::size_t n = 0; n < values.size(); ++n) {
      seen.least[n % width] = std::min(seen.least[n % width], values[n]);
      seen.most[n % width] = std::max(seen.most[n % width], values[n]);
    }
  }
}

ScoreSize LoweredSizes::score(std::size_t q_row) const {
  const auto channels = static_cast<std::size_t>(call_.layer.head_dim);
  Lengths at{.heads = call_.layer.heads,
             .channels = call_.layer.head_dim,
             .q = longest(std::span(call_.q.values).subspan(q_row * channels, channels), call_.layer.head_dim),
             .k = seen_[call_.group_of(q_row)].longest_key,
             .keys = static_cast<double>(call_.sizes.keys),
             .content = 0.0,
             .distance = distance_};
  // The dot product of a head, and the sum of terms: each a dot product of its own, of vectors that were projected,
  // from 10 channels at most.
  ScoreSize out{.roundings = static_cast<double>(call_.layer.head_dim + (lowered_.terms.empty() ? 0 : 10) +
                                                 std::ssize(lowered_.terms))};
  double product = at.q * at.k;
  for (const math::Rotation& rotation : lowered_.rotations) {
    const double exponent = largest(rotation.decay) * at.distance;
    product *= rotation.factor * rotation.factor * std::exp(exponent);
    out.roundings += rotated_ + (rotation.decay.empty() ? 0.0 : decayed_twice(exponent));
  }
  double content = product;
  for (const math::Term& term : lowered_.terms) {
    if (is_content(term)) content += std::visit([&](const auto& x) { return size_of(x, at); }, term);
  }
  at.content = content * largest(lowered_.row_scale);
  out.size = at.content;
  for (const math::Term& term : lowered_.terms) {
    if (!is_content(term)) out.size += std::visit([&](const auto& x) { return size_of(x, at); }, term);
    if (std::holds_alternative<math::Column>(term)) out.roundings += at.keys;
    // Bends are added one by one.
    if (const auto* knots = std::get_if<math::Knots>(&term)) out.roundings += static_cast<double>(knots->edges.size());
  }
  return out;
}

Values LoweredSizes::values(std::size_t q_row, std::size_t c) const {
  const Seen& seen = seen_[call_.group_of(q_row)];
  if (std::holds_alternative<math::ValueRotation>(lowered_.values)) {
    // Two rotations, that of the value and that of the output, each made two ways; a channel may have all of its pair.
    return {seen.longest_value, seen.longest_value, rotated_ + 2};
  }
  const auto* by_distance = std::get_if<math::ValueDistance>(&lowered_.values);
  const double added = by_distance == nullptr ? 0.0 : largest(by_distance->vectors);
  return {std::max(-seen.least[c], seen.most[c]) + added, (seen.most[c] - seen.least[c]) / 2 + added, 0.0};
}

}  // namespace posenc::test

// One primitive for one query and one key, in double; math/primitives.h has each formula. Tables are read by the
// distance of the pair, clamped as the primitive says.
#include "reference/lowered_terms.h"

#include <algorithm>
#include <cmath>

#include "posenc/reference.h"

namespace posenc::inline v0_2::reference {
namespace {

// Row r of [rows, channels].
std::span<const double> row_of(const std::vector<double>& values, std::int64_t r, std::int64_t channels) {
  return std::span(values).subspan(index(r * channels), index(channels));
}

// Lowering has checked that distances along the coordinate of a table are whole.
std::int64_t whole(double distance) { return static_cast<std::int64_t>(distance); }

// Outputs first .. first + count - 1 of W x + b.
std::vector<double> projected(const Linear& linear, std::span<const double> x, std::int64_t first, std::int64_t count) {
  std::vector<double> out(index(count));
  for (std::int64_t o = 0; o < count; ++o) {
    double& sum = out[index(o)];
    sum = linear.bias.empty() ? 0.0 : element(linear.bias, {first + o});
    for (std::int64_t c = 0; c < std::ssize(x); ++c) sum += element(linear.weight, {first + o, c}) * x[index(c)];
  }
  return out;
}

// Vector `place` of the pair's head.
std::vector<double> vector_of(const math::PlaceVectors& vectors, std::int64_t place, const Pair& pair) {
  const std::int64_t channels = pair.lowered.head_dim;
  if (!vectors.values.empty()) {
    const std::span own = row_of(vectors.values, (vectors.per_head ? pair.row.h * vectors.count : 0) + place, channels);
    return {own.begin(), own.end()};
  }
  std::vector<double> x(index(vectors.rows.shape[1]));
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = element(vectors.rows, {place, static_cast<std::int64_t>(c)});
  return projected(vectors.projection, x, pair.row.h * channels, channels);
}

// Of the pair's distance; -1: none.
std::int64_t place_of(const math::DistancePlaces& at, const Pair& pair) {
  return at.places[index(math::entry_of(at.low, std::ssize(at.places), whole(pair.distance(at.coordinate))))];
}

}  // namespace

std::span<const double> vector_at(const math::ValueDistance& values, const Pair& pair) {
  const std::int64_t place = place_of(values.at, pair);
  if (place < 0) return {};
  return row_of(values.vectors, (values.per_head ? pair.row.h * values.count : 0) + place, pair.lowered.value_dim);
}

// `of` gives all heads of a distance, of which one is read.
double value_of(const math::DistanceBias& term, const Pair& pair) {
  const std::int64_t entry = math::entry_of(term.low, term.count, whole(pair.distance(term.coordinate)));
  std::vector<double> heads(index(pair.lowered.heads));
  term.of(term.low + entry, heads);
  const double b = heads[index(pair.row.h)];
  return term.row_factor.empty() ? b : b * term.row_factor[index(pair.row.h * pair.lowered.q_rows + pair.q_row())];
}

double value_of(const math::LinearDistance& term, const Pair& pair) {
  const double d = pair.distance(term.coordinate);
  return term.slopes[index(pair.row.h)] * (term.symmetric ? std::abs(d) : d);
}

// lower_bound counts the edges that are below x: the number of the segment.
double value_of(const math::Knots& term, const Pair& pair) {
  const std::int64_t entry =
      math::entry_of(term.low, std::ssize(term.numerators), whole(pair.distance(term.coordinate)));
  const double x = term.numerators[index(entry)] * term.row_factor[index(pair.q_row())];
  const std::int64_t below = std::lower_bound(term.edges.begin(), term.edges.end(), x) - term.edges.begin();
  const std::size_t segment = index(pair.row.h * (std::ssize(term.edges) + 1) + below);
  return term.intercepts[segment] + term.slopes[segment] * x;
}

// A key after the query has no part in a sum of the past.
double value_of(const math::Column& term, const Pair& pair) {
  const Row& row = pair.row;
  if (term.is_of_past() && row.sequence.k.order[index(pair.j)] > row.sequence.q.order[index(row.i)]) return 0.0;
  return term.of_row(row.h, pair.q_row(), pair.lowered.k_rows) +
         term.columns[index(row.h * pair.lowered.k_rows + pair.k_row())];
}

double value_of(const math::QueryDistance& term, const Pair& pair) {
  const std::int64_t place = place_of(term.at, pair);
  if (place < 0) return 0.0;
  const std::vector<double> e = vector_of(term.vectors, place, pair);
  if (term.given_places.empty()) return dot(pair.row.q, e);
  return dot(vector_of(term.given, term.given_places[index(pair.q_row())], pair), e);
}

double value_of(const math::KeyDistance& term, const Pair& pair) {
  const std::int64_t place = place_of(term.at, pair);
  return place < 0 ? 0.0 : dot(pair.row.key(pair.j), vector_of(term.vectors, place, pair));
}

// (q + v) . W s(d), with W applied to the sines; a kernel may apply W^T to the query instead.
double value_of(const math::SineDistance& term, const Pair& pair) {
  const std::optional<std::int64_t> d = math::sine_place(term, whole(pair.distance(term.coordinate)));
  if (!d) return 0.0;
  std::vector<double> s;
  for (const math::Sinusoid& channel : term.channels) {
    const double angle = static_cast<double>(*d) * channel.inv_freq;
    using Wave = math::Sinusoid::Wave;
    s.push_back(channel.wave == Wave::sine ? std::sin(angle) : channel.wave == Wave::cosine ? std::cos(angle) : 0.0);
  }
  const std::int64_t channels = pair.lowered.head_dim;
  std::vector<double> q = pair.row.q;
  for (std::int64_t c = 0; c < channels && !term.added.empty(); ++c) {
    q[index(c)] += term.added[index(pair.row.h * channels + c)];
  }
  return dot(q, projected({.weight = term.projection}, s, pair.row.h * channels, channels));
}

double value_of(const math::KeyVector& term, const Pair& pair) {
  return dot(pair.row.key(pair.j), row_of(term.vectors, pair.row.h, pair.lowered.head_dim));
}

double value_of(const math::Label& term, const Pair& pair) {
  const bool differ = term.q_labels[index(pair.q_row())] != term.k_labels[index(pair.k_row())];
  const std::int64_t place = 2 * pair.row.h + (differ ? 1 : 0);
  return dot(pair.row.q, row_of(term.vectors, place, pair.lowered.head_dim)) + term.constants[index(place)];
}

// The lower of the two rows, and the step to the next; the last row has none.
double value_of(const math::Running& term, const Pair& pair) {
  const double p = std::min(pair.gates_after[index(pair.j)], static_cast<double>(term.count - 1));
  if (std::isnan(p)) return p;
  const auto below = static_cast<std::int64_t>(p);
  const double at_below = dot(pair.row.q, row_of(term.vectors, below, pair.lowered.head_dim));
  if (below + 1 == term.count) return at_below;
  const double at_next = dot(pair.row.q, row_of(term.vectors, below + 1, pair.lowered.head_dim));
  return at_below + (p - static_cast<double>(below)) * (at_next - at_below);
}

}  // namespace posenc::inline v0_2::reference

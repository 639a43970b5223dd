#include "reference/lowered_terms.h"

#include <algorithm>
#include <cmath>

namespace posenc::reference {
namespace {

// Row r of [rows, channels].
std::span<const double> row_of(const std::vector<double>& values, std::int64_t r, std::int64_t channels) {
  return std::span(values).subspan(index(r * channels), index(channels));
}

std::int64_t whole(double distance) { return static_cast<std::int64_t>(distance); }

}  // namespace

std::span<const double> vector_at(const math::DistancePlaces& at, const std::vector<double>& vectors, bool per_head,
                                  std::int64_t count, std::int64_t channels, const Pair& pair) {
  const std::int64_t entry = math::entry_of(at.low, std::ssize(at.places), whole(pair.distance(at.coordinate)));
  const std::int64_t place = at.places[index(entry)];
  if (place < 0) return {};
  return row_of(vectors, (per_head ? pair.row.h * count : 0) + place, channels);
}

double value_of(const math::DistanceBias& term, const Pair& pair) {
  const std::int64_t entry = math::entry_of(term.low, term.count, whole(pair.distance(term.coordinate)));
  const double b = term.values[index(pair.row.h * term.count + entry)];
  return term.row_factor.empty() ? b : b * term.row_factor[index(pair.row.h * pair.lowered.q_rows + pair.q_row())];
}

double value_of(const math::LinearDistance& term, const Pair& pair) {
  const double d = pair.distance(term.coordinate);
  return term.slopes[index(pair.row.h)] * (term.symmetric ? std::abs(d) : d);
}

double value_of(const math::Knots& term, const Pair& pair) {
  const std::int64_t entry =
      math::entry_of(term.low, std::ssize(term.numerators), whole(pair.distance(term.coordinate)));
  const double x = term.numerators[index(entry)] * term.row_factor[index(pair.q_row())];
  const std::int64_t below = std::lower_bound(term.edges.begin(), term.edges.end(), x) - term.edges.begin();
  const std::size_t segment = index(pair.row.h * (std::ssize(term.edges) + 1) + below);
  return term.intercepts[segment] + term.slopes[segment] * x;
}

double value_of(const math::Column& term, const Pair& pair) {
  const Row& row = pair.row;
  if (term.past_only && row.sequence.k.order[index(pair.j)] > row.sequence.q.order[index(row.i)]) return 0.0;
  const double of_row = term.rows.empty() ? 0.0 : term.rows[index(row.h * pair.lowered.q_rows + pair.q_row())];
  return of_row + term.columns[index(row.h * pair.lowered.k_rows + pair.k_row())];
}

double value_of(const math::QueryDistance& term, const Pair& pair) {
  const std::int64_t channels = pair.lowered.head_dim;
  const std::span e = vector_at(term.at, term.vectors, term.per_head, term.count, channels, pair);
  if (e.empty()) return 0.0;
  if (term.given.empty()) return dot(pair.row.q, e);
  return dot(row_of(term.given, pair.row.h * pair.lowered.q_rows + pair.q_row(), channels), e);
}

double value_of(const math::KeyDistance& term, const Pair& pair) {
  const std::span f = vector_at(term.at, term.vectors, true, term.count, pair.lowered.head_dim, pair);
  return f.empty() ? 0.0 : dot(pair.row.key(pair.j), f);
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
  const auto below = static_cast<std::int64_t>(p);
  const double at_below = dot(pair.row.q, row_of(term.vectors, below, pair.lowered.head_dim));
  if (below + 1 == term.count) return at_below;
  const double at_next = dot(pair.row.q, row_of(term.vectors, below + 1, pair.lowered.head_dim));
  return at_below + (p - static_cast<double>(below)) * (at_next - at_below);
}

}  // namespace posenc::reference

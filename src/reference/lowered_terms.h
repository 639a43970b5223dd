// One primitive for one query and one key; math/primitives.h says what each means. lowered_scores.cpp sums them.
#pragma once

#include <cstdint>
#include <span>

#include "math/primitives.h"
#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// A query and a key: their rows of the call index what a primitive keeps per token. `gates_after` is for math::Running
// alone and may be empty elsewhere.
struct Pair {
  const math::Lowered& lowered;
  const Row& row;
  std::int64_t j;
  std::span<const double> gates_after;  // [keys]

  std::int64_t q_row() const { return row.sequence.q.first_row + row.i; }
  std::int64_t k_row() const { return row.sequence.k.first_row + j; }
  double distance(std::int64_t coordinate) const {
    const math::Coordinate& at = lowered.coordinates[index(coordinate)];
    return at.q[index(q_row())] - at.k[index(k_row())];
  }
};

double value_of(const math::DistanceBias& term, const Pair& pair);
double value_of(const math::LinearDistance& term, const Pair& pair);
double value_of(const math::Knots& term, const Pair& pair);
double value_of(const math::Column& term, const Pair& pair);
double value_of(const math::QueryDistance& term, const Pair& pair);
double value_of(const math::KeyDistance& term, const Pair& pair);
double value_of(const math::SineDistance& term, const Pair& pair);
double value_of(const math::KeyVector& term, const Pair& pair);
double value_of(const math::Label& term, const Pair& pair);
double value_of(const math::Running& term, const Pair& pair);

// What a term adds to the value, [value_dim], or nothing where the distance has no place.
std::span<const double> vector_at(const math::ValueDistance& values, const Pair& pair);

}  // namespace posenc::inline v0_2::reference

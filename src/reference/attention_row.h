// One sequence of an attention call as doubles, and one query of it while its scores are made: q, the visible keys, the
// content scores x of posenc/reference_attend.h. Terms of the score stage read it (score_terms.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "posenc/reference_attend.h"

namespace posenc::inline v0_2::reference {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Coordinates are what schemes count by, an axis each; order is what masks count by. Where the call gives no positions,
// they are equal.
//
// Queries, or keys, of one sequence.
struct Tokens {
  ConstTensorView x{};                             // [rows, heads, channels]
  std::vector<std::vector<double>> coordinates{};  // [axes][rows]
  std::vector<std::int64_t> order{};               // [rows]
  std::int64_t first_row = 0;                      // of the call's rows: where per-token inputs of this sequence begin

  std::int64_t rows() const { return x.shape[0]; }
  std::vector<double> head(std::int64_t row, std::int64_t h) const;
};

// k and v have the same rows. `batch` is 0 for packed sequences.
struct Sequence {
  std::int64_t batch = 0;
  Tokens q;
  Tokens k;
  ConstTensorView v;  // [keys, kv_heads, value_dim]
};

// Query i of head h. What the terms of the score stage see.
struct Row {
  const LayerPlan& layer;
  const AttendArgs& args;
  const Sequence& sequence;
  std::int64_t h = 0;
  std::int64_t i = 0;
  std::vector<double> q{};   // [head_dim], as given
  std::vector<bool> seen{};  // [keys]: visible
  std::vector<double> x{};   // [keys]: once content terms are in it

  std::int64_t keys() const { return sequence.k.rows(); }
  // Heads of one GQA group are adjacent.
  std::int64_t kv_head() const { return h / (layer.heads / layer.kv_heads); }
  std::vector<double> key(std::int64_t j) const { return sequence.k.head(j, kv_head()); }
  double q_coordinate(std::int64_t axis = 0) const { return sequence.q.coordinates[index(axis)][index(i)]; }
  double k_coordinate(std::int64_t j, std::int64_t axis = 0) const {
    return sequence.k.coordinates[index(axis)][index(j)];
  }
  // i - j by position: above 0, the key is in the past.
  double distance(std::int64_t j, std::int64_t axis = 0) const { return q_coordinate(axis) - k_coordinate(j, axis); }
};

double dot(std::span<const double> a, std::span<const double> b);
// W x + b.
std::vector<double> transformed(const Linear& linear, std::span<const double> x);

}  // namespace posenc::inline v0_2::reference

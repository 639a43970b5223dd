// Gradients of the numbers of each primitive (math/primitives.h), of some heads. What each place means:
//
//   DistanceBias    floats [count]                                b
//   LinearDistance  doubles [1]                                   slope
//   Knots           doubles [segments][2] + [numerators]          intercept and slope of each segment; numerators
//   QueryDistance   floats [count][channels] + [given][channels]  E; G
//   KeyDistance     floats [count][channels]                      F
//   SineDistance    floats [channels][width] or [count][channels], + [channels]      W_h or W_h s(d); v
//   KeyVector       floats [channels]                             u
//   Label           floats [2][channels] + doubles [2]            S; constants
//   Running         floats [count][channels]                      E
//   ValueDistance   floats [count][value_dim]                     T
//
// Columns of keys and numbers of rows (Column, Knots) have room for each row of the call and stand in RowSums. Rows of
// channels are a whole number of registers apart.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/attend/attend_call.h"

namespace posenc::cpu {

struct TermSize {
  std::int64_t floats = 0;
  std::int64_t doubles = 0;
};

// Of one head.
TermSize size_of_term(const AttendCall& call, std::size_t t);
TermSize size_of_values(const AttendCall& call);

// Of some heads, one after another.
struct TermSums {
  TermSize size;
  AlignedFloats floats;
  std::vector<double> doubles;

  TermSums() = default;
  TermSums(const TermSize& of, std::int64_t heads)
      : size(of),
        floats(static_cast<std::size_t>(of.floats * heads)),
        doubles(static_cast<std::size_t>(of.doubles * heads)) {}

  float* floats_of(std::int64_t head) { return floats.data() + head * size.floats; }
  const float* floats_of(std::int64_t head) const { return floats.data() + head * size.floats; }
  double* doubles_of(std::int64_t head) { return doubles.data() + head * size.doubles; }
  const double* doubles_of(std::int64_t head) const { return doubles.data() + head * size.doubles; }
  void clear();
  // To heads from `first` on, those of `from`.
  void add(const TermSums& from, std::int64_t first);
};

// Of one term: a number for each head and key row, and for each head and query row.
struct RowSums {
  std::vector<double> of_keys;     // [heads][k_rows]: Column
  std::vector<double> of_queries;  // [heads][q_rows]: Column, Knots
};

}  // namespace posenc::cpu

// Which channels were rotated together, from what no angle changes: the length of each pair,
//
//   |y_p| = s |x_p|     s the attention factor, one for all pairs
//
// and channels outside the pairs stay as they are. Lengths of other pairs than the rotated ones do not agree: of
// unrelated normal numbers (1 - pi^2/16) of them is left, by the best s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnose/samples.h"
#include "math/rope/rotation.h"
#include "posenc/rope.h"

namespace posenc::inline v0_2::port {

// In `out` order the channels of a pair come out; other than `in`, the channels of the head were permuted on the way.
struct ChannelPairs {
  Pairing in = Pairing::half;
  Pairing out = Pairing::half;
  std::int64_t first = 0;
  std::int64_t dim = 0;
  std::vector<math::PairChannels> from{};  // [dim/2], of `before`
  std::vector<math::PairChannels> to{};    // [dim/2], of `after`

  std::size_t pairs() const { return from.size(); }
  bool permuted() const { return in != out; }
};

ChannelPairs channel_pairs(Pairing in, Pairing out, std::int64_t first, std::int64_t dim);

struct FittedPairs {
  ChannelPairs pairs;
  double rest = 0.0;  // sum of squares
  double freedom = 0.0;
  double share = 0.0;  // of the energy of after
};

struct PairSearch {
  FittedPairs best;
  std::vector<FittedPairs> as_good;  // others that noise does not tell from the best
  bool found = false;                // whether the best explains more than chance does
  double variance = 0.0;             // of noise, per element, by the best; at least that of rounding
  double freedom = 1.0;
};

// `expected`: of a plan, tried too. Interleaved pairs are taken as wide as the head: what does not rotate has angles of
// zero there, and the width is found with the frequencies.
PairSearch search_pairs(const Samples& samples, const Rope* expected);

// The pairs of a rope, seen so.
ChannelPairs expected_pairs(const Rope& rope, std::int64_t channels);

// What unrelated pairs of normal numbers leave: 1 - (E|x| E|y|)^2 / (E|x|^2 E|y|^2), lengths being Rayleigh
// distributed.
inline constexpr double kUnrelated = 1.0 - 3.14159265358979323846 * 3.14159265358979323846 / 16.0;

}  // namespace posenc::inline v0_2::port

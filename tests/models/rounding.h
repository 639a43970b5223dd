// What the roundings of a run do to its result, by experiment: every result of a step is moved by up to half a unit of
// its last place, at random.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

namespace posenc::test {

// Bits of the arithmetic that a publisher took each step in: 24 for float, 53 for double.
struct Roundings {
  int weights = 53;  // of the file, where the run had others
  int norms = 53;
  int sums = 53;     // projections, activations and sums
  int angles = 53;   // of rotations and sines, what comes of them, and what they rotate
  int scores = 53;   // products of q and k
  int softmax = 53;  // with the scores as it is given them
  std::uint64_t seed = 0;
  bool operator==(const Roundings&) const = default;
};

class Rounder {
 public:
  explicit Rounder(std::optional<Roundings> roundings = {})
      : roundings_(roundings), random_(roundings ? roundings->seed : 0) {}

  bool is_exact() const { return !roundings_; }
  int bits(int Roundings::*of) const { return roundings_ ? *roundings_.*of : 53; }

  // x, rounded `times` times. In double our own run does as much.
  double operator()(double x, int Roundings::*bits, int times = 1) { return x + error(x, bits, times); }

  // What that changes.
  double error(double x, int Roundings::*bits, int times = 1) {
    if (!roundings_ || x == 0) return 0.0;
    const int digits = *roundings_.*bits;
    double sum = 0.0;
    for (int n = 0; n < (digits == 53 ? 2 * times : times); ++n)
      sum += std::ldexp(uniform(), std::ilogb(x) + 1 - digits);
    return sum;
  }

 private:
  // [-1/2, 1/2). The engine's numbers are the same everywhere, those of std::uniform_real_distribution are not.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53 - 0.5; }

  std::optional<Roundings> roundings_;
  std::mt19937_64 random_;
};

}  // namespace posenc::test

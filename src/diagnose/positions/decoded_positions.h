// Where a token stood, from its angles and known frequencies: from the slowest pair, whose angle is the position but
// for whole turns, to the fastest, each settling the turns of the next, as the two scales of a vernier do.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

struct DecodedRow {
  double position = 0.0;  // whole, where a whole number is within its error
  double spread = 0.0;    // standard deviation of the position
  double rest = 0.0;      // sum w |z - c|^2 there
  bool holds = false;     // within noise and float32 angles
  bool sure = false;      // whole numbers are told apart
  bool first_hint_holds = false;
};

class PositionDecoder {
 public:
  // `axis_of_pair` of `axis`: only its pairs are read; empty: all.
  PositionDecoder(const MeasuredTable& table, const FrequencyList& frequencies,
                  std::span<const std::int32_t> axis_of_pair = {}, std::int32_t axis = 0);

  // `hints`: tried first, positions that are likely.
  DecodedRow decode(std::size_t row, std::span<const double> hints) const;
  // All rows, each with the expected position and the one after that of the row before as hints.
  std::vector<DecodedRow> decode_all(std::span<const double> expected) const;

  // Pairs that rotate: below four, one number explains too much.
  std::size_t informative() const { return order_.size(); }

 private:
  double refined(std::size_t row, double start) const;
  double angular_rest(std::size_t row, double position) const;

  const MeasuredTable& table_;
  const FrequencyList& frequencies_;
  std::vector<std::size_t> order_;  // pairs, slowest first
};

}  // namespace posenc::inline v0_2::port

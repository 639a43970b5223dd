// Rotations, their tables and positions out of the bytes of an input, and what a rotated row must be.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/calls/arguments.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"

namespace posenc::fuzz {

// Every shape of tests/rotate/schemes.h and some short ones, with every scaling rule; it passes check().
Rope rope_of(Arguments& arguments);

struct Rotation {
  Rope rope;
  TableOptions options;
  RotaryTable table;
};
// Held from some position on, or on demand; exact, or rounded in one of two ways.
Rotation rotation_of(Arguments& arguments, const Rope& rope);

// Positions that a call views: counted, or listed in one of three types.
class PositionList {
 public:
  // `count` of them, mostly near `low`, where tables are held; of calls that are to be refused, more or fewer, or
  // anything else.
  PositionList(Arguments& arguments, std::int64_t count, std::int64_t low);
  PositionList(const PositionList&) = delete;
  PositionList& operator=(const PositionList&) = delete;

  Positions view() const;

 private:
  int type_ = 0;
  std::int64_t start_ = 0;
  std::vector<std::int64_t> wide_;
  std::vector<std::int32_t> narrow_;
  std::vector<double> real_;
};

// What a row must be, and how far from that it may be.
struct RotatedRow {
  std::vector<double> values;  // [heads, head_dim]
  double size = 0.0;           // of cos and sin, at most
  double error = 0.0;          // of cos and sin
};

// [heads, head_dim] rotated by the reference, by coordinates [axes]. Nothing where there is no bound.
std::optional<RotatedRow> rotated_row(const Rotation& rotation, std::span<const double> x,
                                      std::span<const double> coordinates, Direction direction);
// Rotated from one place to another, in one rounding (rerotate).
std::optional<RotatedRow> rerotated_row(const Rotation& from, std::span<const double> from_coordinates,
                                        const Rotation& to, std::span<const double> to_coordinates,
                                        std::span<const double> x);

// The coordinates of a token: a row of all, of the `count` tokens of a sequence the n-th, which is `place` tokens
// after the first that is counted. As rotate.h has them.
struct TokenPlace {
  std::int64_t row = 0;
  std::int64_t rows = 0;   // of all sequences
  std::int64_t token = 0;  // of its own sequence of a batch
  std::int64_t tokens = 0;
  std::int64_t counted = 0;
};
std::vector<double> coordinates_of(const Positions& positions, std::int64_t axes, const TokenPlace& at);

}  // namespace posenc::fuzz

// A call of rotate out of the bytes of an input: one that is right, of which some things are then spoilt.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fuzz/calls/arguments.h"
#include "fuzz/calls/rotations.h"
#include "fuzz/calls/slots.h"
#include "posenc/rotate.h"

namespace posenc::fuzz {

class RotateCall {
 public:
  RotateCall(Arguments& arguments, Slots& slots);
  RotateCall(const RotateCall&) = delete;
  RotateCall& operator=(const RotateCall&) = delete;

  RotateArgs args;

  const Rotation& rotation_of_sequence(std::int64_t s) const { return rotations_[static_cast<std::size_t>(s)]; }
  // As many as a list of them has that is right.
  std::int64_t positions_count() const { return positions_count_; }
  std::vector<TensorView> written() const;
  std::vector<ConstTensorView> read() const;

 private:
  void give_sequences(Arguments& arguments, std::int64_t tokens);
  void give_pages(Arguments& arguments, Slots& slots, DType dtype, std::int64_t heads);
  void give_sources(Arguments& arguments, Slots& slots);
  void spoil(Arguments& arguments, const Slots& slots);

  std::deque<Rotation> rotations_;  // one, or one of each sequence
  std::vector<const RotaryTable*> tables_;
  std::int64_t positions_count_ = 0;
  std::optional<PositionList> positions_;
  std::vector<std::int32_t> cu_seqlens_, block_table_, first_;
};

}  // namespace posenc::fuzz

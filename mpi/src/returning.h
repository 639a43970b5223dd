// Gradients of a rank's own keys, which others make and send back. Two pieces of them are on their way or here at a
// time, however many ranks make some at once; they are added in the order of the turns, whenever they come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ring_messages.h"

namespace posenc::mpi_library {

// Where gradients of some rows of keys are: of k, v and gates, of those that are asked for.
using OfKeys = std::array<float*, 3>;

// Those of all the rank's keys of one of these, f32, and how many numbers a row has.
struct GradientRows {
  float* data;
  std::int64_t width;
  std::int64_t row_bytes() const { return width * std::int64_t{sizeof(float)}; }
};

class Returning {
 public:
  // Takes all memory; no message goes.
  Returning(const RingCall& call, const Schedule& schedule, std::vector<GradientRows> own);
  // Clears the rank's own, and asks for the first.
  void start();

  // Where the gradients of a piece are to be made. Those of the rank's own stay there: they are the first, and others'
  // are added to them.
  OfKeys room(const Piece& piece);
  // As many rows besides, and their addition to those.
  OfKeys more() { return of_room(kMore); }
  void add_more(const OfKeys& to, std::int64_t count) { add(of_room(kMore), to, count); }
  // What has been made in room() is whole: it goes to its owner.
  void give(const Piece& piece);
  // Adds what has come, and asks for what comes next; as often as MPI is to move.
  void advance();
  // Until what was given before has left, or until all has.
  void wait_for_leaving();
  void finish();

  std::int64_t sent = 0;  // bytes

 private:
  // Two rooms for what comes; two for what is made and what leaves, in turn; one for more.
  static constexpr std::int64_t kComing = 2;
  static constexpr std::int64_t kMade = kComing;
  static constexpr std::int64_t kMore = kMade + 2;
  static constexpr std::int64_t kRooms = kMore + 1;

  bool is_own(std::size_t n) const { return taken_[n].rank == call_.rank; }
  OfKeys of_own(const Piece& piece) const;
  OfKeys of_room(std::int64_t room);
  void ask();
  void add(const OfKeys& from, const OfKeys& to, std::int64_t count) const;

  const RingCall& call_;
  const std::vector<Taking>& taken_;  // in the order in which they are added
  std::vector<GradientRows> own_;
  std::deque<RowType> types_;
  std::int64_t piece_rows_;
  std::int64_t room_floats_ = 0;
  std::vector<float> memory_;
  std::vector<Requests> coming_;
  Requests leaving_;
  std::size_t next_ = 0;         // of taken_, to be added
  std::size_t next_asked_ = 0;   // of taken_, to be asked for
  std::int64_t added_ = 0;       // of others'
  std::int64_t asked_ = 0;       // of others'
  std::int64_t own_to_add_ = 0;  // made, and not passed by next_
  std::int64_t given_ = 0;       // to others
};

}  // namespace posenc::mpi_library

// Keys, values, gates and segments of a piece, on their way to all that need it. A piece is asked for before it is
// needed; nothing is freed that MPI still reads or writes, whatever is thrown.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "ring_call.h"
#include "schedule.h"

namespace posenc::mpi_library {

// A datatype of a row, so that the count of rows, not of bytes, is an int.
class RowType {
 public:
  explicit RowType(std::int64_t bytes);
  RowType(const RowType&) = delete;
  RowType& operator=(const RowType&) = delete;
  ~RowType() { MPI_Type_free(&type); }

  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// At most as many at a time as it was made for, so that a message takes no memory here. Waited for at the end, if not
// before.
class Requests {
 public:
  explicit Requests(std::size_t most) { all_.reserve(most); }
  Requests(Requests&&) noexcept = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  Requests& operator=(Requests&&) = delete;
  ~Requests() { wait(); }

  MPI_Request* next() { return &all_.emplace_back(MPI_REQUEST_NULL); }
  void wait();
  bool are_done(const char* where);

 private:
  std::vector<MPI_Request> all_;
};

// One piece here: its rows of each tensor, own or received.
struct Arrived {
  const Piece* piece = nullptr;
  std::vector<const std::byte*> data{};
};

// The pieces that this rank needs, one after another; those of others have room for as many as there are of the largest
// block, so that a block is on its way or here, with the one that is computed on.
class Keys {
 public:
  // Takes all memory; sends nothing.
  Keys(const RingCall& call, const Schedule& schedule);
  // This rank's own to all others that need any.
  void send();

  std::int64_t count() const { return std::ssize(schedule_.needed); }
  // The n-th; those before it are gone.
  const Arrived& take(std::int64_t n);
  // Messages move only while their rank calls MPI (MPI-3.1, 3.5), so a kernel that computes for long asks this as it
  // goes: for AttendArgs::keep_going and AttendBackwardArgs. Calls MPI, and `also`, on the thread that made it alone.
  // Always true.
  std::function<bool()> moving(const std::function<void()>& also = {});
  // k, v and what of the inputs goes with them, of a piece that was taken.
  ConstTensorView k(const Arrived& one) const { return of(call_.k, one, 0); }
  ConstTensorView v(const Arrived& one) const { return of(call_.v, one, 1); }
  void add_inputs(const Arrived& one, LayerInputs& to) const;

  std::int64_t sent = 0;  // bytes
  void finish() { sending_.wait(); }

 private:
  struct Travelling {
    const std::byte* own;
    std::int64_t row_bytes;
    std::int64_t offset;  // in a room, bytes
    RowType type;
    Travelling(const void* data, std::int64_t bytes, std::int64_t at)
        : own(static_cast<const std::byte*>(data)), row_bytes(bytes), offset(at), type(bytes) {}
  };
  bool is_own(std::int64_t n) const { return schedule_.needed[index(n)].owner == call_.rank; }
  const Piece& of_other(std::int64_t f) const { return schedule_.needed[index(others_[index(f)])]; }
  std::size_t room_of(std::int64_t f) const { return index(f) % rooms_.size(); }
  bool has_room() const { return asked_ < std::ssize(others_) && asked_ < gone_ + std::ssize(rooms_); }
  void ask();
  // Pieces are asked for one by one, or they would come side by side, and all at the end.
  void advance();
  static ConstTensorView of(ConstTensorView x, const Arrived& one, std::size_t which);

  const RingCall& call_;
  const Schedule& schedule_;
  std::deque<Travelling> tensors_;
  std::vector<std::int64_t> others_;  // which of those needed are others', in order
  std::vector<std::byte> memory_;     // of all rooms
  std::int64_t room_bytes_ = 0;
  std::vector<Requests> rooms_;  // of what comes into each
  std::int64_t asked_ = 0;       // of others'
  std::int64_t gone_ = 0;
  Arrived here_;
  Requests sending_;
};

}  // namespace posenc::mpi_library

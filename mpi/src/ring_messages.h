// What goes round: keys, values, gates and segments of a piece to all that need it, and gradients of them back to its
// owner. All is posted before it is needed; nothing is freed that MPI still reads or writes, whatever is thrown.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "ring_call.h"

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

// Waited for at the end, if not before.
struct Requests {
  std::vector<MPI_Request> all{};

  Requests() = default;
  Requests(Requests&& other) noexcept : all(std::exchange(other.all, {})) {}
  Requests& operator=(Requests&& other) noexcept;
  ~Requests() { wait(); }
  void wait();
  bool are_done(const char* where);
};

// One piece here: its rows of each tensor, own or received.
struct Arrived {
  const Piece* piece = nullptr;
  std::vector<const std::byte*> data{};
  std::vector<std::vector<std::byte>> memory{};
  Requests requests{};
};

// The pieces that this rank needs, one after another, the next block on its way meanwhile.
class Keys {
 public:
  // Sends this rank's own to all others that need any.
  Keys(const RingCall& call, const Schedule& schedule);

  std::int64_t count() const { return std::ssize(needed_); }
  // The n-th; those before it are gone.
  const Arrived& take(std::int64_t n);
  // Messages move only while their rank calls MPI (MPI-3.1, 3.5), so a kernel that computes for long asks this as it
  // goes: for AttendArgs::keep_going and AttendBackwardArgs. Calls MPI, and `also`, on the thread that made it alone.
  // Always true.
  std::function<bool()> moving(const std::function<void()>& also = {});
  // k, v and what of the inputs goes with them, of a piece that was taken.
  ConstTensorView k(const Arrived& one) const { return of(call_.k, one, 0); }
  ConstTensorView v(const Arrived& one) const { return of(call_.v, one, 1); }
  LayerInputs inputs(const Arrived& one) const;

  std::int64_t sent = 0;  // bytes
  void finish() { sending_.wait(); }

 private:
  struct Travelling {
    const std::byte* own;
    std::int64_t row_bytes;
  };
  void ask(std::int64_t n);
  // Parts of a block are asked for one by one, or they would come side by side, and all at the end.
  void advance();
  std::size_t block_of(std::int64_t n) const { return schedule_.pieces[index(needed_[index(n)])].block; }
  static ConstTensorView of(ConstTensorView x, const Arrived& one, std::size_t which);

  const RingCall& call_;
  const Schedule& schedule_;
  std::vector<Travelling> tensors_;
  std::vector<std::int64_t> needed_;
  std::vector<Arrived> arrived_;
  std::int64_t asked_ = 0;  // from the first
  std::int64_t allowed_ = 0;
  Requests sending_;
};

// What a rank has thrown while it computed. Its messages go on, so that no other waits for what never comes; at the end
// all ranks throw.
class Failure {
 public:
  void attempt(const std::function<void()>& compute);
  // Throws on all ranks where any has failed, this one its own error.
  void settle(const RingCall& call) const;

 private:
  std::exception_ptr thrown_;
};

}  // namespace posenc::mpi_library

#include "ring_messages.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace posenc::mpi_library {
namespace {

constexpr int kKeys = 7002;
constexpr std::chrono::microseconds kBetween{100};  // a message of TCP moves some 100 KiB meanwhile
constexpr std::size_t kMostTensors = 4;             // k, v, gates, segments
constexpr std::int64_t kAlignment = 64;             // of each in a room, bytes

}  // namespace

RowType::RowType(std::int64_t bytes) {
  MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
  MPI_Type_commit(&type);
}

void Requests::wait() {
  if (!all_.empty()) MPI_Waitall(static_cast<int>(all_.size()), all_.data(), MPI_STATUSES_IGNORE);
  all_.clear();
}

bool Requests::are_done(const char* where) {
  int is_done = 1;
  if (!all_.empty()) {
    require(where, MPI_Testall(static_cast<int>(all_.size()), all_.data(), &is_done, MPI_STATUSES_IGNORE));
  }
  return is_done != 0;
}

Keys::Keys(const RingCall& call, const Schedule& schedule)
    : call_(call), schedule_(schedule), sending_(kMostTensors * schedule.taken.size()) {
  const auto add = [&](const void* data, std::int64_t bytes) {
    tensors_.emplace_back(data, bytes, room_bytes_);
    room_bytes_ += (bytes * schedule.piece_rows + kAlignment - 1) / kAlignment * kAlignment;
  };
  const LayerInputs& inputs = call.inputs;
  add(call.k.data, row_bytes(call.k));
  add(call.v.data, row_bytes(call.v));
  if (!inputs.log_forget.empty()) add(inputs.log_forget.data, row_bytes(inputs.log_forget));
  if (call.has_segments()) add(inputs.k_segments.data(), std::int64_t{sizeof(std::int32_t)});
  for (std::int64_t n = 0; n < count(); ++n) {
    if (!is_own(n)) others_.push_back(n);
  }
  const std::int64_t rooms = std::min<std::int64_t>(schedule.parts, std::ssize(others_));
  memory_.resize(index(rooms * room_bytes_));
  for (std::int64_t n = 0; n < rooms; ++n) rooms_.emplace_back(kMostTensors);
  here_.data.reserve(kMostTensors);
}

void Keys::send() {
  for (const Taking& one : schedule_.taken) {
    if (one.rank == call_.rank) continue;
    for (const Travelling& tensor : tensors_) {
      require(call_.where, MPI_Isend(tensor.own + one.piece.first * tensor.row_bytes, static_cast<int>(one.piece.count),
                                     tensor.type.type, one.rank, kKeys, call_.comm, sending_.next()));
      sent += one.piece.count * tensor.row_bytes;
    }
  }
}

void Keys::ask() {
  const Piece& piece = of_other(asked_);
  std::byte* const room = memory_.data() + static_cast<std::int64_t>(room_of(asked_)) * room_bytes_;
  Requests& requests = rooms_[room_of(asked_)];
  ++asked_;
  for (const Travelling& tensor : tensors_) {
    require(call_.where, MPI_Irecv(room + tensor.offset, static_cast<int>(piece.count), tensor.type.type, piece.owner,
                                   kKeys, call_.comm, requests.next()));
  }
}

const Arrived& Keys::take(std::int64_t n) {
  const auto next = std::ranges::lower_bound(others_, n) - others_.begin();  // others' before this one
  gone_ = next;
  here_.piece = &schedule_.needed[index(n)];
  here_.data.clear();
  if (is_own(n)) {
    if (asked_ == next && has_room()) ask();
    for (const Travelling& tensor : tensors_) {
      here_.data.push_back(tensor.own + here_.piece->first * tensor.row_bytes);
    }
    return here_;
  }
  if (asked_ == next) ask();
  // Of another rank it shares no link with this one, but that to this rank.
  if (asked_ == next + 1 && has_room() && of_other(asked_).owner != here_.piece->owner) ask();
  rooms_[room_of(next)].wait();
  if (asked_ == next + 1 && has_room()) ask();
  for (const Travelling& tensor : tensors_) {
    here_.data.push_back(memory_.data() + static_cast<std::int64_t>(room_of(next)) * room_bytes_ + tensor.offset);
  }
  return here_;
}

void Keys::advance() {
  if (has_room() && (asked_ == 0 || rooms_[room_of(asked_ - 1)].are_done(call_.where))) ask();
  int is_there = 0;  // what is sent moves too
  require(call_.where, MPI_Iprobe(MPI_ANY_SOURCE, kKeys, call_.comm, &is_there, MPI_STATUS_IGNORE));
}

std::function<bool()> Keys::moving(const std::function<void()>& also) {
  return [this, also, caller = std::this_thread::get_id(), last = std::chrono::steady_clock::time_point{}]() mutable {
    if (std::this_thread::get_id() != caller) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kBetween) return true;
    last = now;
    advance();
    if (also) also();
    return true;
  };
}

ConstTensorView Keys::of(ConstTensorView x, const Arrived& one, std::size_t which) {
  x.data = one.data[which];
  x.shape[0] = one.piece->count;
  return x;
}

void Keys::add_inputs(const Arrived& one, LayerInputs& to) const {
  std::size_t next = 2;
  if (!to.log_forget.empty()) to.log_forget = of(to.log_forget, one, next++);
  if (call_.has_segments()) {
    to.k_segments = {reinterpret_cast<const std::int32_t*>(one.data[next]), index(one.piece->count)};
  }
}

}  // namespace posenc::mpi_library

#include "ring_messages.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "posenc/error.h"

namespace posenc::mpi_library {
namespace {

constexpr int kKeys = 7002;
constexpr std::chrono::microseconds kBetween{100};  // a message of TCP moves some 100 KiB meanwhile

}  // namespace

RowType::RowType(std::int64_t bytes) {
  MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
  MPI_Type_commit(&type);
}

Requests& Requests::operator=(Requests&& other) noexcept {
  if (this == &other) return *this;
  wait();
  all = std::exchange(other.all, {});
  return *this;
}

void Requests::wait() {
  if (!all.empty()) MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  all.clear();
}

bool Requests::are_done(const char* where) {
  int is_done = 1;
  if (!all.empty()) {
    require(where, MPI_Testall(static_cast<int>(all.size()), all.data(), &is_done, MPI_STATUSES_IGNORE));
  }
  return is_done != 0;
}

Keys::Keys(const RingCall& call, const Schedule& schedule)
    : call_(call), schedule_(schedule), needed_(schedule.of_rank(call.rank)), arrived_(needed_.size()) {
  const auto add = [&](const void* data, std::int64_t bytes) {
    tensors_.push_back({static_cast<const std::byte*>(data), bytes});
  };
  const LayerInputs& inputs = call.inputs;
  add(call.k.data, row_bytes(call.k));
  add(call.v.data, row_bytes(call.v));
  if (!inputs.log_forget.empty()) add(inputs.log_forget.data, row_bytes(inputs.log_forget));
  if (call.has_segments()) add(inputs.k_segments.data(), std::int64_t{sizeof(std::int32_t)});
  for (const std::vector<std::int64_t>& turn : schedule.turns) {
    for (int to = 0; to < call.ranks; ++to) {
      const std::int64_t p = turn[index(to)];
      if (p < 0 || to == call.rank || schedule.pieces[index(p)].owner != call.rank) continue;
      const Piece& piece = schedule.pieces[index(p)];
      for (const Travelling& one : tensors_) {
        const RowType type(one.row_bytes);
        require(call.where, MPI_Isend(one.own + piece.first * one.row_bytes, static_cast<int>(piece.count()), type.type,
                                      to, kKeys, call.comm, &sending_.all.emplace_back(MPI_REQUEST_NULL)));
        sent += piece.count() * one.row_bytes;
      }
    }
  }
}

void Keys::ask(std::int64_t n) {
  Arrived& to = arrived_[index(n)];
  if (to.piece != nullptr) return;
  asked_ = n + 1;
  to.piece = &schedule_.pieces[index(needed_[index(n)])];
  for (const Travelling& one : tensors_) {
    if (to.piece->owner == call_.rank) {
      to.data.push_back(one.own + to.piece->first * one.row_bytes);
      continue;
    }
    std::vector<std::byte>& memory = to.memory.emplace_back(index(to.piece->count() * one.row_bytes));
    to.data.push_back(memory.data());
    const RowType type(one.row_bytes);
    require(call_.where, MPI_Irecv(memory.data(), static_cast<int>(to.piece->count()), type.type, to.piece->owner,
                                   kKeys, call_.comm, &to.requests.all.emplace_back(MPI_REQUEST_NULL)));
  }
}

const Arrived& Keys::take(std::int64_t n) {
  if (n > 0) arrived_[index(n - 1)].memory.clear();
  ask(n);
  allowed_ = std::min(n + 2, count());
  while (allowed_ < count() && block_of(allowed_) == block_of(allowed_ - 1)) ++allowed_;
  if (n + 1 < count() && block_of(n + 1) != block_of(n)) ask(n + 1);
  arrived_[index(n)].requests.wait();
  if (n + 1 < count()) ask(n + 1);
  return arrived_[index(n)];
}

void Keys::advance() {
  if (arrived_[index(asked_ - 1)].requests.are_done(call_.where) && asked_ < allowed_) ask(asked_);
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
  x.shape[0] = one.piece->count();
  return x;
}

LayerInputs Keys::inputs(const Arrived& one) const {
  LayerInputs out = call_.inputs_of(*one.piece->rows);
  std::size_t next = 2;
  if (!out.log_forget.empty()) out.log_forget = of(out.log_forget, one, next++);
  if (call_.has_segments()) {
    out.k_segments = {reinterpret_cast<const std::int32_t*>(one.data[next]), index(one.piece->count())};
  }
  return out;
}

void Failure::attempt(const std::function<void()>& compute) {
  if (thrown_) return;
  try {
    compute();
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

void Failure::settle(const RingCall& call) const {
  const int own = thrown_ ? call.rank : call.ranks;
  int first = call.ranks;
  require(call.where, MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, call.comm));
  if (thrown_) std::rethrow_exception(thrown_);
  if (first < call.ranks) {
    throw Error(call.where, {"args", "be computed by all ranks", "refused by rank " + std::to_string(first)});
  }
}

}  // namespace posenc::mpi_library

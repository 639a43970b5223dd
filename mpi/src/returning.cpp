#include "returning.h"

#include <algorithm>
#include <utility>

namespace posenc::mpi_library {
namespace {

constexpr int kGradients = 7003;

}  // namespace

Returning::Returning(const RingCall& call, const Schedule& schedule, std::vector<GradientRows> own)
    : call_(call),
      taken_(schedule.taken),
      own_(std::move(own)),
      piece_rows_(schedule.piece_rows),
      leaving_(own_.size()) {
  for (const GradientRows& one : own_) {
    types_.emplace_back(one.row_bytes());
    room_floats_ += piece_rows_ * one.width;
  }
  memory_.resize(index(kRooms * room_floats_));
  for (std::int64_t n = 0; n < kComing; ++n) coming_.emplace_back(own_.size());
}

void Returning::start() {
  for (const GradientRows& one : own_) std::fill_n(one.data, call_.k_rows() * one.width, 0.0F);
  ask();
}

OfKeys Returning::of_own(const Piece& piece) const {
  OfKeys out{};
  for (std::size_t n = 0; n < own_.size(); ++n) out[n] = own_[n].data + piece.first * own_[n].width;
  return out;
}

OfKeys Returning::of_room(std::int64_t room) {
  OfKeys out{};
  float* next = memory_.data() + room * room_floats_;
  for (std::size_t n = 0; n < own_.size(); ++n) {
    out[n] = next;
    next += piece_rows_ * own_[n].width;
  }
  return out;
}

OfKeys Returning::room(const Piece& piece) {
  return piece.owner == call_.rank ? of_own(piece) : of_room(kMade + given_ % 2);
}

void Returning::add(const OfKeys& from, const OfKeys& to, std::int64_t count) const {
  for (std::size_t n = 0; n < own_.size(); ++n) {
    for (std::int64_t at = 0; at < count * own_[n].width; ++at) to[n][at] += from[n][at];
  }
}

void Returning::ask() {
  for (; next_asked_ < taken_.size(); ++next_asked_) {
    if (is_own(next_asked_)) continue;
    if (asked_ - added_ == kComing) return;
    const Taking& one = taken_[next_asked_];
    const std::int64_t room = asked_++ % kComing;
    const OfKeys to = of_room(room);
    for (std::size_t n = 0; n < own_.size(); ++n) {
      require(call_.where, MPI_Irecv(to[n], static_cast<int>(one.piece.count), types_[n].type, one.rank, kGradients,
                                     call_.comm, coming_[index(room)].next()));
    }
  }
}

void Returning::give(const Piece& piece) {
  if (piece.owner == call_.rank) {
    ++own_to_add_;
    advance();
    return;
  }
  wait_for_leaving();
  const OfKeys made = room(piece);
  for (std::size_t n = 0; n < own_.size(); ++n) {
    require(call_.where, MPI_Isend(made[n], static_cast<int>(piece.count), types_[n].type, piece.owner, kGradients,
                                   call_.comm, leaving_.next()));
    sent += piece.count * own_[n].row_bytes();
  }
  ++given_;
}

void Returning::advance() {
  for (; next_ < taken_.size(); ++next_) {
    if (is_own(next_)) {
      if (own_to_add_ == 0) return;
      --own_to_add_;
      continue;
    }
    const std::int64_t room = added_ % kComing;
    if (!coming_[index(room)].are_done(call_.where)) return;
    coming_[index(room)].wait();
    add(of_room(room), of_own(taken_[next_].piece), taken_[next_].piece.count);
    ++added_;
    ask();
  }
}

// Another's may leave only once this rank has taken what that one sends.
void Returning::wait_for_leaving() {
  while (!leaving_.are_done(call_.where)) advance();
  leaving_.wait();
}

void Returning::finish() {
  while (next_ < taken_.size()) advance();
  wait_for_leaving();
}

}  // namespace posenc::mpi_library

#include "returning.h"

#include <algorithm>
#include <cstddef>

namespace posenc::mpi_library {
namespace {

constexpr int kGradients = 7003;
constexpr std::int64_t kAtATime = 2;

}  // namespace

Returning::Returning(const RingCall& call, const Schedule& schedule, std::vector<GradientRows> own)
    : call_(call), own_(std::move(own)) {
  for (const std::vector<std::int64_t>& turn : schedule.turns) {
    const auto add_from = [&](int from) {
      const std::int64_t p = turn[index(from)];
      if (p < 0 || schedule.pieces[index(p)].owner != call.rank) return;
      awaited_.push_back({.piece = &schedule.pieces[index(p)], .from = from});
    };
    add_from(call.rank);
    for (int from = 0; from < call.ranks; ++from) {
      if (from != call.rank) add_from(from);
    }
  }
  ask();
}

OfKeys Returning::room(const Piece& piece) const {
  OfKeys out;
  for (const GradientRows& one : own_) out.tensors.emplace_back(index(piece.count() * one.width));
  return out;
}

void Returning::ask() {
  std::int64_t asked = 0;
  for (Awaited& one : awaited_) {
    if (one.from == call_.rank) continue;
    if (asked++ == kAtATime) return;
    if (one.is_asked) continue;
    one.is_asked = true;
    one.gradients = room(*one.piece);
    for (std::size_t n = 0; n < own_.size(); ++n) {
      const RowType type(own_[n].row_bytes());
      require(call_.where,
              MPI_Irecv(one.gradients.tensors[n].data(), static_cast<int>(one.piece->count()), type.type, one.from,
                        kGradients, call_.comm, &one.gradients.requests.all.emplace_back(MPI_REQUEST_NULL)));
    }
  }
}

void Returning::add(const Awaited& one) {
  for (std::size_t n = 0; n < own_.size(); ++n) {
    float* const to = own_[n].data + one.piece->first * own_[n].width;
    const std::vector<float>& more = one.gradients.tensors[n];
    for (std::size_t at = 0; at < more.size(); ++at) to[at] += more[at];
  }
}

void Returning::give(const Piece& piece, OfKeys made) {
  if (piece.owner == call_.rank) {
    const auto own =
        std::ranges::find_if(awaited_, [&](const Awaited& one) { return one.from == call_.rank && !one.is_here; });
    own->gradients = std::move(made);
    own->is_here = true;
    advance();
    return;
  }
  wait_for_leaving();
  leaving_ = std::move(made);
  for (std::size_t n = 0; n < own_.size(); ++n) {
    const RowType type(own_[n].row_bytes());
    require(call_.where, MPI_Isend(leaving_.tensors[n].data(), static_cast<int>(piece.count()), type.type, piece.owner,
                                   kGradients, call_.comm, &leaving_.requests.all.emplace_back(MPI_REQUEST_NULL)));
    sent += piece.count() * own_[n].row_bytes();
  }
}

void Returning::advance() {
  while (!awaited_.empty()) {
    Awaited& first = awaited_.front();
    const bool is_here = first.from == call_.rank ? first.is_here : first.gradients.requests.are_done(call_.where);
    if (!is_here) return;
    add(first);
    awaited_.pop_front();
    ask();
  }
}

// Another's may leave only once this rank has taken what that one sends.
void Returning::wait_for_leaving() {
  while (!leaving_.requests.are_done(call_.where)) advance();
  leaving_ = {};
}

void Returning::finish() {
  while (!awaited_.empty()) advance();
  wait_for_leaving();
}

}  // namespace posenc::mpi_library

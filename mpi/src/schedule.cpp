#include "schedule.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "ring_call.h"

namespace posenc::mpi_library {
namespace {

// Of two parts the five of gradients (returning.h) would be two and a half blocks of these: too much where keys are of
// 16 bits. Of three they are one and two thirds; four leave less to be computed when all has come.
constexpr std::int64_t kFewestParts = 3;
constexpr std::int64_t kMostParts = 4;

}  // namespace

Schedule::Schedule(const RingCall& call, bool is_backward) {
  const std::int64_t largest = call.largest_block();
  parts = std::clamp(largest / call.part_rows, kFewestParts, kMostParts);
  piece_rows = std::max<std::int64_t>((largest + parts - 1) / parts, 1);
  if (call.in_runs()) {
    in_runs(call, is_backward);
  } else {
    in_blocks(call);
  }
  std::ranges::stable_sort(
      taken, {}, [&](const Taking& one) { return std::tuple(one.turn, one.rank == call.rank ? 0 : 1, one.rank); });
}

void Schedule::add(const RingCall& call, std::int64_t turn, int taker, const Piece& piece) {
  if (taker == call.rank) needed.push_back(piece);
  if (piece.owner == call.rank) taken.push_back({turn, taker, piece});
}

void Schedule::in_runs(const RingCall& call, bool is_backward) {
  ShardRuns made = runs_of(call.keys);
  runs = std::move(made.runs);
  const ShardWork work = shard_work(call.queries, runs, call.layer.mask, call.inputs.prefix);
  std::vector<std::int64_t> before(call.keys.ranks.size());
  std::vector<std::pair<std::size_t, Piece>> pieces;  // with the run of each
  for (std::size_t n = 0; n < made.owners.size(); ++n) {
    std::int64_t& first = before[index(made.owners[n])];
    const Piece run{static_cast<int>(made.owners[n]), first, std::ssize(runs.ranks[n].rows), &runs.ranks[n]};
    for (const Piece& piece : cut(run)) pieces.emplace_back(n, piece);
    first += run.count;
  }
  if (!is_backward) std::ranges::reverse(pieces);
  for (std::int64_t turn = 0; turn < std::ssize(pieces); ++turn) {
    const auto& [run, piece] = pieces[index(turn)];
    for (int taker = 0; taker < call.ranks; ++taker) {
      if (work.pairs_of(taker, static_cast<std::int64_t>(run)) > 0) add(call, turn, taker, piece);
    }
  }
}

void Schedule::in_blocks(const RingCall& call) {
  const ShardWork work = shard_work(call.queries, call.keys, call.layer.mask, call.inputs.prefix);
  for (int taker = 0; taker < call.ranks; ++taker) {
    std::int64_t turn = 0;
    for (int step = 0; step < call.ranks; ++step) {
      const int owner = (taker - step + call.ranks) % call.ranks;
      if (work.pairs_of(taker, owner) == 0) continue;
      const Shard& rows = call.keys.ranks[index(owner)];
      const Piece block{owner, 0, std::ssize(rows.rows), &rows};
      if (owner == taker) {
        add(call, turn++, taker, block);
        continue;
      }
      if (taker != call.rank && owner != call.rank) {
        turn += parts_of(block.count);
        continue;
      }
      for (const Piece& piece : cut(block)) add(call, turn++, taker, piece);
    }
  }
}

std::int64_t Schedule::parts_of(std::int64_t rows) const {
  return std::max<std::int64_t>((rows + piece_rows - 1) / piece_rows, 1);
}

std::vector<Piece> Schedule::cut(const Piece& whole) const {
  const std::int64_t count = parts_of(whole.count);
  std::vector<Piece> out;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t first = whole.count * n / count;
    const std::int64_t end = whole.count * (n + 1) / count;
    out.push_back({whole.owner, whole.first + first, end - first, whole.rows, whole.offset + first});
  }
  return out;
}

}  // namespace posenc::mpi_library

#include "schedule.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "posenc/distributed/shard.h"
#include "posenc/error.h"
#include "ring_call.h"

namespace posenc::mpi_library {
namespace {

// Of two parts the five of gradients (returning.h) would be two and a half blocks of these: too much where keys are of
// 16 bits. Of three they are one and two thirds; four leave less to be computed when all has come.
constexpr std::int64_t kFewestParts = 3;
constexpr std::int64_t kMostParts = 4;

// Between the queries of each rank and a run's keys.
ShardWork work_of_run(const RingCall& call, const ShardRun& run) {
  const Shard& owners = call.keys.ranks[index(run.owner)];
  RowInputs of_keys;
  of_keys.place(owners, run.first, run.count);
  Sharding one{.tokens = run.count, .documents = call.keys.documents};
  one.ranks.push_back(
      {.order = {of_keys.order.begin(), of_keys.order.end()}, .cu_seqlens = std::move(of_keys.cu_seqlens)});
  return shard_work(call.queries, one, call.layer.mask, call.inputs.prefix);
}

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

namespace {

std::vector<ShardRun> runs_of_keys(const RingCall& call) {
  try {
    return list_runs(call.keys);
  } catch (const Error& error) {  // the name of the call that was made
    throw Error(call.where, error.problem());
  }
}

}  // namespace

// A run's rows lie beside each other among its owner's, so that no list of them is made but of one at a time, to count.
void Schedule::in_runs(const RingCall& call, bool is_backward) {
  const std::vector<ShardRun> runs = runs_of_keys(call);
  std::vector<std::pair<std::size_t, Piece>> pieces;  // with the run of each
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto& [owner, first, count] = runs[n];
    for (const Piece& piece : cut({static_cast<int>(owner), first, count})) pieces.emplace_back(n, piece);
  }
  if (!is_backward) std::ranges::reverse(pieces);
  ShardWork work;
  for (std::int64_t turn = 0; turn < std::ssize(pieces); ++turn) {
    const auto& [run, piece] = pieces[index(turn)];
    if (turn == 0 || run != pieces[index(turn - 1)].first) work = work_of_run(call, runs[run]);
    for (int taker = 0; taker < call.ranks; ++taker) {
      if (work.pairs_of(taker, 0) > 0) add(call, turn, taker, piece);
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
      const Piece block{owner, 0, std::ssize(call.keys.ranks[index(owner)].rows)};
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
    out.push_back({whole.owner, whole.first + first, end - first});
  }
  return out;
}

}  // namespace posenc::mpi_library

// shard() of posenc/distributed/shard.h: which rank has which row, by each way of dealing; then what each rank holds.
#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/distributed/shard.h"
#include "posenc/error.h"
#include "shard/document_rows.h"

namespace posenc::inline v0_2 {
namespace {

using cpu::index;

constexpr const char* kShard = "shard";
constexpr std::int64_t kMostRanks = 65536;
constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();  // cu_seqlens are of 32 bits
constexpr std::int64_t kBalancedBlock = 64;                                     // keys of a tile of attend

[[noreturn]] void refuse(std::string field, std::string must, std::string is) {
  throw Error(kShard, {std::move(field), std::move(must), std::move(is)});
}

std::vector<std::int64_t> ends_of(const ShardArgs& args) {
  if (args.cu_seqlens.empty()) return {0, args.tokens};
  if (args.cu_seqlens.size() < 2) refuse("cu_seqlens", "have two numbers or more", "1 long");
  if (args.cu_seqlens.front() != 0) refuse("cu_seqlens", "begin with 0", formatted("{}", args.cu_seqlens.front()));
  for (std::size_t d = 1; d < args.cu_seqlens.size(); ++d) {
    if (args.cu_seqlens[d] >= args.cu_seqlens[d - 1]) continue;
    refuse(formatted("cu_seqlens[{}]", d), formatted("be at least {}", args.cu_seqlens[d - 1]),
           formatted("{}", args.cu_seqlens[d]));
  }
  if (args.tokens != 0 && args.tokens != args.cu_seqlens.back()) {
    refuse("tokens", formatted("be the last of cu_seqlens, {}, or omitted", args.cu_seqlens.back()),
           formatted("{}", args.tokens));
  }
  return {args.cu_seqlens.begin(), args.cu_seqlens.end()};
}

void require_size(const char* field, std::int64_t is, std::int64_t must) {
  if (is != must) refuse(field, formatted("have {} numbers", must), formatted("{} long", is));
}

void check(const ShardArgs& args, std::int64_t tokens) {
  if (args.ranks < 1 || args.ranks > kMostRanks) {
    refuse("ranks", formatted("be from 1 to {}", kMostRanks), formatted("{}", args.ranks));
  }
  if (args.dealing > Dealing::balanced) {
    refuse("dealing", "be contiguous, zigzag, striped or balanced", formatted("{}", static_cast<int>(args.dealing)));
  }
  if (tokens < 0 || tokens > kMostTokens) {
    refuse("tokens", formatted("be from 0 to {}", kMostTokens), formatted("{}", tokens));
  }
  if (args.block < 0) refuse("block", "be 0 or more", formatted("{}", args.block));
  if (!args.order.empty()) require_size("order", std::ssize(args.order), tokens);
  if (!args.token_work.empty()) {
    require_size("token_work", std::ssize(args.token_work), tokens);
    if (args.dealing != Dealing::balanced) refuse("token_work", "be omitted but where dealing is balanced", "given");
    for (const double work : args.token_work) {
      if (!(work >= 0.0 && work <= 1e15)) refuse("token_work", "be from 0 to 1e15", formatted("{}", work));
    }
  }
  if (args.dealing == Dealing::balanced && args.token_work.empty()) cpu::require_mask_by_order(kShard, args.mask);
  if (args.rank_tokens.empty()) return;
  if (args.dealing != Dealing::contiguous) refuse("rank_tokens", "be omitted but where dealing is contiguous", "given");
  require_size("rank_tokens", std::ssize(args.rank_tokens), args.ranks);
  std::int64_t sum = 0;
  for (const std::int64_t n : args.rank_tokens) {
    if (n < 0 || n > tokens - sum) refuse("rank_tokens", formatted("add up to {}", tokens), formatted("with {}", n));
    sum += n;
  }
  if (sum != tokens) refuse("rank_tokens", formatted("add up to {}", tokens), formatted("{}", sum));
}

// Rows `first` up to `end` to a rank.
using RankOfRow = std::vector<std::int32_t>;
void give(RankOfRow& ranks, std::int64_t first, std::int64_t end, std::int64_t rank) {
  std::fill(ranks.begin() + first, ranks.begin() + end, static_cast<std::int32_t>(rank));
}

void deal_contiguous(const ShardArgs& args, RankOfRow& ranks) {
  const std::int64_t tokens = std::ssize(ranks);
  std::int64_t first = 0;
  for (std::int64_t r = 0; r < args.ranks; ++r) {
    const std::int64_t end =
        args.rank_tokens.empty() ? (r + 1) * tokens / args.ranks : first + args.rank_tokens[index(r)];
    give(ranks, first, end, r);
    first = end;
  }
}

void deal_zigzag(const ShardArgs& args, const std::vector<std::int64_t>& ends, RankOfRow& ranks) {
  const std::int64_t parts = 2 * args.ranks;
  for (std::int64_t d = 0; d + 1 < std::ssize(ends); ++d) {
    const std::int64_t first = ends[index(d)];
    const std::int64_t count = ends[index(d + 1)] - first;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t pair = std::min(part, parts - 1 - part);
      give(ranks, first + part * count / parts, first + (part + 1) * count / parts, (pair + d) % args.ranks);
    }
  }
}

// Blocks of documents, first to last.
std::vector<cpu::RowRange> blocks_of(const std::vector<std::int64_t>& ends, std::int64_t block) {
  std::vector<cpu::RowRange> out;
  for (std::int64_t d = 0; d + 1 < std::ssize(ends); ++d) {
    for (std::int64_t first = ends[index(d)]; first < ends[index(d + 1)]; first += block) {
      out.push_back({d, first, std::min(first + block, ends[index(d + 1)])});
    }
  }
  return out;
}

void deal_striped(const ShardArgs& args, const std::vector<std::int64_t>& ends, RankOfRow& ranks) {
  std::int64_t next = 0;
  for (const cpu::RowRange& block : blocks_of(ends, std::max<std::int64_t>(args.block, 1))) {
    give(ranks, block.first, block.end, next++ % args.ranks);
  }
}

// What a block costs: its tiles, and where these are alike what is in them.
struct BlockWork {
  double tiles = 0.0;
  double pairs = 0.0;
  auto operator<=>(const BlockWork&) const = default;
};

std::vector<BlockWork> work_of(const ShardArgs& args, const cpu::DocumentRows& rows,
                               const std::vector<cpu::RowRange>& blocks) {
  std::vector<BlockWork> out;
  std::vector<std::int64_t> keys;  // of a document, in the order of orders
  std::int64_t document = -1;
  for (const cpu::RowRange& block : blocks) {
    if (!args.token_work.empty()) {
      const auto first = args.token_work.begin();
      out.push_back(
          {std::accumulate(first + block.first, first + block.end, 0.0), static_cast<double>(block.end - block.first)});
      continue;
    }
    if (block.document != document) {
      document = block.document;
      const auto first = rows.order.begin();
      keys.assign(first + rows.ends[index(document)], first + rows.ends[index(document + 1)]);
      std::ranges::sort(keys);
    }
    const std::int64_t pairs =
        cpu::pairs_of_rows(rows.order.data() + block.first, block.end - block.first, keys, args.mask, args.prefix);
    out.push_back({static_cast<double>(rows.tiles_of(block, args.mask, args.prefix)), static_cast<double>(pairs)});
  }
  return out;
}

// The heaviest blocks first, one to each rank in turn, those with the least so far first: so all have as many blocks,
// and what one of a round has more than another, the next rounds take back.
void deal_balanced(const ShardArgs& args, const cpu::DocumentRows& rows, RankOfRow& ranks) {
  const std::vector<cpu::RowRange> blocks = blocks_of(rows.ends, args.block == 0 ? kBalancedBlock : args.block);
  const std::vector<BlockWork> work = work_of(args, rows, blocks);
  std::vector<std::size_t> heaviest(blocks.size());
  std::iota(heaviest.begin(), heaviest.end(), std::size_t{0});
  std::ranges::stable_sort(heaviest, [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
  struct Load {
    BlockWork work{};
    std::int64_t rank = 0;
    auto operator<=>(const Load&) const = default;
  };
  std::vector<Load> loads(index(args.ranks));
  for (std::size_t r = 0; r < loads.size(); ++r) loads[r].rank = static_cast<std::int64_t>(r);
  for (std::size_t next = 0; next < heaviest.size();) {
    std::ranges::sort(loads, [](const Load& a, const Load& b) { return a < b; });
    for (std::size_t place = 0; place < loads.size() && next < heaviest.size(); ++place, ++next) {
      const std::size_t b = heaviest[next];
      give(ranks, blocks[b].first, blocks[b].end, loads[place].rank);
      loads[place].work.tiles += work[b].tiles;
      loads[place].work.pairs += work[b].pairs;
    }
  }
}

// [axes, tokens] as doubles; nothing where there are none.
std::vector<double> coordinates(const ShardArgs& args, const std::vector<std::int64_t>& ends) {
  const std::int64_t tokens = ends.back();
  std::vector<double> out;
  if (!args.positions) return out;
  if (const auto* range = std::get_if<PositionRange>(&*args.positions)) {
    for (std::size_t d = 0; d + 1 < ends.size(); ++d) {
      for (std::int64_t t = 0; t < ends[d + 1] - ends[d]; ++t) out.push_back(static_cast<double>(range->start + t));
    }
    return out;
  }
  std::visit(
      [&](const auto& given) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::int64_t count = std::ssize(given);
          const bool is_whole = tokens == 0 ? count == 0 : count > 0 && count % tokens == 0;
          if (!is_whole) {
            refuse("positions", formatted("be of {} tokens on each axis", tokens), formatted("{} long", count));
          }
          for (const auto x : given) out.push_back(static_cast<double>(x));
        }
      },
      *args.positions);
  return out;
}

}  // namespace

std::string_view name(Dealing dealing) noexcept {
  switch (dealing) {
    case Dealing::contiguous: return "contiguous";
    case Dealing::zigzag: return "zigzag";
    case Dealing::striped: return "striped";
    case Dealing::balanced: return "balanced";
  }
  return "";
}

Sharding shard(const ShardArgs& args) {
  const std::vector<std::int64_t> ends = ends_of(args);
  const std::int64_t tokens = ends.back();
  check(args, tokens);
  const std::vector<double> positions = coordinates(args, ends);
  cpu::DocumentRows rows{.ends = ends, .order = {args.order.begin(), args.order.end()}};
  if (args.order.empty()) {
    rows.order.resize(index(tokens));
    for (std::size_t d = 0; d + 1 < ends.size(); ++d) {
      std::iota(rows.order.begin() + ends[d], rows.order.begin() + ends[d + 1], std::int64_t{0});
    }
  }
  RankOfRow ranks(index(tokens));
  switch (args.dealing) {
    case Dealing::contiguous: deal_contiguous(args, ranks); break;
    case Dealing::zigzag: deal_zigzag(args, ends, ranks); break;
    case Dealing::striped: deal_striped(args, ends, ranks); break;
    case Dealing::balanced: deal_balanced(args, rows, ranks); break;
  }

  Sharding out{.tokens = tokens, .documents = std::ssize(ends) - 1};
  out.axes = tokens == 0 ? 0 : std::ssize(positions) / tokens;
  out.ranks.resize(index(args.ranks));
  for (Shard& one : out.ranks) one.cu_seqlens.push_back(0);
  for (std::size_t d = 0; d + 1 < ends.size(); ++d) {
    for (std::int64_t row = ends[d]; row < ends[d + 1]; ++row) {
      Shard& to = out.ranks[index(ranks[index(row)])];
      to.rows.push_back(row);
      to.order.push_back(rows.order[index(row)]);
      to.documents.push_back(static_cast<std::int32_t>(d));
    }
    for (Shard& one : out.ranks) one.cu_seqlens.push_back(static_cast<std::int32_t>(one.rows.size()));
  }
  out.places.resize(index(tokens));
  std::int64_t before = 0;
  for (Shard& one : out.ranks) {
    for (std::int64_t axis = 0; axis < out.axes; ++axis) {
      for (const std::int64_t row : one.rows) one.positions.push_back(positions[index(axis * tokens + row)]);
    }
    for (const std::int64_t row : one.rows) out.places[index(row)] = before++;
  }
  return out;
}

Sharding joined(const Sharding& sharding, std::int64_t neighbours) {
  const std::int64_t ranks = std::ssize(sharding.ranks);
  if (neighbours < 1 || ranks % neighbours != 0) {
    throw Error("joined", {"neighbours", formatted("divide {} ranks", ranks), formatted("{}", neighbours)});
  }
  Sharding out{.tokens = sharding.tokens, .documents = sharding.documents, .axes = sharding.axes};
  out.places.resize(sharding.places.size());
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < ranks; first += neighbours) {
    struct From {
      std::int64_t row;
      const Shard* shard;
      std::size_t place;
    };
    std::vector<From> from;
    for (const Shard& one : std::span(sharding.ranks).subspan(index(first), index(neighbours))) {
      for (std::size_t place = 0; place < one.rows.size(); ++place) from.push_back({one.rows[place], &one, place});
    }
    std::ranges::sort(from, {}, &From::row);
    Shard& to = out.ranks.emplace_back();
    to.cu_seqlens.resize(index(sharding.documents + 1));
    for (const From& x : from) {
      to.rows.push_back(x.row);
      to.order.push_back(x.shard->order[x.place]);
      to.documents.push_back(x.shard->documents[x.place]);
      ++to.cu_seqlens[index(to.documents.back() + 1)];
      out.places[index(x.row)] = before++;
    }
    std::partial_sum(to.cu_seqlens.begin(), to.cu_seqlens.end(), to.cu_seqlens.begin());
    for (std::size_t axis = 0; axis < index(sharding.axes); ++axis) {
      for (const From& x : from) to.positions.push_back(x.shard->positions[axis * x.shard->rows.size() + x.place]);
    }
  }
  return out;
}

std::vector<ShardRun> list_runs(const Sharding& sharding) {
  constexpr const char* kRuns = "list_runs";
  struct Next {  // row of a rank, of those that are in no run yet
    std::int64_t row;
    std::size_t rank;
    std::size_t place;
  };
  const auto is_later = [](const Next& a, const Next& b) { return a.row > b.row; };
  std::vector<Next> waiting;  // a heap, the first row in front
  for (std::size_t r = 0; r < sharding.ranks.size(); ++r) {
    if (!sharding.ranks[r].rows.empty()) waiting.push_back({sharding.ranks[r].rows.front(), r, 0});
  }
  std::ranges::make_heap(waiting, is_later);
  std::vector<ShardRun> out;
  const std::int64_t most = 2 * std::ssize(sharding.ranks) * std::max<std::int64_t>(sharding.documents, 1);
  std::int64_t order = 0;
  std::int32_t document = -1;
  while (!waiting.empty()) {
    if (std::ssize(out) == most) {
      throw Error(
          kRuns, {"sharding", "deal neighbours together, contiguous or zigzag, for a scheme that sums along the keys",
                  formatted("with more than {} runs", most)});
    }
    std::ranges::pop_heap(waiting, is_later);
    const Next first = waiting.back();
    waiting.pop_back();
    const Shard& from = sharding.ranks[first.rank];
    const std::int64_t end = waiting.empty() ? sharding.tokens : waiting.front().row;  // another rank's
    std::size_t place = first.place;
    for (; place < from.rows.size() && from.rows[place] < end; ++place) {
      if (from.documents[place] == document && from.order[place] <= order) {
        throw Error(kRuns, {"order", "ascend in each document, since gates are summed along it",
                            formatted("{} after {}", from.order[place], order)});
      }
      document = from.documents[place];
      order = from.order[place];
    }
    out.push_back({static_cast<std::int64_t>(first.rank), static_cast<std::int64_t>(first.place),
                   static_cast<std::int64_t>(place - first.place)});
    if (place == from.rows.size()) continue;
    waiting.push_back({from.rows[place], first.rank, place});
    std::ranges::push_heap(waiting, is_later);
  }
  return out;
}

ShardRuns runs_of(const Sharding& sharding) {
  std::vector<ShardRun> listed;
  try {
    listed = list_runs(sharding);
  } catch (const Error& error) {  // the name of the call that was made
    throw Error("runs_of", error.problem());
  }
  ShardRuns out{.runs = {.tokens = sharding.tokens, .documents = sharding.documents, .axes = sharding.axes}};
  const auto rows_of = [](const auto& x, std::int64_t first, std::int64_t count) {
    return std::span(x).subspan(index(first), index(count));
  };
  for (const auto& [owner, first, count] : listed) {
    const Shard& from = sharding.ranks[index(owner)];
    out.owners.push_back(owner);
    Shard& to = out.runs.ranks.emplace_back();
    std::ranges::copy(rows_of(from.rows, first, count), std::back_inserter(to.rows));
    std::ranges::copy(rows_of(from.order, first, count), std::back_inserter(to.order));
    std::ranges::copy(rows_of(from.documents, first, count), std::back_inserter(to.documents));
    for (const std::int32_t cut : from.cu_seqlens) {
      to.cu_seqlens.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(cut - first, 0, count)));
    }
    for (std::int64_t axis = 0; axis < sharding.axes; ++axis) {
      const std::int64_t of_axis = axis * std::ssize(from.rows);
      std::ranges::copy(rows_of(from.positions, of_axis + first, count), std::back_inserter(to.positions));
    }
  }
  out.runs.places.resize(index(sharding.tokens));
  std::iota(out.runs.places.begin(), out.runs.places.end(), std::int64_t{0});
  return out;
}

}  // namespace posenc::inline v0_2

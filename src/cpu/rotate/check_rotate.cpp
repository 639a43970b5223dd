// Checks of rotate: tensors q and k and where they are read from, positions counted, listed or given as reals, one
// table or one for each sequence, packed sequences, pages. Every row must have a position that its table serves.
#include "cpu/rotate/check_rotate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/angles/table_access.h"
#include "cpu/attend/scratch.h"
#include "cpu/rotate/plain_call.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Which positions a table serves.
struct Served {
  double first;
  double last;
  bool whole;
};

// A table on demand serves fractions and both signs, up to its rule's limit; a held one the whole positions of its
// rows.
Served served(const RotaryTable& table) {
  if (const AngleRule* const rule = TableAccess::rule(table)) {
    return {-rule->largest_position(), rule->largest_position(), false};
  }
  const auto first = static_cast<double>(table.start());
  return {first, first + static_cast<double>(table.count()) - 1, true};
}

class RotateCheck {
 public:
  RotateCheck(std::string_view where, const RotateArgs& args, std::string_view side, RotateCall& call)
      : where_(where), args_(args), side_(side), call_(call) {}

  void run() {
    check_tables();
    check_tensors();
    check_sequences();
    check_direction();
    if (!args_.k_pages.block_table.empty()) check_pages();
    check_positions();
  }

 private:
  [[noreturn]] [[gnu::cold]] void refuse(std::string field, std::string must, std::string is) const {
    throw Error(where_, {std::move(field), std::move(must), std::move(is)});
  }

  // One table, or one for each sequence; how many there must be is known once the sequences are.
  void check_tables() const {
    if (args_.tables.empty()) {
      if (args_.table == nullptr) refuse(formatted("{}table", side_), "be given", "null");
      return;
    }
    if (args_.table != nullptr) {
      refuse(formatted("{}table", side_), formatted("be omitted where {}tables are given", side_), "given");
    }
    for (std::size_t s = 0; s < args_.tables.size(); ++s) {
      if (args_.tables[s] == nullptr) refuse(formatted("{}tables[{}]", side_, s), "be given", "null");
      if (args_.tables[s]->layout() == args_.tables[0]->layout()) continue;
      refuse(formatted("{}tables[{}]", side_, s), "rotate the same channels as the first", "of another layout");
    }
  }

  // Also fixes batch and rows; of a paged cache without q, check_sequences() does so from cu_seqlens.
  void check_tensors() {
    if (args_.q.empty() && args_.k.empty()) {
      if (side_.empty()) refuse("q or k", "be given", "omitted");
      refuse("k", "be given", "omitted");
    }
    const std::int64_t head_dim = table_of(args_, 0).layout().head_dim;
    const bool paged = !args_.k_pages.block_table.empty();
    if (!paged && !args_.k_pages.first.empty()) {
      refuse("k_pages.block_table", "be given where k_pages.first is", "omitted");
    }
    if (paged && !args_.k_from.empty()) refuse("k_from", "be omitted where k is a paged cache", "given");
    std::array<HeadsMemory, 2> memory;
    call_.tensors[0] = check_heads({where_, "q"}, args_.q, {where_, "q_from"}, args_.q_from, head_dim,
                                   Axes::heads_then_tokens, memory[0]);
    call_.tensors[1] = check_heads({where_, "k"}, args_.k, {where_, "k_from"}, args_.k_from, head_dim,
                                   paged ? Axes::tokens_then_heads : Axes::heads_then_tokens, memory[1]);
    if (paged) {
      if (args_.k.empty()) refuse("k", "be given where k_pages are", "omitted");
      if (!args_.q.empty() && args_.q.rank != 3) refuse("q.rank", "be 3, packed as the rows of k are,", "4");
      call_.tensors[1].block_size = args_.k.shape[1];
    } else if (!args_.q.empty() && !args_.k.empty()) {
      check_same_tokens();
    }
    check_apart(memory);
    if (paged && args_.q.empty()) return;  // as many rows as cu_seqlens says
    const TensorView& first = args_.q.empty() ? args_.k : args_.q;
    call_.batch = first.rank == 4 ? first.shape[0] : 1;
    call_.rows = first.rank == 4 ? first.shape[2] : first.shape[0];
    call_.sequences = call_.batch;
    std::int64_t positions = 0;
    if (__builtin_mul_overflow(call_.batch, call_.rows, &positions) ||
        __builtin_mul_overflow(positions, axes(), &positions)) {
      refuse(args_.q.empty() ? "k.shape" : "q.shape", "have fewer than 2^63 positions", "larger");
    }
  }

  std::int64_t axes() const { return std::ssize(table_of(args_, 0).layout().axes.names); }

  void check_same_tokens() const {
    const TensorView& q = args_.q;
    const TensorView& k = args_.k;
    if (q.rank != k.rank) refuse("k.rank", formatted("be that of q, {},", q.rank), formatted("{}", k.rank));
    for (const std::size_t axis : {std::size_t{0}, std::size_t{2}}) {
      if (q.shape[axis] == k.shape[axis] || (q.rank == 3 && axis == 2)) continue;
      refuse(formatted("k.shape[{}]", axis), formatted("be that of q, {},", q.shape[axis]),
             formatted("{}", k.shape[axis]));
    }
  }

  // Neither of q and k is written where the other is written or read.
  void check_apart(const std::array<HeadsMemory, 2>& memory) const {
    const auto& [q, k] = memory;
    if (!are_disjoint(q.written, k.written)) refuse("k", "share no element with q", "overlapping");
    if (!are_disjoint(q.read, k.written)) refuse("k", "share no element with q_from", "overlapping");
    if (!are_disjoint(q.written, k.read)) refuse("k_from", "share no element with q", "overlapping");
  }

  // cu_seqlens begins with 0, ascends, and ends with the number of tokens.
  void check_sequences() {
    const std::span<const std::int32_t> bounds = args_.cu_seqlens;
    const bool paged = !args_.k_pages.block_table.empty();
    if (paged && bounds.empty()) refuse("cu_seqlens", "be given where k_pages are", "omitted");
    if (!bounds.empty()) {
      const bool counted = !(paged && args_.q.empty());
      if (counted && (args_.q.empty() ? args_.k : args_.q).rank == 4) {
        refuse("cu_seqlens", "be omitted for tensors of rank 4, whose batch are sequences,", "given");
      }
      for (std::size_t s = 0; s < bounds.size(); ++s) {
        const std::int32_t least = s == 0 ? 0 : bounds[s - 1];
        if (bounds[s] >= least && (s > 0 || bounds[s] == 0)) continue;
        refuse(formatted("cu_seqlens[{}]", s), s == 0 ? "be 0" : formatted("be at least {}, the one before,", least),
               formatted("{}", bounds[s]));
      }
      if (!counted) {
        call_.batch = 1;
        call_.rows = bounds.back();
      } else if (bounds.back() != call_.rows) {
        refuse(formatted("cu_seqlens[{}]", bounds.size() - 1), formatted("be the number of tokens, {},", call_.rows),
               formatted("{}", bounds.back()));
      }
      call_.sequences = std::ssize(bounds) - 1;
    }
    if (!args_.tables.empty() && std::ssize(args_.tables) != call_.sequences) {
      refuse(formatted("{}tables", side_), formatted("have one table for each of {} sequences", call_.sequences),
             formatted("{} long", args_.tables.size()));
    }
  }

  // The inverse divides by a^2, which must be neither 0 nor so small that the quotient is infinite in float.
  void check_direction() const {
    if (args_.direction > Direction::transpose) {
      refuse("direction", "be forward, inverse or transpose", formatted("{}", static_cast<int>(args_.direction)));
    }
    if (args_.direction != Direction::inverse) return;
    for (std::int64_t s = 0; s < std::max<std::int64_t>(1, std::ssize(args_.tables)); ++s) {
      const double a = table_of(args_, s).attention_factor();
      if (std::isfinite(static_cast<float>(1 / (a * a)))) continue;
      refuse(args_.tables.empty() ? formatted("{}table", side_) : formatted("{}tables[{}]", side_, s),
             "have an attention factor whose square can be divided by", formatted("{}", a));
    }
  }

  // Every row has a block of its cache, and a place of its own.
  void check_pages() const {
    const auto [block_table, first] = args_.k_pages;
    if (call_.sequences == 0) return;
    if (std::ssize(block_table) % call_.sequences != 0) {
      refuse("k_pages.block_table", formatted("have as many blocks for each of {} sequences", call_.sequences),
             formatted("{} long", block_table.size()));
    }
    if (!first.empty() && std::ssize(first) != call_.sequences) {
      refuse("k_pages.first", formatted("have one entry for each of {} sequences", call_.sequences),
             formatted("{} long", first.size()));
    }
    for (std::int64_t s = 0; s < call_.sequences; ++s) check_room(s);
    std::int64_t count = 0;
    for_places([&](const Place& place, std::int64_t s) {
      ++count;
      if (place.block >= 0 && place.block < args_.k.shape[0]) return;
      refuse(formatted("k_pages.block_table[{}]", place.entry),
             formatted("name one of the {} blocks, since sequence {} has rows there,", args_.k.shape[0], s),
             place.block == -1 ? "-1, a hole" : formatted("{}", place.block));
    });
    if (count > 1) check_no_repeats(count);
  }

  std::int64_t blocks_of_sequence() const { return std::ssize(args_.k_pages.block_table) / call_.sequences; }

  // That the tokens of a sequence lie within its blocks.
  void check_room(std::int64_t s) const {
    const std::int64_t begin = first_token(args_.k_pages, s);
    if (begin < 0) refuse(formatted("k_pages.first[{}]", s), "be at least 0", formatted("{}", begin));
    const std::int64_t end = begin + sequence(args_, call_, s).count;
    const std::int64_t block_size = args_.k.shape[1];
    if (end == begin || (block_size > 0 && (end - 1) / block_size < blocks_of_sequence())) return;
    refuse(formatted("cu_seqlens[{}]", s + 1),
           formatted("leave sequence {} within its {} blocks of {} tokens", s, blocks_of_sequence(), block_size),
           formatted("{}, for {} tokens", args_.cu_seqlens[static_cast<std::size_t>(s + 1)], end));
  }

  // Rows from .. to - 1 of a block, which an entry of the block table names.
  struct Place {
    std::int64_t block;
    std::int64_t from;
    std::int64_t to;
    std::int64_t entry;
  };

  // Calls visit(place, sequence) for each block of each sequence, as far as it has rows there.
  template <typename Visit>
  void for_places(const Visit& visit) const {
    const std::int64_t block_size = args_.k.shape[1];
    for (std::int64_t s = 0; s < call_.sequences; ++s) {
      const std::int64_t begin = first_token(args_.k_pages, s);
      const std::int64_t end = begin + sequence(args_, call_, s).count;
      if (end == begin) continue;
      for (std::int64_t n = begin / block_size; n <= (end - 1) / block_size; ++n) {
        visit(Place{block_of(args_.k_pages, call_.sequences, s, n), std::max(begin - n * block_size, std::int64_t{0}),
                    std::min(end - n * block_size, block_size), s * blocks_of_sequence() + n},
              s);
      }
    }
  }

  // Takes memory from the heap above this: a batch of single tokens, or 4096 tokens in blocks of 16, do not pass it.
  static constexpr std::int64_t kSmallPlaces = 256;

  // Two entries may name one block as long as their rows in it are apart.
  void check_no_repeats(std::int64_t count) const {
    Scratch<Place, kSmallPlaces> places(count);
    Place* end = places.data();
    for_places([&](const Place& place, std::int64_t) { *end++ = place; });
    std::sort(places.data(), end, [](const Place& a, const Place& b) {
      return std::tuple(a.block, a.from, a.entry) < std::tuple(b.block, b.from, b.entry);
    });
    for (const Place* next = places.data() + 1; next < end; ++next) {
      const Place& a = next[-1];
      const Place& b = *next;
      if (a.block != b.block || a.to <= b.from) continue;
      refuse(formatted("k_pages.block_table[{}]", std::max(a.entry, b.entry)),
             formatted("name other rows than entry {} does", std::min(a.entry, b.entry)),
             formatted("{} again", b.block));
    }
  }

  // A position is compared as a double with what its table serves; index -1 stands for a PositionRange.
  template <typename Position>
  void check_position(const Served& range, Position position, std::int64_t index) const {
    const auto x = static_cast<double>(position);
    constexpr bool kMayBeFraction = std::is_floating_point_v<Position>;
    if (x >= range.first && x <= range.last) {
      if constexpr (kMayBeFraction) {
        if (!range.whole || x == std::floor(x)) return;
      } else {
        if (static_cast<Position>(x) == position) return;  // 2^53 + 1 is 2^53 as a double
      }
    }
    if (range.last < range.first) refuse(formatted("{}table", side_), "hold a position", "empty");
    refuse(index < 0 ? formatted("{}positions", side_) : formatted("{}positions[{}]", side_, index),
           formatted("{}lie from {} to {}, which its table serves,",
                     kMayBeFraction && range.whole ? "be whole and " : "", range.first, range.last),
           formatted("{}", position));
  }

  void check_positions() {
    std::visit(
        [&](const auto& given) {
          if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
            check_range(given);
          } else {
            check_list(given);
          }
        },
        args_.positions);
  }

  // How many sequences to look at: those of a batch stand alike, if one table serves them.
  std::int64_t unlike_sequences(bool alike) const {
    return alike && args_.tables.empty() ? std::min<std::int64_t>(call_.sequences, 1) : call_.sequences;
  }

  // Of a position and a number of tokens; what overflows is beyond every table.
  static std::int64_t sum(std::int64_t start, std::int64_t tokens) {
    std::int64_t out = 0;
    return __builtin_add_overflow(start, tokens, &out) ? std::numeric_limits<std::int64_t>::max() : out;
  }

  // Counted positions go up by 1, so the first and the last of a sequence are enough.
  void check_range(PositionRange range) const {
    const std::int64_t sequences = unlike_sequences(args_.cu_seqlens.empty());
    for (std::int64_t s = 0; s < sequences; ++s) {
      const std::int64_t count = sequence(args_, call_, s).count;
      if (count == 0) continue;
      const std::int64_t before = first_token(args_.k_pages, s);
      check_position(served(table_of(args_, s)), sum(range.start, before), -1);
      check_position(served(table_of(args_, s)), sum(range.start, before + count - 1), -1);
    }
  }

  template <typename Position>
  void check_list(std::span<const Position> given) {
    const std::int64_t all = call_.batch * call_.rows;
    call_.shared_positions = call_.batch != 1 && std::ssize(given) == axes() * call_.rows;
    if (!call_.shared_positions && std::ssize(given) != axes() * all) {
      refuse(formatted("{}positions", side_),
             formatted("have one entry for each of {} axes and {} tokens, {},", axes(), all, axes() * all),
             formatted("{} long", given.size()));
    }
    call_.axis_stride = call_.shared_positions ? call_.rows : all;
    if (all == 0) return;
    const std::int64_t sequences = unlike_sequences(call_.shared_positions);
    for (std::int64_t s = 0; s < sequences; ++s) {
      const Served range = served(table_of(args_, s));
      const Sequence rows = sequence(args_, call_, s);
      for (std::int64_t axis = 0; axis < axes(); ++axis) {
        const std::int64_t first = axis * call_.axis_stride + (call_.shared_positions ? 0 : rows.first);
        for (std::int64_t i = first; i < first + rows.count; ++i) {
          check_position(range, given[static_cast<std::size_t>(i)], i);
        }
      }
    }
  }

  std::string_view where_;
  const RotateArgs& args_;
  std::string_view side_;
  RotateCall& call_;
};

// Apart from check_rotate, so that the fast path does not make room on the stack for it.
[[gnu::noinline]] RotateCall whole_check(std::string_view where, const RotateArgs& args, std::string_view side) {
  RotateCall call;
  RotateCheck(where, args, side, call).run();
  return call;
}

}  // namespace

Sequence sequence(const RotateArgs& args, const RotateCall& call, std::int64_t s) noexcept {
  if (args.cu_seqlens.empty()) return {s * call.rows, call.rows};
  const auto i = static_cast<std::size_t>(s);
  return {args.cu_seqlens[i], args.cu_seqlens[i + 1] - args.cu_seqlens[i]};
}

const RotaryTable& table_of(const RotateArgs& args, std::int64_t s) noexcept {
  return args.tables.empty() ? *args.table : *args.tables[static_cast<std::size_t>(s)];
}

std::int64_t first_token(const Pages& pages, std::int64_t s) noexcept {
  return pages.first.empty() ? 0 : pages.first[static_cast<std::size_t>(s)];
}

std::int64_t block_of(const Pages& pages, std::int64_t sequences, std::int64_t s, std::int64_t n) noexcept {
  const std::int64_t per_sequence = std::ssize(pages.block_table) / sequences;
  return pages.block_table[static_cast<std::size_t>(s * per_sequence + n)];
}

RotateCall check_rotate(std::string_view where, const RotateArgs& args, std::string_view side) {
  check_parallel(where, args.parallel);
  return is_plain(args) ? plain_call(args) : whole_check(where, args, side);
}

}  // namespace posenc::cpu

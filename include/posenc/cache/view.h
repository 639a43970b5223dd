// A view of a KV cache whose keys are stored before RoPE: which rows of the cache a sequence's tokens lie in, and where
// each of them stands. Tokens are moved, dropped, spliced and reordered by what the view says of them; no key is
// touched, and none is rounded again.
//
//   CacheView view(16);                    // of a cache [blocks, 16, kv_heads, head_dim]
//   view.append(slot, 512);                // tokens 0 to 511, stored in rows slot, slot + 1, ...
//   view.erase(4, 252);                    // all but four sinks and the last 256, which close up
//   const ViewRows rows = view_rows({&view, 1}, queries);
//   AttendArgs args{.out = out, .q = q, .k = k_cache, .v = v_cache};
//   rows.give(args);                       // attend rotates each key on load, where the view says that it stands
//
// What is done to a view takes as long as it has runs: tokens in rows that follow each other, at positions that do.
// Whether a model's keys may be used so is said by reuse_verdict (cache/reuse.h); docs/cache.md has it at work.
//
// Blocks belong to the caller: a view neither allocates nor frees any, and two views may name the same rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "posenc/attend.h"
#include "posenc/export.h"

namespace posenc::inline v0_2 {

// What is left where tokens go: nothing, so that those behind them move up; or their positions.
enum class CacheGap : std::uint8_t { closed, open };

// A token stands where its smallest coordinate is. Positions go to 2^53 either way, rows to 2^53.
class POSENC_API CacheView {
 public:
  // `block_size`: rows of a block, as in AttendPages, 1 to 2^20; of a contiguous cache any number that divides its
  // rows. `axes`: coordinates of a token, 1 to 8 (M-RoPE has 3). Throws Error for others.
  explicit CacheView(std::int64_t block_size, std::int64_t axes = 1);

  std::int64_t block_size() const noexcept { return block_size_; }
  std::int64_t axes() const noexcept { return axes_; }
  std::int64_t tokens() const noexcept;
  std::int64_t runs() const noexcept { return static_cast<std::int64_t>(runs_.size()); }
  // 1 more than the largest coordinate of any token, where the next one stands; 0 without tokens.
  std::int64_t next_position() const noexcept;

  // `count` tokens at the end, stored in rows slot, slot + 1, ... (block * block_size + place in the block), at
  // next_position() and the positions after it, on every axis. Throws Error, as all that follow, for numbers out of
  // range, and leaves the view as it was.
  void append(std::int64_t slot, std::int64_t count);
  // The same with coordinates of their own, [axes, count]: of an image under M-RoPE.
  void append(std::int64_t slot, std::span<const std::int64_t> coordinates);

  // All tokens `by` positions further, on every axis.
  void shift(std::int64_t by);
  // Tokens first, ..., first + count - 1 are no longer there: those in front (a context shift), in the middle (an
  // eviction), behind sinks. Closed up, the token behind them stands where the first of them stood.
  void erase(std::int64_t first, std::int64_t count, CacheGap gap = CacheGap::closed);
  // Those tokens as a view of their own, where they stand.
  CacheView passage(std::int64_t first, std::int64_t count) const;
  // The tokens of another view before token `at`; at == tokens(): behind the last (two prefixes merged). The first of
  // them stands where token `at` stood, or at next_position(); those behind them move on by what they take up.
  void insert(std::int64_t at, const CacheView& passage);

  bool operator==(const CacheView&) const = default;

 private:
  friend struct RowsOfView;
  // Tokens in rows that follow each other. Their coordinates count up from `position`; or stand, with `position` to be
  // added, from own_[coordinates] on, [count, axes].
  struct Run {
    std::int64_t slot = 0;
    std::int64_t count = 0;
    std::int64_t position = 0;
    std::int64_t coordinates = -1;
    bool operator==(const Run&) const = default;
  };

  std::int64_t coordinate(const Run& run, std::int64_t token, std::int64_t axis) const;
  std::int64_t start_of(const Run& run) const;  // where its first token stands
  std::int64_t end_of(const Run& run) const;    // 1 more than its largest coordinate
  std::int64_t lowest_of(const Run& run) const;
  void check_moved(const char* where, std::size_t first_run, std::int64_t by) const;
  std::size_t split(std::int64_t at);  // the run that begins with token `at`
  void add(Run run);

  std::int64_t block_size_;
  std::int64_t axes_;
  std::vector<Run> runs_;
  std::vector<std::int64_t> own_;
};

// What attend takes of views, a sequence each: every row of the blocks that they name, those that hold no token of the
// sequence hidden by their order.
struct POSENC_API ViewRows {
  std::vector<std::int32_t> block_table{};  // [sequences, blocks of the longest], -1 behind the last of a sequence
  std::vector<std::int32_t> cu_seqlens_q{};
  std::vector<std::int32_t> cu_seqlens_k{};  // of rows
  std::vector<std::int64_t> q_positions{};   // [axes, queries]
  std::vector<std::int64_t> k_positions{};   // [axes, rows]
  std::vector<std::int64_t> q_order{};       // [queries]
  std::vector<std::int64_t> k_order{};       // [rows]; kNoToken where there is none

  // Sets args.pages and what args.inputs says of positions, orders and sequences. They view this object.
  void give(AttendArgs& args) const;
};

// `queries`: of each view, how many of its last tokens ask, whose keys are in the cache already. For causal layers: in
// others a row without a token would be seen. Throws Error for a number of queries that a view does not have, for views
// of other block sizes or axes, and for more rows or blocks than 2^31 - 1.
POSENC_API ViewRows view_rows(std::span<const CacheView> views, std::span<const std::int64_t> queries);

}  // namespace posenc::inline v0_2

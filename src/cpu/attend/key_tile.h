// One tile of keys and values of a KV head, from contiguous or paged memory: as floats or pairs of bfloat16, with RoPE
// applied, and with their positions and orders. Read when it is first asked for, and then kept for all blocks of
// queries, so each element of the KV cache is converted and rotated once a task.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

// Rows of floats, in the caller's tensor where nothing had to be done to them.
struct FloatRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

// Rows of bfloat16, for products in pairs; in the caller's tensor where nothing had to be done to them.
struct PairedRows {
  const std::uint16_t* data = nullptr;
  std::int64_t stride = 0;
};

// Rows as they lie in the caller's tensor.
struct GivenRows {
  const void* data;
  std::int64_t first;  // of the tile
  std::int64_t count;
};

// Keys of a sequence and a KV head that are read after a tile; count 0: none.
struct KeysAhead {
  std::int64_t kv_head = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// One thread's; its memory is reserved once. Rows m count from the tile's first key.
class KeyTile {
 public:
  KeyTile(const AttendCall& call, std::pmr::memory_resource* memory);

  // Keys first .. first + count - 1 of the sequence. Nothing is read yet but their orders.
  void place(std::size_t sequence, std::int64_t kv_head, std::int64_t first, std::int64_t count);

  // The same keys, shown as far, of another KV head.
  void select_head(std::int64_t kv_head);

  // How many blocks of lanes will meet each of the tiles that are placed from here on.
  void expect(std::int64_t blocks) { blocks_ = blocks; }
  void announce(const KeysAhead& ahead) { ahead_ = ahead; }
  // Prefetches part n of `parts` of what is announced: its rows of x, of so many channels.
  void fetch_ahead(const RowsView& x, std::int64_t channels, std::int64_t n, std::int64_t parts) const;

  // The first keys alone, up to the last whose order is at most `last`, where orders ascend: those beyond are hidden
  // from whoever asks.
  void show_up_to(std::int64_t last);
  // How many of those shown a query may see that sees keys up to that order.
  std::int64_t seen_up_to(std::int64_t last) const;

  std::int64_t count() const { return shown_; }
  std::int64_t row(std::int64_t m) const { return first_row_ + m; }  // of the call's key rows
  Orders orders() const { return orders_; }                          // the least and the greatest
  std::int64_t order(std::int64_t m) const { return call_.rows.k_order[static_cast<std::size_t>(row(m))]; }
  // The coordinates go up by 1.
  bool is_run(const math::Coordinate& at) const;
  // The same of all keys, hidden or not, along a coordinate of the call: looked at once a tile.
  bool is_run(std::int64_t coordinate);

  // Calls use(GivenRows) for rows that lie together: all of the tile, or those of one page.
  template <typename Use>
  void for_given(const RowsView& x, const Use& use) const {
    for_given(x, shown_, use);
  }
  // Rows from m on, counted from the tile's first and perhaps beyond it: those that lie together, none where the
  // sequence has ended.
  GivenRows from(const RowsView& x, std::int64_t m) const { return given(x, m, sequence_end()); }
  // Of quantised rows, which are codes: `rows` of them from m on as floats, those of a KV head that comes so many after
  // this one.
  void read_codes(const RowsView& x, std::int64_t m, std::int64_t rows, std::int64_t head, float* to,
                  std::int64_t to_row) const;
  // Scales, or zeros, of row m of the head (x.codes.scales, x.codes.zeros); null for none.
  const float* numbers_at(const RowsView& x, const Places& numbers, std::int64_t m, std::int64_t head) const;
  // Where the keys stand on an axis, in a region or on their own.
  const double* positions(std::size_t axis, std::size_t region) const;

  // How far the keys stand beyond the first: the origin of decays.
  std::array<double, kTileKeys> beyond_first() const;

  // Each is made when it is first asked for, and good until the next place(), or select_head() to another head.
  FloatRows raw();                     // keys as given
  FloatRows keys(std::size_t region);  // rotated, as they stand there
  FloatRows values();
  // Whether the values, of so many KV heads from this one on, are numbers, but for those of keys that all lanes see:
  // where few lanes meet the tile these are nearly all. Beside several blocks all values are looked at first, once a
  // tile.
  bool values_are_finite(std::int64_t kv_heads, const Orders& seen_by_all);
  // The same of the n-th of those heads alone; looked at anew.
  bool values_of_head_are_finite(std::int64_t n, const Orders& seen_by_all);
  PairedRows paired_keys();    // of the first region, rotated; an odd channel has a zero beside it
  PairedRows paired_values();  // [value_dim][keys, and zeros]

 private:
  bool is_run(const math::Coordinate& at, std::int64_t keys) const;
  template <typename Use>
  void for_given(const RowsView& x, std::int64_t count, const Use& use) const {
    for (std::int64_t m = 0; m < count;) {
      const GivenRows rows = given(x, m, count);
      use(rows);
      m += rows.count;
    }
  }
  GivenRows given(const RowsView& x, std::int64_t first, std::int64_t end) const;
  // Counted from the tile's first row.
  std::int64_t sequence_end() const { return call_.rows.sequences[sequence_].k_count - first_; }
  // Rotates the tile's rows by the call's kept angles, if it has any.
  bool rotate_by_kept(const CallRotation& rotation, float* rows);
  FloatRows read(const RowsView& x, std::int64_t channels, std::pmr::vector<float>& into, bool must_copy);

  const AttendCall& call_;
  std::size_t sequence_ = 0;
  std::int64_t kv_head_ = 0;
  std::int64_t first_ = 0;
  std::int64_t first_row_ = 0;
  std::int64_t count_ = 0;
  std::int64_t shown_ = 0;
  std::int64_t blocks_ = 1;
  KeysAhead ahead_;
  bool ascends_ = false;  // orders from key to key
  Orders orders_{};
  RowScratch scratch_;
  std::pmr::vector<float> raw_, values_;
  std::pmr::vector<std::pmr::vector<float>> rotated_;  // of each region
  FloatRows raw_rows_, value_rows_;
  std::int64_t finite_heads_ = 0;  // of which it is known; -1: not all are finite
  std::pmr::vector<FloatRows> rotated_rows_;
  std::pmr::vector<std::int8_t> runs_;  // of each coordinate: 0 or 1; -1: not looked at yet
  std::pmr::vector<std::uint16_t> rounded_keys_, value_columns_;
  PairedRows key_pairs_, value_pairs_;
};

}  // namespace posenc::cpu

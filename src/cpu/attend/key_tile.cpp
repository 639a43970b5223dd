// A tile of keys and values on its way to the products: gathered from contiguous or paged memory, converted to f32 or
// packed in bfloat16, and rotated by position once for all blocks of lanes.
#include "cpu/attend/key_tile.h"

#include <algorithm>
#include <variant>

#include "cpu/call/finite.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

namespace {

// Keys are shown by so many: rows that a product takes at a time.
constexpr std::int64_t kStep = 8;

// Values are read across (FloatProducts::add_values): a line of each row for 16 channels. Rows that are a power of two
// apart share so few lines of L1 that all come from L2 again for the next channels: 1.04 times as long with
// AVX-512, 1.4 times with AVX2, whose products have half as many channels at a time. A copy takes as long as a tenth of
// a block's product, and more where values come from memory: of two blocks on 4096 keys, 1.07 times as long with
// AVX-512, 0.83 to 0.93 with AVX2.
std::int64_t blocks_of_copy(const AttendCall& call) {
  constexpr std::int64_t kLanesOfAvx2 = 8;
  return call.attention.register_lanes == kLanesOfAvx2 ? 2 : 4;
}

}  // namespace

// Reserves for the call's widths, so that no tile allocates.
KeyTile::KeyTile(const AttendCall& call, std::pmr::memory_resource* memory)
    : call_(call),
      scratch_(call, memory),
      raw_(memory),
      values_(memory),
      rotated_(std::max<std::size_t>(call.lowered.regions.regions.size(), 1), memory),
      rotated_rows_(rotated_.size(), memory),
      runs_(call.lowered.coordinates.size(), memory),
      rounded_keys_(memory),
      value_columns_(memory) {
  raw_.reserve(index(kTileKeys * call.layer.head_dim));
  values_.reserve(index(kTileKeys * call.layer.value_dim));
  if (call.score_pairs != nullptr) rounded_keys_.reserve(index(kTileKeys * whole(call.layer.head_dim, 2)));
  if (call.value_pairs != nullptr) value_columns_.reserve(index(kTileKeys * call.layer.value_dim));
  if (call.rotations.empty()) return;
  for (std::pmr::vector<float>& rows : rotated_) rows.reserve(raw_.capacity());
}

// Forgets all that was read of the tile before.
void KeyTile::place(std::size_t sequence, std::int64_t kv_head, std::int64_t first, std::int64_t count) {
  sequence_ = sequence;
  kv_head_ = kv_head;
  first_ = first;
  first_row_ = call_.rows.sequences[sequence].k_first + first;
  count_ = shown_ = count;
  ascends_ = true;
  orders_ = {order(0), order(0)};
  for (std::int64_t m = 1; m < count; ++m) {
    ascends_ = ascends_ && order(m - 1) <= order(m);
    orders_ = {std::min(orders_.low, order(m)), std::max(orders_.high, order(m))};
  }
  raw_rows_ = value_rows_ = {};
  key_pairs_ = value_pairs_ = {};
  finite_heads_ = 0;
  std::ranges::fill(rotated_rows_, FloatRows{});
  std::ranges::fill(runs_, std::int8_t{-1});
}

void KeyTile::select_head(std::int64_t kv_head) {
  if (kv_head == kv_head_) return;  // what was read of it is kept
  const std::int64_t shown = shown_;
  place(sequence_, kv_head, first_, count_);
  shown_ = shown;
}

// A head's rows stand apart by the row of all heads, often a page of memory: no processor foresees them.
void KeyTile::fetch_ahead(const RowsView& x, std::int64_t channels, std::int64_t n, std::int64_t parts) const {
  const std::int64_t bytes = x.row_size(channels) * x.bytes;
  const std::int64_t end = ahead_.first + ahead_.count * (n + 1) / parts;
  for (std::int64_t token = ahead_.first + ahead_.count * n / parts; token < end;) {
    const TokenPlace at = call_.place(sequence_, token, x);
    const auto* row = static_cast<const char*>(x.at(at.member, at.token, ahead_.kv_head));
    const std::int64_t last = std::min(end, token + x.tokens - at.token);  // of those that lie together
    for (; token < last; ++token, row += x.row_stride * x.bytes) {
      for (std::int64_t line = 0; line < bytes; line += kernels::kLineBytes) __builtin_prefetch(row + line, 0, 2);
    }
  }
}

// In whole steps of kStep keys: some that are hidden may remain, and the mask hides them.
void KeyTile::show_up_to(std::int64_t last) {
  shown_ = count_;
  shown_ = std::max(seen_up_to(last), std::min(kStep, count_));
}

std::int64_t KeyTile::seen_up_to(std::int64_t last) const {
  std::int64_t seen = shown_;
  while (ascends_ && seen > 0 && order(std::max<std::int64_t>(seen - kStep, 0)) > last) seen -= std::min(seen, kStep);
  return seen;
}

bool KeyTile::is_run(const math::Coordinate& at) const { return is_run(at, shown_); }

bool KeyTile::is_run(const math::Coordinate& at, std::int64_t keys) const {
  for (std::int64_t m = 1; m < keys; ++m) {
    if (at.k[index(row(m))] != at.k[index(row(0))] + static_cast<double>(m)) return false;
  }
  return true;
}

bool KeyTile::is_run(std::int64_t coordinate) {
  std::int8_t& known = runs_[index(coordinate)];
  if (known < 0) known = is_run(call_.lowered.coordinates[index(coordinate)], count_) ? 1 : 0;
  return known == 1;
}

// As many rows from `first` on as lie together: up to `end`, or to the end of their page.
GivenRows KeyTile::given(const RowsView& x, std::int64_t first, std::int64_t end) const {
  const std::int64_t left = end - first;
  if (left <= 0) return {nullptr, first, 0};
  const bool is_paged = !call_.args.pages.block_table.empty();
  return {call_.key(sequence_, first_ + first, kv_head_, x), first,
          is_paged ? std::min(left, x.tokens - (first_ + first) % x.tokens) : left};
}

// Rows lie together, as those of for_given do.
void KeyTile::read_codes(const RowsView& x, std::int64_t m, std::int64_t rows, std::int64_t head, float* to,
                         std::int64_t to_row) const {
  const TokenPlace at = call_.place(sequence_, first_ + m, x);
  cpu::read_codes(*call_.kernels.codes, x.codes, at.member, at.token, kv_head_ + head, rows, to, to_row);
}

const float* KeyTile::numbers_at(const RowsView& x, const Places& numbers, std::int64_t m, std::int64_t head) const {
  if (numbers.data == nullptr) return nullptr;
  const TokenPlace at = call_.place(sequence_, first_ + m, x);
  return reinterpret_cast<const float*>(numbers.at(at.member, at.token, kv_head_ + head));
}

const double* KeyTile::positions(std::size_t axis, std::size_t region) const {
  const std::vector<math::Region>& regions = call_.lowered.regions.regions;
  return (regions.empty() ? call_.lowered.coordinates[axis].k : regions[region].k_positions).data() + first_row_;
}

// Floats that lie together are used where they are, unless they are to be rotated in place.
FloatRows KeyTile::read(const RowsView& x, std::int64_t channels, std::pmr::vector<float>& into, bool must_copy) {
  const bool is_float = x.element == kernels::Element::f32 && !x.is_quantised();
  const GivenRows all = given(x, 0, count_);
  if (is_float && all.count == count_ && !must_copy) return {static_cast<const float*>(all.data), x.row_stride};
  into.resize(index(kTileKeys * channels));  // touched by the first tile that needs it
  for_given(x, count_, [&](const GivenRows& rows) {
    float* const to = into.data() + rows.first * channels;
    if (x.is_quantised()) return read_codes(x, rows.first, rows.count, 0, to, channels);
    if (is_float) {
      for (std::int64_t n = 0; n < rows.count; ++n) {
        std::copy_n(static_cast<const float*>(rows.data) + n * x.row_stride, channels, to + n * channels);
      }
      return;
    }
    call_.kernels.convert({.from_element = x.element,
                           .to_element = kernels::Element::f32,
                           .rows = rows.count,
                           .count = channels,
                           .from = rows.data,
                           .from_row = x.row_stride,
                           .to = to,
                           .to_row = channels});
  });
  return {into.data(), channels};
}

FloatRows KeyTile::raw() {
  if (raw_rows_.data == nullptr) raw_rows_ = read(call_.k, call_.layer.head_dim, raw_, false);
  return raw_rows_;
}

std::array<double, kTileKeys> KeyTile::beyond_first() const {
  std::array<double, kTileKeys> out{};
  const std::vector<double>& along = call_.lowered.coordinates.front().k;
  for (std::int64_t m = 0; m < count_; ++m) out[index(m)] = along[index(row(m))] - along[index(first_row_)];
  return out;
}

bool KeyTile::rotate_by_kept(const CallRotation& rotation, float* rows) {
  if (rotation.of_keys.empty()) return false;
  for (std::int64_t m = 0; m < count_; ++m) {
    scratch_.cos[index(m)] = rotation.of_keys.data() + row(m) * 2 * rotation.pairs;
  }
  rotate_by_angles(call_, rotation, count_, Direction::forward, rows, scratch_);
  return true;
}

// By the angles kept for the call, or by those of the positions that the region gives.
FloatRows KeyTile::keys(std::size_t region) {
  if (!call_.rotates_keys) return raw();
  FloatRows& out = rotated_rows_[region];
  if (out.data != nullptr) return out;
  std::pmr::vector<float>& rows = rotated_[region];
  out = read(call_.k, call_.layer.head_dim, rows, true);
  const std::array<double, kTileKeys> beyond = beyond_first();
  for (const CallRotation& rotation : call_.rotations) {
    if (rotate_by_kept(rotation, rows.data())) continue;
    for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
      std::copy_n(positions(axis, region), count_,
                  scratch_.positions.begin() + static_cast<std::int64_t>(axis) * kTileKeys);
    }
    rotate_rows(call_, rotation, rotation.rule->rotates_keys, math::Side::key, count_, scratch_.positions.data(),
                beyond.data(), Direction::forward, rows.data(), scratch_);
  }
  return out;
}

// Rotated values stand where their keys stand on their own, in no region, and do not decay.
FloatRows KeyTile::values() {
  if (value_rows_.data != nullptr) return value_rows_;
  const bool rotates = std::holds_alternative<math::ValueRotation>(call_.lowered.values);
  const bool is_apart = call_.v.row_stride != call_.layer.value_dim;
  value_rows_ =
      read(call_.v, call_.layer.value_dim, values_, rotates || (is_apart && blocks_ >= blocks_of_copy(call_)));
  if (!rotates) return value_rows_;
  for (const CallRotation& rotation : call_.rotations) {
    if (rotate_by_kept(rotation, values_.data())) continue;
    for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
      std::copy_n(call_.lowered.coordinates[axis].k.begin() + first_row_, count_,
                  scratch_.positions.begin() + static_cast<std::int64_t>(axis) * kTileKeys);
    }
    rotate_rows(call_, rotation, true, math::Side::key, count_, scratch_.positions.data(), nullptr, Direction::forward,
                values_.data(), scratch_);
  }
  return value_rows_;
}

// Without a copy where the cache is in bfloat16, nothing rotates, and channels come in pairs.
PairedRows KeyTile::paired_keys() {
  if (key_pairs_.data != nullptr) return key_pairs_;
  const std::int64_t channels = call_.layer.head_dim;
  const GivenRows all = given(call_.k, 0, count_);
  const bool are_pairs = call_.k.element == kernels::Element::bf16 && call_.rotations.empty() && channels % 2 == 0;
  if (are_pairs && all.count == count_) {
    key_pairs_ = {static_cast<const std::uint16_t*>(all.data), call_.k.row_stride};
    return key_pairs_;
  }
  const FloatRows floats = keys(0);
  key_pairs_.stride = whole(channels, 2);
  rounded_keys_.resize(index(kTileKeys * key_pairs_.stride));
  call_.kernels.convert({.from_element = kernels::Element::f32,
                         .to_element = kernels::Element::bf16,
                         .rows = count_,
                         .count = channels,
                         .from = floats.data,
                         .from_row = floats.stride,
                         .to = rounded_keys_.data(),
                         .to_row = key_pairs_.stride});
  key_pairs_.data = rounded_keys_.data();
  return key_pairs_;
}

// Transposed, since products in pairs run along the keys here.
PairedRows KeyTile::paired_values() {
  if (value_pairs_.data != nullptr) return value_pairs_;
  kernels::PairColumns columns{.element = call_.v.element, .x_row = call_.v.row_stride};
  const GivenRows all = given(call_.v, 0, count_);
  const bool rotates = std::holds_alternative<math::ValueRotation>(call_.lowered.values);
  if (all.count == count_ && !rotates && !call_.v.is_quantised()) {
    columns.x = all.data;
  } else {
    const FloatRows floats = values();
    columns = {.element = kernels::Element::f32, .x = floats.data, .x_row = floats.stride};
  }
  value_columns_.resize(index(kTileKeys * call_.layer.value_dim));
  columns.rows = count_;
  columns.width = call_.layer.value_dim;
  columns.to = value_columns_.data();
  call_.value_pairs->columns(columns);
  value_pairs_ = {value_columns_.data(), kTileKeys};
  return value_pairs_;
}

// Head by head as far as it is asked; what has been found is kept for the other blocks.
bool KeyTile::values_are_finite(std::int64_t kv_heads, const Orders& seen_by_all) {
  while (blocks_ > 1 && finite_heads_ >= 0 && finite_heads_ < kv_heads) {
    finite_heads_ = values_of_head_are_finite(finite_heads_, kNoOrders) ? finite_heads_ + 1 : -1;
  }
  if (blocks_ > 1 && finite_heads_ >= 0) return true;
  for (std::int64_t n = 0; n < kv_heads; ++n) {
    if (!values_of_head_are_finite(n, seen_by_all)) return false;
  }
  return true;
}

bool KeyTile::values_of_head_are_finite(std::int64_t n, const Orders& seen_by_all) {
  const std::int64_t channels = call_.layer.value_dim;
  RowsView x = call_.v;
  x.data += n * x.head_stride * x.bytes;
  bool all = true;
  for_given(x, count_, [&](const GivenRows& rows) {
    const auto* row = static_cast<const char*>(rows.data);
    for (std::int64_t m = 0; m < rows.count && all; ++m, row += x.row_stride * x.bytes) {
      const std::int64_t own = order(rows.first + m);
      if (own >= seen_by_all.low && own <= seen_by_all.high) continue;
      if (x.is_quantised()) read_codes(x, rows.first + m, 1, n, scratch_.rows.data(), channels);
      all = x.is_quantised() ? are_finite(kernels::Element::f32, scratch_.rows.data(), channels)
                             : are_finite(x.element, row, channels);
    }
  });
  return all;
}

}  // namespace posenc::cpu

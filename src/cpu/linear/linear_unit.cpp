// Chunkwise linear attention (as in Flash Linear Attention's kernels): within a chunk scores q~ k~^T under the causal
// mask, before it the sums S and z. linear_unit.h has the loop.
#include "cpu/linear/linear_unit.h"

#include <algorithm>
#include <array>

#include "cpu/call/finite.h"
#include "cpu/call/row_floats.h"
#include "cpu/linear/linear_division.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Some 50 us each.
constexpr std::int64_t kHeadsUntilAsked = 16;

std::int64_t round_up(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

}  // namespace

LinearWorker::LinearWorker(const AttendCall& call, kernels::Feature feature, const LinearState& state,
                           KeepGoing& keep_going)
    : call_(call),
      state_(state),
      keep_going_(keep_going),
      sums_(call),
      keys_(call, feature, kChunkRows),
      queries_(call, feature, kChunkRows) {
  const std::int64_t channels = call.layer.head_dim;
  values_.resize(index(kChunkRows * sums_.lanes()));
  key_lanes_.resize(index(kChunkRows * channels));
  scores_.resize(index(kMeetingRows * call.max_lanes));
  out_.resize(index(kChunkRows * sums_.lanes()));
  totals_.resize(index(kChunkRows));
  running_.resize(index(channels));
  row_.resize(index(call.layer.value_dim));
}

bool LinearWorker::is_wanted() {
  if (++heads_since_asked_ < kHeadsUntilAsked) return true;
  heads_since_asked_ = 0;
  return keep_going_();
}

// The queries' first keys, where there are more keys than queries, are those of all rows; where there are fewer, the
// first rows have none.
void LinearWorker::attend(std::int64_t sequence, std::int64_t kv_head) {
  const math::SequenceRows& s = call_.rows.sequences[index(sequence)];
  const Unit unit{s, kv_head};
  const bool is_causal = call_.layer.mask.kind == MaskKind::causal;
  const std::int64_t apart = s.k_count - s.q_count;
  sums_.begin(state_, sequence, kv_head);
  add_keys(unit, 0, is_causal ? std::max<std::int64_t>(apart, 0) : s.k_count);
  for (std::int64_t row = 0; row < s.q_count; row += kChunkRows) {
    Chunk chunk{.row = row, .rows = std::min(kChunkRows, s.q_count - row)};
    if (is_causal) {
      const std::int64_t first = std::max<std::int64_t>(row + apart, 0);
      chunk.before = first - (row + apart);
      chunk.keys = read_keys(unit, first, std::max<std::int64_t>(chunk.rows - chunk.before, 0));
      put_keys_in_lanes(chunk.keys);
    }
    // What a state was made of, nobody knows here: beside one every row may see something.
    if (state_.products.empty()) chunk.unseeing = s.k_count == 0 ? chunk.rows : std::min(chunk.before, chunk.rows);
    for (std::int64_t g = 0; g < call_.group; ++g) {
      if (!is_wanted()) return;
      attend_head(unit, kv_head * call_.group + g, chunk);
    }
    if (chunk.keys.count > 0) sums_.add(chunk.keys);
  }
  sums_.end(state_, sequence, kv_head);
}

// Keys into S and z, chunk by chunk, without queries: those before the first query, or all of them without a causal
// mask.
void LinearWorker::add_keys(const Unit& unit, std::int64_t first, std::int64_t end) {
  for (; first < end; first += kChunkRows) {
    if (!is_wanted()) return;
    sums_.add(read_keys(unit, first, std::min(kChunkRows, end - first)));
  }
}

// Good until the next call of it: all chunks use one piece of memory.
ChunkKeys LinearWorker::read_keys(const Unit& unit, std::int64_t first, std::int64_t count) {
  const std::int64_t row = unit.rows.k_first + first;
  keys_.read(math::Side::key, row, unit.kv_head, count);
  const bool are_finite = read_values(row, unit.kv_head, count);
  return {.count = count,
          .plain = keys_.plain(),
          .rotated = keys_.rotated(),
          .values = values_.data(),
          .are_finite = are_finite};
}

// As floats, dealt to the columns of S; zeros up to whole registers, which add nothing.
bool LinearWorker::read_values(std::int64_t first, std::int64_t head, std::int64_t count) {
  bool finite = true;
  for (std::int64_t r = 0; r < count; ++r) {
    read_floats(call_.kernels, call_.v.element, call_.v.at(first + r, head), call_.layer.value_dim, row_.data());
    finite = are_finite(kernels::Element::f32, row_.data(), call_.layer.value_dim) && finite;
    for (const ValueColumn& column : sums_.columns()) {
      float* const to = values_.data() + column.place * count + r * column.lanes;
      std::copy_n(row_.data() + column.channel, column.used, to);
      std::fill_n(to + column.used, column.lanes - column.used, 0.0F);
    }
  }
  return finite;
}

// Rotated keys as columns, the b of a product: scores of a chunk's own keys are q~ k~^T.
void LinearWorker::put_keys_in_lanes(const ChunkKeys& keys) {
  const std::int64_t channels = call_.layer.head_dim;
  for (std::int64_t key = 0; key < keys.count; key += call_.max_lanes) {
    const std::int64_t used = std::min(call_.max_lanes, keys.count - key);
    const std::int64_t lanes = round_up(used, call_.attention.register_lanes);
    for (std::int64_t c = 0; c < channels; ++c) {
      float* const to = key_lanes_.data() + key * channels + c * lanes;
      for (std::int64_t l = 0; l < used; ++l) to[l] = keys.rotated[(key + l) * channels + c];
      std::fill(to + used, to + lanes, 0.0F);
    }
  }
}

// One query head on one chunk: denominators, numerators, their quotient.
void LinearWorker::attend_head(const Unit& unit, std::int64_t head, const Chunk& chunk) {
  const std::int64_t row = unit.rows.q_first + chunk.row;
  queries_.read(math::Side::query, row, head, chunk.rows);
  sum_totals(chunk);
  sum_products(chunk);
  write(row, head, chunk.rows);
}

// Rows before the first key have no more than what came before the chunk.
void LinearWorker::sum_totals(const Chunk& chunk) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t none = chunk.keys.count == 0 ? chunk.rows : std::min(chunk.before, chunk.rows);
  std::ranges::fill(running_, 0.0F);
  kernels::RunningTotals of{.q = queries_.plain(),
                            .before = sums_.totals(),
                            .sum = running_.data(),
                            .totals = totals_.data(),
                            .rows = none,
                            .width = channels};
  call_.attention.running_totals(of);
  of.q += none * channels;
  of.k = chunk.keys.plain;
  of.totals += none;
  of.rows = chunk.rows - none;
  call_.attention.running_totals(of);
  // A query times no keys is 0 even where the query is not finite.
  std::fill_n(totals_.begin(), chunk.unseeing, 0.0F);
}

// The numerators: q~ S of all keys before the chunk, then the chunk's own keys under the causal mask.
void LinearWorker::sum_products(const Chunk& chunk) {
  const std::int64_t channels = call_.layer.head_dim;
  for (const ValueColumn& column : sums_.columns()) {
    call_.attention.product({.a = queries_.rotated(),
                             .a_row = channels,
                             .a_step = 1,
                             .b = sums_.products(column),
                             .c = out_of(column),
                             .rows = chunk.rows,
                             .depth = channels,
                             .lanes = column.lanes});
  }
  for (std::int64_t first = 0; first < chunk.rows; first += kMeetingRows) {
    const std::int64_t rows = std::min(kMeetingRows, chunk.rows - first);
    const std::int64_t seen = std::clamp<std::int64_t>(first + rows - chunk.before, 0, chunk.keys.count);
    for (std::int64_t key = 0; key < seen; key += call_.max_lanes) {
      add_own_keys(chunk, first, rows, key, std::min(call_.max_lanes, seen - key));
    }
  }
}

// Of some rows, with `count` keys of their own chunk, which are lanes of the scores.
void LinearWorker::add_own_keys(const Chunk& chunk, std::int64_t first, std::int64_t rows, std::int64_t key,
                                std::int64_t count) {
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t lanes =
      round_up(std::min(call_.max_lanes, chunk.keys.count - key), call_.attention.register_lanes);
  call_.attention.product({.a = queries_.rotated() + first * channels,
                           .a_row = channels,
                           .a_step = 1,
                           .b = key_lanes_.data() + key * channels,
                           .c = scores_.data(),
                           .rows = rows,
                           .depth = channels,
                           .lanes = lanes});
  const auto seen_by = [&](std::int64_t r) {
    return std::clamp<std::int64_t>(first + r - chunk.before - key + 1, 0, count);
  };
  std::array<float, kMaxLanes> ones;
  ones.fill(1.0F);
  const auto add_values = [&](std::int64_t r, std::int64_t some, std::int64_t depth) {
    for (const ValueColumn& column : sums_.columns()) {
      call_.attention.product({.a = scores_.data() + r * lanes,
                               .a_row = lanes,
                               .a_step = 1,
                               .b = chunk.keys.values + column.place * chunk.keys.count + key * column.lanes,
                               .c = out_of(column) + (first + r) * column.lanes,
                               .scale = ones.data(),
                               .rows = some,
                               .depth = depth,
                               .lanes = column.lanes});
    }
  };
  // A key that is not seen weighs 0. Where 0 times its value is NaN, each row ends before it: its sum is the same,
  // since a product adds up key by key.
  if (!chunk.keys.are_finite) {
    for (std::int64_t r = 0; r < rows; ++r) add_values(r, 1, seen_by(r));
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::fill_n(scores_.data() + r * lanes + seen_by(r), count - seen_by(r), 0.0F);
  }
  add_values(0, rows, count);
}

// The columns of a row side by side again, divided, in the output's dtype.
void LinearWorker::write(std::int64_t row, std::int64_t head, std::int64_t rows) {
  const RowsView out = rows_view(call_.args.out);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (const ValueColumn& column : sums_.columns()) {
      divide(out_of(column) + r * column.lanes, column.used, totals_[index(r)], row_.data() + column.channel);
    }
    write_floats(call_.kernels, row_.data(), call_.layer.value_dim, out.element,
                 const_cast<void*>(out.at(row + r, head)));
  }
}

}  // namespace posenc::cpu

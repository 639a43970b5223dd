#include "cpu/linear_unit.h"

#include <algorithm>
#include <array>

#include "cpu/linear_division.h"
#include "cpu/row_floats.h"
#include "cpu/weight_reader.h"

namespace posenc::cpu {
namespace {

// Some 50 us each.
constexpr std::int64_t kHeadsUntilAsked = 16;

std::int64_t round_up(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

}  // namespace

LinearWorker::LinearWorker(const AttendCall& call, kernels::Feature feature, const LinearState& state, GoOn& go_on)
    : call_(call),
      state_(state),
      go_on_(go_on),
      sums_(call),
      keys_(call, feature, kChunkRows),
      queries_(call, feature, kChunkRows) {
  const std::int64_t channels = call.layer.head_dim;
  values_.resize(index(kChunkRows * sums_.lanes()));
  lanes_.resize(index(channels * call.max_lanes));
  scores_.resize(index(kChunkRows * call.max_lanes));
  out_.resize(index(call.layer.value_dim * call.max_lanes));
  totals_.resize(index(kChunkRows));
  running_.resize(index(channels));
  row_.resize(index(call.layer.value_dim));
}

bool LinearWorker::is_wanted() {
  if (++heads_since_asked_ < kHeadsUntilAsked) return true;
  heads_since_asked_ = 0;
  return go_on_();
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
    }
    for (std::int64_t g = 0; g < call_.group; ++g) {
      if (!is_wanted()) return;
      attend_head(unit, kv_head * call_.group + g, chunk);
    }
    if (chunk.keys.count > 0) sums_.add(chunk.keys);
  }
  sums_.end(state_, sequence, kv_head);
}

void LinearWorker::add_keys(const Unit& unit, std::int64_t first, std::int64_t end) {
  for (; first < end; first += kChunkRows) {
    if (!is_wanted()) return;
    sums_.add(read_keys(unit, first, std::min(kChunkRows, end - first)));
  }
}

ChunkKeys LinearWorker::read_keys(const Unit& unit, std::int64_t first, std::int64_t count) {
  const std::int64_t row = unit.rows.k_first + first;
  keys_.read(math::Side::key, row, unit.kv_head, count);
  read_values(row, unit.kv_head, count);
  return {.count = count, .plain = keys_.plain(), .turned = keys_.turned(), .values = values_.data()};
}

void LinearWorker::read_values(std::int64_t first, std::int64_t head, std::int64_t count) {
  for (std::int64_t r = 0; r < count; ++r) {
    read_floats(call_.kernels, call_.v.element, call_.v.at(first + r, head), call_.layer.value_dim, row_.data());
    for (const ValueColumn& column : sums_.columns()) {
      float* const to = values_.data() + column.place * count + r * column.lanes;
      std::copy_n(row_.data() + column.channel, column.used, to);
      std::fill_n(to + column.used, column.lanes - column.used, 0.0F);
    }
  }
}

void LinearWorker::attend_head(const Unit& unit, std::int64_t head, const Chunk& chunk) {
  const std::int64_t row = unit.rows.q_first + chunk.row;
  queries_.read(math::Side::query, row, head, chunk.rows);
  sum_totals(chunk);
  for (std::int64_t first = 0; first < chunk.rows; first += call_.max_lanes) {
    const std::int64_t used = std::min(call_.max_lanes, chunk.rows - first);
    const std::int64_t lanes = round_up(used, call_.attention.register_lanes);
    sum_products(chunk, first, used, lanes);
    write(row, head, first, used, lanes);
  }
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
}

// Rows first ... first + used - 1 of the chunk as lanes; those up to `lanes` are 0.
void LinearWorker::sum_products(const Chunk& chunk, std::int64_t first, std::int64_t used, std::int64_t lanes) {
  const std::int64_t channels = call_.layer.head_dim;
  for (std::int64_t c = 0; c < channels; ++c) {
    float* const to = lanes_.data() + c * lanes;
    for (std::int64_t l = 0; l < used; ++l) to[l] = queries_.turned()[(first + l) * channels + c];
    std::fill(to + used, to + lanes, 0.0F);
  }
  const std::int64_t seen = std::clamp<std::int64_t>(first + used - chunk.before, 0, chunk.keys.count);
  call_.attention.product({.a = chunk.keys.turned,
                           .a_row = channels,
                           .a_step = 1,
                           .b = lanes_.data(),
                           .c = scores_.data(),
                           .rows = seen,
                           .depth = channels,
                           .lanes = lanes});
  for (std::int64_t m = 0; m < seen; ++m) {  // rows before a key do not see it
    std::fill_n(scores_.data() + m * lanes, std::clamp<std::int64_t>(m + chunk.before - first, 0, lanes), 0.0F);
  }
  std::array<float, kMaxLanes> ones;
  ones.fill(1.0F);
  for (const ValueColumn& column : sums_.columns()) {
    kernels::Product product{.a = sums_.products(column),
                             .a_row = 1,
                             .a_step = column.lanes,
                             .b = lanes_.data(),
                             .c = out_.data() + column.channel * lanes,
                             .rows = column.used,
                             .depth = channels,
                             .lanes = lanes};
    call_.attention.product(product);
    if (seen == 0) continue;
    product.a = chunk.keys.values + column.place * chunk.keys.count;
    product.b = scores_.data();
    product.scale = ones.data();
    product.depth = seen;
    call_.attention.product(product);
  }
}

void LinearWorker::write(std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t used,
                         std::int64_t lanes) {
  const std::int64_t width = call_.layer.value_dim;
  const RowsView out = rows_view(call_.args.out);
  for (std::int64_t l = 0; l < used; ++l) {
    divide(out_.data() + l, lanes, width, totals_[index(first + l)], row_.data());
    write_floats(call_.kernels, row_.data(), width, out.element, const_cast<void*>(out.at(row + first + l, head)));
  }
}

}  // namespace posenc::cpu

// The loop over tiles of one unit of work: its lanes (queries of the heads that share a KV head), its tiles of keys,
// the online softmax, and the state that passes over parts of the keys are joined by (split-K, as in Flash-Decoding):
//
//   m = max(m_a, m_b),  sum = sum_a exp(m_a - m) + sum_b exp(m_b - m),  out likewise
//
// Steps on one tile are in tile_terms.h, products in tile_products.h.
#include "cpu/attend/attend_unit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

#include "cpu/attend/matrix_rows.h"
#include "cpu/attend/unmasked_values.h"
#include "cpu/attend/write_block.h"
#include "cpu/lower/weight_reader.h"
#include "math/rope/rotation.h"

namespace posenc::cpu {
namespace {

// Lanes whose state stays in L2 while a tile passes.
constexpr std::int64_t kBlocks = 8;

// Some 10 to 20 us each.
constexpr std::int64_t kTilesUntilAsked = 64;

// Whether the queries of several heads share a register or a block: where a head has fewer than a register takes; and
// fewer than a block takes, if no term wants the lanes of one head.
bool mixes_heads(const AttendCall& call, std::int64_t rows) {
  const bool is_any = call.lowered.terms.empty();
  return call.group > 1 && rows < (is_any ? call.max_lanes : call.attention.register_lanes);
}

// Lanes of the next block where so many are left: about as many as of those after it, in whole registers, since lanes
// that come one register at a time take half as long again (product_loop.h). Queries that decay share an origin with
// those that check_decays saw beside them.
std::int64_t lanes_of_next(const AttendCall& call, bool decays, std::int64_t left) {
  if (decays) return std::min(left, call.max_lanes);
  const std::int64_t blocks = (left + call.max_lanes - 1) / call.max_lanes;
  return std::min(left, whole((left + blocks - 1) / blocks, call.attention.register_lanes));
}

// Lanes of a KV head where products run along the channels, and how many KV heads make a block: one where a term
// multiplies its own vectors with the keys of a head, or where a block of one head can have its terms by distance.
// Without lanes: the unit has too many.
struct DecodeLayout {
  std::int64_t each = 0;
  std::int64_t kv_heads = 0;
};
// How a decode's lanes are laid out: the queries of a GQA group, padded to kDecodeLanes, of as many KV heads as fit a
// block.
DecodeLayout decode_layout(const AttendCall& call, const AttendUnit& unit) {
  const std::int64_t lanes = unit.rows * call.group;
  if (!is_decode(call, lanes)) return {};
  const std::int64_t each = whole(lanes, kernels::kDecodeLanes);
  const bool is_alone = call.takes_raw_keys || (call.group == 1 && !call.lowered.terms.empty());
  const std::int64_t most = is_alone ? 1 : std::max<std::int64_t>(call.max_lanes / each, 1);
  const std::int64_t blocks = (unit.kv_heads + most - 1) / most;
  return {each, (unit.kv_heads + blocks - 1) / blocks};
}

// Queries of one unit: so many that kBlocks blocks of lanes pass over each tile of keys while it is in the cache.
std::int64_t rows_of_unit(const AttendCall& call) {
  return call.max_lanes * std::max<std::int64_t>(1, kBlocks / call.group);
}

// Blocks of lanes that a unit needs, by which a worker's memory is reserved.
std::int64_t blocks_of_unit(const AttendCall& call, const AttendUnit& unit) {
  const DecodeLayout few = decode_layout(call, unit);
  if (few.each > 0) return (unit.kv_heads + few.kv_heads - 1) / few.kv_heads;
  const auto blocks = [&](std::int64_t lanes) { return (lanes + call.max_lanes - 1) / call.max_lanes; };
  const std::int64_t of_head =
      mixes_heads(call, unit.rows) ? blocks(unit.rows * call.group) : blocks(unit.rows) * call.group;
  return unit.kv_heads * of_head;
}

// exp(a - b), with exp(-inf - -inf) = 0: a lane that has seen no key weighs nothing.
float exp_of_difference(float a, float b) {
  return a == -std::numeric_limits<float>::infinity() ? 0.0F : std::exp(a - b);
}

// Pairs of channels of q times exp(decay (origin of the lanes - origin of the keys)).
void decay_queries(const AttendCall& call, const LaneBlock& block, double beyond, float* q) {
  for (const CallRotation& rotation : call.rotations) {
    for (std::int64_t p = 0; p < std::ssize(rotation.rule->decay); ++p) {
      const auto by = static_cast<float>(std::exp(rotation.rule->decay[index(p)] * beyond));
      const auto [a, b] =
          math::channels_of_pair(rotation.rule->pairing, rotation.rule->first_channel, rotation.rule->dim, p);
      for (const std::int64_t channel : {a, b}) {
        for (std::int64_t l = 0; l < block.lanes; ++l) q[block.place(channel, l, call.layer.head_dim)] *= by;
      }
    }
  }
}

}  // namespace

// Units of all sequences: KV heads by blocks of queries. The cuts follow from the sizes alone, not from the threads.
std::vector<AttendUnit> attend_units(const AttendCall& call, std::int64_t decode_heads) {
  std::vector<AttendUnit> out;
  const std::int64_t step = rows_of_unit(call);
  for (std::size_t s = 0; s < call.rows.sequences.size(); ++s) {
    const std::int64_t queries = call.rows.sequences[s].q_count;
    const std::int64_t heads = queries <= kDecodeQueries ? decode_heads : 1;
    for (std::int64_t head = 0; head < call.layer.kv_heads; head += heads) {
      for (std::int64_t row = 0; row < queries; row += step) {
        out.push_back({s, head, heads, row, std::min(step, queries - row)});
      }
    }
  }
  return out;
}

AttendWorker::AttendWorker(const AttendCall& call, std::span<const AttendUnit> units, const FarTiles& far,
                           KeepGoing& keep_going, std::pmr::memory_resource* memory)
    : call_(call),
      far_(far),
      keep_going_(keep_going),
      scratch_(call, memory),
      terms_(call, memory),
      tile_(call, memory),
      floats_(call),
      decode_(call, memory),
      pairs_(call, memory),
      blocks_(memory),
      scores_(index(kTileKeys * call.max_lanes), memory),
      of_region_(memory),
      of_gates_(memory),
      decayed_(memory) {
  std::int64_t blocks = 0;
  for (const AttendUnit& unit : units) blocks = std::max(blocks, blocks_of_unit(call, unit));
  blocks_.reserve(index(blocks));
  for (std::int64_t n = 0; n < blocks; ++n) blocks_.emplace_back(call, memory);
  if (call.lowered.regions.regions.size() > 1) of_region_.resize(scores_.size());
  if (call.runs_backwards) of_gates_.resize(scores_.size());
  const auto decays = [](const CallRotation& rotation) { return !rotation.rule->decay.empty(); };
  if (std::ranges::any_of(call.rotations, decays)) decayed_.resize(index(call.layer.head_dim * call.max_lanes));
}

// The next free block, with its queries and the two kinds of products that it goes by.
void AttendWorker::begin_block(const BlockLanes& lanes) {
  LaneBlock& block = blocks_[used_++];
  posenc::cpu::begin(call_, lanes, scratch_, block);
  const auto in_pairs_if = [&](bool is_in_pairs) -> TileProducts* {
    if (block.decode) return &decode_;
    if (is_in_pairs) return &pairs_;
    return &floats_;
  };
  block.scores_by = in_pairs_if(call_.score_pairs != nullptr);
  block.values_by = in_pairs_if(call_.value_pairs != nullptr);
  if (far_.are_sought()) far_.measure(block);
}

// Decode: the lanes of several KV heads side by side, those of each padded by repeating its last.
void AttendWorker::begin_decode(const AttendUnit& unit) {
  const DecodeLayout layout = decode_layout(call_, unit);
  const std::int64_t own = unit.rows * call_.group;
  const std::int64_t first = call_.rows.sequences[unit.sequence].q_first + unit.first_row;
  std::array<Lane, kMaxLanes> lanes;
  const std::int64_t end = unit.kv_head + unit.kv_heads;
  for (std::int64_t head = unit.kv_head; head < end; head += layout.kv_heads) {
    const std::int64_t heads = std::min(layout.kv_heads, end - head);
    const std::int64_t count = heads == 1 ? own : heads * layout.each;
    for (std::int64_t l = 0; l < count; ++l) {
      const std::int64_t of_head = std::min(l % layout.each, own - 1);
      lanes[index(l)] = {first + of_head % unit.rows, (head + l / layout.each) * call_.group + of_head / unit.rows};
    }
    begin_block({.lanes = std::span(lanes).first(index(count)),
                 .kv_heads = heads,
                 .one_head = call_.group == 1 && heads == 1,
                 .decode = true});
  }
}

// Prefill: lanes are queries of one head, or of the whole GQA group where a head has fewer than a register takes.
void AttendWorker::begin(const AttendUnit& unit) {
  used_ = 0;
  tile_.expect(1);
  if (decode_layout(call_, unit).each > 0) return begin_decode(unit);
  std::array<Lane, kMaxLanes> lanes;
  const bool mixed = mixes_heads(call_, unit.rows);
  const std::int64_t heads = mixed ? call_.group : 1;  // whose lanes follow each other
  const std::int64_t first = call_.rows.sequences[unit.sequence].q_first + unit.first_row;
  const std::int64_t end = (unit.kv_head + unit.kv_heads) * call_.group;
  for (std::int64_t head = unit.kv_head * call_.group; head < end; head += heads) {
    for (std::int64_t at = 0; at < heads * unit.rows;) {
      const std::int64_t count = lanes_of_next(call_, !decayed_.empty(), heads * unit.rows - at);
      for (std::int64_t l = 0; l < count; ++l, ++at) {
        lanes[index(l)] = {first + at % unit.rows, head + at / unit.rows};
      }
      begin_block({.lanes = std::span(lanes).first(index(count)), .one_head = !mixed});
    }
  }
  tile_.expect(static_cast<std::int64_t>(used_) / unit.kv_heads);  // a tile is of one KV head
}

// All tiles of some keys past all blocks. A tile is skipped where the orders of its keys lie outside of what any lane
// sees (causal, sliding window, chunk), where ALiBi leaves it nothing, and where attn_mask hides it.
void AttendWorker::pass_over(const AttendUnit& unit, std::int64_t first, std::int64_t end) {
  const std::int64_t tiles = (end - first + kTileKeys - 1) / kTileKeys;
  const bool is_backwards = call_.runs_backwards || far_.are_sought();
  for (std::int64_t n = 0; n < tiles; ++n) {
    const std::int64_t at = first + (is_backwards ? tiles - 1 - n : n) * kTileKeys;
    const std::int64_t count = std::min(kTileKeys, end - at);
    // The next KV head's keys, or the next tile's.
    const auto after = [&](const LaneBlock& block) -> KeysAhead {
      const std::int64_t head = block.kv_head + block.kv_heads;
      if (head < unit.kv_head + unit.kv_heads) return {head, at, count};
      const std::int64_t next = is_backwards ? at - kTileKeys : at + kTileKeys;
      if (next < first || next >= end) return {};
      return {unit.kv_head, next, std::min(kTileKeys, end - next)};
    };
    std::int64_t placed = -1;
    for (LaneBlock& block : std::span(blocks_).first(used_)) {
      const bool is_first = block.kv_head != placed;  // of those that meet the tile
      if (is_first) tile_.place(unit.sequence, block.kv_head, at, count);
      tile_.announce(is_first ? after(block) : KeysAhead{});
      placed = block.kv_head;
      const Orders keys = tile_.orders();
      const bool is_hidden = keys.low > block.most.high || keys.high < block.least.low;
      if (is_hidden || far_.is_far(block, unit.sequence, block.kv_head, at)) {
        ++work.skipped;
        continue;
      }
      tile_.show_up_to(block.most.high);
      ++tiles_since_asked_;
      if (!shows_any(call_, block, tile_)) {
        ++work.skipped;
        continue;
      }
      ++work.tiles;
      attend_tile(block);
    }
    if (tiles_since_asked_ < kTilesUntilAsked) continue;
    tiles_since_asked_ = 0;
    if (!keep_going_()) return;
  }
}

// One tile and one block, in the order of the equation of posenc/reference_attend.h: QK^T (in each region), content
// terms, mask, soft cap and biases, online softmax, PV.
void AttendWorker::attend_tile(LaneBlock& block) {
  const kernels::AttentionKernels& kernels = call_.attention;
  const std::int64_t channels = call_.layer.head_dim;
  const kernels::Scores scores{scores_.data(), tile_.count(), block.lanes};
  const std::vector<math::Region>& regions = call_.lowered.regions.regions;
  const auto product = [&](std::size_t region, float* to) {
    const float* q = block.q.data() + static_cast<std::int64_t>(region) * channels * block.lanes;
    if (!decayed_.empty()) {
      const math::Coordinate& along = call_.lowered.coordinates.front();
      std::copy_n(q, channels * block.lanes, decayed_.begin());
      decay_queries(call_, block, along.q[index(block.lane[0].row)] - along.k[index(tile_.row(0))], decayed_.data());
      q = decayed_.data();
    }
    block.scores_by->multiply_keys(block, tile_, region, q, to);
  };
  product(0, scores_.data());
  for (std::size_t r = 1; r < regions.size(); ++r) {
    // Each score is taken from the product of the region that its query and key are in; the first region's is there
    // already, and a product that no score of the tile needs is not made.
    bool any = false;
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      for (std::int64_t l = 0; l < block.used; ++l) {
        const double apart = call_.lowered.regions.q_places[index(block.lane[index(l)].row)] -
                             call_.lowered.regions.k_places[index(tile_.row(m))];
        if (apart < regions[r].low || apart >= regions[r].high) continue;
        if (!any) product(r, of_region_.data());
        any = true;
        scores_[index(m * block.lanes + l)] = of_region_[index(m * block.lanes + l)];
      }
    }
  }

  TileTerms terms(call_, terms_, block, tile_, scores_.data());
  terms.add_content();
  const Hidden hidden = terms.hide();
  if (call_.runs_backwards) terms.sum_gates(of_gates_.data());
  const std::optional<SoftCap>& cap = call_.layer.soft_cap;
  const auto cap_if = [&](SoftCap::Order now) {
    if (cap && cap->order == now) kernels.cap({.of = scores, .cap = static_cast<float>(cap->cap)});
  };
  cap_if(SoftCap::Order::before_bias);
  terms.add_bias(call_.runs_backwards ? of_gates_.data() : nullptr);
  cap_if(SoftCap::Order::after_bias);
  if (hidden.any() && call_.adds_bias) (void)terms.hide();  // whatever a bias has made of it: NaN, infinity

  std::array<float, kMaxLanes> rescale;
  kernels.softmax({.of = scores, .max = block.max.data(), .sum = block.sum.data(), .rescale = rescale.data()});
  if (const auto* by_distance = std::get_if<math::ValueDistance>(&call_.lowered.values)) {
    for (std::size_t n = 0; n < block.mass.size(); ++n) block.mass[n] *= rescale[n % index(block.lanes)];
    terms.add_mass(*by_distance);
  }
  add_values(block, hidden, rescale.data());
}

// How many heads are in a block depends on the threads. So each goes its own way: the slow one where its values are not
// finite and some of its lanes must not see all of them, whatever the heads beside it have.
void AttendWorker::add_values(LaneBlock& block, const Hidden& hidden, const float* rescale) {
  const float* const p = scores_.data();
  if (!hidden.any() || tile_.values_are_finite(block.kv_heads, hidden.seen_by(0, block.lanes))) {
    return block.values_by->add_values(block, tile_, p, rescale);
  }
  if (block.kv_heads == 1) return add_unmasked_values(call_, block, tile_, block.kv_head, p, rescale);
  for (std::int64_t n = 0; n < block.kv_heads; ++n) {  // decode
    const std::int64_t lane = n * block.each;
    if (hidden.any_of(lane, block.each) && !tile_.values_of_head_are_finite(n, hidden.seen_by(lane, block.each))) {
      add_unmasked_values(call_, block, tile_, block.kv_head + n, p, rescale);
    } else {
      decode_.add_values_of_head(block, tile_, n, p, rescale);
    }
  }
}

// A block's max, sum, divisor and out, one after another; then mass.
std::int64_t state_size(const AttendCall& call, const AttendUnit& unit) {
  const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values);
  const std::int64_t rows = 3 + call.layer.value_dim + (values == nullptr ? 0 : values->count + 1);
  const std::int64_t wide = call.attention.register_lanes;
  if (const DecodeLayout few = decode_layout(call, unit); few.each > 0) {
    std::int64_t lanes = 0;
    for (std::int64_t head = 0; head < unit.kv_heads; head += few.kv_heads) {
      lanes += whole(std::min(few.kv_heads, unit.kv_heads - head) * few.each, wide);
    }
    return lanes * rows;
  }
  const bool mixed = mixes_heads(call, unit.rows);
  const std::int64_t lanes = mixed ? whole(unit.rows * call.group, wide) : whole(unit.rows, wide) * call.group;
  return unit.kv_heads * lanes * rows;
}

// The state of a part, for the join: max, sum, divisor, out and mass of each block.
void AttendWorker::save(float* to) const {
  for (const LaneBlock& block : std::span(blocks_).first(used_)) {
    to = std::copy_n(block.max.begin(), block.lanes, to);
    to = std::copy_n(block.sum.begin(), block.lanes, to);
    to = std::copy_n(block.divisor.begin(), block.lanes, to);
    to = std::copy(block.out.begin(), block.out.end(), to);
    to = std::copy(block.mass.begin(), block.mass.end(), to);
  }
}

// Adds another part's state: both are rescaled to the larger maximum, as merge() does for results.
void AttendWorker::join(const float* from) {
  for (LaneBlock& block : std::span(blocks_).first(used_)) {
    const float* const max = from;
    const float* const sum = from + block.lanes;
    const float* const divisor = sum + block.lanes;
    from += 3 * block.lanes;
    std::array<float, kMaxLanes> own{};
    std::array<float, kMaxLanes> others{};
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      const std::size_t at = index(l);
      const float most = std::max(block.max[at], max[l]);
      own[at] = exp_of_difference(block.max[at], most);
      others[at] = exp_of_difference(max[l], most);
      block.max[at] = most;
      block.sum[at] = block.sum[at] * own[at] + sum[l] * others[at];
      block.divisor[at] = block.divisor[at] * own[at] + divisor[l] * others[at];
    }
    const auto channels = static_cast<std::size_t>(call_.layer.value_dim);
    for (std::size_t n = 0; block.decode && n < block.out.size(); n += channels) {  // a lane
      const std::size_t l = n / channels;
      for (std::size_t c = n; c < n + channels; ++c) block.out[c] = block.out[c] * own[l] + *from++ * others[l];
    }
    const auto add_rows = [&](LaneBlock::Floats& rows) {
      for (std::size_t n = 0; n < rows.size();) {
        for (std::size_t l = 0; l < index(block.lanes); ++l, ++n) rows[n] = rows[n] * own[l] + *from++ * others[l];
      }
    };
    if (!block.decode) add_rows(block.out);
    add_rows(block.mass);
  }
}

// What the blocks have seen becomes outputs.
void AttendWorker::finish() {
  for (const LaneBlock& block : std::span(blocks_).first(used_)) write_block(call_, block, scratch_);
}

}  // namespace posenc::cpu

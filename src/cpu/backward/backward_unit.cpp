// One unit of the backward pass, tile by tile. The scores are made again exactly as attend makes them where lanes are
// many; what follows is in the order of the equation of posenc/reference_attend.h, from its end.
#include "cpu/backward/backward_unit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "cpu/attend/matrix_rows.h"
#include "cpu/backward/bias_gradients.h"
#include "cpu/lower/weight_reader.h"
#include "math/rope/rotation.h"

namespace posenc::cpu {
namespace {

// Lanes whose state stays in L2 while a tile passes.
constexpr std::int64_t kBackwardBlocks = 8;
// Some 50 us each.
constexpr std::int64_t kBackwardTilesUntilAsked = 16;

std::int64_t tiles_of(const math::SequenceRows& s) { return (s.k_count + kTileKeys - 1) / kTileKeys; }

std::int64_t rows_of_backward_unit(const AttendCall& call) {
  return call.max_lanes * std::max<std::int64_t>(1, kBackwardBlocks / call.group);
}

// As add_seen_rows has it of columns: d_q[c][l] += k[m][c] d[m][l]
void add_seen_keys(const FloatRows& keys, std::int64_t count, std::int64_t channels, const float* d, std::int64_t lanes,
                   float* d_q) {
  for (std::int64_t m = 0; m < count; ++m) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      const float own = d[m * lanes + l];
      if (own == 0.0F) continue;
      for (std::int64_t c = 0; c < channels; ++c) d_q[c * lanes + l] += keys.data[m * keys.stride + c] * own;
    }
  }
}

}  // namespace

// KV heads inside, so that those that add to the same sums are far apart in time.
std::vector<BackwardUnit> backward_units(const BackwardCall& backward) {
  const AttendCall& call = backward.call;
  const std::int64_t heads = call.layer.kv_heads;
  const std::int64_t step = rows_of_backward_unit(call);
  std::vector<BackwardUnit> out;
  for (std::size_t s = 0; s < call.rows.sequences.size(); ++s) {
    const std::int64_t queries = call.rows.sequences[s].q_count;
    for (std::int64_t row = 0; row < queries; row += step) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t before = std::ssize(out) - heads;
        out.push_back(
            {s, head, row, std::min(step, queries - row), before, before >= 0 && out[index(before)].sequence == s});
      }
    }
  }
  return out;
}

BackwardWorker::BackwardWorker(BackwardCall& backward, std::span<const BackwardUnit> units, const FarTiles& far,
                               TaskOrder& order, KeepGoing& keep_going, std::pmr::memory_resource* memory)
    : backward_(backward),
      call_(backward.call),
      units_(units),
      far_(far),
      order_(order),
      keep_going_(keep_going),
      scratch_(backward.call, memory),
      angles_(backward.call, memory),
      gradients_(backward, memory),
      tile_(backward.call, memory),
      products_(backward.call),
      blocks_(memory) {
  std::int64_t rows = 0;
  std::int64_t tiles = 0;
  for (const BackwardUnit& unit : units) {
    rows = std::max(rows, unit.rows);
    tiles = std::max(tiles, tiles_of(call_.rows.sequences[unit.sequence]));
  }
  const std::int64_t blocks = (rows + call_.max_lanes - 1) / call_.max_lanes * call_.group;
  blocks_.reserve(index(blocks));
  for (std::int64_t n = 0; n < blocks; ++n) blocks_.emplace_back(backward, tiles, memory);
  const std::size_t scores = index(kTileKeys * call_.max_lanes);
  scores_.resize(scores);
  d_.resize(scores);
  if (backward.regions() > 1) of_region_.resize(scores);
  if (backward.inverse_cap(SoftCap::Order::before_bias) != 0.0) capped_.resize(scores);
  const auto is_content = [](const math::Term& term) { return math::part_of(term) == math::Part::content; };
  if (std::ranges::any_of(call_.lowered.terms, is_content)) scaled_.resize(scores);
  if (call_.runs_backwards) {
    content_.resize(scores);
    of_gates_.resize(scores);
    gate_places_.resize(scores);
  }
  const auto decays = [](const CallRotation& rotation) { return !rotation.rule->decay.empty(); };
  if (std::ranges::any_of(call_.rotations, decays)) {
    decayed_.resize(index(call_.layer.head_dim * call_.max_lanes));
    product_.resize(decayed_.size());
    decayed_rows_.resize(index(backward.key_width * call_.max_lanes));
    decay_.resize(index(call_.layer.head_dim));
  }
  meets_.resize(index(backward.regions()));
  keys_.keys.resize(index(backward.regions() * kTileKeys * backward.key_width));
  if (backward.keeps_raw_keys) keys_.raw_keys.resize(index(kTileKeys * backward.key_width));
  keys_.values.resize(index(kTileKeys * backward.value_width));
  keys_.columns.resize(call_.lowered.terms.size());
  for (std::size_t t = 0; t < call_.lowered.terms.size(); ++t) {
    const bool has_columns = std::holds_alternative<math::Column>(call_.lowered.terms[t]);
    if (has_columns) keys_.columns[t].resize(index(call_.group * kTileKeys));
    of_terms_.emplace_back(backward.wants[t] != 0 ? size_of_term(call_, t) : TermSize{}, call_.group);
  }
  of_values_ = TermSums(backward.wants_values ? size_of_values(call_) : TermSize{}, call_.group);
  of_sinks_.resize(index(call_.group));
  for (const CallRotation& rotation : call_.rotations) of_frequencies_.emplace_back(index(rotation.pairs));
  const std::size_t rows_size = index(kTileKeys * std::max(backward.key_width, backward.value_width));
  rows_.resize(rows_size);
  more_rows_.resize(rows_size);
  rotated_.resize(rows_size);
  given_.resize(rows_size);
}

void BackwardWorker::begin(const BackwardUnit& unit) {
  for (TermSums& sums : of_terms_) sums.clear();
  of_values_.clear();
  std::ranges::fill(of_sinks_, 0.0);
  for (std::vector<double>& sums : of_frequencies_) std::ranges::fill(sums, 0.0);
  used_ = 0;
  std::array<Lane, kMaxLanes> lanes;
  const std::int64_t first = call_.rows.sequences[unit.sequence].q_first + unit.first_row;
  for (std::int64_t g = 0; g < call_.group; ++g) {
    for (std::int64_t row = 0; row < unit.rows; row += call_.max_lanes) {
      const std::int64_t count = std::min(call_.max_lanes, unit.rows - row);
      for (std::int64_t l = 0; l < count; ++l) {
        lanes[index(l)] = {first + row + l, unit.kv_head * call_.group + g};
      }
      GradientBlock& block = blocks_[used_++];
      posenc::cpu::begin(backward_, std::span(lanes).first(index(count)), scratch_, angles_,
                         backward_.wants_frequencies ? &of_frequencies_ : nullptr, block);
      of_sinks_[index(g)] += block.of_sink;
      if (far_.are_sought()) {
        far_.measure(block.lanes);
        std::copy_n(block.lse.begin(), block.lanes.lanes, block.lanes.max.begin());  // at least the largest score
      }
      if (call_.runs_backwards) find_carries(unit, block);
    }
  }
}

void BackwardWorker::place(const BackwardUnit& unit, std::int64_t tile) {
  const std::int64_t keys = call_.rows.sequences[unit.sequence].k_count;
  tile_.place(unit.sequence, unit.kv_head, tile * kTileKeys, std::min(kTileKeys, keys - tile * kTileKeys));
}

// Whether the block sees any of the tile, whose keys are shown as far as it may.
bool BackwardWorker::is_seen_by(const GradientBlock& block) {
  const Orders orders = tile_.orders();
  if (orders.low > block.lanes.most.high || orders.high < block.lanes.least.low) return false;
  tile_.show_up_to(block.lanes.most.high);
  return shows_any(call_, block.lanes, tile_);
}

// Gates are summed from the last key: what comes after each tile, before the tiles pass from the first on.
void BackwardWorker::find_carries(const BackwardUnit& unit, GradientBlock& block) {
  const std::int64_t lanes = block.lanes.lanes;
  const std::int64_t tiles = tiles_of(call_.rows.sequences[unit.sequence]);
  block.carries.resize(index(tiles * lanes));
  for (std::int64_t tile = tiles; tile-- > 0;) {
    std::copy_n(block.lanes.carry.begin(), lanes, block.carries.begin() + tile * lanes);
    place(unit, tile);
    if (!is_seen_by(block)) continue;
    make_scores(block, scores_.data());
    TileTerms terms(call_, gradients_.terms, block.lanes, tile_, scores_.data());
    terms.add_content();
    (void)terms.hide();
    terms.sum_gates(of_gates_.data());
  }
}

// q k of each score's region, as attend makes it; `meets_` says which regions occur.
void BackwardWorker::make_scores(GradientBlock& block, float* scores) {
  const LaneBlock& lanes = block.lanes;
  const std::int64_t channels = call_.layer.head_dim;
  if (!decay_.empty()) {
    std::ranges::fill(decay_, 1.0F);
    const math::Coordinate& along = call_.lowered.coordinates.front();
    const double beyond = along.q[index(lanes.lane[0].row)] - along.k[index(tile_.row(0))];
    for (const CallRotation& rotation : call_.rotations) {
      for (std::int64_t p = 0; p < std::ssize(rotation.rule->decay); ++p) {
        const auto by = static_cast<float>(std::exp(rotation.rule->decay[index(p)] * beyond));
        const auto [a, b] =
            math::channels_of_pair(rotation.rule->pairing, rotation.rule->first_channel, rotation.rule->dim, p);
        decay_[index(a)] *= by;
        decay_[index(b)] *= by;
      }
    }
  }
  const auto product = [&](std::size_t region, float* to) {
    const float* q = lanes.q.data() + static_cast<std::int64_t>(region) * channels * lanes.lanes;
    if (!decay_.empty()) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t l = 0; l < lanes.lanes; ++l) {
          decayed_[index(c * lanes.lanes + l)] = decay_[index(c)] * q[c * lanes.lanes + l];
        }
      }
      q = decayed_.data();
    }
    products_.multiply_keys(lanes, tile_, region, q, to);
  };
  product(0, scores);
  const std::vector<math::Region>& regions = call_.lowered.regions.regions;
  for (std::size_t r = 1; r < regions.size(); ++r) {
    meets_[r] = 0;
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      for (std::int64_t l = 0; l < lanes.used; ++l) {
        const double apart = call_.lowered.regions.q_places[index(lanes.lane[index(l)].row)] -
                             call_.lowered.regions.k_places[index(tile_.row(m))];
        if (apart < regions[r].low || apart >= regions[r].high) continue;
        if (meets_[r] == 0) product(r, of_region_.data());
        meets_[r] = 1;
        scores[m * lanes.lanes + l] = of_region_[index(m * lanes.lanes + l)];
      }
    }
  }
}

void BackwardWorker::run(std::int64_t number) {
  const BackwardUnit& unit = units_[index(number)];
  number_ = number;
  begin(unit);
  const std::int64_t tiles = tiles_of(call_.rows.sequences[unit.sequence]);
  std::int64_t since_asked = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    has_keys_ = false;
    place(unit, tile);
    for (GradientBlock& block : std::span(blocks_).first(used_)) {
      if (!is_seen_by(block) || far_.is_far(block.lanes, unit.sequence, unit.kv_head, tile * kTileKeys)) continue;
      pass_block(block, tile);
      ++since_asked;
    }
    // Whoever comes after this unit asks for this one alone: so it waits, even where it has nothing to add.
    if (unit.shares_keys) order_.wait(unit.before, tile + 1);
    if (has_keys_) add_tile(unit, tile);
    order_.pass(number, tile + 1);
    if (since_asked < kBackwardTilesUntilAsked) continue;
    since_asked = 0;
    if (!keep_going_()) break;
  }
  order_.pass(number, TaskOrder::kAllTiles);
  for (GradientBlock& block : std::span(blocks_).first(used_)) finish_block(block);
  order_.wait(unit.before, TaskOrder::kAll);
  add_sums(unit);
  order_.pass(number, TaskOrder::kAll);
}

void BackwardWorker::pass_block(GradientBlock& block, std::int64_t tile) {
  const LaneBlock& lanes = block.lanes;
  const kernels::Scores scores{scores_.data(), tile_.count(), lanes.lanes};
  const std::int64_t count = tile_.count() * lanes.lanes;
  if (!has_keys_) {
    std::ranges::fill(keys_.keys, 0.0F);
    std::ranges::fill(keys_.raw_keys, 0.0F);
    std::ranges::fill(keys_.values, 0.0F);
    for (std::vector<double>& columns : keys_.columns) std::ranges::fill(columns, 0.0);
    has_keys_ = true;
  }
  // Scores, as attend has them.
  make_scores(block, scores_.data());
  TileTerms terms(call_, gradients_.terms, block.lanes, tile_, scores_.data());
  terms.add_content();
  const Hidden hidden = terms.hide();
  if (call_.runs_backwards) {
    std::copy_n(scores_.begin(), count, content_.begin());
    std::copy_n(block.carries.begin() + tile * lanes.lanes, lanes.lanes, block.lanes.carry.begin());
    terms.sum_gates(of_gates_.data());
  }
  const auto cap_if = [&](SoftCap::Order order) {
    const std::optional<SoftCap>& cap = call_.layer.soft_cap;
    if (cap && cap->order == order) call_.attention.cap({.of = scores, .cap = static_cast<float>(cap->cap)});
  };
  cap_if(SoftCap::Order::before_bias);
  if (!capped_.empty()) std::copy_n(scores_.begin(), count, capped_.begin());
  terms.add_bias(call_.runs_backwards ? of_gates_.data() : nullptr);
  cap_if(SoftCap::Order::after_bias);
  if (hidden.any() && call_.adds_bias) (void)terms.hide();

  // Weights, and gradients of what the softmax was given.
  const FloatRows values = tile_.values();
  call_.attention.product({.a = values.data,
                           .a_row = values.stride,
                           .a_step = 1,
                           .b = block.d_out.data(),
                           .c = d_.data(),
                           .rows = tile_.count(),
                           .depth = call_.layer.value_dim,
                           .lanes = lanes.lanes});
  TileGradients gradients(backward_, gradients_, block, tile_, terms, keys_, of_terms_);
  const auto* by_distance = std::get_if<math::ValueDistance>(&call_.lowered.values);
  if (by_distance != nullptr) gradients.add_of_values(*by_distance, d_.data());
  call_.attention.weight_gradients(
      {.of = scores,
       .gradients = d_.data(),
       .lse = block.lse.data(),
       .delta = block.delta.data(),
       .inverse_cap = static_cast<float>(backward_.inverse_cap(SoftCap::Order::after_bias))});
  for (std::int64_t m = 0; m < tile_.count(); ++m) {  // of lanes without a query, which no mask has hidden
    std::fill(d_.begin() + m * lanes.lanes + lanes.used, d_.begin() + (m + 1) * lanes.lanes, 0.0F);
  }
  const bool is_careful =
      !block.is_finite || (hidden.any() && !are_finite_rows(tile_.keys(0), tile_.count(), call_.layer.head_dim));
  if (by_distance != nullptr) terms.add_mass(*by_distance);
  if (backward_.d_values.is_asked) {
    add_rows(call_, gradients_.ones.data(), is_careful,
             {.a = scores_.data(),
              .a_row = lanes.lanes,
              .a_step = 1,
              .b = block.d_out_rows.data(),
              .b_row = backward_.value_width,
              .c = keys_.values.data(),
              .c_row = backward_.value_width,
              .rows = tile_.count(),
              .depth = lanes.used,
              .width = backward_.value_width});
  }

  // From the last cap back to q k.
  if (!backward_.args.d_bias.empty()) {
    if (backward_.orders_bias) order_.wait(number_ - 1, TaskOrder::kAllTiles);
    add_to_bias(call_, backward_.args.d_bias, block.lanes, tile_, d_.data());
  }
  gradients.add_bias(d_.data());
  if (call_.runs_backwards) {
    gradients.pass_gates(content_.data(), d_.data(), block.carries.data() + tile * lanes.lanes, gate_places_.data(),
                         of_gates_.data());
  }
  if (!capped_.empty()) {
    call_.attention.cap_gradients(
        {.of = {d_.data(), tile_.count(), lanes.lanes},
         .capped = capped_.data(),
         .inverse_cap = static_cast<float>(backward_.inverse_cap(SoftCap::Order::before_bias))});
  }
  if (call_.runs_backwards) {
    for (std::int64_t n = 0; n < count; ++n) d_[index(n)] += of_gates_[index(n)];
  }
  if (!scaled_.empty()) {
    std::fill_n(scaled_.begin(), count, 0.0F);
    call_.attention.sum_rows({.of = {d_.data(), tile_.count(), lanes.lanes},
                              .sums = scaled_.data(),
                              .step = lanes.lanes,
                              .factor = lanes.row_scale.data()});
    gradients.add_content(scaled_.data());
  }
  add_to_queries_and_keys(block, is_careful);
}

// Each score's gradient in its region; of one region all of them.
void BackwardWorker::add_to_queries_and_keys(GradientBlock& block, bool is_careful) {
  const LaneBlock& lanes = block.lanes;
  const std::vector<math::Region>& regions = call_.lowered.regions.regions;
  const bool is_one = std::all_of(meets_.begin() + 1, meets_.end(), [](char any) { return any == 0; });
  if (is_one) return add_region(block, 0, d_.data(), is_careful);
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (r > 0 && meets_[r] == 0) continue;
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      for (std::int64_t l = 0; l < lanes.lanes; ++l) {
        const double apart = call_.lowered.regions.q_places[index(lanes.lane[index(l)].row)] -
                             call_.lowered.regions.k_places[index(tile_.row(m))];
        const bool is_here = apart >= regions[r].low && apart < regions[r].high;
        const std::size_t at = index(m * lanes.lanes + l);
        of_region_[at] = is_here ? d_[at] : 0.0F;
      }
    }
    add_region(block, static_cast<std::int64_t>(r), of_region_.data(), is_careful);
  }
}

void BackwardWorker::add_region(GradientBlock& block, std::int64_t region, const float* d, bool is_careful) {
  const LaneBlock& lanes = block.lanes;
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t width = backward_.key_width;
  const FloatRows keys = tile_.keys(index(region));
  float* const d_q = block.d_q.data() + region * channels * lanes.lanes;
  const float* q_rows = block.q_rows.data() + region * lanes.lanes * width;
  float* to = d_q;
  if (!decay_.empty()) {
    std::fill_n(product_.begin(), channels * lanes.lanes, 0.0F);
    to = product_.data();
    for (std::int64_t l = 0; l < lanes.lanes; ++l) {
      for (std::int64_t c = 0; c < width; ++c) {
        decayed_rows_[index(l * width + c)] = c < channels ? decay_[index(c)] * q_rows[l * width + c] : 0.0F;
      }
    }
    q_rows = decayed_rows_.data();
  }
  if (is_careful) {
    add_seen_keys(keys, tile_.count(), channels, d, lanes.lanes, to);
  } else {
    call_.attention.product({.a = keys.data,
                             .a_row = 1,
                             .a_step = keys.stride,
                             .b = d,
                             .c = to,
                             .scale = gradients_.ones.data(),
                             .rows = channels,
                             .depth = tile_.count(),
                             .lanes = lanes.lanes});
  }
  if (!decay_.empty()) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t l = 0; l < lanes.lanes; ++l) {
        d_q[c * lanes.lanes + l] += decay_[index(c)] * to[c * lanes.lanes + l];
      }
    }
  }
  if (!backward_.d_keys[index(region)].is_asked) return;
  float* const d_k = keys_.keys.data() + region * kTileKeys * width;
  add_rows(call_, gradients_.ones.data(), is_careful,
           {.a = d,
            .a_row = lanes.lanes,
            .a_step = 1,
            .b = q_rows,
            .b_row = width,
            .c = d_k,
            .c_row = width,
            .rows = tile_.count(),
            .depth = lanes.used,
            .width = width});
}

// What all blocks have added to a tile's keys, to the sums of the call: the unit's turn has come.
void BackwardWorker::add_tile(const BackwardUnit& unit, std::int64_t tile) {
  for (std::size_t t = 0; t < of_terms_.size(); ++t) {
    multiply_key_places(backward_, gradients_, tile_, t, keys_, of_terms_[t]);
  }
  const std::int64_t keys = call_.rows.sequences[unit.sequence].k_count;
  const std::int64_t count = std::min(kTileKeys, keys - tile * kTileKeys);
  const std::int64_t first = call_.rows.sequences[unit.sequence].k_first + tile * kTileKeys;
  const auto add = [&](const KeySums& sums, const float* from, std::int64_t width, std::int64_t channels) {
    if (!sums.is_asked) return;
    if (channels == width) {
      call_.attention.sum_rows({.of = {const_cast<float*>(from), count, width},
                                .sums = sums.row(first, unit.kv_head),
                                .step = sums.at.row_stride});
      return;
    }
    for (std::int64_t m = 0; m < count; ++m) {
      float* const to = sums.row(first + m, unit.kv_head);
      for (std::int64_t c = 0; c < channels; ++c) to[c] += from[m * width + c];
    }
  };
  for (std::int64_t r = 0; r < backward_.regions(); ++r) {
    const std::int64_t place = r * kTileKeys * backward_.key_width;
    add(backward_.d_keys[index(r)], keys_.keys.data() + place, backward_.key_width, call_.layer.head_dim);
  }
  if (backward_.keeps_raw_keys) {
    add(backward_.d_raw_keys, keys_.raw_keys.data(), backward_.key_width, call_.layer.head_dim);
  }
  add(backward_.d_values, keys_.values.data(), backward_.value_width, call_.layer.value_dim);
  for (std::size_t t = 0; t < keys_.columns.size(); ++t) {
    if (keys_.columns[t].empty() || backward_.wants[t] == 0) continue;
    for (std::int64_t g = 0; g < call_.group; ++g) {
      const std::int64_t head = unit.kv_head * call_.group + g;
      double* const to = backward_.of_rows[t].of_keys.data() + head * call_.lowered.k_rows + first;
      for (std::int64_t m = 0; m < count; ++m) to[m] += keys_.columns[t][index(g * kTileKeys + m)];
    }
  }
}

void BackwardWorker::add_sums(const BackwardUnit& unit) {
  const std::int64_t first = unit.kv_head * call_.group;
  for (std::size_t t = 0; t < of_terms_.size(); ++t) {
    if (backward_.wants[t] != 0) backward_.of_terms[t].add(of_terms_[t], first);
  }
  if (backward_.wants_values) backward_.of_values.add(of_values_, first);
  for (std::int64_t g = 0; g < call_.group; ++g) backward_.of_sinks[index(first + g)] += of_sinks_[index(g)];
  if (!backward_.wants_frequencies) return;
  FrequencySums& to = backward_.of_frequencies[index(unit.kv_head)];
  for (std::size_t n = 0; n < to.size(); ++n) {
    for (std::size_t p = 0; p < to[n].size(); ++p) to[n][p] += of_frequencies_[n][p];
  }
}

}  // namespace posenc::cpu

#include "cpu/attend_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <variant>

#include "cpu/heads_view.h"
#include "cpu/lower.h"
#include "cpu/place_vectors.h"
#include "cpu/weight_reader.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Numbers of a table by distance, 32 MiB of them: what a call keeps beside its rows stays below 64 MiB.
constexpr double kMostProjected = 1 << 23;

std::vector<float> floats(const std::vector<double>& x) { return {x.begin(), x.end()}; }

// What positions may be for the angles of a rotation.
void check_positions(const CallRotation& rotation, const math::Lowered& lowered) {
  const double largest = rotation.angles.largest_position();
  const auto check = [&](const std::vector<double>& rows) {
    for (const double x : rows) {
      if (std::abs(x + rotation.rule->offset) <= largest) continue;
      throw Error("attend", {"positions", fmt::format("be at most {} either way, for angles below 2^53", largest),
                             fmt::format("{}", x)});
    }
  };
  for (const math::Coordinate& at : lowered.coordinates) {
    check(at.q);
    check(at.k);
  }
  for (const math::Region& region : lowered.regions.regions) {
    check(region.q_positions);
    check(region.k_positions);
  }
}

struct NeedsOfTerm {
  AttendCall& call;
  void operator()(const math::QueryDistance& term) const {
    call.takes_raw_queries |= term.given_places.empty();
    call.vectors.back().rows = vectors_of(term.vectors);
    if (!term.given_places.empty()) call.vectors.back().given = vectors_of(term.given);
  }
  void operator()(const math::SineDistance& term) const {
    call.takes_raw_queries = true;
    TermVectors& own = call.vectors.back();
    own.sines.emplace(term);
    own.weight = own.sines->arranged(term.projection);
    own.added = floats(term.added);
    if (projects_distances(term)) project_distances(term, own);
  }
  void operator()(const math::KeyDistance& term) const {
    call.takes_raw_keys = true;
    TermVectors& own = call.vectors.back();
    own.rows = vectors_of(term.vectors);
    group(term, own);
  }
  void operator()(const math::KeyVector& term) const {
    if (!call.rotations.empty()) call.takes_raw_keys = true;
    call.vectors.back().rows = floats(term.vectors);
  }
  void operator()(const math::Label&) const { call.takes_raw_queries = true; }
  void operator()(const math::Running& term) const {
    call.takes_raw_queries = true;
    call.runs_backwards = true;
    call.vectors.back().rows = floats(term.vectors);
  }
  void operator()(const math::DistanceBias&) const {}
  void operator()(const math::LinearDistance&) const {}
  void operator()(const math::Knots&) const {}
  void operator()(const math::Column&) const {}

 private:
  // [heads][count][channels] as [heads][groups][channels][places of a group], zeros beyond the last place.
  void group(const math::KeyDistance& term, TermVectors& own) const {
    const std::int64_t count = term.vectors.count;
    const std::int64_t channels = call.layer.head_dim;
    const std::int64_t wide = call.max_lanes;
    const std::int64_t heads = term.vectors.per_head ? call.layer.heads : 1;
    own.groups = (count + wide - 1) / wide;
    own.columns.resize(index(heads * own.groups * channels * wide));
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t place = 0; place < count; ++place) {
        const float* const from = own.rows.data() + (h * count + place) * channels;
        float* const to = own.columns.data() + (h * own.groups + place / wide) * channels * wide + place % wide;
        for (std::int64_t c = 0; c < channels; ++c) to[c * wide] = from[c];
      }
    }
    own.rows.resize(own.rows.size() + index((kernels::kFewLanes - 1) * channels));
  }

  std::vector<float> vectors_of(const math::PlaceVectors& vectors) const {
    return floats_of(vectors, call.layer.heads, call.layer.head_dim, call.attention);
  }

  // Either way a score costs a product, of `width` numbers where queries are projected, of a head's channels where
  // distances are; and every query, or every distance, a product with a head's weights.
  bool projects_distances(const math::SineDistance& term) const {
    const auto width = static_cast<double>(call.vectors.back().sines->width());
    const auto channels = static_cast<double>(call.layer.head_dim);
    const auto count = static_cast<double>(term.high - term.low + 1);
    if (static_cast<double>(call.layer.heads) * count * channels > kMostProjected) return false;
    double scores = 0.0;
    double queries = 0.0;
    for (const math::SequenceRows& s : call.rows.sequences) {
      queries += static_cast<double>(s.q_count);
      scores += static_cast<double>(s.q_count) * static_cast<double>(s.k_count);
    }
    return count * channels * width + scores * channels < queries * channels * width + scores * width;
  }

  void project_distances(const math::SineDistance& term, TermVectors& own) const {
    const std::int64_t count = term.high - term.low + 1;
    const std::int64_t channels = call.layer.head_dim;
    own.rows.resize(index(call.layer.heads * count * channels));
    std::vector<float> sines(index(SineRows::kRows * own.sines->width()));
    std::vector<double> distances;
    for (std::int64_t first = term.low; first <= term.high; first += std::ssize(distances)) {
      distances.clear();
      for (std::int64_t d = first; d <= term.high && std::ssize(distances) < SineRows::kRows; ++d) {
        distances.push_back(static_cast<double>(math::sine_place(term, d).value_or(0)));
      }
      own.sines->write(call.kernels, distances, sines.data());
      project(
          call.attention,
          {.heads = call.layer.heads, .channels = channels, .width = own.sines->width(), .weight = own.weight.data()},
          sines.data(), std::ssize(distances), own.rows.data() + (first - term.low) * channels, count * channels);
    }
    // What lies beyond either end is as the end: nothing, where only some distances have a row.
    const std::int64_t beyond = term.rows ? 1 : 0;
    own.at = {.coordinate = term.coordinate, .low = term.low - beyond, .places = {}};
    own.at.places.resize(index(count + 2 * beyond), -1);
    std::iota(own.at.places.begin() + beyond, own.at.places.end() - beyond, 0);
  }
};

// Gates are summed by falling order, so no two keys of a sequence may have one.
void check_orders(const math::CallRows& rows) {
  for (const math::SequenceRows& s : rows.sequences) {
    for (std::int64_t t = 1; t < s.k_count; ++t) {
      const std::int64_t before = rows.k_order[index(s.k_first + t - 1)];
      const std::int64_t own = rows.k_order[index(s.k_first + t)];
      if (own > before) continue;
      throw Error("attend", {"k_order", "ascend from key to key, since gates are summed along it",
                             fmt::format("{} after {}", own, before)});
    }
  }
}

}  // namespace

RowsView rows_view(const ConstTensorView& x) {
  const bool is_batch = x.rank == 4;
  const auto stride = [&](std::size_t axis) { return x.shape[axis] > 1 ? x.strides[axis] : 0; };
  RowsView out{.data = static_cast<const char*>(x.data), .element = element_of(x.dtype), .bytes = bytes_of(x.dtype)};
  if (is_batch) {
    out.tokens = std::max<std::int64_t>(x.shape[2], 1);
    out.batch_stride = stride(0);
    out.head_stride = stride(1);
    out.row_stride = stride(2);
  } else {
    out.tokens = std::max<std::int64_t>(x.shape[0], 1);
    out.row_stride = stride(0);
    out.head_stride = stride(1);
  }
  return out;
}

namespace {

RowsView pages_view(const ConstTensorView& x) {
  return {.data = static_cast<const char*>(x.data),
          .element = element_of(x.dtype),
          .bytes = bytes_of(x.dtype),
          .tokens = x.shape[1],
          .batch_stride = x.strides[0],
          .row_stride = x.strides[1],
          .head_stride = x.strides[2]};
}

}  // namespace

std::int64_t AttendCall::rotated_width() const {
  std::int64_t most = 0;
  for (const CallRotation& rotation : rotations) most = std::max(most, 2 * rotation.pairs);
  return most;
}

const void* AttendCall::key(std::size_t sequence, std::int64_t token, std::int64_t head, const RowsView& x) const {
  if (args.pages.block_table.empty()) return x.at(rows.sequences[sequence].k_first + token, head);
  const std::size_t blocks = args.pages.block_table.size() / rows.sequences.size();
  const std::int32_t block = args.pages.block_table[sequence * blocks + index(token / x.tokens)];
  return x.at(block, token % x.tokens, head);
}

AttendCall attend_call(const LayerPlan& layer, const AttendArgs& args, const math::CallSizes& sizes,
                       const kernels::KernelTable& kernels) {
  AttendCall call{.layer = layer,
                  .args = args,
                  .kernels = kernels,
                  .attention = *kernels.attention,
                  .rows = math::call_rows(layer, args.inputs, sizes),
                  .lowered = lower(layer, args.weights, args.inputs, sizes)};
  call.group = layer.heads / layer.kv_heads;
  call.max_lanes = kernels::kLaneRegisters * call.attention.register_lanes;
  call.q = rows_view(args.q);
  const bool is_paged = !args.pages.block_table.empty();
  call.k = is_paged ? pages_view(args.k) : rows_view(args.k);
  call.v = is_paged ? pages_view(args.v) : rows_view(args.v);
  for (const math::Rotation& rule : call.lowered.rotations) {
    call.rotations.push_back({.rule = &rule,
                              .angles = AngleRule(rule.inv_freq, rule.axis_of_pair, rule.factor, args.angles),
                              .pairs = std::ssize(rule.inv_freq)});
    check_positions(call.rotations.back(), call.lowered);
  }
  const auto is_relative = [](const CallRotation& rotation) {
    return rotation.rule->turns_queries && rotation.rule->turns_keys && rotation.rule->decay.empty();
  };
  call.turns_by_steps = !call.rotations.empty() && call.lowered.regions.regions.empty() &&
                        args.angles == Angles::exact && std::ranges::all_of(call.rotations, is_relative);
  for (const math::Term& term : call.lowered.terms) {
    call.vectors.emplace_back();
    std::visit(NeedsOfTerm{call}, term);
  }
  if (call.runs_backwards) check_orders(call.rows);
  if (const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values)) {
    call.value_vectors = floats(values->vectors);
  }
  return call;
}

}  // namespace posenc::cpu

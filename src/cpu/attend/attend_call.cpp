// Prepares a call of attend: the plan's layer lowered to primitives (src/cpu/lower), their tables as floats, tensors or
// paged KV caches as rows with strides, and the choice of products: f32 or bfloat16, for prefill or decode.
#include "cpu/attend/attend_call.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/formatted.h"
#include "cpu/attend/place_vectors.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/call/heads_view.h"
#include "cpu/lower/lower.h"
#include "cpu/lower/weight_reader.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Numbers of a table by distance, 32 MiB of them: what a call keeps beside its rows stays below 64 MiB.
constexpr double kMostProjected = 1 << 23;

// Each rounded once.
std::vector<float> floats(const std::vector<double>& x) { return {x.begin(), x.end()}; }

// What positions may be for the angles of a rotation.
void check_positions(const CallRotation& rotation, const math::Lowered& lowered) {
  const double largest = rotation.angles.largest_position();
  const auto check = [&](const std::vector<double>& rows) {
    for (const double x : rows) {
      if (std::abs(x + rotation.rule->offset) <= largest) continue;
      throw Error("attend", {"positions", formatted("be at most {} either way, for angles below 2^53", largest),
                             formatted("{}", x)});
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

// The decay of a pair is a factor of the queries, one of the keys and one between their origins (Rotation::decay): over
// rows that share an origin none may leave the floats. e^80 leaves a number 3 of their 38 decades, and 2^-150, what a
// query that faded is off by at most, stays below e^-23 when its key has grown.
constexpr double kMostDecay = 80.0;

// Of rows that share an origin: the keys of a tile and the queries of a block, at most kTileKeys and max_lanes of them.
void check_decays(const CallRotation& rotation, const AttendCall& call) {
  double steepest = 0.0;
  for (const double decay : rotation.rule->decay) steepest = std::max(steepest, std::abs(decay));
  const auto check = [&](const std::vector<double>& rows, std::int64_t first, std::int64_t count,
                         std::int64_t of_origin) {
    for (std::int64_t n = 0; n < count; n += of_origin) {
      const auto [low, high] =
          std::ranges::minmax(std::span(rows).subspan(index(first + n), index(std::min(of_origin, count - n))));
      if ((high - low) * steepest <= kMostDecay) continue;
      throw Error("attend", {"positions",
                             formatted("spread by at most {} within {} tokens, for xPos' decay in floats",
                                       std::floor(kMostDecay / steepest), of_origin),
                             formatted("{}", high - low)});
    }
  };
  const math::Coordinate& along = call.lowered.coordinates.front();
  for (const math::SequenceRows& s : call.rows.sequences) {
    check(along.k, s.k_first, s.k_count, kTileKeys);
    check(along.q, s.q_first, s.q_count, call.max_lanes);
  }
}

// What a call does for a term besides the vectors that follow from its weights.
struct NeedsOfTerm {
  AttendCall& call;
  const TermVectors& vectors;
  ProjectedDistances& projected;

  void operator()(const math::QueryDistance& term) const { call.takes_raw_queries |= term.given_places.empty(); }
  void operator()(const math::SineDistance& term) const {
    call.takes_raw_queries = true;
    if (projects_distances(term)) project_distances(term);
  }
  void operator()(const math::KeyDistance&) const { call.takes_raw_keys = true; }
  void operator()(const math::KeyVector&) const { call.takes_raw_keys |= !call.rotations.empty(); }
  void operator()(const math::Label&) const { call.takes_raw_queries = true; }
  void operator()(const math::Running&) const {
    call.takes_raw_queries = true;
    call.runs_backwards = true;
  }
  void operator()(const math::DistanceBias&) const {}
  void operator()(const math::LinearDistance&) const {}
  void operator()(const math::Knots&) const {}
  void operator()(const math::Column&) const {}

 private:
  // Either way a score costs a product, of `width` numbers where queries are projected, of a head's channels where
  // distances are; and every query, or every distance, a product with a head's weights.
  bool projects_distances(const math::SineDistance& term) const {
    const auto width = static_cast<double>(vectors.sines->width());
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

  // W_h s(d) of every head and distance that occurs, SineRows::kRows distances at a time.
  void project_distances(const math::SineDistance& term) const {
    const std::int64_t count = term.high - term.low + 1;
    const std::int64_t channels = call.layer.head_dim;
    const SineRule& sine = *vectors.sines;
    projected.rows.resize(index(call.layer.heads * count * channels));
    std::vector<float> sines(index(SineRows::kRows * sine.width()));
    std::vector<double> distances;
    for (std::int64_t first = term.low; first <= term.high; first += std::ssize(distances)) {
      distances.clear();
      for (std::int64_t d = first; d <= term.high && std::ssize(distances) < SineRows::kRows; ++d) {
        distances.push_back(static_cast<double>(math::sine_place(term, d).value_or(0)));
      }
      sine.write(call.kernels, distances, sines.data());
      project(call.attention, call.args.parallel,
              {.heads = call.layer.heads, .channels = channels, .width = sine.width(), .weight = vectors.weight.data()},
              sines.data(), std::ssize(distances), projected.rows.data() + (first - term.low) * channels,
              count * channels);
    }
    // What lies beyond either end is as the end: nothing, where only some distances have a row.
    const std::int64_t beyond = term.rows ? 1 : 0;
    projected.at = {.coordinate = term.coordinate, .low = term.low - beyond, .places = {}};
    projected.at.places.resize(index(count + 2 * beyond), -1);
    std::iota(projected.at.places.begin() + beyond, projected.at.places.end() - beyond, 0);
  }
};

// Gates are summed by falling order, so no two keys of a sequence may have one; rows without a token have no gate.
void check_orders(const math::CallRows& rows) {
  for (const math::SequenceRows& s : rows.sequences) {
    std::optional<std::int64_t> before;
    for (std::int64_t t = 0; t < s.k_count; ++t) {
      const std::int64_t own = rows.k_order[index(s.k_first + t)];
      if (own == kNoToken) continue;
      if (before && own <= *before) {
        throw Error("attend", {"k_order", "ascend from key to key, since gates are summed along it",
                               formatted("{} after {}", own, *before)});
      }
      before = own;
    }
  }
}

}  // namespace

// An axis of one element may have any stride in the tensor; here it has 0.
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

// [blocks, block_size, kv_heads, channels]: a block stands where a member of the batch does.
RowsView pages_view(const ConstTensorView& x) {
  return {.data = static_cast<const char*>(x.data),
          .element = element_of(x.dtype),
          .bytes = bytes_of(x.dtype),
          .tokens = x.shape[1],
          .batch_stride = x.strides[0],
          .row_stride = x.strides[1],
          .head_stride = x.strides[2]};
}

// Codes have been checked (check_attend_call.h); bytes of theirs, and floats to whoever asks for elements.
RowsView codes_view(const char* name, const ConstQuantisedView& x, bool is_paged) {
  CodesMemory memory;
  const CodesView codes =
      check_quantised({"attend", name}, x, is_paged ? Axes::tokens_then_heads : Axes::heads_then_tokens, memory);
  return {.data = codes.rows.data,
          .element = kernels::Element::f32,
          .bytes = 1,
          .tokens = std::max<std::int64_t>(codes.tokens, 1),
          .batch_stride = codes.rows.batch_stride,
          .row_stride = codes.rows.row_stride,
          .head_stride = codes.rows.head_stride,
          .codes = codes};
}

// Whether decode_dots may rotate what it reads: pairs of blocks, and of half bytes, begin where a register does.
bool rotates_on_load(const RowsView& k, const CallRotation& rotation) {
  if (!k.is_quantised()) return true;
  const FormatFacts& facts = *k.codes.facts;
  if (facts.has_zeros) return false;
  const bool is_aligned =
      rotation.rule->first_channel % kernels::kBlockChannels == 0 && rotation.pairs % kernels::kBlockChannels == 0;
  return facts.unit_channels == 1 || is_aligned;
}

// Queries and keys that are in bfloat16 and neither rotated nor added to have exact products there; all else is rounded
// first, which the caller must have allowed, and at decode (few queries) is as slow as floats are. A layer that
// multiplies a tile more than once, or lets it decay, or has values by distance, has floats.
void choose_products(AttendCall& call) {
  const kernels::PairKernels* const pairs = call.kernels.pairs;
  if (pairs == nullptr) return;
  const bool may_round = call.args.products == Products::bf16;
  const auto is_added = [](const math::Term& term) { return std::holds_alternative<math::KeyVector>(term); };
  const bool is_exact = call.q.element == kernels::Element::bf16 && call.k.element == kernels::Element::bf16 &&
                        call.rotations.empty() && std::ranges::none_of(call.lowered.terms, is_added);
  const auto decays = [](const CallRotation& rotation) { return !rotation.rule->decay.empty(); };
  const bool is_one = call.lowered.regions.regions.size() <= 1 && std::ranges::none_of(call.rotations, decays);
  if (is_one && (is_exact || may_round)) call.score_pairs = pairs;
  if (is_one && is_exact && pairs->decode_dots != nullptr) call.decode_pairs = pairs;
  if (may_round && !std::holds_alternative<math::ValueDistance>(call.lowered.values)) call.value_pairs = pairs;
}

}  // namespace

std::int64_t AttendCall::rotated_width() const {
  std::int64_t most = 0;
  for (const CallRotation& rotation : rotations) most = std::max(most, 2 * rotation.pairs);
  return most;
}

bool AttendCall::has_seen_nothing(std::int64_t row, std::int64_t head) const {
  return !lse.empty() && number_of(lse, row, head) == -std::numeric_limits<float>::infinity();
}

// Interleaved channels 2p and 2p + 1 of the rotated part stand at p and p + pairs, as kernels::LoadRotation wants the
// queries; all others stay.
std::int64_t AttendCall::place_beside_rotated(std::int64_t channel) const {
  const math::Rotation& rule = *in_decode_dots->rule;
  const std::int64_t c = channel - rule.first_channel;
  if (rule.pairing == Pairing::half || c < 0 || c >= rule.dim) return channel;
  return rule.first_channel + c % 2 * in_decode_dots->pairs + c / 2;
}

TokenPlace AttendCall::place(std::size_t sequence, std::int64_t token, const RowsView& x) const {
  if (args.pages.block_table.empty()) {
    const std::int64_t row = rows.sequences[sequence].k_first + token;
    return {row / x.tokens, row % x.tokens};
  }
  const std::size_t blocks = args.pages.block_table.size() / rows.sequences.size();
  return {args.pages.block_table[sequence * blocks + index(token / x.tokens)], token % x.tokens};
}

const void* AttendCall::key(std::size_t sequence, std::int64_t token, std::int64_t head, const RowsView& x) const {
  const TokenPlace at = place(sequence, token, x);
  return x.at(at.member, at.token, head);
}

AttendCall attend_call(const LayerPlan& layer, const AttendArgs& args, const math::CallSizes& sizes,
                       const kernels::KernelTable& kernels, std::span<const TermVectors> kept) {
  AttendCall call{.layer = layer,
                  .args = args,
                  .kernels = kernels,
                  .attention = *kernels.attention,
                  .rows = math::call_rows(layer, args.inputs, sizes),
                  .lowered = lower(layer, args.weights, args.inputs, sizes)};
  call.group = layer.heads / layer.kv_heads;
  call.max_lanes = kernels::kLaneRegisters * call.attention.register_lanes;
  call.q = rows_view(args.q);
  call.carries = carries_of(layer, args.carry);
  const bool is_paged = !args.pages.block_table.empty();
  const auto view = [&](const char* name, const ConstTensorView& x, const ConstQuantisedView& codes) {
    if (!codes.empty()) return codes_view(name, codes, is_paged);
    return is_paged ? pages_view(x) : rows_view(x);
  };
  call.k = view("k_quantised", args.k, args.k_quantised);
  call.v = view("v_quantised", args.v, args.v_quantised);
  for (const math::Rotation& rule : call.lowered.rotations) {
    call.rotations.push_back({.rule = &rule,
                              .angles = AngleRule(rule.inv_freq, rule.axis_of_pair, rule.factor, args.angles),
                              .pairs = std::ssize(rule.inv_freq)});
    check_positions(call.rotations.back(), call.lowered);
    check_decays(call.rotations.back(), call);
    call.rotates_keys |= rule.rotates_keys || !rule.decay.empty();
  }
  // Whether only the distance counts: both sides rotate here, and none decays.
  const auto is_relative = [](const CallRotation& rotation) {
    return rotation.rule->rotates_queries && rotation.rule->rotates_keys && rotation.rule->decay.empty();
  };
  call.rotates_by_steps = !call.rotations.empty() && call.lowered.regions.regions.empty() &&
                          args.angles == Angles::exact && std::ranges::all_of(call.rotations, is_relative);
  if (call.rotations.size() == 1 && call.rotates_keys && rotates_on_load(call.k, call.rotations[0])) {
    call.in_decode_dots = call.rotations.data();
  }
  // Of each term the floats: a prepared layer's where they cover what occurs, else made for this call.
  const TermMaker make{layer.heads, layer.head_dim, call.attention, args.parallel};
  call.projected.resize(call.lowered.terms.size());
  call.own_vectors.resize(call.lowered.terms.size());
  call.kept_vectors = kept;
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    const math::Term& term = call.lowered.terms[t];
    if (!call.is_kept(t)) call.own_vectors[t] = make(term);
    std::visit(NeedsOfTerm{call, call.vectors(t), call.projected[t]}, term);
  }
  choose_products(call);
  const auto is_bias = [](const math::Term& term) { return math::part_of(term) == math::Part::bias; };
  call.adds_bias = !args.inputs.bias.empty() || std::ranges::any_of(call.lowered.terms, is_bias);
  if (call.runs_backwards) check_orders(call.rows);
  if (const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values)) {
    call.value_vectors = floats(values->vectors);
  }
  return call;
}

}  // namespace posenc::cpu

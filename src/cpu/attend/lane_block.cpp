// A block of lanes: queries converted, rotated (in each region where there are several), scaled by the softmax scale
// and the query scale, and put into columns; what each score term needs of them; and the interval of orders that each
// lane sees.
#include "cpu/attend/lane_block.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/attend/query_numbers.h"
#include "cpu/call/row_floats.h"
#include "cpu/lower/weight_reader.h"
#include "math/rope/rotation.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// a + b, cut off at the ends of int64_t: an interval of orders may begin at either.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return b < 0 ? kLeast : kMost;
  return out;
}

// Whether the lanes' positions step by 1: then biases and vectors by distance are contiguous runs.
bool go_up(const math::Coordinate& at, const LaneBlock& block) {
  for (std::int64_t l = 1; l < block.used; ++l) {
    if (at.q[index(block.lane[index(l)].row)] != at.q[index(block.lane[0].row)] + static_cast<double>(l)) return false;
  }
  return true;
}

// Rotated queries, as products want them. Decode: [lanes][channels]. Prefill: [channels][lanes], for floats with the
// scale in them, for pairs of bfloat16 without.
void put_queries(const AttendCall& call, const float* rows, LaneBlock& block, float* to) {
  const std::int64_t channels = call.layer.head_dim;
  if (block.decode) {
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      const float by = block.row_scale[index(l)];
      for (std::int64_t c = 0; c < channels; ++c) to[l * channels + c] = by * rows[l * channels + c];
    }
    if (call.decode_pairs == nullptr) return;
    block.decode_pairs.resize(index(block.lanes * channels));
    call.kernels.convert({.from_element = kernels::Element::f32,
                          .to_element = kernels::Element::bf16,
                          .rows = block.lanes,
                          .count = channels,
                          .from = rows,
                          .from_row = channels,
                          .to = block.decode_pairs.data(),
                          .to_row = channels});
    return;
  }
  const kernels::Transpose given{.from = rows, .to = to, .lanes = block.lanes, .channels = channels};
  if (call.score_pairs != nullptr) {
    call.attention.columns_of_rows(given);
    block.pairs.resize(index(whole(channels, 2 * kernels::kPairRows) / 2 * block.lanes));
    call.score_pairs->rows({.x = to, .rows = channels, .lanes = block.lanes, .to = block.pairs.data()});
  }
  kernels::Transpose scaled = given;
  scaled.by = block.row_scale.data();
  call.attention.columns_of_rows(scaled);
}

// Queries as given, times the softmax and query scale, to be rotated for each tile (DecodeProducts::queries_from).
void keep_unrotated(const AttendCall& call, const float* rows, LaneBlock& block) {
  const std::int64_t channels = call.layer.head_dim;
  block.unrotated.resize(index(channels * block.lanes));
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t place = call.in_decode_dots == nullptr ? c : call.place_beside_rotated(c);
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      block.unrotated[index(l * channels + place)] = block.row_scale[index(l)] * rows[l * channels + c];
    }
  }
}

// Queries of the lanes from the caller's tensor, as f32.
void read_queries(const AttendCall& call, const LaneBlock& block, RowScratch& scratch) {
  for (std::int64_t l = 0; l < block.lanes; ++l) {
    read_query(call, block.lane[index(l)], scratch.rows.data() + l * call.layer.head_dim);
  }
}

// Where the lanes stand: on their own, or in a region. Angles are made once for all heads of a row.
void rotate_queries(const AttendCall& call, const LaneBlock& block, const math::Region* region, RowScratch& scratch) {
  if (call.rotations.empty()) return;
  const auto by_row = [](const Lane& a, const Lane& b) { return a.row < b.row; };
  const auto [least, most] = std::minmax_element(block.lane.begin(), block.lane.begin() + block.lanes, by_row);
  const std::int64_t first = least->row;
  const std::int64_t rows = most->row - first + 1;  // consecutive, of one head or of several: at most kMaxLanes
  std::array<double, kMaxLanes> beyond{};
  const math::Coordinate& along = call.lowered.coordinates.front();
  for (std::int64_t row = 0; row < rows; ++row) {
    beyond[index(row)] = along.q[index(first + row)] - along.q[index(block.lane[0].row)];
  }
  for (const CallRotation& rotation : call.rotations) {
    if (!rotation.of_queries.empty()) {
      for (std::int64_t l = 0; l < block.lanes; ++l) {
        scratch.cos[index(l)] = rotation.of_queries.data() + block.lane[index(l)].row * 2 * rotation.pairs;
      }
      rotate_by_angles(call, rotation, block.lanes, Direction::forward, scratch.rows.data(), scratch);
      continue;
    }
    if (!rotation.rule->rotates_queries && rotation.rule->decay.empty()) continue;
    for (std::size_t axis = 0; axis < call.lowered.coordinates.size(); ++axis) {
      const std::vector<double>& at = region != nullptr ? region->q_positions : call.lowered.coordinates[axis].q;
      std::copy_n(at.begin() + first, rows, scratch.positions.data() + axis * kTileKeys);
    }
    float* const cos = scratch.cos_sin.data();
    write_angles(call, rotation, rotation.rule->rotates_queries, math::Side::query, rows, scratch.positions.data(),
                 beyond.data(), scratch, cos);
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      scratch.cos[index(l)] = cos + (block.lane[index(l)].row - first) * 2 * rotation.pairs;
    }
    rotate_by_angles(call, rotation, block.lanes, Direction::forward, scratch.rows.data(), scratch);
  }
}

// u is added to the queries where keys do not rotate.
void add_key_vectors(const AttendCall& call, const LaneBlock& block, float* rows) {
  if (!call.rotations.empty()) return;
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    if (!std::holds_alternative<math::KeyVector>(call.lowered.terms[t])) continue;
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      const float* const u = call.vectors(t).rows.data() + block.lane[index(l)].head * call.layer.head_dim;
      for (std::int64_t c = 0; c < call.layer.head_dim; ++c) rows[l * call.layer.head_dim + c] += u[c];
    }
  }
}

// What a term knows of the lanes before it meets a key.
struct BeginTerm {
  const AttendCall& call;
  LaneBlock& block;
  const TermVectors& vectors;
  bool projects_queries;  // SineDistance
  RowScratch& scratch;    // rows: [lanes][head_dim], as given
  std::pmr::vector<float>& own;

  void operator()(const math::QueryDistance& term) const {
    if (term.given_places.empty()) return;
    const std::int64_t channels = call.layer.head_dim;
    own.resize(index(channels * block.lanes));
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      const Lane& lane = block.lane[index(l)];
      const std::int64_t place = lane.head * term.given.count + term.given_places[index(lane.row)];
      const float* const from = vectors.given.data() + place * channels;
      for (std::int64_t c = 0; c < channels; ++c) own[index(c * block.lanes + l)] = from[c];
    }
  }
  // q + v as columns, where distances were projected; else W_h^T (q + v).
  void operator()(const math::SineDistance&) const {
    const std::int64_t channels = call.layer.head_dim;
    std::pmr::vector<float>& columns = projects_queries ? scratch.columns : own;
    columns.resize(index(channels * block.lanes));
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      const float* const v =
          vectors.added.empty() ? nullptr : vectors.added.data() + block.lane[index(l)].head * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        columns[index(c * block.lanes + l)] = scratch.rows[index(l * channels + c)] + (v == nullptr ? 0.0F : v[c]);
      }
    }
    if (!projects_queries) return;
    const std::int64_t width = vectors.sines->width();
    own.resize(index(width * block.lanes));
    scratch.products.resize(own.size());
    for (std::int64_t first = 0; first < block.lanes;) {
      const std::int64_t head = block.lane[index(first)].head;
      std::int64_t end = first + 1;
      while (end < block.lanes && block.lane[index(end)].head == head) ++end;
      float* const products = end - first == block.lanes ? own.data() : scratch.products.data();
      call.attention.product({.a = vectors.weight.data() + head * channels * width,
                              .a_row = 1,
                              .a_step = width,
                              .b = columns.data(),
                              .c = products,
                              .rows = width,
                              .depth = channels,
                              .lanes = block.lanes});
      for (std::int64_t w = 0; w < width && products != own.data(); ++w) {
        std::copy_n(products + w * block.lanes + first, end - first, own.begin() + w * block.lanes + first);
      }
      first = end;
    }
  }
  // [2][lanes]: where the labels are the same, and where not.
  void operator()(const math::Label& term) const {
    const std::int64_t channels = call.layer.head_dim;
    own.resize(index(2 * block.lanes));
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      for (std::int64_t differ = 0; differ < 2; ++differ) {
        const std::int64_t place = 2 * block.lane[index(l)].head + differ;
        double y = term.constants[index(place)];
        for (std::int64_t c = 0; c < channels; ++c) {
          y += static_cast<double>(scratch.rows[index(l * channels + c)]) * term.vectors[index(place * channels + c)];
        }
        own[index(differ * block.lanes + l)] = static_cast<float>(y);
      }
    }
  }
  // Columns of a row that are large beside their differences lose digits in f32: they are taken less that of the last
  // key which the row may see.
  void operator()(const math::Column& term) const {
    const bool is_capped = call.layer.soft_cap && call.layer.soft_cap->order == SoftCap::Order::after_bias;
    if (term.is_of_past() || is_capped) return;
    for (std::int64_t l = 0; l < block.used; ++l) {
      const Lane& lane = block.lane[index(l)];
      block.shift[index(l)] += column_at(term, lane);
    }
  }
  double column_at(const math::Column& term, const Lane& lane) const {
    for (const math::SequenceRows& s : call.rows.sequences) {
      if (lane.row < s.q_first || lane.row >= s.q_first + s.q_count || s.k_count == 0) continue;
      const std::int64_t place =
          std::clamp<std::int64_t>(lane.row - s.q_first + s.k_count - s.q_count, 0, s.k_count - 1);
      return term.columns[index(lane.head * call.lowered.k_rows + s.k_first + place)];
    }
    return 0.0;
  }
  void operator()(const math::DistanceBias&) const {}
  void operator()(const math::LinearDistance&) const {}
  void operator()(const math::Knots&) const {}
  void operator()(const math::KeyDistance&) const {}
  void operator()(const math::KeyVector&) const {}
  void operator()(const math::Running&) const {}
};

// Which queries the lanes are, up to whole registers by repeating the last, and what each starts with.
void place_lanes(const AttendCall& call, const BlockLanes& given, LaneBlock& block) {
  const std::span<const Lane> lanes = given.lanes;
  block.kv_head = lanes[0].head / call.group;
  block.kv_heads = given.kv_heads;
  block.used = std::ssize(lanes);
  block.lanes = whole(block.used, call.attention.register_lanes);
  block.each = whole(block.used / given.kv_heads, kernels::kDecodeLanes);
  block.one_head = given.one_head;
  block.decode = given.decode;
  block.least = {kMost, kMost};
  block.most = {kLeast, kLeast};
  block.last.fill(kLeast);
  for (std::int64_t l = 0; l < block.lanes; ++l) {
    const std::size_t at = index(l);
    block.lane[at] = lanes[index(std::min(l, block.used - 1))];
    block.sees[at] =
        visible_orders(call.layer.mask, call.args.inputs.prefix, call.rows.q_order[index(block.lane[at].row)]);
    block.least = {std::min(block.least.low, block.sees[at].low), std::min(block.least.high, block.sees[at].high)};
    block.most = {std::max(block.most.low, block.sees[at].low), std::max(block.most.high, block.sees[at].high)};
    std::int64_t& last = block.last[index(l / call.attention.register_lanes)];
    last = std::max(last, block.sees[at].high);
    block.row_scale[at] = static_cast<float>(call.lowered.row_scale[index(block.lane[at].row)]);
    block.shift[at] = 0.0;
    block.max[at] = -std::numeric_limits<float>::infinity();
    block.sum[at] = 0.0F;
    block.divisor[at] = 0.0F;
    const auto came = [&](const TensorView& carry) {
      return carry.empty() ? 0.0F : number_of(carry, block.lane[at].row, block.lane[at].head);
    };
    block.carry[at] = came(call.carries.gates);
    block.came_along[at] = came(call.carries.forget);
  }
}

}  // namespace

void read_query(const AttendCall& call, const Lane& lane, float* to) {
  if (call.has_seen_nothing(lane.row, lane.head)) {
    std::fill_n(to, call.layer.head_dim, 0.0F);
    return;
  }
  read_floats(call.kernels, call.q.element, call.q.at(lane.row, lane.head), call.layer.head_dim, to);
}

// Of a query of that order. attn_mask is not among them: it is no interval (MatrixRows).
Orders visible_orders(const Mask& mask, std::int64_t prefix, std::int64_t order) {
  Orders out{kLeast, kMost};
  if (mask.kind == MaskKind::causal) out.high = order;
  if (mask.kind == MaskKind::prefix) out.high = std::max(order, prefix - 1);
  if (mask.window) {
    out.low = std::max(out.low, sum(order, -mask.window->past));
    out.high = std::min(out.high, sum(order, mask.window->future));
  }
  if (mask.chunk) {
    const std::int64_t first = order - ((order % *mask.chunk + *mask.chunk) % *mask.chunk);
    out.low = std::max(out.low, first);
    out.high = std::min(out.high, sum(first, *mask.chunk - 1));
  }
  return out;
}

// Beside few lanes products along the lanes leave most of a register empty, and have too few sums at a time for the
// time that one takes. They catch up where a register and a half are full, with AVX-512 and with AVX2
// (docs/performance/decode.md). Lanes come in kDecodeLanes, which NEON's registers of 4 are.
bool is_decode(const AttendCall& call, std::int64_t lanes) {
  const std::int64_t wide = call.attention.register_lanes;
  if (wide < kernels::kDecodeLanes) return false;
  return lanes <= (wide == kernels::kDecodeLanes ? wide : wide + wide / 2);
}

// `columns` and `products` are for terms that project queries (SineDistance), as wide as the widest of them.
RowScratch::RowScratch(const AttendCall& call, std::pmr::memory_resource* memory)
    : rows(index(kTileKeys * std::max(call.layer.head_dim, call.layer.value_dim)), memory),
      cos_sin(index(kTileKeys * call.rotated_width()), memory),
      cos(index(kTileKeys), memory),
      positions(index(kTileKeys) * call.lowered.coordinates.size(), memory),
      columns(memory),
      products(memory) {
  std::int64_t width = 0;
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    if (call.projects_queries(t)) width = std::max(width, call.vectors(t).sines->width());
  }
  if (width == 0) return;
  columns.resize(index(call.layer.head_dim * call.max_lanes));
  products.resize(index(width * call.max_lanes));
}

// What BeginTerm, or sum_gates for Running, puts into LaneBlock::of_term[t].
std::int64_t floats_of_term(const AttendCall& call, std::size_t t) {
  struct Of {
    const AttendCall& call;
    std::size_t t;
    std::int64_t lanes(std::int64_t rows) const { return rows * call.max_lanes; }
    std::int64_t operator()(const math::QueryDistance& term) const {
      return term.given_places.empty() ? 0 : lanes(call.layer.head_dim);
    }
    std::int64_t operator()(const math::SineDistance&) const {
      return lanes(call.projects_queries(t) ? call.vectors(t).sines->width() : call.layer.head_dim);
    }
    std::int64_t operator()(const math::Label&) const { return lanes(2); }
    std::int64_t operator()(const math::Running& term) const { return lanes(term.count + 1); }
    std::int64_t operator()(const math::Column&) const { return 0; }
    std::int64_t operator()(const math::DistanceBias&) const { return 0; }
    std::int64_t operator()(const math::LinearDistance&) const { return 0; }
    std::int64_t operator()(const math::Knots&) const { return 0; }
    std::int64_t operator()(const math::KeyDistance&) const { return 0; }
    std::int64_t operator()(const math::KeyVector&) const { return 0; }
  };
  return std::visit(Of{call, t}, call.lowered.terms[t]);
}

LaneBlock::LaneBlock(const AttendCall& call, std::pmr::memory_resource* memory)
    : runs(call.lowered.coordinates.size(), memory),
      q(memory),
      pairs(memory),
      decode_pairs(memory),
      unrotated(memory),
      raw(memory),
      of_term(memory),
      out(memory),
      mass(memory) {
  const std::int64_t columns = call.layer.head_dim * call.max_lanes;
  q.reserve(index(columns) * std::max<std::size_t>(call.lowered.regions.regions.size(), 1));
  if (call.score_pairs != nullptr) {
    pairs.reserve(index(whole(call.layer.head_dim, 2 * kernels::kPairRows) / 2 * call.max_lanes));
  }
  if (call.decode_pairs != nullptr) decode_pairs.reserve(index(columns));
  if (call.rotates_by_steps) unrotated.reserve(index(columns));
  if (call.takes_raw_queries) raw.reserve(index(columns));
  of_term.resize(call.lowered.terms.size());
  for (std::size_t t = 0; t < of_term.size(); ++t) of_term[t].reserve(index(floats_of_term(call, t)));
  out.reserve(index(call.layer.value_dim * call.max_lanes));
  if (const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values)) {
    mass.reserve(index((values->count + 1) * call.max_lanes));
  }
}

// Rows that come rotated get the identity (cos 1, sin 0), times xPos' decay where there is any.
void write_angles(const AttendCall& call, const CallRotation& rotation, bool rotates, math::Side side,
                  std::int64_t count, const double* positions, const double* beyond, RowScratch& scratch,
                  float* cos_sin) {
  const math::Rotation& rule = *rotation.rule;
  const bool decays = beyond != nullptr && !rule.decay.empty();
  const std::int64_t width = 2 * rotation.pairs;
  float* const cos = cos_sin;
  float* const sin = cos + rotation.pairs;
  if (rotates) {
    std::pmr::vector<double>& at = scratch.positions;
    if (rule.offset != 0.0) {
      for (std::size_t n = 0; n < at.size(); ++n) at[n] = positions[n] + rule.offset;
      positions = at.data();
    }
    rotation.angles.write(call.kernels, positions, kTileKeys, count, cos, sin, width);
  }
  for (std::int64_t n = 0; n < count; ++n) {
    if (!rotates) {
      std::fill_n(cos + n * width, rotation.pairs, 1.0F);
      std::fill_n(sin + n * width, rotation.pairs, 0.0F);
    }
    if (!decays) continue;
    for (std::int64_t p = 0; p < rotation.pairs; ++p) {
      const double exponent = rule.decay[index(p)] * beyond[n];
      const auto decay = static_cast<float>(std::exp(side == math::Side::query ? exponent : -exponent));
      cos[n * width + p] *= decay;
      sin[n * width + p] *= decay;
    }
  }
}

void rotate_rows(const AttendCall& call, const CallRotation& rotation, bool rotates, math::Side side,
                 std::int64_t count, const double* positions, const double* beyond, Direction direction, float* rows,
                 RowScratch& scratch) {
  const math::Rotation& rule = *rotation.rule;
  if (!rotates && (beyond == nullptr || rule.decay.empty())) return;
  write_angles(call, rotation, rotates, side, count, positions, beyond, scratch, scratch.cos_sin.data());
  for (std::int64_t n = 0; n < count; ++n) scratch.cos[index(n)] = scratch.cos_sin.data() + n * 2 * rotation.pairs;
  rotate_by_angles(call, rotation, count, direction, rows, scratch);
}

// Of one head each, by the kernel of rotate(). The inverse divides by the attention factor twice: once for its own cos
// and sin, once for what the rotation multiplied.
void rotate_by_angles(const AttendCall& call, const CallRotation& rotation, std::int64_t count, Direction direction,
                      float* rows, const RowScratch& scratch) {
  const math::Rotation& rule = *rotation.rule;
  const auto back = static_cast<float>(1.0 / (rule.factor * rule.factor));  // cos and sin have the factor in them
  kernels::RotateRows rotated{.rows = count,
                              .heads = 1,
                              .pairs = rotation.pairs,
                              .partner = rule.pairing == Pairing::half ? rule.dim / 2 : 0,
                              .cos = scratch.cos.data(),
                              .sin_offset = rotation.pairs,
                              .cos_scale = direction == Direction::inverse ? back : 1.0F,
                              .sin_scale = direction == Direction::inverse ? -back : 1.0F,
                              .from = rows + rule.first_channel,
                              .from_row = call.layer.head_dim,
                              .to = rows + rule.first_channel,
                              .to_row = call.layer.head_dim};
  call.kernels.rotate(rotated);
}

// Queries are read once for each region. Terms take them as given, before u is added and before they rotate.
void begin(const AttendCall& call, const BlockLanes& lanes, RowScratch& scratch, LaneBlock& block) {
  place_lanes(call, lanes, block);
  for (std::size_t n = 0; n < block.runs.size(); ++n) {
    block.runs[n] = lanes.one_head && go_up(call.lowered.coordinates[n], block) ? 1 : 0;
  }
  const std::int64_t channels = call.layer.head_dim;
  const std::size_t columns = index(channels * block.lanes);
  for (LaneBlock::Floats& own : block.of_term) own.clear();
  for (PlaceRing& ring : block.met) ring.begin(block.lanes);
  read_queries(call, block, scratch);
  if (call.takes_raw_queries) {
    block.raw.resize(columns);
    call.attention.columns_of_rows(
        {.from = scratch.rows.data(), .to = block.raw.data(), .lanes = block.lanes, .channels = channels});
  }
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    std::visit(BeginTerm{call, block, call.vectors(t), call.projects_queries(t), scratch, block.of_term[t]},
               call.lowered.terms[t]);
  }
  add_key_vectors(call, block, scratch.rows.data());
  const std::vector<math::Region>& regions = call.lowered.regions.regions;
  block.q.resize(columns * std::max<std::size_t>(regions.size(), 1));
  for (std::size_t r = 0; r < std::max<std::size_t>(regions.size(), 1); ++r) {
    if (r > 0) read_queries(call, block, scratch);
    if (r == 0 && block.decode && call.rotates_by_steps) keep_unrotated(call, scratch.rows.data(), block);
    rotate_queries(call, block, regions.empty() ? nullptr : &regions[r], scratch);
    put_queries(call, scratch.rows.data(), block, block.q.data() + r * columns);
  }
  block.out.assign(index(call.layer.value_dim * block.lanes), 0.0F);
  if (const auto* values = std::get_if<math::ValueDistance>(&call.lowered.values)) {
    block.mass.assign(index((values->count + 1) * block.lanes), 0.0F);
  }
}

}  // namespace posenc::cpu

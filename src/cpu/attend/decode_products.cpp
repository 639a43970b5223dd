// Decode: QK^T and PV of one tile straight from the KV cache, with RoPE on load and prefetch of the rows that come
// next. Kernels: kernels/decode_loop.h. decode_products.h has the identity by which keys need no angles of their
// own.
#include "cpu/attend/decode_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "cpu/lower/weight_reader.h"
#include "kernels/decode_ahead.h"

namespace posenc::cpu {
namespace {

using kernels::kBytesAgain;
using kernels::kBytesAhead;
using kernels::kDecodeRows;
using kernels::kLineBytes;

// Rows and heads that are rotated at a time: of 128 channels, 8 KiB of floats, which stay in L1 beside the queries
// until they are multiplied.
constexpr std::int64_t kRotatedRows = 4;
constexpr std::int64_t kRotatedHeads = 4;

// Without the memory of the rows.
kernels::RotateRows rows_to_rotate(const CallRotation& rotation, const float* const* cos, std::int64_t rows) {
  return {.rows = rows,
          .heads = 1,
          .pairs = rotation.pairs,
          .partner = rotation.rule->pairing == Pairing::half ? rotation.rule->dim / 2 : 0,
          .cos = cos,
          .sin_offset = rotation.pairs};
}

// Keys that are multiplied as floats though nothing rotates them: what they are made of varies by channel, or has
// zeros.
bool takes_floats(const RowsView& k) { return k.is_quantised() && k.codes.facts->has_zeros; }

// Bytes of the channels beside which one line is prefetched (kernels/codes/load_codes.h).
std::int64_t line_bytes(const FormatFacts& facts) {
  if (facts.codes == kernels::Codes::q8_0) return kernels::kQ80Bytes;
  if (facts.codes == kernels::Codes::int4 || facts.codes == kernels::Codes::uint4) return kLineBytes;
  return facts.row_bytes(kLineBytes);
}

}  // namespace

// Reserves the memory of a thread, and writes the angles of 0, 1, 2, ... steps, which every tile with consecutive
// positions uses.
DecodeProducts::DecodeProducts(const AttendCall& call, std::pmr::memory_resource* memory)
    : call_(call),
      scratch_(call, memory),
      steps_(memory),
      of_keys_(memory),
      of_values_(memory),
      cos_(index(std::max(kTileKeys, kMaxLanes)), memory),
      queries_(memory),
      rows_(memory) {
  if (takes_floats(call.k)) reserve_rows();
  if (call.rotations.empty()) return;
  for (AngleTables* tables : {&steps_, &of_keys_, &of_values_}) tables->reserve(call.rotations.size());
  queries_.resize(index(kMaxLanes * call.layer.head_dim));
  if (call.in_decode_dots == nullptr || std::holds_alternative<math::ValueRotation>(call.lowered.values)) {
    reserve_rows();
  }
  std::array<double, kTileKeys> steps{};
  for (std::int64_t m = 0; m < kTileKeys; ++m) steps[index(m)] = static_cast<double>(m);
  for (const CallRotation& rotation : call.rotations) {
    const std::size_t size = index(kTileKeys * 2 * rotation.pairs);
    const bool rotates = rotation.rule->rotates_keys || !rotation.rule->decay.empty();
    keys_rotate_ |= rotates;
    of_keys_.emplace_back(rotates ? size : 0);
    if (std::holds_alternative<math::ValueRotation>(call.lowered.values)) of_values_.emplace_back(size);
    if (!call.rotates_by_steps) continue;
    steps_.emplace_back(size);
    float* const cos = steps_.back().data();  // all axes read the same steps
    rotation.angles.write(call.kernels, steps.data(), 0, kTileKeys, cos, cos + rotation.pairs, 2 * rotation.pairs);
  }
}

void DecodeProducts::reserve_rows() {
  rows_.resize(index(kRotatedRows * kRotatedHeads * std::max(call_.layer.head_dim, call_.layer.value_dim)));
}

// Whether a tile's keys can be rotated by their steps from its first key: their positions go up by one, and the
// queries' distances from it are within the range of exact angles.
bool DecodeProducts::rotates_by_steps(const LaneBlock& block, const KeyTile& tile) const {
  if (!call_.rotates_by_steps) return false;
  for (const math::Coordinate& at : call_.lowered.coordinates) {
    if (!tile.is_run(at)) return false;
    for (std::int64_t l = 0; l < block.each; ++l) {
      const double apart = std::abs(at.q[index(block.lane[index(l)].row)] - at.k[index(tile.row(0))]);
      for (const CallRotation& rotation : call_.rotations) {
        if (apart > rotation.angles.largest_position()) return false;
      }
    }
  }
  return true;
}

// The queries rotated by their distance from the tile's first key.
const float* DecodeProducts::queries_from(const LaneBlock& block, const KeyTile& tile) {
  const std::int64_t channels = call_.layer.head_dim;
  std::copy_n(block.unrotated.begin(), channels * block.lanes, queries_.begin());
  const auto by_row = [](const Lane& a, const Lane& b) { return a.row < b.row; };
  const auto [least, most] = std::minmax_element(block.lane.begin(), block.lane.begin() + block.lanes, by_row);
  const std::int64_t first_row = least->row;
  const std::int64_t rows = most->row - first_row + 1;
  for (std::size_t r = 0; r < call_.rotations.size(); ++r) {
    const CallRotation& rotation = call_.rotations[r];
    for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
      const math::Coordinate& at = call_.lowered.coordinates[axis];
      for (std::int64_t row = 0; row < rows; ++row) {
        scratch_.positions[axis * kTileKeys + index(row)] = at.q[index(first_row + row)] - at.k[index(tile.row(0))];
      }
    }
    float* const cos = scratch_.cos_sin.data();
    const std::int64_t width = 2 * rotation.pairs;
    rotation.angles.write(call_.kernels, scratch_.positions.data(), kTileKeys, rows, cos, cos + rotation.pairs, width);
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      cos_[index(l)] = cos + (block.lane[index(l)].row - first_row) * width;
    }
    kernels::RotateRows rotated = rows_to_rotate(rotation, cos_.data(), block.lanes);
    if (call_.in_decode_dots != nullptr) rotated.partner = rotation.pairs;
    rotated.from = rotated.to = queries_.data() + rotation.rule->first_channel;
    rotated.from_row = rotated.to_row = channels;
    call_.kernels.rotate(rotated);
  }
  return queries_.data();
}

// The queries with the channels of pairs in half-split order, whatever the pairing of the keys (kernels::LoadRotation).
const float* DecodeProducts::beside_rotated(const LaneBlock& block, const float* q) {
  if (call_.in_decode_dots->rule->pairing == Pairing::half) return q;
  const std::int64_t channels = call_.layer.head_dim;
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t place = call_.place_beside_rotated(c);
    for (std::int64_t l = 0; l < block.lanes; ++l) queries_[index(l * channels + place)] = q[l * channels + c];
  }
  return queries_.data();
}

// Angles of keys whose positions do not go up by one, for this tile and region.
void DecodeProducts::write_key_angles(const KeyTile& tile, std::size_t region) {
  const std::array<double, kTileKeys> beyond = tile.beyond_first();
  for (std::size_t r = 0; r < call_.rotations.size(); ++r) {
    if (of_keys_[r].empty()) continue;
    for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
      std::copy_n(tile.positions(axis, region), tile.count(), scratch_.positions.data() + index(kTileKeys) * axis);
    }
    write_angles(call_, call_.rotations[r], call_.rotations[r].rule->rotates_keys, math::Side::key, tile.count(),
                 scratch_.positions.data(), beyond.data(), scratch_, of_keys_[r].data());
  }
}

// Values rotate as they stand, in no region and without decay.
void DecodeProducts::write_value_angles(const KeyTile& tile) {
  for (std::size_t r = 0; r < call_.rotations.size(); ++r) {
    for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
      const double* const at = call_.lowered.coordinates[axis].k.data() + tile.row(0);
      std::copy_n(at, tile.count(), scratch_.positions.data() + index(kTileKeys) * axis);
    }
    write_angles(call_, call_.rotations[r], true, math::Side::key, tile.count(), scratch_.positions.data(), nullptr,
                 scratch_, of_values_[r].data());
  }
}

// kRotatedRows rows of kRotatedHeads heads, or fewer: rows first .. of the tables.
void DecodeProducts::make_floats(const KeyTile& tile, const RowsView& x, std::int64_t first, std::int64_t head,
                                 const AngleTables* angles, kernels::DecodeLanes& rows) {
  const kernels::DecodeLanes given = rows;
  const std::int64_t channels = given.depth;
  rows.element = kernels::Element::f32;
  rows.a = rows_.data();
  rows.a_row = given.heads * channels;
  rows.a_head = channels;
  const bool is_float = given.element == kernels::Element::f32 && !x.is_quantised();
  if (!is_float)
    rows.ahead_line = rows.ahead_line * x.row_size(channels) * x.bytes / (4 * channels);  // floats have more lines
  const bool all_rotate =
      is_float && angles != nullptr && call_.rotations.size() == 1 && 2 * call_.rotations[0].pairs == channels;
  if (x.is_quantised()) {
    for (std::int64_t h = 0; h < given.heads; ++h) {
      tile.read_codes(x, first, given.rows, head + h, rows_.data() + h * channels, rows.a_row);
    }
  } else if (!all_rotate) {
    const bool lie_together = given.a_head == channels;
    for (std::int64_t h = 0; h < (lie_together ? 1 : given.heads); ++h) {
      const std::int64_t count = lie_together ? given.heads * channels : channels;
      if (is_float) {
        for (std::int64_t r = 0; r < given.rows; ++r) {
          std::copy_n(static_cast<const float*>(given.a) + r * given.a_row + h * given.a_head, count,
                      rows_.data() + r * rows.a_row + h * channels);
        }
        continue;
      }
      call_.kernels.convert({.from_element = given.element,
                             .to_element = kernels::Element::f32,
                             .rows = given.rows,
                             .count = count,
                             .from = static_cast<const char*>(given.a) + 2 * h * given.a_head,
                             .from_row = given.a_row,
                             .to = rows_.data() + h * channels,
                             .to_row = rows.a_row});
    }
  }
  if (angles == nullptr) return;
  for (std::size_t r = 0; r < call_.rotations.size(); ++r) {
    const std::pmr::vector<float>& own = (*angles)[r];
    if (own.empty()) continue;
    const CallRotation& rotation = call_.rotations[r];
    for (std::int64_t m = 0; m < given.rows; ++m) cos_[index(m)] = own.data() + (first + m) * 2 * rotation.pairs;
    kernels::RotateRows rotated = rows_to_rotate(rotation, cos_.data(), given.rows);
    rotated.heads = given.heads;
    rotated.to = rows_.data() + rotation.rule->first_channel;
    rotated.to_row = rows.a_row;
    rotated.to_head = channels;
    rotated.from = all_rotate ? given.a : rotated.to;
    rotated.from_row = all_rotate ? given.a_row : rotated.to_row;
    rotated.from_head = all_rotate ? given.a_head : rotated.to_head;
    call_.kernels.rotate(rotated);
  }
}

// Fetched beside them are the rows that come next: where rows of a head lie together, or the heads of a row, line by
// line in the order of memory, else each row's own lines.
// Rows that rotate are cut into kRotatedRows rows and kRotatedHeads heads; all others go to the kernel as they lie
// together.
template <typename Use>
void DecodeProducts::for_rows(const LaneBlock& block, const Heads& heads, const KeyTile& tile,
                              const RowsView& given_rows, std::int64_t channels, const AngleTables* angles,
                              const Use& use) {
  const bool are_keys = &given_rows == &call_.k;
  RowsView x = given_rows;
  x.data += heads.first * x.head_stride * x.bytes;
  const std::int64_t size = x.row_size(channels);  // of a row of a head
  const std::int64_t bytes = size * x.bytes;
  const bool heads_lie_together = x.head_stride == size && x.row_stride == heads.count * size;
  const bool is_dense = heads_lie_together || x.row_stride == size;
  const std::int64_t line = x.is_quantised() ? line_bytes(*x.codes.facts) : kLineBytes;
  const bool as_floats = angles != nullptr || (are_keys && takes_floats(x));
  const kernels::DecodeLanes given{.element = x.element,
                                   .a_row = x.row_stride,
                                   .a_head = x.head_stride,
                                   .depth = channels,
                                   .lanes = block.lanes,
                                   .heads = heads.count,
                                   .each = block.each,
                                   .ahead_next = kDecodeRows * x.row_stride * x.bytes,
                                   .ahead_head = heads_lie_together ? kDecodeRows * bytes : x.head_stride * x.bytes,
                                   .ahead_row = is_dense ? line : x.row_stride * x.bytes,
                                   .ahead_line = is_dense ? kDecodeRows * line : line};
  const auto rows_of = [&](std::int64_t apart) {
    return whole((apart + heads.count * bytes - 1) / (heads.count * bytes), kDecodeRows);
  };
  const std::int64_t rows_ahead = rows_of(kBytesAhead);
  const std::int64_t rows_again = rows_of(kBytesAgain);
  tile.for_given(x, [&](const GivenRows& rows) {
    std::int64_t r = 0;
    while (r < rows.count) {
      const GivenRows ahead = tile.from(x, rows.first + r + rows_ahead);
      const GivenRows again = tile.from(x, rows.first + r + rows_again);
      kernels::DecodeLanes own = given;
      own.a = static_cast<const char*>(rows.data) + r * x.row_stride * x.bytes;
      own.rows = std::min(as_floats ? kRotatedRows : kTileKeys, rows.count - r);
      if (ahead.count >= kDecodeRows) {  // whole groups of rows, so that none is cut where what lies ahead is
        own.ahead = ahead.data;
        own.rows = std::min(own.rows, ahead.count / kDecodeRows * kDecodeRows);
        if (again.count >= kDecodeRows) {
          own.ahead_again = static_cast<const char*>(again.data) - static_cast<const char*>(ahead.data);
          own.rows = std::min(own.rows, again.count / kDecodeRows * kDecodeRows);
        }
      }
      const std::int64_t first = rows.first + r;
      r += own.rows;
      if (!as_floats) {
        kernels::DecodeCodes product{.of = own};
        if (x.is_quantised()) {
          product.codes = x.codes.facts->codes;
          product.scale = tile.numbers_at(x, x.codes.scales, first, heads.first);
          product.scale_row = x.codes.scales.row_stride;
          product.scale_head = x.codes.scales.head_stride;
          product.zero = tile.numbers_at(x, x.codes.zeros, first, heads.first);
          product.zero_row = x.codes.zeros.row_stride;
          product.zero_head = x.codes.zeros.head_stride;
          product.fixed_scale = x.codes.fixed_scale;
        }
        use(product, x.is_quantised(), first, heads.first * block.each);
        continue;
      }
      for (std::int64_t h = 0; h < heads.count; h += kRotatedHeads) {
        kernels::DecodeCodes some{.of = own};
        some.of.heads = std::min(kRotatedHeads, heads.count - h);
        some.of.a = static_cast<const char*>(own.a) + h * x.head_stride * x.bytes;
        if (own.ahead != nullptr) some.of.ahead = static_cast<const char*>(own.ahead) + h * own.ahead_head;
        make_floats(tile, x, first, heads.first + h, angles, some.of);
        use(some, false, first, (heads.first + h) * block.each);
      }
    }
  });
}

// Keys rotate by steps where the tile allows it, else by their own angles, or not at all. A single rotation is done by
// the dots themselves, in registers (in_decode_dots); several are done before, some rows at a time.
void DecodeProducts::multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q,
                                   float* scores) {
  const AngleTables* angles = nullptr;
  if (rotates_by_steps(block, tile)) {
    q = queries_from(block, tile);
    angles = &steps_;
  } else if (keys_rotate_) {
    write_key_angles(tile, region);
    angles = &of_keys_;
  }
  kernels::LoadRotation rotation;
  if (call_.in_decode_dots != nullptr) {
    const std::int64_t pairs = call_.in_decode_dots->pairs;
    const math::Rotation& rule = *call_.in_decode_dots->rule;
    rotation = {(*angles)[0].data(), 2 * pairs, rule.first_channel, pairs, rule.pairing == Pairing::interleaved};
    if (angles == &of_keys_) q = beside_rotated(block, q);
    angles = nullptr;
  }
  const std::int64_t channels = call_.layer.head_dim;
  const auto multiply = [&](kernels::DecodeCodes& codes, bool are_codes, std::int64_t first, std::int64_t lane) {
    kernels::DecodeLanes& product = codes.of;
    product.c = scores + first * block.lanes + lane;
    if (call_.decode_pairs != nullptr) {
      return call_.decode_pairs->decode_dots({product, block.decode_pairs.data(), block.row_scale.data()});
    }
    product.b = q + lane * channels;
    product.rotation = rotation;
    if (rotation.cos != nullptr) product.rotation.cos += first * rotation.row;
    if (are_codes) return call_.kernels.codes->decode_dots(codes);
    call_.attention.decode_dots(product);
  };
  for_rows(block, {0, block.kv_heads}, tile, call_.k, channels, angles, multiply);
}

void DecodeProducts::add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) {
  add_values_of(block, tile, {0, block.kv_heads}, p, rescale);
}

void DecodeProducts::add_values_of_head(LaneBlock& block, KeyTile& tile, std::int64_t n, const float* p,
                                        const float* rescale) {
  add_values_of(block, tile, {n, 1}, p, rescale);
}

// The sums so far are rescaled once a tile, with its first rows.
void DecodeProducts::add_values_of(LaneBlock& block, KeyTile& tile, const Heads& heads, const float* p,
                                   const float* rescale) {
  if (!of_values_.empty()) write_value_angles(tile);
  const std::int64_t channels = call_.layer.value_dim;
  const auto add = [&](kernels::DecodeCodes& codes, bool are_codes, std::int64_t first, std::int64_t lane) {
    kernels::DecodeLanes& product = codes.of;
    product.p = p + first * block.lanes + lane;
    product.out = block.out.data() + lane * channels;
    if (first == 0) product.scale = rescale + lane;
    if (are_codes) return call_.kernels.codes->decode_weighted(codes);
    call_.attention.decode_weighted(product);
  };
  for_rows(block, heads, tile, call_.v, channels, of_values_.empty() ? nullptr : &of_values_, add);
}

}  // namespace posenc::cpu

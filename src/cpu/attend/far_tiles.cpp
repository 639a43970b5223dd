// The bound by which ALiBi's far tiles are skipped: the longest key of each tile and the lengths of the block's queries
// give |q| |k| >= q . k (Cauchy-Schwarz). far_tiles.h has the inequality and why 2^-25 is safe in f32.
#include "cpu/attend/far_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Measuring a key costs what a query's product with it does: below this, more than it could save.
constexpr std::int64_t kShortCall = 64;
// Lengths are rounded, sums of squares of at most 2^10 channels.
constexpr float kAtMost = 1.0F + 0x1p-12F;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// The bound holds where a score is q . k + slope d and nothing else. Null in any other layer.
const math::LinearDistance* only_bias(const AttendCall& call) {
  const bool is_plain = call.rotations.empty() && !call.layer.soft_cap && call.args.inputs.bias.empty();
  if (!is_plain || call.lowered.terms.size() != 1) return nullptr;
  return std::get_if<math::LinearDistance>(&call.lowered.terms.front());
}

float longest_row(const FloatRows& rows, std::int64_t count, std::int64_t channels) {
  float longest = 0.0F;
  for (std::int64_t m = 0; m < count; ++m) {
    const float* const row = rows.data + m * rows.stride;
    float squares = 0.0F;
    for (std::int64_t c = 0; c < channels; ++c) squares += row[c] * row[c];
    if (!(squares <= longest)) longest = squares > 0.0F ? squares : kInfinite;  // NaN counts as infinite
  }
  return std::sqrt(longest) * kAtMost;
}

}  // namespace

FarTiles::FarTiles(const AttendCall& call) : call_(&call), bias_(only_bias(call)) {
  if (bias_ == nullptr) return;
  const math::Coordinate& along = call.lowered.coordinates[index(bias_->coordinate)];
  KeyTile keys(call, std::pmr::get_default_resource());
  for (std::size_t s = 0; s < call.rows.sequences.size(); ++s) {
    const math::SequenceRows& rows = call.rows.sequences[s];
    first_tile_.push_back(tiles_.size());
    if (rows.q_count < kShortCall) continue;
    for (std::int64_t first = 0; first < rows.k_count; first += kTileKeys) {
      const std::int64_t count = std::min(kTileKeys, rows.k_count - first);
      const auto begin = along.k.begin() + rows.k_first + first;
      const auto [low, high] = std::minmax_element(begin, begin + count);
      for (std::int64_t head = 0; head < call.layer.kv_heads; ++head) {
        keys.place(s, head, first, count);
        tiles_.push_back({*low, *high, longest_row(keys.raw(), count, call.layer.head_dim)});
      }
    }
  }
  first_tile_.push_back(tiles_.size());
}

// In double, and rounded up: a length that is too large skips less, and never wrongly.
void FarTiles::measure(LaneBlock& block) const {
  std::array<double, kMaxLanes> squares{};
  for (std::int64_t c = 0; c < call_->layer.head_dim; ++c) {
    for (std::int64_t l = 0; l < block.lanes; ++l) {
      const auto q = static_cast<double>(block.q[block.place(c, l, call_->layer.head_dim)]);
      squares[index(l)] += q * q;
    }
  }
  for (std::int64_t l = 0; l < block.lanes; ++l) {
    block.length[index(l)] = static_cast<float>(std::sqrt(squares[index(l)]) * (1 + 0x1p-20));
  }
}

// Every lane must agree. The bias is largest at one of the tile's two ends; where it is symmetric and the query lies
// between them, at the query.
bool FarTiles::is_far(const LaneBlock& block, std::size_t sequence, std::int64_t kv_head, std::int64_t first) const {
  if (bias_ == nullptr || first_tile_[sequence] == first_tile_[sequence + 1]) return false;
  const std::int64_t t = first / kTileKeys;
  const Tile& tile = tiles_[first_tile_[sequence] + index(t * call_->layer.kv_heads + kv_head)];
  const double nothing =
      25 * std::log(2.0) + std::log(static_cast<double>(kTileKeys)) + 2 * std::log(static_cast<double>(t + 2));
  const math::Coordinate& along = call_->lowered.coordinates[index(bias_->coordinate)];
  for (std::int64_t l = 0; l < block.used; ++l) {
    const std::size_t lane = index(l);
    const double q = along.q[index(block.lane[lane].row)];
    double least = q - tile.high;
    double most = q - tile.low;
    if (bias_->symmetric) {
      const bool is_within = least < 0.0 && most > 0.0;
      most = std::max(std::abs(least), std::abs(most));
      least = is_within ? 0.0 : std::min(std::abs(q - tile.high), std::abs(q - tile.low));
    }
    const double slope = bias_->slopes[index(block.lane[lane].head)];
    const double largest = static_cast<double>(block.length[lane]) * static_cast<double>(tile.longest) +
                           std::max(slope * least, slope * most);
    if (!(largest < static_cast<double>(block.max[lane]) - nothing)) return false;
  }
  return true;
}

}  // namespace posenc::cpu

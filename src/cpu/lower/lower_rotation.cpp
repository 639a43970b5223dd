// Rotations as their rule (frequencies, axes, attention factor, xPos' decay), and regions (SelfExtend, ReRoPE, dual
// chunk attention) as the positions by which the rotation rotates rows in each band of distances.
#include <cmath>
#include <limits>

#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"
#include "math/rope/xpos.h"
#include "math/score/regions.h"
#include "posenc/rope.h"

namespace posenc::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Queries or keys that come rotated stay as they are.
math::Rotation rotation(const Rotate& one, const LayerInputs& inputs) {
  const Rope& scheme = rope(one);
  const Frequencies rule = frequencies(scheme, inputs.length);
  return {.pairing = scheme.pairing,
          .first_channel = scheme.first_channel,
          .dim = scheme.dim,
          .inv_freq = rule.inv_freq,
          .axis_of_pair = scheme.axes.of_pair,
          .factor = rule.attention_factor,
          .offset = static_cast<double>(one.offset),
          .rotates_queries = !inputs.q_rotated,
          .rotates_keys = !inputs.k_rotated,
          .decay = {}};
}

// Where rows stand in a band, asked of the formula for one distance that lies in it: it is the same for all of them.
template <typename Scheme>
math::Region region(const Scheme& scheme, const math::Coordinate& at, double low, double high, double distance) {
  math::Region out{.low = low, .high = high, .q_positions = {}, .k_positions = {}};
  out.q_positions.reserve(at.q.size());
  out.k_positions.reserve(at.k.size());
  for (const double i : at.q) out.q_positions.push_back(math::standing(scheme, i, i - distance).query);
  for (const double j : at.k) out.k_positions.push_back(math::standing(scheme, j + distance, j).key);
  return out;
}

// Two bands: nearer than the window, and not.
template <typename Scheme>
void near_and_far(const Scheme& scheme, Lowering& lowering) {
  const math::Coordinate& at = lowering.out.coordinates.front();
  const auto window = static_cast<double>(scheme.window);
  lowering.out.regions = {
      .q_places = at.q,
      .k_places = at.k,
      .regions = {region(scheme, at, -kInfinity, window, -1.0), region(scheme, at, window, kInfinity, window + 1.0)}};
}

}  // namespace

// xPos multiplies a pair by zeta^((i - j) / scale_base): as an exponent, ln(zeta) / scale_base for each position.
void lower_rotations(Lowering& lowering) {
  for (const Rotate& one : lowering.layer.rotate) {
    if (one.role != RotateRole::main) continue;
    math::Rotation& made = lowering.out.rotations.emplace_back(rotation(one, lowering.inputs));
    if (const auto* xpos = std::get_if<XPos>(&one.scheme)) {
      for (std::int64_t p = 0; p < xpos->rope.pairs(); ++p) {
        made.decay.push_back(std::log(math::xpos_zeta(xpos->rope, p)) / xpos->scale_base);
      }
    }
  }
}

void lower_regions(std::monostate, Lowering&) {}

void lower_regions(const SelfExtend& scheme, Lowering& lowering) { near_and_far(scheme, lowering); }

void lower_regions(const ReRope& scheme, Lowering& lowering) { near_and_far(scheme, lowering); }

// Bands of chunks, not of positions. Keys stand at their place in the chunk but for the future's.
void lower_regions(const DualChunk& scheme, Lowering& lowering) {
  const math::Coordinate& at = lowering.out.coordinates.front();
  const auto chunk = static_cast<double>(scheme.chunk);
  math::RegionList& out = lowering.out.regions;
  out.q_places.reserve(at.q.size());
  out.k_places.reserve(at.k.size());
  for (const double i : at.q) out.q_places.push_back(std::floor(i / chunk));
  for (const double j : at.k) out.k_places.push_back(std::floor(j / chunk));
  out.regions = {region(scheme, at, -kInfinity, 0.0, -chunk), region(scheme, at, 0.0, 1.0, 0.0),
                 region(scheme, at, 1.0, 2.0, chunk), region(scheme, at, 2.0, kInfinity, 2.0 * chunk)};
}

}  // namespace posenc::cpu

#include "cpu/kept_angles.h"

#include <vector>

#include "base/parallel.h"
#include "cpu/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kMostFloats = std::int64_t{4} << 20;
constexpr std::int64_t kGrain = 64;  // rows of a task

bool is_kept(const CallRotation& rotation) { return rotation.rule->decay.empty(); }

// Where rows stand: [axes][rows], with the rotation's offset.
std::vector<double> positions_of(const AttendCall& call, const math::Rotation& rule, math::Side side) {
  std::vector<double> out;
  for (const math::Coordinate& at : call.lowered.coordinates) {
    for (const double x : side == math::Side::query ? at.q : at.k) out.push_back(x + rule.offset);
  }
  return out;
}

AlignedFloats angles_of(const AttendCall& call, const CallRotation& rotation, math::Side side) {
  const std::int64_t rows = side == math::Side::query ? call.lowered.q_rows : call.lowered.k_rows;
  const std::int64_t width = 2 * rotation.pairs;
  const std::vector<double> positions = positions_of(call, *rotation.rule, side);
  AlignedFloats out(index(rows * width));
  parallel_for(call.args.parallel, rows, kGrain, [&](std::int64_t first, std::int64_t last) noexcept {
    float* const cos = out.data() + first * width;
    rotation.angles.write(call.kernels, positions.data() + first, rows, last - first, cos, cos + rotation.pairs, width);
  });
  return out;
}

}  // namespace

void keep_angles(AttendCall& call) {
  if (!call.lowered.regions.regions.empty()) return;
  std::int64_t floats = 0;
  for (const CallRotation& rotation : call.rotations) {
    if (is_kept(rotation)) floats += (call.lowered.q_rows + call.lowered.k_rows) * 2 * rotation.pairs;
  }
  if (floats > kMostFloats) return;
  for (CallRotation& rotation : call.rotations) {
    if (!is_kept(rotation)) continue;
    if (rotation.rule->turns_queries) rotation.of_queries = angles_of(call, rotation, math::Side::query);
    if (rotation.rule->turns_keys) rotation.of_keys = angles_of(call, rotation, math::Side::key);
  }
}

}  // namespace posenc::cpu

// cos and sin of a call's queries and keys, written by the angle kernel on the call's threads before the pass, where
// several heads or blocks would compute them again. kept_angles.h has the limit on memory.
#include "cpu/attend/kept_angles.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kGrain = 64;             // rows of a task: some 5 us with 64 pairs
constexpr std::int64_t kRowsUntilAsked = 4096;  // 0.3 ms on one thread

// Where rows stand: [axes][rows], with the rotation's offset.
std::vector<double> positions_of(const AttendCall& call, const math::Rotation& rule, math::Side side) {
  std::vector<double> out;
  for (const math::Coordinate& at : call.lowered.coordinates) {
    for (const double x : side == math::Side::query ? at.q : at.k) out.push_back(x + rule.offset);
  }
  return out;
}

std::int64_t rows_of(const AttendCall& call, math::Side side) {
  return side == math::Side::query ? call.lowered.q_rows : call.lowered.k_rows;
}

// [rows][2 pairs]. Of a call that is cancelled on the way, the rest is not written.
AlignedFloats angles_of(const AttendCall& call, const CallRotation& rotation, math::Side side, KeepGoing& keep_going) {
  const std::int64_t rows = rows_of(call, side);
  const std::int64_t width = 2 * rotation.pairs;
  const std::vector<double> positions = positions_of(call, *rotation.rule, side);
  AlignedFloats out(index(rows * width));
  for (std::int64_t row = 0; row < rows && keep_going(); row += kRowsUntilAsked) {
    const std::int64_t count = std::min(kRowsUntilAsked, rows - row);
    parallel_for(call.args.parallel, count, kGrain, [&](std::int64_t first, std::int64_t last) noexcept {
      float* const cos = out.data() + (row + first) * width;
      const double* const at = positions.data() + row + first;
      rotation.angles.write(call.kernels, at, rows, last - first, cos, cos + rotation.pairs, width);
    });
  }
  return out;
}

}  // namespace

// Not with regions, where a row has several positions, nor with xPos, whose angles decay from an origin in each tile.
void keep_angles(AttendCall& call, const AskedRows& asked, KeepGoing& keep_going) {
  if (!call.lowered.regions.regions.empty()) return;
  const auto keeps = [&](const CallRotation& rotation, math::Side side) {
    const bool is_query = side == math::Side::query;
    const bool rotates = is_query ? rotation.rule->rotates_queries : rotation.rule->rotates_keys;
    return rotates && rotation.rule->decay.empty() &&
           (is_query ? asked.queries : asked.keys) >= 2 * rows_of(call, side);
  };
  std::int64_t bytes = 0;
  for (const CallRotation& rotation : call.rotations) {
    for (const math::Side side : {math::Side::query, math::Side::key}) {
      if (keeps(rotation, side)) bytes += rows_of(call, side) * 2 * rotation.pairs * 4;
    }
  }
  if (bytes > kMostKeptBytes) return;
  for (CallRotation& rotation : call.rotations) {
    if (keeps(rotation, math::Side::query))
      rotation.of_queries = angles_of(call, rotation, math::Side::query, keep_going);
    if (keeps(rotation, math::Side::key)) rotation.of_keys = angles_of(call, rotation, math::Side::key, keep_going);
  }
}

}  // namespace posenc::cpu

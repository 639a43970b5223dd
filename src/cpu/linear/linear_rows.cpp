// Rows of q or k for linear attention: converted to f32, the feature map f applied, then RoPE on a copy: f(k) and R
// f(k).
#include "cpu/linear/linear_rows.h"

#include <algorithm>
#include <memory_resource>

#include "cpu/call/row_floats.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

LinearRows::LinearRows(const AttendCall& call, kernels::Feature feature, std::int64_t most)
    : call_(call),
      feature_(feature),
      scratch_(call, std::pmr::new_delete_resource()),
      plain_(index(most * call.layer.head_dim)) {
  if (!call.rotations.empty()) rotated_.resize(plain_.size());
}

// The feature map comes before the rotation. Angles are those kept for the call (kept_angles.h), or are made here.
void LinearRows::read(math::Side side, std::int64_t first, std::int64_t head, std::int64_t count) {
  const std::int64_t channels = call_.layer.head_dim;
  const RowsView& x = side == math::Side::query ? call_.q : call_.k;
  for (std::int64_t r = 0; r < count; ++r) {
    read_floats(call_.kernels, x.element, x.at(first + r, head), channels, plain_.data() + r * channels);
  }
  call_.attention.features({.of = feature_, .x = plain_.data(), .count = count * channels});
  if (call_.rotations.empty()) return;
  std::copy_n(plain_.data(), count * channels, rotated_.data());
  for (const CallRotation& rotation : call_.rotations) {
    const AlignedFloats& kept = side == math::Side::query ? rotation.of_queries : rotation.of_keys;
    if (!kept.empty()) {
      for (std::int64_t r = 0; r < count; ++r) {
        scratch_.cos[index(r)] = kept.data() + (first + r) * 2 * rotation.pairs;
      }
      rotate_by_angles(call_, rotation, count, Direction::forward, rotated_.data(), scratch_);
      continue;
    }
    for (std::size_t axis = 0; axis < call_.lowered.coordinates.size(); ++axis) {
      const math::Coordinate& at = call_.lowered.coordinates[axis];
      const std::vector<double>& all = side == math::Side::query ? at.q : at.k;
      std::copy_n(all.begin() + first, count, scratch_.positions.begin() + static_cast<std::int64_t>(axis) * kTileKeys);
    }
    rotate_rows(call_, rotation, true, side, count, scratch_.positions.data(), nullptr, Direction::forward,
                rotated_.data(), scratch_);
  }
}

}  // namespace posenc::cpu

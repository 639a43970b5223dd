// The rotations of some rows one after another, and their transposes: of queries of a block and of keys of a tile,
// where they stand on their own or in a region.
//
//   y = f R x,   dL/dx = f R^T dL/dy,   dL/dt = y_a dL/dy_b - y_b dL/dy_a of each pair, t its angle
//
// R: RoFormer, arXiv 2104.09864; f: the attention factor, with xPos' decay of the row.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

// Gradients of the frequencies: [rotations][pairs].
using FrequencySums = std::vector<std::vector<double>>;
FrequencySums no_frequencies(const AttendCall& call);
// Of parts that were summed apart, in their order; there is one at least.
FrequencySums summed(std::span<const FrequencySums> parts);

class RowRotations {
 public:
  enum class Of : std::uint8_t { queries, keys, values, outputs };

  RowRotations(const AttendCall& call, std::pmr::memory_resource* memory);

  // Rows first .. first + count - 1 of the call's queries or keys, at most kTileKeys; `region` or null. The first is
  // the origin of decays.
  void place(Of of, std::int64_t first, std::int64_t count, const math::Region* region);

  // Rotates rows as the forward pass does, in place: by rotations 0 .. count - 1.
  void rotate(std::size_t count, float* rows, std::int64_t stride);
  // Gradients of rotated rows become those of rows as given, in place. `given`: the rows as given, which `scratch` has
  // as much room for; added to `frequencies`. Null: these are not asked for.
  void rotate_back(float* gradients, std::int64_t stride, const float* given, float* scratch,
                   FrequencySums* frequencies);

  // Outputs that the forward pass has rotated back (ValueRotation): gradients of what they were before, in place;
  // `outputs`, as they were written, are changed.
  void rotate_outputs(float* gradients, float* outputs, std::int64_t stride, FrequencySums* frequencies);

 private:
  // Cos and sin of the placed rows; false: nothing rotates.
  bool write(const CallRotation& rotation);
  void apply(const CallRotation& rotation, float cos_scale, float sin_scale, float* rows, std::int64_t stride) const;
  void sum_frequencies(const CallRotation& rotation, const float* y, const float* d, std::int64_t stride, double sign,
                       std::vector<double>& to) const;

  const AttendCall& call_;
  RowScratch scratch_;
  Of of_ = Of::queries;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  const math::Region* region_ = nullptr;
};

}  // namespace posenc::cpu

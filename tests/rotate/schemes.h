// The shapes of rotation that tests sweep over.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/rope.h"

namespace posenc::test {

struct Scheme {
  const char* name;
  Rope rope;
};

// `pairs` is a multiple of 6, for the axes.
inline std::vector<Scheme> schemes(Pairing pairing, std::int64_t pairs) {
  const std::int64_t dim = 2 * pairs;
  const Rope plain{.pairing = pairing, .head_dim = dim, .dim = dim};
  std::vector<Scheme> out(7, {"plain", plain});
  out[1].name = "partial";
  out[1].rope.head_dim = dim + 5;
  out[2].name = "last channels, yarn";
  out[2].rope.head_dim = dim + 3;
  out[2].rope.first_channel = 3;
  out[2].rope.scaling = YarnScaling{.factor = 8.0, .original_max_position_embeddings = 4096};
  out[3].name = "chunked axes";
  out[3].rope.axes = chunked_axes({"t", "h", "w"}, {pairs / 2, pairs / 3, pairs / 6});
  out[4].name = "interleaved axes, middle channels";
  out[4].rope.head_dim = dim + 4;
  out[4].rope.first_channel = 2;
  out[4].rope.axes = interleaved_axes({pairs / 3, pairs / 3, pairs / 3});
  out[5].name = "axial";
  out[5].rope.axes = axial_axes({"h", "w"}, pairs);
  out[5].rope.axis_frequencies = AxisFrequencies::per_axis;
  out[6].name = "clockwise";
  out[6].rope.rotation_direction = RotationDirection::clockwise;
  return out;
}

}  // namespace posenc::test

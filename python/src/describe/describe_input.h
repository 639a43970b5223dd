// The input stage (posenc/input.h) and position ids (posenc/grid_positions.h), as Python sees them.
// Docs: schemes/learned.md, sinusoidal.md and grid-positions.md in docs.
#pragma once

#include "describe/described.h"
#include "posenc/grid_positions.h"
#include "posenc/input.h"

namespace posenc::python {

// Given to reference.add_input. IntegerInput and BinaryInput learn nothing, so they have no class of weights.
constexpr auto description(Type<LearnedInputWeights>) {
  using T = LearnedInputWeights;
  return described_as<T>(
      "LearnedInputWeights", "Of LearnedInput.", member("positions", &T::positions, "[rows, channels]"),
      member("token_types", &T::token_types, "[types, channels]; GPT: the word table; empty: no segments."));
}

constexpr auto description(Type<SinusoidalInputWeights>) {
  using T = SinusoidalInputWeights;
  return described_as<T>("SinusoidalInputWeights", "Of SinusoidalInput.",
                         member("scale", &T::scale, "Of learned_scale."));
}

// Items of a sequence for grid_positions, in the order in which they stand in it.
constexpr auto description(Type<TextTokens>) {
  return described_as<TextTokens>("TextTokens", "Text among images and videos: t = h = w, counting on.",
                                  member("tokens", &TextTokens::tokens));
}

// As image_grid_thw of a processor of transformers has it, without its t, which is 1.
constexpr auto description(Type<ImageGrid>) {
  using T = ImageGrid;
  return described_as<T>("ImageGrid", "An image, in patches: before spatial_merge_size of them become one token.",
                         member("height", &T::height), member("width", &T::width));
}

constexpr auto description(Type<VideoGrid>) {
  using T = VideoGrid;
  return described_as<T>(
      "VideoGrid", "A video, in patches, as ImageGrid.",
      member("frames", &T::frames, "Of the grid: video_grid_thw[0]; frames that were merged count once."),
      member("height", &T::height), member("width", &T::width),
      member("second_per_grid", &T::second_per_grid, "qwen2_5_vl: seconds from frame to frame."),
      member("text_before", &T::text_before, "qwen3_vl, glm4v: tokens of text before each frame; empty: none."));
}

}  // namespace posenc::python

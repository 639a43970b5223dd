// Position ids of a sequence of text, images and videos: the coordinates t, h, w of every token, for M-RoPE
// (get_rope_index in transformers, get_mrope_input_positions in vLLM).
//
//   text    t = h = w, counting on
//   image   t constant, h and w the row and column of its grid, all from where the text stopped
//   video   grids one after the other; the rules differ in t
//   next    the largest coordinate so far + 1, on every axis
//
// Qwen2-VL, arXiv 2409.12191, 2.1. The rules, and who disagrees: src/math/input/grid_positions.cpp.
//
//   const std::vector<GridItem> items = {TextTokens{4}, ImageGrid{8, 12}, TextTokens{9}};
//   const GridPositions ids = grid_positions({.rule = GridRule::qwen2_vl}, items);
//   rotate({.q = q, .positions = std::span<const std::int64_t>(ids.positions), .table = &table});
//   // token n of the sequence, n from ids.tokens on, stands at n + ids.decode_delta on every axis
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "posenc/export.h"
#include "posenc/rope.h"

namespace posenc::inline v0_2 {

// What t is in a video of several frames:
//   qwen2_vl    the frame's number
//   qwen2_5_vl  int(frame * second_per_grid * tokens_per_second), each product rounded to float
//   qwen3_vl    constant: each frame is an image of its own, behind its timestamp, which is text
//   glm4v       the same; frames behind their markers (GLM-4.1V)
enum class GridRule : std::uint8_t { qwen2_vl, qwen2_5_vl, qwen3_vl, glm4v };

struct TextTokens {
  std::int64_t tokens = 0;
  bool operator==(const TextTokens&) const = default;
};

// Sizes are in patches, as in image_grid_thw: before spatial_merge_size of them become one token.
struct ImageGrid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const ImageGrid&) const = default;
};

struct VideoGrid {
  std::int64_t frames = 0;  // of the grid: video_grid_thw[0], frames that were merged count once
  std::int64_t height = 0;
  std::int64_t width = 0;
  double second_per_grid = 1.0;  // qwen2_5_vl: seconds from frame to frame, temporal_patch_size / fps
  // qwen3_vl, glm4v: tokens of text before each frame (timestamp and markers). [frames]; empty: none anywhere
  std::vector<std::int64_t> text_before{};
  bool operator==(const VideoGrid&) const = default;
};

using GridItem = std::variant<TextTokens, ImageGrid, VideoGrid>;

struct GridSettings {
  Required<GridRule> rule;
  std::int64_t spatial_merge_size = 2;
  double tokens_per_second = 2.0;  // qwen2_5_vl: of the published checkpoints' vision_config; Qwen2.5-Omni 25
};

struct GridPositions {
  std::vector<std::int64_t> positions;  // [3, tokens]: t, h, w
  std::int64_t tokens = 0;
  std::int64_t next_position = 0;  // of the text that follows
  std::int64_t decode_delta = 0;   // mrope_delta: next_position - tokens. Padding tokens are none of them.
};

// Throws Error for a grid that spatial_merge_size does not divide, for more than 2^31 tokens or positions, and for
// numbers that the rule does not read: text_before (qwen2_vl, qwen2_5_vl).
POSENC_API GridPositions grid_positions(const GridSettings& settings, std::span<const GridItem> items);

}  // namespace posenc::inline v0_2

// Position ids of text, images and videos, each grid worked by hand; those that papers and model code print.
#include "posenc/grid_positions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support/throws.h"

namespace posenc::grid_positions_test {
namespace {

using Ids = std::vector<std::int64_t>;
using Items = std::vector<GridItem>;

struct Axes {
  Ids t, h, w;
};

void expect_ids(const GridPositions& got, const Axes& axes, std::int64_t next) {
  Ids all = axes.t;
  all.insert(all.end(), axes.h.begin(), axes.h.end());
  all.insert(all.end(), axes.w.begin(), axes.w.end());
  EXPECT_EQ(got.positions, all);
  EXPECT_EQ(got.tokens, std::ssize(axes.t));
  EXPECT_EQ(got.next_position, next);
  EXPECT_EQ(got.decode_delta, next - std::ssize(axes.t));
}

constexpr GridRule kRules[] = {GridRule::qwen2_vl, GridRule::qwen2_5_vl, GridRule::qwen3_vl, GridRule::glm4v};

TEST(GridPositions, TextCountsOn) {
  const Ids five = {0, 1, 2, 3, 4};
  for (const GridRule rule : kRules) {
    expect_ids(grid_positions({.rule = rule}, Items{TextTokens{2}, TextTokens{0}, TextTokens{3}}), {five, five, five},
               5);
    expect_ids(grid_positions({.rule = rule}, {}), {}, 0);
  }
}

// 3 tokens, an image of 4 x 6 patches (2 x 3 tokens), 2 tokens: the text goes on at 3 + 3, after the widest column.
TEST(GridPositions, ImageBetweenText) {
  for (const GridRule rule : kRules) {
    expect_ids(grid_positions({.rule = rule}, Items{TextTokens{3}, ImageGrid{4, 6}, TextTokens{2}}),
               {{0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7},  //
                {0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7},
                {0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7}},
               8);
  }
}

// Higher than wide, no merging, nothing before it; a second image right behind it.
TEST(GridPositions, ImagesWithoutText) {
  expect_ids(
      grid_positions({.rule = GridRule::qwen2_vl, .spatial_merge_size = 1}, Items{ImageGrid{3, 1}, ImageGrid{1, 2}}),
      {{0, 0, 0, 3, 3}, {0, 1, 2, 3, 3}, {0, 0, 0, 3, 4}}, 5);
}

// The example that Qwen2-VL's model code gives: 3 frames of 2 x 2, then 5 tokens of text from 3 on.
TEST(GridPositions, Qwen2VlVideo) {
  expect_ids(grid_positions({.rule = GridRule::qwen2_vl}, Items{VideoGrid{3, 4, 4}, TextTokens{5}}),
             {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7},
              {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 4, 5, 6, 7},
              {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 3, 4, 5, 6, 7}},
             8);
}

// The example that Qwen2.5-VL's model code gives: 25 tokens a second, a frame of the grid every 2 seconds.
TEST(GridPositions, Qwen25VlVideo) {
  const Items items = {VideoGrid{3, 4, 4, 2.0}, TextTokens{5}};
  expect_ids(grid_positions({.rule = GridRule::qwen2_5_vl, .tokens_per_second = 25}, items),
             {{0, 0, 0, 0, 50, 50, 50, 50, 100, 100, 100, 100, 101, 102, 103, 104, 105},
              {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 101, 102, 103, 104, 105},
              {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 101, 102, 103, 104, 105}},
             106);
}

Ids times(double seconds, double rate, std::int64_t frames) {
  const GridSettings settings{.rule = GridRule::qwen2_5_vl, .spatial_merge_size = 1, .tokens_per_second = rate};
  const GridPositions got = grid_positions(settings, Items{TextTokens{10}, VideoGrid{frames, 1, 1, seconds}});
  Ids out;
  for (std::int64_t t = 0; t < frames; ++t) out.push_back(got.positions[static_cast<std::size_t>(10 + t)] - 10);
  return out;
}

// The whole product is cut off, not the seconds: at 4 frames a second a frame of the grid lasts half a second. 1.5 is a
// step of 3; 0.7 steps 1.4, 2.8, 4.2.
TEST(GridPositions, Qwen25VlFractionsOfSeconds) {
  EXPECT_EQ(times(0.5, 2, 4), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(times(1.5, 2, 4), (Ids{0, 3, 6, 9}));
  EXPECT_EQ(times(0.7, 2, 4), (Ids{0, 1, 2, 4}));
  EXPECT_EQ(times(0.2, 2, 6), (Ids{0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(times(0, 2, 3), (Ids{0, 0, 0}));
}

// 2/25 s in float is 0.07999999821; times 5, 0.3999999762 and rounded there; times 25, 9.99999940. In real numbers: 10.
TEST(GridPositions, Qwen25VlMultipliesInFloat) { EXPECT_EQ(times(2.0 / 25, 25, 6), (Ids{0, 2, 4, 6, 8, 9})); }

// A video longer than it is wide pushes the text behind its last frame, here at 4 + 2 * 3.
TEST(GridPositions, TextGoesOnBehindTheLastFrame) {
  const Items items = {TextTokens{4}, VideoGrid{4, 2, 2, 1.0}, TextTokens{1}};
  expect_ids(grid_positions({.rule = GridRule::qwen2_5_vl}, items),
             {{0, 1, 2, 3, 4, 6, 8, 10, 11}, {0, 1, 2, 3, 4, 4, 4, 4, 11}, {0, 1, 2, 3, 4, 4, 4, 4, 11}}, 12);
}

// The seconds of a video are nothing to an image, nor to other rules.
TEST(GridPositions, ImagesHaveNoTime) {
  const GridPositions image =
      grid_positions({.rule = GridRule::qwen2_5_vl, .tokens_per_second = 25}, Items{TextTokens{7}, ImageGrid{4, 4}});
  EXPECT_EQ(Ids(image.positions.begin() + 7, image.positions.begin() + 11), (Ids{7, 7, 7, 7}));
  const VideoGrid slow{2, 2, 2, 9.0};
  const VideoGrid fast{2, 2, 2, 0.1};
  EXPECT_EQ(grid_positions({.rule = GridRule::qwen2_vl}, Items{slow}).positions,
            grid_positions({.rule = GridRule::qwen2_vl}, Items{fast}).positions);
}

// <0.5 seconds><start> frame <end><1.5 seconds><start> frame <end>: 3 tokens, 2 x 1, 4 tokens, 2 x 1, 1 token.
TEST(GridPositions, FramesBetweenTimestamps) {
  const Items items = {VideoGrid{2, 4, 2, 1.0, {3, 4}}, TextTokens{1}};
  const Axes expected = {{0, 1, 2, 3, 3, 5, 6, 7, 8, 9, 9, 11},
                         {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                         {0, 1, 2, 3, 3, 5, 6, 7, 8, 9, 9, 11}};
  for (const GridRule rule : {GridRule::qwen3_vl, GridRule::glm4v}) {
    expect_ids(grid_positions({.rule = rule}, items), expected, 12);
    const Items images = {TextTokens{3}, ImageGrid{4, 2}, TextTokens{4}, ImageGrid{4, 2}, TextTokens{1}};
    expect_ids(grid_positions({.rule = rule}, images), expected, 12);
    expect_ids(grid_positions({.rule = rule}, Items{VideoGrid{2, 2, 2}}), {{0, 1}, {0, 1}, {0, 1}}, 2);
  }
}

// A prompt in full, decoded: token n stands at n + delta. 12 x 8 tokens shrink the sequence by 96 - 12.
TEST(GridPositions, DecodeDelta) {
  const GridPositions ids =
      grid_positions({.rule = GridRule::qwen2_5_vl}, Items{TextTokens{15}, ImageGrid{24, 16}, TextTokens{20}});
  EXPECT_EQ(ids.tokens, 15 + 96 + 20);
  EXPECT_EQ(ids.decode_delta, 12 - 96);
  EXPECT_EQ(ids.tokens + ids.decode_delta, ids.next_position);
  EXPECT_EQ(ids.next_position, 15 + 12 + 20);
}

TEST(GridPositions, BadGrids) {
  const auto with = [](GridRule rule, const GridItem& item) {
    return grid_positions({.rule = rule}, Items{TextTokens{1}, item});
  };
  EXPECT_ERROR(with(GridRule::qwen2_vl, TextTokens{-1}),
               "[grid_positions] items[1].tokens must be at least 0 but is -1");
  EXPECT_ERROR(with(GridRule::qwen2_vl, ImageGrid{4, 5}),
               "[grid_positions] items[1].width must be a positive multiple of spatial_merge_size, 2, but is 5");
  EXPECT_ERROR(with(GridRule::qwen2_vl, ImageGrid{0, 4}),
               "[grid_positions] items[1].height must be a positive multiple of spatial_merge_size, 2, but is 0");
  EXPECT_ERROR(with(GridRule::qwen2_vl, VideoGrid{0, 4, 4}),
               "[grid_positions] items[1].frames must be at least 1 but is 0");
  EXPECT_ERROR(
      with(GridRule::qwen2_vl, VideoGrid{1, 4, 4, 1.0, {2}}),
      "[grid_positions] items[1].text_before must be empty, as this rule has all frames in one piece, but is 1 "
      "long");
  EXPECT_ERROR(
      with(GridRule::qwen3_vl, VideoGrid{3, 4, 4, 1.0, {2}}),
      "[grid_positions] items[1].text_before must have one count for each of 3 frames, or none, but is 1 long");
  EXPECT_ERROR(with(GridRule::glm4v, VideoGrid{2, 4, 4, 1.0, {2, -3}}),
               "[grid_positions] items[1].text_before[1] must be at least 0 but is -3");
  EXPECT_ERROR(with(GridRule::qwen2_5_vl, VideoGrid{2, 4, 4, -1.0}),
               "[grid_positions] items[1].second_per_grid must be from 0 to 2^31 but is -1");
  EXPECT_ERROR(grid_positions({.rule = GridRule::qwen2_vl, .spatial_merge_size = 0}, {}),
               "[grid_positions] spatial_merge_size must be at least 1 but is 0");
  EXPECT_ERROR(grid_positions({.rule = GridRule::qwen2_5_vl, .tokens_per_second = -2}, {}),
               "[grid_positions] tokens_per_second must be from 0 to 2^31 but is -2");
  EXPECT_ERROR(grid_positions({.rule = static_cast<GridRule>(9)}, {}),
               "[grid_positions] rule must be one that is known but is 9");
}

// Refused before memory is asked for.
TEST(GridPositions, TooMany) {
  constexpr std::int64_t kHuge = INT64_MAX - 1;
  for (const GridItem& item : Items{TextTokens{kHuge}, ImageGrid{kHuge, kHuge}, ImageGrid{2, kHuge},
                                    VideoGrid{kHuge, 2, 2}, VideoGrid{2, kHuge, 2}}) {
    try {
      (void)grid_positions({.rule = GridRule::qwen2_vl}, Items{TextTokens{1}, item});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.problem().must, "lead to at most 2^31 tokens and positions");
    }
  }
  EXPECT_ERROR(grid_positions({.rule = GridRule::qwen2_5_vl}, Items{VideoGrid{3, 2, 2, 1e9}}),
               "[grid_positions] items[0] must lead to at most 2^31 tokens and positions but is beyond that");
}

}  // namespace
}  // namespace posenc::grid_positions_test

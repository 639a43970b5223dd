// Position ids of text, images and videos. Qwen2-VL, arXiv 2409.12191; Qwen2.5-VL, arXiv 2502.13923; GLM-4.1V, arXiv
// 2507.01006.
//
//   start = largest coordinate so far + 1
//   text           (start + n, start + n, start + n)
//   grid of T, H, W tokens, frame by frame, row by row    (start + time(t), start + h, start + w)
//   time           image, Qwen3-VL, GLM-4V: 0    Qwen2-VL: t    Qwen2.5-VL: int(t * second_per_grid *
//   tokens_per_second)
//
// In the wild, for Qwen2.5-VL:
// - The product is made in float by torch, first with second_per_grid, as here; with 2 tokens a second nobody would
//   notice, but Omni's 25 at 25 frames a second puts the fifth pair of frames at 9, not 10.
// - transformers cast second_per_grid to an integer before it multiplies (4.5x up to pull request 48669 of September
//   2026), so that all frames of a video of more than 2 frames a second stand at one time.
// - transformers 5.3.0 gave all frames of a video one time, start * tokens_per_second * second_per_grid, and mixed up
//   the rows of frames (issue 45381); and scaled the time of images (45325). None of that is done here.
// - Since 5.3.0 transformers goes on after a grid at start + max(H, W), others at the largest coordinate + 1. These
//   differ for long videos only; this follows the paper and Qwen's own code.
#include "posenc/grid_positions.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kGridPositions = "grid_positions";
constexpr std::int64_t kMax = std::int64_t{1} << 31;  // tokens, and the largest position whose angle is exact

void require(bool holds, std::string field, std::string must, std::string is) {
  if (!holds) throw Error(kGridPositions, {std::move(field), std::move(must), std::move(is)});
}

void require_seconds(double number, std::string field) {
  require(number >= 0 && number <= static_cast<double>(kMax), std::move(field), "be from 0 to 2^31",
          formatted("{}", number));
}

std::string text(std::int64_t number) { return formatted("{}", number); }

class Sequence {
 public:
  explicit Sequence(const GridSettings& settings) : settings_(settings) {}

  void add(const TextTokens& text_tokens, const std::string& item) { add_text(text_tokens.tokens, item + ".tokens"); }

  void add(const ImageGrid& image, const std::string& item) {
    add_grid({1, tokens_along(image.height, item + ".height"), tokens_along(image.width, item + ".width")}, {}, item);
  }

  void add(const VideoGrid& video, const std::string& item) {
    require(video.frames >= 1, item + ".frames", "be at least 1", text(video.frames));
    const Grid grid{video.frames, tokens_along(video.height, item + ".height"),
                    tokens_along(video.width, item + ".width")};
    const bool split = settings_.rule == GridRule::qwen3_vl || settings_.rule == GridRule::glm4v;
    require(video.text_before.empty() || split, item + ".text_before",
            "be empty, as this rule has all frames in one piece,", text(std::ssize(video.text_before)) + " long");
    if (split) return add_frames(video, grid, item);
    if (settings_.rule == GridRule::qwen2_vl) return add_grid(grid, {}, item);
    require_seconds(video.second_per_grid, item + ".second_per_grid");
    add_grid(grid, static_cast<float>(video.second_per_grid), item);
  }

  GridPositions take() {
    GridPositions out;
    out.tokens = std::ssize(t_);
    out.next_position = next_;
    out.decode_delta = next_ - out.tokens;
    out.positions = std::move(t_);
    out.positions.insert(out.positions.end(), h_.begin(), h_.end());
    out.positions.insert(out.positions.end(), w_.begin(), w_.end());
    return out;
  }

 private:
  struct Grid {
    std::int64_t frames;
    std::int64_t height;
    std::int64_t width;
  };

  std::int64_t tokens_along(std::int64_t patches, const std::string& field) const {
    const std::int64_t merge = settings_.spatial_merge_size;
    require(patches >= 1 && patches % merge == 0, field,
            formatted("be a positive multiple of spatial_merge_size, {},", merge), text(patches));
    return patches / merge;
  }

  void require_room(bool holds, const std::string& field) const {
    require(holds, field, "lead to at most 2^31 tokens and positions", "beyond that");
  }

  void add_text(std::int64_t count, const std::string& field) {
    require(count >= 0, field, "be at least 0", text(count));
    require_room(count <= kMax - std::ssize(t_) && count <= kMax - next_, field);
    for (std::int64_t n = 0; n < count; ++n) add_token(next_ + n, next_ + n, next_ + n);
    next_ += count;
  }

  void add_frames(const VideoGrid& video, const Grid& grid, const std::string& item) {
    require(video.text_before.empty() || std::ssize(video.text_before) == video.frames, item + ".text_before",
            formatted("have one count for each of {} frames, or none,", video.frames),
            text(std::ssize(video.text_before)) + " long");
    for (std::int64_t t = 0; t < video.frames; ++t) {
      if (!video.text_before.empty()) {
        add_text(video.text_before[static_cast<std::size_t>(t)], formatted("{}.text_before[{}]", item, t));
      }
      add_grid({1, grid.height, grid.width}, {}, item);
    }
  }

  // By its number, or with the seconds from frame to frame by the clock, each product rounded.
  float time_of(std::int64_t frame, float seconds) const {
    return static_cast<float>(frame) * seconds * static_cast<float>(settings_.tokens_per_second);
  }

  void add_grid(const Grid& grid, std::optional<float> seconds, const std::string& item) {
    const std::int64_t room = kMax - std::ssize(t_);
    require_room(
        grid.height <= room && grid.width <= room / grid.height && grid.frames <= room / (grid.height * grid.width),
        item);
    require_room(!seconds || time_of(grid.frames - 1, *seconds) < static_cast<float>(kMax), item);
    const auto time = [&](std::int64_t t) { return seconds ? static_cast<std::int64_t>(time_of(t, *seconds)) : t; };
    const std::int64_t largest = std::max({time(grid.frames - 1), grid.height - 1, grid.width - 1});
    require_room(largest < kMax - next_, item);
    for (std::int64_t t = 0; t < grid.frames; ++t) {
      for (std::int64_t h = 0; h < grid.height; ++h) {
        for (std::int64_t w = 0; w < grid.width; ++w) add_token(next_ + time(t), next_ + h, next_ + w);
      }
    }
    next_ += largest + 1;
  }

  void add_token(std::int64_t t, std::int64_t h, std::int64_t w) {
    t_.push_back(t);
    h_.push_back(h);
    w_.push_back(w);
  }

  const GridSettings& settings_;
  std::vector<std::int64_t> t_, h_, w_;
  std::int64_t next_ = 0;
};

}  // namespace

GridPositions grid_positions(const GridSettings& settings, std::span<const GridItem> items) {
  if (auto problem = math::check_at_least("spatial_merge_size", settings.spatial_merge_size, 1)) {
    throw Error(kGridPositions, *problem);
  }
  require_seconds(settings.tokens_per_second, "tokens_per_second");
  require(settings.rule.get() <= GridRule::glm4v, "rule", "be one that is known",
          text(static_cast<std::int64_t>(settings.rule.get())));
  Sequence sequence(settings);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = formatted("items[{}]", i);
    std::visit([&](const auto& one) { sequence.add(one, item); }, items[i]);
  }
  return sequence.take();
}

}  // namespace posenc::inline v0_2

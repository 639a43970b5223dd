// posenc plot coordinates: t, h and w of each token of texts, images and videos.
//
// M-RoPE: Qwen2-VL, arXiv 2409.12191, 2.1. One lane of steps for each axis, over the tokens in their order; the rules
// are those of posenc/grid_positions.h. The seconds from frame to frame, which qwen2_5_vl reads, are 1.
#include <array>
#include <utility>
#include <vector>

#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/text.h"
#include "plot/figures.h"
#include "posenc/grid_positions.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestSide = 1 << 12;  // patches, frames and tokens of one item

// The `count` numbers of "4x6", each from 1 to kLargestSide: the product of three is at most 2^36. Given reads them, so
// that the message is the same as for a number of any other option.
std::vector<std::int64_t> sizes_of(const std::string& item, const std::string& text, std::size_t count) {
  std::string list = text;
  for (char& c : list) c = c == 'x' ? ',' : c;
  std::vector<std::int64_t> sizes;
  for (const std::string& size : split(list)) {
    sizes.push_back(*Given{{{"--items", size}}}.whole("--items", 1, kLargestSide));
  }
  if (sizes.size() == count) return sizes;
  throw UsageError{formatted("--items: expected {} of '{}' with x between them, got {}",
                             posenc::tool::count(static_cast<std::int64_t>(count), "size"), printable(item),
                             sizes.size())};
}

// Tokens are counted before they are made, so that a picture of too many is refused at once.
struct Item {
  GridItem item;
  std::int64_t tokens = 0;
};

Item item_of(const std::string& word) {
  constexpr std::int64_t kPatches = 4;  // of a token: GridSettings::spatial_merge_size along each side
  const std::size_t sign = word.find('=');
  const std::string name = word.substr(0, sign);
  const std::string text = sign == std::string::npos ? "" : word.substr(sign + 1);
  if (name == "text") {
    const std::int64_t tokens = sizes_of(word, text, 1)[0];
    return {TextTokens{.tokens = tokens}, tokens};
  }
  if (name == "image") {
    const std::vector<std::int64_t> sizes = sizes_of(word, text, 2);
    return {ImageGrid{.height = sizes[0], .width = sizes[1]}, sizes[0] * sizes[1] / kPatches};
  }
  if (name == "video") {
    const std::vector<std::int64_t> sizes = sizes_of(word, text, 3);
    return {VideoGrid{.frames = sizes[0], .height = sizes[1], .width = sizes[2]},
            sizes[0] * sizes[1] * sizes[2] / kPatches};
  }
  throw UsageError{
      formatted("--items: expected text=N, image=HxW or video=FxHxW (patches), got '{}'", printable(word))};
}

// A side that spatial_merge_size does not divide is refused later, by grid_positions.
std::vector<GridItem> items_of(const std::string& list) {
  std::vector<GridItem> items;
  std::int64_t tokens = 0;
  for (const std::string& word : split(list)) {
    Item item = item_of(word);
    items.push_back(std::move(item.item));
    tokens += item.tokens;
    if (tokens > kMostPoints) {
      throw UsageError{formatted("--items: there are more tokens than the {} that fit a picture", kMostPoints)};
    }
  }
  return items;
}

}  // namespace

Figure figure_of(const CoordinatesPlot& plot) {
  const GridPositions found = grid_positions({.rule = plot.rule}, items_of(plot.items));
  std::vector<Curve> curves;
  constexpr std::array<std::pair<const char*, const char*>, 3> kAxes{{
      {"t", "t: time, the same for all tokens of an image or a frame"},
      {"h", "h: height, the row of the image"},
      {"w", "w: width, the column of the image"},
  }};
  for (const auto& [axis, key] : kAxes) {
    Curve curve{.name = axis, .points = {}, .style = CurveStyle::steps, .key = key};
    // positions are [3, tokens], in the order of these names.
    const std::int64_t first = std::ssize(curves) * found.tokens;
    for (std::int64_t n = 0; n < found.tokens; ++n) {
      const std::int64_t at = found.positions[static_cast<std::size_t>(first + n)];
      curve.points.push_back({static_cast<double>(n), static_cast<double>(at)});
    }
    // Steps hold up to the next point: without this one the last token would have no width.
    curve.points.push_back({static_cast<double>(found.tokens), curve.points.back().y});
    curves.push_back(std::move(curve));
  }
  // Where each item begins, by its words.
  std::vector<std::string> words;
  std::vector<Mark> marks;
  std::int64_t first = 0;
  for (const std::string& word : split(plot.items)) {
    words.push_back(printable(word));
    marks.push_back({.name = words.back(), .at = static_cast<double>(first), .of = Mark::Of::x});
    first += item_of(word).tokens;
  }
  return {.title = "Positions of text and image tokens on three axes (M-RoPE)",
          .detail = formatted("{} (patches; 2x2 of them are a token). Text has one position on all axes; the text that "
                              "follows begins at {}",
                              join(words, ", "), found.next_position),
          .content = Curves{.x = {.label = "token of the sequence", .whole = true},
                            .y = {.label = "position", .whole = true},
                            .curves = std::move(curves),
                            .lanes = true,
                            .marks = std::move(marks)}};
}

}  // namespace posenc::tool

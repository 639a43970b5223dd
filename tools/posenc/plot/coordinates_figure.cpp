// posenc plot coordinates: t, h and w of each token of texts, images and videos.
#include <utility>
#include <vector>

#include "command_spec.h"
#include "formatted.h"
#include "plot/figures.h"
#include "posenc/grid_positions.h"
#include "text.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestSide = 1 << 12;  // patches, frames and tokens of one item

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

GridItem item_of(const std::string& item) {
  const std::size_t sign = item.find('=');
  const std::string name = item.substr(0, sign);
  const std::string text = sign == std::string::npos ? "" : item.substr(sign + 1);
  if (name == "text") return TextTokens{.tokens = sizes_of(item, text, 1)[0]};
  if (name == "image") {
    const std::vector<std::int64_t> sizes = sizes_of(item, text, 2);
    return ImageGrid{.height = sizes[0], .width = sizes[1]};
  }
  if (name == "video") {
    const std::vector<std::int64_t> sizes = sizes_of(item, text, 3);
    return VideoGrid{.frames = sizes[0], .height = sizes[1], .width = sizes[2]};
  }
  throw UsageError{
      formatted("--items: expected text=N, image=HxW or video=FxHxW (patches), got '{}'", printable(item))};
}

}  // namespace

Figure figure_of(const CoordinatesPlot& plot) {
  std::vector<GridItem> items;
  for (const std::string& item : split(plot.items)) items.push_back(item_of(item));
  const GridPositions found = grid_positions({.rule = plot.rule}, items);
  if (found.tokens > kMostPoints) {
    throw UsageError{
        formatted("--items: {} are more than the {} that fit a picture", count(found.tokens, "token"), kMostPoints)};
  }
  std::vector<Curve> curves;
  for (const char* axis : {"t", "h", "w"}) {
    Curve curve{.name = axis, .points = {}, .style = CurveStyle::steps};
    const std::int64_t first = std::ssize(curves) * found.tokens;
    for (std::int64_t n = 0; n < found.tokens; ++n) {
      const std::int64_t at = found.positions[static_cast<std::size_t>(first + n)];
      curve.points.push_back({static_cast<double>(n), static_cast<double>(at)});
    }
    curve.points.push_back({static_cast<double>(found.tokens), static_cast<double>(found.next_position)});
    curves.push_back(std::move(curve));
  }
  return {.title = "Where tokens of text and images stand",
          .detail = printable(plot.items) + "; last, the first token of what follows",
          .content = Curves{.x = {.label = "token of the sequence", .whole = true},
                            .y = {.label = "coordinate", .whole = true},
                            .curves = std::move(curves)}};
}

}  // namespace posenc::tool

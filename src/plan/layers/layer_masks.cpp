#include "plan/layers/layer_masks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/layers/chunk_masks.h"
#include "plan/layers/mask_kind.h"

namespace posenc::plan {
namespace {

// How a window of `width` tokens lies around a token.
struct WindowRule {
  MaskKind kind = MaskKind::causal;
  bool halved = false;  // the width counts both sides, of which a causal mask leaves one
};

enum class BothWays : std::uint8_t { none, images, all };

// A truth value (Gemma 1, 3), or a word (Gemma 4): "all", "vision", or null.
Sourced<BothWays> read_both_ways(ConfigScope& scope) {
  if (!scope.family().reads_bidirectional) return {};
  const auto place = scope.find(keys::kBidirectional);
  if (!place) return {};
  ConfigReader& reader = scope.reader();
  if (!scope.family().bidirectional_words) {
    return {reader.boolean(*place).value_or(false) ? BothWays::all : BothWays::none, place->from};
  }
  const auto word = reader.string(*place);
  if (word == "all") return {BothWays::all, place->from};
  if (word == "vision") return {BothWays::images, place->from};
  reader.fail(*place, ErrorKind::out_of_range, "\"all\", \"vision\" or null");
  return {};
}

std::optional<Window> read_window(ConfigScope& scope, const WindowRule& rule, std::int64_t width,
                                  const std::string& from, const Sourced<std::int64_t>& trained_length) {
  if (trained_length.value > 0 && width >= trained_length.value) {
    scope.reader().warn("window-covers-length",
                        formatted("A window of {} tokens covers the {} that the model is for; read as none.", width,
                                  trained_length.value),
                        from.starts_with('/') ? std::vector{from} : std::vector<std::string>{});
    return {};
  }
  if (rule.halved && rule.kind == MaskKind::causal) return Window{std::max<std::int64_t>(width / 2 - 1, 0), 0};
  if (rule.halved) return Window{width / 2, width / 2};
  if (rule.kind == MaskKind::bidirectional || rule.kind == MaskKind::sparse) return Window{width, width};
  return Window{width - 1, 0};
}

void read_chunk_masks(ConfigScope& scope, const LayerPattern& pattern, LayerMasks& masks) {
  const bool causal = masks.turned_causal;
  for (const LayerTraits& layer : pattern.layers) {
    if (layer.type == LayerType::nearby_chunks && masks.nearby.from.empty()) {
      masks.nearby = read_chunk_mask(scope, layer.type, causal);
    } else if (layer.type == LayerType::hashed_chunks && masks.hashed.from.empty()) {
      masks.hashed = read_chunk_mask(scope, layer.type, causal);
    }
  }
}

}  // namespace

std::optional<Window> window_of(const LayerMasks& masks, std::int64_t width) {
  const auto own = std::ranges::find(masks.own_windows, width, &OwnWindow::width);
  return own == masks.own_windows.end() ? masks.window : own->window;
}

LayerMasks read_layer_masks(ConfigScope& scope, const LayerPattern& pattern,
                            const Sourced<std::int64_t>& trained_length) {
  StackMask stack = read_stack_mask(scope);
  LayerMasks masks;
  masks.kind = std::move(stack.kind);
  masks.detail = std::move(stack.detail);
  masks.turned_causal = stack.turned_causal;
  masks.window_from = pattern.window.from;
  const Sourced<BothWays> both = read_both_ways(scope);
  const bool gemma_both_ways = both.value == BothWays::all;
  if (gemma_both_ways) masks.kind = {MaskKind::bidirectional, both.from};

  if (pattern.window.value && both.value == BothWays::images) {
    masks.sliding_detail = {"the tokens of one image see each other both ways, within the window", both.from};
  }

  read_chunk_masks(scope, pattern, masks);
  const WindowRule rule{masks.kind.value, gemma_both_ways || scope.stack().mask.window_spans_both};
  for (const LayerTraits& layer : pattern.layers) {
    if (layer.width == 0) continue;
    const bool known = std::ranges::find(masks.own_windows, layer.width, &OwnWindow::width) != masks.own_windows.end();
    if (known) continue;
    masks.own_windows.push_back(
        {layer.width, read_window(scope, rule, layer.width, pattern.window.from, trained_length)});
  }
  if (pattern.window.value) {
    masks.window = read_window(scope, rule, *pattern.window.value, pattern.window.from, trained_length);
  }
  return masks;
}

}  // namespace posenc::plan

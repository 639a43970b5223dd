#include "plan/layer_masks.h"

#include <fmt/compile.h>

#include <vector>

namespace posenc::plan {

namespace {

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

}  // namespace

LayerMasks read_layer_masks(ConfigScope& scope, const LayerPattern& pattern,
                            const Sourced<std::int64_t>& trained_length) {
  LayerMasks masks{
      .kind = {MaskKind::causal, family_default(scope.family())}, .window = {}, .window_from = pattern.window.from};
  // transformers makes any decoder look both ways when is_causal is false: |i - j| <= sliding_window.
  const Setting<bool> causal = scope.flag(keys::kIsCausal);
  if (causal.value) masks.kind = {*causal.value ? MaskKind::causal : MaskKind::bidirectional, causal.from};
  const Sourced<BothWays> both = read_both_ways(scope);
  const bool gemma_both_ways = both.value == BothWays::all;
  if (gemma_both_ways) masks.kind = {MaskKind::bidirectional, both.from};
  if (!pattern.window.value) return masks;
  if (both.value == BothWays::images) {
    masks.sliding_detail = {"the tokens of one image see each other both ways, within the window", both.from};
  }

  const std::int64_t width = *pattern.window.value;
  if (trained_length.value > 0 && width >= trained_length.value) {
    scope.reader().warn(
        "window-covers-length",
        fmt::format(FMT_COMPILE("A window of {} tokens covers the {} that the model is for; read as none."), width,
                    trained_length.value),
        pattern.window.from.starts_with('/') ? std::vector{pattern.window.from} : std::vector<std::string>{});
    return masks;
  }
  if (gemma_both_ways) {
    masks.window = Window{width / 2, width / 2};  // Gemma 3 halves it
  } else if (masks.kind.value == MaskKind::bidirectional) {
    masks.window = Window{width, width};
  } else {
    masks.window = Window{width - 1, 0};
  }
  return masks;
}

}  // namespace posenc::plan

// Masks of a tower's layers: the whole image, windows of patches (Qwen2.5-VL, SAM), a band of frames (Gemma 4 audio).
#include <algorithm>

#include "base/formatted.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

constexpr Bounds kWindowSides{1, std::int64_t{1} << 20};
constexpr Bounds kFrames{0, std::int64_t{1} << 20};

TowerSight image_of(const Tower& tower) {
  return {.mask = {.kind = MaskKind::bidirectional, .window = {}, .chunk = {}, .detail = {}},
          .sources = {{"mask/kind", family_default(tower.family)}}};
}

TowerSight windows_of(std::int64_t height, std::int64_t width, const std::string& from) {
  TowerSight sight{.mask = {.kind = MaskKind::sparse, .window = {}, .chunk = {}, .detail = {}},
                   .side = height,
                   .sources = {{"mask/kind", from}, {"mask/detail", from}}};
  sight.mask.detail = formatted("windows of {}x{} patches", height, width);
  return sight;
}

// Qwen2.5-VL cuts windows along the merged patches: merge * (pixels / merge / patch) patches a side, rounded down.
Sourced<std::int64_t> side_of_pixels(ConfigScope& scope) {
  const Sourced<std::int64_t> pixels = scope.required_integer(keys::kPatchWindow, kWindowSides);
  const Sourced<std::int64_t> patch = scope.required_integer(keys::kPatchSize, kWindowSides);
  const Sourced<std::int64_t> merge = scope.required_integer(keys::kMergeSize, kWindowSides);
  const std::int64_t side = merge.value * (pixels.value / merge.value / patch.value);
  if (side == 0) {
    scope.fail(keys::kPatchWindow, ErrorKind::out_of_range, "a window of at least one merged patch",
               formatted("{} x {} pixels", merge.value * patch.value, merge.value * patch.value));
  }
  return {side, pixels.from};
}

// The layers that the list names have a window, or see everything, the others not.
void read_listed_layers(ConfigScope& scope, const Key& key, bool have_windows, std::int64_t layers, TowerMasks& masks) {
  masks.windowed.assign(static_cast<std::size_t>(layers), !have_windows);
  const auto place = scope.find(key);
  if (!place) return;
  const auto list = scope.reader().list(*place);
  if (!list) return;
  for (const io::JsonValue& entry : *list) {
    const Place at{entry, place->in_file ? entry.pointer() : place->from, place->in_file};
    // A class default may name layers that a shorter file has not.
    const auto layer = scope.reader().integer(at, {0, place->in_file ? layers - 1 : kMaxLayers});
    if (!layer) return;
    if (*layer < layers) masks.windowed[static_cast<std::size_t>(*layer)] = have_windows;
  }
  masks.whole.sources = {{"mask/kind", place->from}};
}

void read_windows(ConfigScope& scope, const Tower& tower, std::int64_t layers, TowerMasks& masks) {
  if (tower.mask == TowerMask::pixel_windows) {
    const Sourced<std::int64_t> side = side_of_pixels(scope);
    masks.window = windows_of(side.value, side.value, side.from);
  } else {
    const Sourced<std::int64_t> side = scope.required_integer(keys::kPatchWindow, kFrames);
    if (side.value == 0) return;
    masks.window = windows_of(side.value, side.value, side.from);
  }
  if (!scope.reader().failed()) read_listed_layers(scope, keys::kFullBlocks, false, layers, masks);
}

// ViTDet. A file without such layers has no window, and need not say its size.
void read_listed_windows(ConfigScope& scope, std::int64_t layers, TowerMasks& masks) {
  read_listed_layers(scope, keys::kWindowBlocks, true, layers, masks);
  if (scope.reader().failed() || std::ranges::find(masks.windowed, true) == masks.windowed.end()) return;
  const Sourced<std::int64_t> side = scope.required_integer(keys::kPatchWindow, kFrames);
  if (side.value == 0) return masks.windowed.assign(masks.windowed.size(), false);
  masks.window = windows_of(side.value, side.value, side.from);
}

// EoMT: the buffer attn_mask_probs of a checkpoint says how often; published ones have 0.
void read_predicted(ConfigScope& scope, std::int64_t layers, TowerMasks& masks) {
  const Sourced<std::int64_t> last = scope.required_integer(keys::kQueryBlocks, {0, layers});
  for (std::int64_t i = std::max<std::int64_t>(layers - last.value, 0); i < layers; ++i) {
    masks.windowed[static_cast<std::size_t>(i)] = true;
  }
  masks.window = {.mask = {.kind = MaskKind::sparse, .window = {}, .chunk = {}, .detail = {}},
                  .sources = {{"mask/kind", last.from}, {"mask/detail", last.from}}};
  masks.window.mask.detail =
      "where attn_mask_probs is above 0, a query sees of the patches those of the segment predicted for it";
}

// LW-DETR: windows grow with the image.
void read_image_parts(ConfigScope& scope, std::int64_t layers, TowerMasks& masks) {
  const bool are_listed = scope.find(keys::kWindowBlocks).has_value();
  read_listed_layers(scope, keys::kWindowBlocks, true, layers, masks);
  const Sourced<std::int64_t> parts = scope.required_integer(keys::kWindowsOfSide, kWindowSides);
  if (!are_listed && parts.value != 1) {
    scope.reader().undecided(formatted("No list says which layers see the {0} x {0} windows alone.", parts.value), {});
  }
  if (parts.value == 1) return masks.windowed.assign(masks.windowed.size(), false);
  masks.window = {.mask = {.kind = MaskKind::sparse, .window = {}, .chunk = {}, .detail = {}},
                  .sources = {{"mask/kind", parts.from}, {"mask/detail", parts.from}}};
  masks.window.mask.detail = formatted("the image cut into {0} x {0} windows", parts.value);
}

// What kLayerTypes calls each layer; one word a layer. Nothing where the reading failed.
std::vector<std::string_view> read_words(ConfigScope& scope, std::int64_t layers) {
  const auto place = scope.find(keys::kLayerTypes);
  const auto list = place ? scope.reader().list(*place) : std::nullopt;
  if (!place) scope.require(keys::kLayerTypes);
  if (!list || scope.reader().failed()) return {};
  if (std::ssize(*list) < layers) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("a word for each of {} layers", layers));
    return {};
  }
  std::vector<std::string_view> words;
  for (const io::JsonValue& entry : *list) {
    if (std::ssize(words) == layers) break;
    const Place at{entry, place->in_file ? entry.pointer() : place->from, place->in_file};
    words.push_back(scope.reader().string(at).value_or(std::string_view{}));
  }
  return words;
}

bool is_one_of(ConfigScope& scope, std::string_view word, std::string_view other) {
  if (word == other || word == "full_attention") return true;
  scope.fail(keys::kLayerTypes, ErrorKind::out_of_range, formatted("\"{}\" or \"full_attention\"", other));
  return false;
}

// A window has the patches of the grid for which the table was made.
void read_grid_windows(ConfigScope& scope, std::int64_t layers, TowerMasks& masks) {
  const Sourced<std::int64_t> height = scope.required_integer(keys::kGridHeight, kWindowSides);
  masks.window = windows_of(height.value, height.value, height.from);
  std::size_t layer = 0;
  for (std::string_view word : read_words(scope, layers)) {
    if (!is_one_of(scope, word, "window_attention")) return;
    masks.windowed[layer++] = word != "full_attention";
  }
}

void read_listed_kinds(ConfigScope& scope, std::int64_t layers, TowerMasks& masks) {
  for (std::string_view word : read_words(scope, layers)) {
    if (!is_one_of(scope, word, "conv")) return;
    masks.attends.push_back(word != "conv");
  }
}

void read_kernel_windows(ConfigScope& scope, TowerMasks& masks) {
  const auto place = scope.find(keys::kWindowKernel);
  const auto sides = place ? scope.reader().list(*place) : std::nullopt;
  if (!sides || scope.reader().failed()) return;
  if (sides->size() != 2) return scope.reader().fail(*place, ErrorKind::length_mismatch, "a height and a width");
  std::int64_t side[2] = {1, 1};
  for (std::size_t i = 0; i < 2; ++i) {
    const io::JsonValue& entry = (*sides)[i];
    side[i] = scope.reader()
                  .integer({entry, place->in_file ? entry.pointer() : place->from, place->in_file}, kWindowSides)
                  .value_or(1);
  }
  masks.window = windows_of(side[0], side[1], place->from);
  masks.windowed.assign(masks.windowed.size(), true);
  const Setting<std::int64_t> after = scope.integer(keys::kInsertLayer, {0, kMaxLayers});
  if (!after.value) return;
  masks.window.mask.detail += formatted(", after vision layer {}", *after.value);
}

// TimeSformer (arXiv 2102.05095).
void read_space_and_time(ConfigScope& scope, TowerMasks& masks) {
  const auto place = scope.find(keys::kPattern);
  if (!place) return scope.require(keys::kPattern);
  masks.whole.mask.kind = MaskKind::sparse;
  masks.whole.mask.detail = "in turn: one patch in all frames; all patches of one frame and the class token";
  masks.whole.sources = {{"mask/kind", place->from}, {"mask/detail", place->from}};
  const auto word = scope.reader().string(*place);
  if (!word || *word == "divided_space_time") return;
  scope.reader().undecided(formatted("{} is {}: how often a block attends then is not read.", place->from, *word),
                           {place->from});
}

// Gemma 4: 0 <= i - j < left - 1, or 0 < j - i < right. Gemma 3n: 0 <= i - j < left, or 0 < j - i <= right.
// `own`: by how many frames the counts are more than what is seen, of the past and the future.
void read_audio_chunks(ConfigScope& scope, Window own, TowerMasks& masks) {
  const Sourced<std::int64_t> left = scope.required_integer(keys::kContextLeft, {own.past, kFrames.high});
  const Sourced<std::int64_t> right = scope.required_integer(keys::kContextRight, kFrames);
  const Sourced<std::int64_t> chunk = scope.required_integer(keys::kChunk, kWindowSides);
  Mask& mask = masks.whole.mask;
  mask.window = Window{left.value - own.past, std::max<std::int64_t>(right.value - own.future, 0)};
  mask.kind = mask.window->future == 0 ? MaskKind::causal : MaskKind::bidirectional;
  mask.detail = formatted("computed in chunks of {} frames with {} before", chunk.value, left.value - 1);
  set_sees(Sees::by_blocks, mask);
  masks.whole.sources = {{"mask/kind", right.from}, {"mask/window", left.from}, {"mask/detail", chunk.from}};
}

}  // namespace

TowerMasks read_tower_masks(ConfigScope& scope, const Tower& tower, std::int64_t layers) {
  TowerMasks masks{.whole = image_of(tower), .window = {}, .windowed = {}, .attends = {}};
  masks.windowed.assign(static_cast<std::size_t>(layers), false);
  if (tower.listed_kinds) read_listed_kinds(scope, layers, masks);
  switch (tower.mask) {
    case TowerMask::image: break;
    case TowerMask::pixel_windows:
    case TowerMask::patch_windows: read_windows(scope, tower, layers, masks); break;
    case TowerMask::grid_windows: read_grid_windows(scope, layers, masks); break;
    case TowerMask::kernel_windows: read_kernel_windows(scope, masks); break;
    case TowerMask::listed_windows: read_listed_windows(scope, layers, masks); break;
    case TowerMask::predicted: read_predicted(scope, layers, masks); break;
    case TowerMask::latents:
      masks.whole.mask.detail = "learned queries; keys are theirs and those of what they look at";
      break;
    case TowerMask::image_parts: read_image_parts(scope, layers, masks); break;
    case TowerMask::space_and_time: read_space_and_time(scope, masks); break;
    case TowerMask::audio_chunks: read_audio_chunks(scope, {.past = 2, .future = 1}, masks); break;
    case TowerMask::audio_frames: read_audio_chunks(scope, {.past = 1, .future = 0}, masks); break;
    case TowerMask::undecided: masks.whole.mask.detail = "not decided"; break;
  }
  return masks;
}

}  // namespace posenc::plan

// A stack's mask (causal, bidirectional, prefix, sparse), its windows, Reformer's chunks; sparse_masks.cpp refines it.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

// ---- which way the tokens look: the class's kind of mask, and the keys that change it ----

struct StackMask {
  Sourced<MaskKind> kind{MaskKind::causal, {}};
  std::string detail;
  Sees sees = Sees::as_masked;
  bool rotated_causal = false;  // a key made it so where the class does not by itself: the stack is a decoder then
  Setting<std::int64_t> block{};
};

// A flag, or XLNet's attn_type: "bi" or "uni".
bool means_causal(ConfigScope& scope, const Place& place) {
  if (place.value.kind() != io::JsonKind::string) return scope.reader().boolean(place).value_or(false);
  const auto text = scope.reader().string(place);
  if (text != "uni" && text != "bi") scope.reader().fail(place, ErrorKind::out_of_range, "\"bi\" or \"uni\"");
  return text == "uni";
}

// transformers makes any decoder look both ways when is_causal is false.
void read_is_causal(ConfigScope& scope, StackMask& mask) {
  const Setting<bool> causal = scope.flag(keys::kIsCausal);
  if (causal.value == false) mask.kind = {MaskKind::bidirectional, causal.from};
  if (causal.value == true && mask.kind.value == MaskKind::causal) mask.kind.from = causal.from;
  // vLLM makes is_causal of ColQwen3.5's word.
  const auto contract = scope.peek(keys::kRetrievalAttention);
  if (!contract) return;
  scope.reader().mark_read(*contract);
  const auto word = scope.reader().string(*contract);
  if (word != "causal" && word != "bidirectional") {
    return scope.reader().fail(*contract, ErrorKind::out_of_range, "\"causal\" or \"bidirectional\"");
  }
  mask.kind = {word == "causal" ? MaskKind::causal : MaskKind::bidirectional, contract->from};
}

// Whose words of the mask are of a causal one: which keys an indexer ranks then, say.
void refuse_both_ways(ConfigScope& scope) {
  const Setting<bool> causal = scope.flag(keys::kIsCausal);
  if (causal.value != false) return;
  scope.reader().undecided(formatted("{} is false: what a mask that is not causal hides is not read.", causal.from),
                           {causal.from});
}

void read_evenness(ConfigScope& scope, const Key& key, StackMask& mask) {
  const Setting<bool> even = scope.flag(key);
  if (!even.value.value_or(false)) return;
  mask.kind = {MaskKind::sparse, even.from};
  mask.detail = "causal, every token sees as many keys as the others";
  mask.sees = Sees::beyond_window;
}

void read_sparse_word(ConfigScope& scope, const SparseWord& rule, StackMask& mask) {
  const auto place = rule.key != nullptr ? scope.find(*rule.key) : std::nullopt;
  if (!place || scope.reader().string(*place) != rule.word) return;
  mask.kind = {MaskKind::sparse, place->from};
  mask.detail = rule.detail.text;
  mask.sees = rule.detail.sees;
}

// Chunks of so many positions; of each its own and the ones before it.
void read_chunks(ConfigScope& scope, const MaskRule& rule, StackMask& mask) {
  const Setting<std::int64_t> chunk = scope.integer(*rule.chunk, {1, kMaxPosition});
  if (!chunk.value) return;
  const Setting<std::int64_t> before = scope.integer(*rule.chunks_before, {-kMaxPosition, kMaxPosition});
  const std::int64_t count = before.value.value_or(-1);
  mask.kind = {MaskKind::sparse, chunk.from};
  mask.detail = count < 0 ? formatted("all up to the end of the own chunk of {}", *chunk.value)
                          : formatted("the own chunk of {} and the {} before it", *chunk.value, count);
  mask.sees = Sees::by_blocks;
}

// Fast Conformer's limited context (arXiv 2312.17279): a chunk is a frame and those ahead of it; of the chunks before
// it as many are seen as lie within the window whole.
void read_lookahead(ConfigScope& scope, const Key& key, StackMask& mask) {
  const Sourced<std::int64_t> ahead = scope.required_integer(key, {0, kMaxPosition >> 1});
  const Sourced<std::int64_t> width = scope.required_integer(keys::kWindow, {1, kMaxPosition});
  const std::int64_t chunk = ahead.value + 1;
  mask.kind = {MaskKind::sparse, ahead.from};
  mask.detail = formatted("the own chunk of {} and the {} before it", chunk, (width.value - 1) / chunk);
  mask.sees = Sees::by_blocks;
}

StackMask read_stack_mask(ConfigScope& scope) {
  const MaskRule& rule = scope.stack().mask;
  StackMask mask{.kind = {rule.kind, family_default(scope.family())},
                 .detail = std::string(rule.detail.text),
                 .sees = rule.detail.sees};
  if (rule.by_call_without != nullptr && !scope.peek(*rule.by_call_without)) {
    mask.kind.value = MaskKind::sparse;
    mask.detail = "what the call's mask says, of which the file says nothing";
    mask.sees = Sees::beyond_window;
    return mask;
  }
  if (rule.prefix_if != nullptr) {
    const Setting<bool> prefix = scope.flag(*rule.prefix_if);
    if (prefix.value.value_or(false)) {
      mask.kind = {MaskKind::prefix, prefix.from};
      mask.detail = "the prompt sees itself both ways, what follows is causal";
      mask.sees = Sees::beyond_window;
      return mask;
    }
  }
  if (const auto place = rule.causal_if != nullptr ? scope.find(*rule.causal_if) : std::nullopt) {
    mask.rotated_causal = means_causal(scope, *place);
    mask.kind = {mask.rotated_causal ? MaskKind::causal : rule.kind, place->from};
    if (mask.rotated_causal && rule.evenly_if != nullptr) read_evenness(scope, *rule.evenly_if, mask);
  }
  if (rule.causal_if == nullptr && rule.chunk != nullptr) read_chunks(scope, rule, mask);
  if (rule.lookahead != nullptr) read_lookahead(scope, *rule.lookahead, mask);
  if (rule.block != nullptr) {
    const Sourced<std::int64_t> block = rule.block(scope);
    mask.block = {block.value, block.from};
  }
  if (!mask.rotated_causal) read_sparse_word(scope, rule.sparse_if, mask);
  if (rule.causal_if != nullptr) return mask;
  if (rule.kind == MaskKind::causal) read_is_causal(scope, mask);
  if (scope.family().indexer || rule.detail.text.starts_with("causal")) refuse_both_ways(scope);
  const Setting<bool> decodes = rule.both_ways_without ? scope.flag(*rule.both_ways_without) : Setting<bool>{};
  if (!decodes.value.value_or(true)) mask.kind = {MaskKind::bidirectional, decodes.from};
  return mask;
}

// ---- Reformer's two kinds of layers (arXiv 2001.04451): a chunk of the sequence, or of the sequence sorted by hash,
// and its neighbours ----

constexpr Bounds kChunkLengths{1, kMaxPosition};
constexpr Bounds kChunkCounts{0, kMaxPosition};
constexpr std::size_t kMaxFactors = 8;  // of the number of buckets: each layer carries the text

std::string neighbours(std::int64_t count, std::string_view side) {
  if (count == 0) return {};
  if (count == 1) return formatted(" and the one {}", side);
  return formatted(" and the {} {}", count, side);
}

// 128, or [64, 128] for 64 x 128; null: found from the length when the model runs.
std::string buckets(ConfigScope& scope) {
  const auto place = scope.find(keys::kHashBuckets);
  if (!place) return "LSH buckets by length";
  if (place->value.kind() == io::JsonKind::number) {
    return formatted("{} LSH buckets", scope.reader().integer(*place, kChunkLengths).value_or(1));
  }
  const auto factors = scope.reader().list(*place);
  if (!factors) return {};
  if (factors->empty() || factors->size() > kMaxFactors) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("1 to {} factors", kMaxFactors));
    return {};
  }
  std::string text = "LSH buckets ";
  std::string_view between = "";  // fmt 9 copies from it, and null is no place to copy from
  for (const io::JsonValue& entry : *factors) {
    const std::int64_t count = scope.reader().integer({entry, entry.pointer()}, kChunkLengths).value_or(1);
    text += formatted("{}{}", between, count);
    between = " x ";
  }
  return text;
}

Sourced<Mask> nearby(ConfigScope& scope, std::string_view kind) {
  const Sourced<std::int64_t> length = scope.required_integer(keys::kLocalChunk, kChunkLengths);
  const std::int64_t before = scope.required_integer(keys::kLocalBefore, kChunkCounts).value;
  const std::int64_t after = scope.required_integer(keys::kLocalAfter, kChunkCounts).value;
  Mask mask{.kind = MaskKind::sparse};
  mask.detail = chunks_seen(kind, length.value, before, after);
  set_sees(Sees::by_blocks, mask);
  return {std::move(mask), length.from};
}

Sourced<Mask> hashed(ConfigScope& scope, std::string_view kind) {
  const Sourced<std::int64_t> length = scope.required_integer(keys::kHashChunk, kChunkLengths);
  const std::int64_t before = scope.required_integer(keys::kHashBefore, kChunkCounts).value;
  const std::int64_t after = scope.required_integer(keys::kHashAfter, kChunkCounts).value;
  const std::int64_t hashes = scope.required_integer(keys::kHashes, kChunkLengths).value;
  Mask mask{.kind = MaskKind::sparse};
  mask.detail = formatted("{}{}, {} {}, chunks of {}{}{}, a token sees itself only when alone", kind, buckets(scope),
                          hashes, hashes == 1 ? "hash" : "hashes", length.value, neighbours(before, "before"),
                          neighbours(after, "after"));
  set_sees(Sees::by_blocks, mask);
  return {std::move(mask), length.from};
}

// `type` is nearby_chunks or hashed_chunks.
Sourced<Mask> read_chunk_mask(ConfigScope& scope, LayerType type, bool causal) {
  const std::string_view kind = causal ? "causal, " : "";
  return type == LayerType::hashed_chunks ? hashed(scope, kind) : nearby(scope, kind);
}

// ---- windows ----

// How a window of `width` tokens lies around a token.
struct WindowRule {
  MaskKind kind = MaskKind::causal;
  bool halved = false;        // the width counts both sides, of which a causal mask leaves one
  bool leans_ahead = false;   // halved, and the token itself counts as past
  bool half_and_own = false;  // half of the width and one token to each side (Gemma 4, both ways)
  std::int64_t ahead = -1;    // not below 0: so many tokens ahead, and the width counts the others
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

Window window_of_width(const WindowRule& rule, std::int64_t width) {
  if (rule.ahead >= 0) return {width - 1, rule.ahead};
  if (rule.half_and_own) return {width / 2 + 1, width / 2 + 1};
  if (rule.halved && rule.kind == MaskKind::causal) return {std::max<std::int64_t>(width / 2 - 1, 0), 0};
  if (rule.leans_ahead) return {std::max<std::int64_t>((width + 1) / 2 - 1, 0), width / 2};
  if (rule.halved) return {width / 2, width / 2};
  if (rule.kind == MaskKind::bidirectional || rule.kind == MaskKind::sparse) return {width, width};
  return {width - 1, 0};
}

// None where all that the model is for lies within: the farthest token is at length - 1, on either side.
std::optional<Window> read_window(ConfigScope& scope, const WindowRule& rule, std::int64_t width,
                                  const std::string& from, const Sourced<std::int64_t>& trained_length) {
  const Window window = window_of_width(rule, width);
  if (trained_length.value == 0 || window.past < trained_length.value - 1) return window;
  scope.reader().warn("window-covers-length",
                      formatted("A window of {} tokens covers the {} that the model is for; read as none.", width,
                                trained_length.value),
                      from.starts_with('/') ? std::vector{from} : std::vector<std::string>{});
  return {};
}

// A window that does not even reach the token itself (sliding_window: 0): the class hides every key in a layer that
// slides, and code that asks whether the number is true reads none.
bool is_empty(ConfigScope& scope, const LayerPattern& pattern, const WindowRule& rule) {
  if (window_of_width(rule, *pattern.window.value).past >= 0) return false;
  const auto slides = [](const LayerTraits& layer) { return layer.type == LayerType::sliding && layer.width == 0; };
  if (std::ranges::any_of(pattern.layers, slides)) {
    scope.reader().undecided(
        formatted("{} is 0: no query sees a key in layers that slide, if it is not read as none.", pattern.window.from),
        {pattern.window.from});
  }
  return true;
}

void read_chunk_masks(ConfigScope& scope, const LayerPattern& pattern, LayerMasks& masks) {
  const bool causal = masks.rotated_causal;
  for (const LayerTraits& layer : pattern.layers) {
    if (layer.type == LayerType::nearby_chunks && masks.nearby.from.empty()) {
      masks.nearby = read_chunk_mask(scope, layer.type, causal);
    } else if (layer.type == LayerType::hashed_chunks && masks.hashed.from.empty()) {
      masks.hashed = read_chunk_mask(scope, layer.type, causal);
    }
  }
}

}  // namespace

std::string chunks_seen(std::string_view kind, std::int64_t length, std::int64_t before, std::int64_t after) {
  return formatted("{}own chunk of {}{}{}", kind, length, neighbours(before, "before"), neighbours(after, "after"));
}

std::string read_block_lists(ConfigScope& scope, LayerPattern& pattern) {
  if (!scope.stack().mask.block_lists) return {};
  std::string from = family_default(scope.family());
  const auto read = [&](const Key& key, std::int64_t LayerTraits::*blocks) {
    const auto place = scope.find(key);
    const auto listed = place ? scope.reader().list(*place) : std::nullopt;
    if (!listed) return;
    from = place->from;
    for (const io::JsonValue& entry : *listed) {
      const Place at{entry, place->in_file ? entry.pointer() : place->from, place->in_file};
      const std::int64_t layer = scope.reader().integer(at, {0, kMaxLayers}).value_or(0);
      if (layer < std::ssize(pattern.layers)) pattern.layers[static_cast<std::size_t>(layer)].*blocks = 1;
    }
  };
  read(keys::kLookBackward, &LayerTraits::blocks_before);
  read(keys::kLookAhead, &LayerTraits::blocks_after);
  return from;
}

std::optional<Window> window_of(const LayerMasks& masks, const LayerTraits& layer) {
  const auto own = std::ranges::find_if(masks.own_windows, [&](const OwnWindow& window) {
    return window.width == layer.width && window.ahead == layer.ahead;
  });
  return own == masks.own_windows.end() ? masks.window : own->window;
}

LayerMasks read_layer_masks(ConfigScope& scope, const LayerPattern& pattern,
                            const Sourced<std::int64_t>& trained_length) {
  StackMask stack = read_stack_mask(scope);
  LayerMasks masks;
  masks.kind = std::move(stack.kind);
  masks.detail = std::move(stack.detail);
  masks.sees = stack.sees;
  masks.rotated_causal = stack.rotated_causal;
  masks.block = std::move(stack.block);
  masks.window_from = pattern.window.from;
  const Sourced<BothWays> both = read_both_ways(scope);
  const bool gemma_both_ways = both.value == BothWays::all;
  const bool by_word = scope.family().bidirectional_words;
  if (gemma_both_ways) masks.kind = {MaskKind::bidirectional, both.from};

  if (pattern.window.value && both.value == BothWays::images) {
    masks.sliding_detail = {kImageWithinWindow, both.from};
  }

  read_chunk_masks(scope, pattern, masks);
  const WindowRule rule{.kind = masks.kind.value,
                        .halved = (gemma_both_ways && !by_word) || scope.stack().mask.window_spans_both,
                        .leans_ahead = scope.stack().mask.window_leans_ahead,
                        .half_and_own = gemma_both_ways && by_word,
                        .ahead = scope.stack().mask.window_of_past ? 0 : -1};
  for (const LayerTraits& layer : pattern.layers) {
    if (layer.width == 0) continue;
    if (window_of(masks, layer)) continue;
    WindowRule own = rule;
    own.ahead = layer.ahead;
    masks.own_windows.push_back(
        {layer.width, layer.ahead, read_window(scope, own, layer.width, pattern.window.from, trained_length)});
  }
  if (pattern.window.value && !is_empty(scope, pattern, rule)) {
    masks.window = read_window(scope, rule, *pattern.window.value, pattern.window.from, trained_length);
  }
  return masks;
}

}  // namespace posenc::plan

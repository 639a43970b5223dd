// The size of a model's KV cache by length.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json/json_writer.h"
#include "report/parts.h"

namespace posenc::report {
namespace {

using io::JsonLayout;
using io::JsonWriter;

constexpr double kBytesOfNumber = 2.0;
constexpr std::int64_t kFirstLength = 1024;  // tokens, where curves begin

// Cross attention keeps what an encoder gave, once; its length is another.
bool caches(const LayerPlan& layer) { return layer.kind == LayerKind::attention && !layer.kv_from; }

std::int64_t numbers_of_token(const LayerPlan& layer) { return layer.kv_heads * (layer.head_dim + layer.value_dim); }

// What a causal layer must keep; none: all. A window that also sees the future is an encoder's, which keeps nothing.
std::optional<std::int64_t> most_tokens(const LayerPlan& layer) {
  std::optional<std::int64_t> most;
  if (layer.mask.kind == MaskKind::sparse && !layer.compression) return most;  // what it sees besides its window
  if (layer.mask.window) most = layer.mask.window->past + 1;
  if (layer.mask.chunk) most = std::min(most.value_or(*layer.mask.chunk), *layer.mask.chunk);
  return most;
}

double kept_tokens(const LayerPlan& layer, std::int64_t length) {
  const std::int64_t kept = std::min(length, most_tokens(layer).value_or(length));
  // Besides its window, keys that are made of so many tokens each.
  const std::int64_t made = layer.compression && kept < length ? length / *layer.compression : 0;
  return static_cast<double>(kept + made);
}

double bytes_of(const LayerPlan& layer, std::int64_t length) {
  return kBytesOfNumber * static_cast<double>(numbers_of_token(layer)) * kept_tokens(layer, length);
}

// Whether no query sees what comes after it; of a mask of another kind its words say so first.
bool is_causal(const Mask& mask) {
  switch (mask.kind) {
    case MaskKind::causal:
    case MaskKind::prefix: return true;
    case MaskKind::bidirectional: return false;
    case MaskKind::sparse: return mask.detail.starts_with("causal");
  }
  return false;
}

// Whether it makes tokens one by one. Towers of pictures and sounds and encoders see theirs once, whatever their masks.
bool decodes(const Stack& stack) {
  const std::string& name = stack.name;
  if (name.ends_with("encoder") || name.starts_with("vision") || name.starts_with("audio")) return false;
  return std::ranges::any_of(
      stack.layers, [](const LayerPlan& layer) { return layer.kind == LayerKind::attention && is_causal(layer.mask); });
}

}  // namespace

void write_cache(JsonWriter& json, const Stack& stack, const LayerPlan& layer, const Lengths& lengths) {
  if (layer.kind != LayerKind::attention || !is_causal(layer.mask)) {
    json.null();
    return;
  }
  json.begin_object(JsonLayout::line);
  json.member("numbers_per_token", caches(layer) ? numbers_of_token(layer) : 0);
  json.key("most_tokens");
  const auto most = most_tokens(layer);
  most ? json.value(*most) : json.null();
  json.key("shared_from");
  layer.kv_from ? json.value(*layer.kv_from) : json.null();
  json.key("bytes");
  json.begin_array(JsonLayout::line);
  if (caches(layer) && decodes(stack)) {
    for (const std::int64_t length : doubling(kFirstLength, lengths.target)) json.value(bytes_of(layer, length));
  }
  json.end_array();
  json.end_object();
}

std::vector<CacheSize> cache_sizes(const Plan& plan, const Lengths& lengths) {
  std::vector<CacheSize> out;
  if (!std::ranges::any_of(plan.stacks, decodes)) return out;
  for (const std::int64_t length : doubling(kFirstLength, lengths.target)) {
    CacheSize size{.tokens = length};
    for (const Stack& stack : plan.stacks) {
      if (!decodes(stack)) continue;
      for (const LayerPlan& layer : stack.layers) {
        if (!caches(layer)) continue;
        size.bytes += bytes_of(layer, length);
      }
    }
    out.push_back(size);
  }
  return out;
}

void write_cache_sizes(JsonWriter& json, const Plan& plan, const Lengths& lengths) {
  json.begin_array();
  for (const CacheSize& size : cache_sizes(plan, lengths)) {
    json.begin_object(JsonLayout::line);
    json.member("tokens", size.tokens);
    json.member("bytes", size.bytes);
    json.end_object();
  }
  json.end_array();
}

}  // namespace posenc::report

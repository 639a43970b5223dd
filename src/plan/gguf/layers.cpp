// From a GGUF header to the facts of each layer: kind (attention, recurrent, none), heads, channels, window or chunk,
// whether it rotates, whose KV cache it reuses.
#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "plan/gguf/read_gguf.h"

namespace posenc::plan {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr Bounds kGgufHeads{0, kMaxHeads};
constexpr Bounds kGgufHeadDims{1, kMaxHeadDim};
constexpr int kRestPeriod = 4;  // of the architectures with layers that rest

std::int64_t at(const Numbers& numbers, std::size_t layer) { return numbers[layer]; }

bool is_attention(const GgufLayer& layer) { return layer.kind == LayerKind::attention; }

// ---- what a layer is ----

// 1: the layer holds a state.
Setting<Numbers> state_flags(GgufScope& scope, std::int64_t blocks) {
  Setting<Numbers> flags = scope.per_layer("attention.recurrent_layers", {0, 1}, blocks);
  if (flags.value || scope.failed()) return flags;
  const Setting<std::int64_t> given = scope.integer("full_attention_interval", {1, kMaxLayers});
  const std::int64_t interval = given.value.value_or(scope.architecture().period);
  Numbers out;
  for (std::int64_t i = 1; i <= blocks; ++i) out.push_back(i % interval != 0 ? 1 : 0);
  return {std::move(out), given.value ? given.from : gguf_default(scope.architecture())};
}

void read_kinds(GgufScope& scope, std::int64_t blocks, GgufLayers& facts) {
  const GgufArchitecture& row = scope.architecture();
  facts.kind_from = gguf_default(row);
  const auto mark = [&](auto is_state) {
    for (std::size_t i = 0; i < facts.layers.size(); ++i) {
      if (is_state(i)) facts.layers[i].kind = row.state_kind;
    }
  };
  switch (row.states) {
    case GgufStates::none:
      if (row.zero_heads_rest) {
        for (GgufLayer& layer : facts.layers) {
          if (layer.heads == 0 || layer.kv_heads == 0) layer.kind = LayerKind::none;
        }
        facts.kind_from = facts.heads_from;
      }
      return;
    case GgufStates::every_layer: return mark([](std::size_t) { return true; });
    case GgufStates::no_kv_heads:
      facts.kind_from = facts.kv_heads_from;
      return mark([&](std::size_t i) { return facts.layers[i].kv_heads == 0; });
    case GgufStates::no_kv_nor_feed: {
      const Setting<Numbers> feed = scope.per_layer("feed_forward_length", {0, kMaxHiddenSize}, blocks);
      if (!feed.value) return scope.fail_missing("feed_forward_length", "it tells states from feed-forward layers");
      facts.kind_from = facts.kv_heads_from;
      for (std::size_t i = 0; i < facts.layers.size(); ++i) {
        GgufLayer& layer = facts.layers[i];
        if (layer.kv_heads == 0) layer.kind = at(*feed.value, i) == 0 ? row.state_kind : LayerKind::none;
      }
      return;
    }
    case GgufStates::interval: {
      const Setting<Numbers> flags = state_flags(scope, blocks);
      facts.kind_from = flags.from;
      if (flags.value) mark([&](std::size_t i) { return at(*flags.value, i) != 0; });
      return;
    }
  }
}

// ---- heads and channels ----

void read_heads(GgufScope& scope, std::int64_t blocks, GgufLayers& facts) {
  const Setting<Numbers> heads = scope.per_layer("attention.head_count", kGgufHeads, blocks);
  const Setting<Numbers> kv_heads = scope.per_layer("attention.head_count_kv", kGgufHeads, blocks);
  if (scope.failed()) return;
  const bool attends_at_all = scope.architecture().states != GgufStates::every_layer;
  if (!heads.value && attends_at_all) return scope.fail_missing("attention.head_count");
  facts.heads_from = heads.from;
  facts.kv_heads_from = kv_heads.value ? kv_heads.from : "default: as many as heads";
  for (std::size_t i = 0; i < facts.layers.size(); ++i) {
    facts.layers[i].heads = heads.value ? at(*heads.value, i) : 0;
    facts.layers[i].kv_heads = kv_heads.value ? at(*kv_heads.value, i) : facts.layers[i].heads;
  }
}

void check_heads(GgufScope& scope, const GgufLayers& facts) {
  for (std::size_t i = 0; i < facts.layers.size(); ++i) {
    const GgufLayer& layer = facts.layers[i];
    if (!is_attention(layer)) continue;
    if (layer.heads == 0) {
      return scope.fail("attention.head_count", ErrorKind::out_of_range, "at least 1 head",
                        formatted("layer {} attends", i));
    }
    if (layer.kv_heads != 0 && layer.heads % layer.kv_heads == 0) continue;
    return scope.fail("attention.head_count_kv", ErrorKind::not_divisible,
                      formatted("a divisor of the {} heads", layer.heads),
                      formatted("layer {} has {}", i, layer.kv_heads));
  }
}

Sourced<std::int64_t> hidden_over_heads(GgufScope& scope, const GgufLayers& facts) {
  const auto first = std::ranges::find_if(facts.layers, is_attention);
  if (first == facts.layers.end()) return {};
  const std::int64_t width = facts.hidden.value / first->heads;
  if (facts.hidden.value % first->heads == 0 && width <= kMaxHeadDim) {
    return {width, scope.key("embedding_length")};
  }
  scope.fail("embedding_length", ErrorKind::not_divisible,
             formatted("a multiple of the {} heads, and at most {} channels a head", first->heads, kMaxHeadDim),
             "attention.key_length is not given");
  return {};
}

Sourced<std::int64_t> channels(GgufScope& scope, std::string_view name, const GgufLayers& facts) {
  const Setting<std::int64_t> given = scope.integer(name, kGgufHeadDims);
  if (given.value) return {*given.value, given.from};
  return scope.failed() ? Sourced<std::int64_t>{} : hidden_over_heads(scope, facts);
}

void read_channels(GgufScope& scope, GgufLayers& facts) {
  if (std::ranges::none_of(facts.layers, is_attention)) return;
  if (scope.architecture().latent && scope.peek("attention.key_length_mla") != nullptr) {
    facts.full.keys = scope.required_integer("attention.key_length_mla", kGgufHeadDims);
    facts.full.values = scope.required_integer("attention.value_length_mla", kGgufHeadDims);
    facts.sliding = facts.full;
    return;
  }
  facts.full.keys = channels(scope, "attention.key_length", facts);
  if (!scope.failed()) facts.full.values = channels(scope, "attention.value_length", facts);
  facts.sliding.keys = given_or(scope.integer("attention.key_length_swa", kGgufHeadDims), facts.full.keys);
  facts.sliding.values = given_or(scope.integer("attention.value_length_swa", kGgufHeadDims), facts.full.values);
}

// ---- windows ----

void read_window(GgufScope& scope, GgufLayers& facts) {
  const GgufArchitecture& row = scope.architecture();
  if (row.windows == GgufWindows::none) return;
  if (row.windows_at_layers != 0 && row.windows_at_layers != std::ssize(facts.layers)) return;
  const Setting<std::int64_t> given = scope.integer("attention.sliding_window", {0, kMaxPosition});
  if (scope.failed()) return;
  if (!given.value && row.windows == GgufWindows::required) return scope.fail_missing("attention.sliding_window");
  const bool by_row = !given.value && (row.windows == GgufWindows::fixed || row.windows == GgufWindows::unless_zero);
  const bool on = given.value ? *given.value > 0 : by_row;
  if (!on) return;
  const bool overridden = row.default_window != 0 && (row.windows != GgufWindows::fixed || by_row);
  facts.window = overridden ? Setting<std::int64_t>{row.default_window, gguf_default(row)} : given;
}

Numbers flags_of_period(const GgufArchitecture& row, std::int64_t period, std::size_t count) {
  Numbers flags;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t place = period == 0 ? 0 : static_cast<std::int64_t>(i) % period;
    const bool full = period != 0 && place == (row.full_first ? 0 : period - 1);
    flags.push_back(full ? 0 : 1);
  }
  return flags;
}

// 1: the layer slides.
Setting<Numbers> sliding_flags(GgufScope& scope, std::int64_t blocks, std::size_t count) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const GgufArchitecture& row = scope.architecture();
  const io::GgufValue* given = scope.peek(kPattern);
  if (given == nullptr) {
    if (row.pattern_required) scope.fail_missing(kPattern);
    return {flags_of_period(row, row.period, count), gguf_default(row)};
  }
  if (given->type == io::GgufType::array || row.period == 0) {
    // Some converters leave out the layers that predict further tokens.
    const bool shorter = given->count == count;
    return scope.per_layer(kPattern, {0, 1}, shorter ? static_cast<std::int64_t>(count) : blocks);
  }
  const Setting<std::int64_t> period = scope.integer(kPattern, {0, kMaxLayers});
  if (!period.value) return {};
  return {flags_of_period(row, *period.value, count), period.from};
}

void read_sliding(GgufScope& scope, std::int64_t blocks, GgufLayers& facts) {
  facts.slides_from = gguf_default(scope.architecture());
  if (!facts.window.value || scope.failed()) {
    if (!facts.window.from.empty()) facts.slides_from = facts.window.from;
    return;
  }
  const Setting<Numbers> flags = sliding_flags(scope, blocks, facts.layers.size());
  if (!flags.value) return;
  facts.slides_from = flags.from;
  for (std::size_t i = 0; i < facts.layers.size(); ++i) {
    facts.layers[i].slides = is_attention(facts.layers[i]) && at(*flags.value, i) != 0;
  }
}

// ---- which layers rotate ----

bool baichuan_13b(const GgufScope& scope, const GgufLayers& facts) {
  return scope.architecture().alibi == GgufAlibi::baichuan_13b && facts.layers.size() == 40;
}

void read_rotary(GgufScope& scope, GgufLayers& facts) {
  const GgufArchitecture& row = scope.architecture();
  facts.rotates_from = gguf_default(row);
  const bool any = row.rotation != GgufRotation::none && !baichuan_13b(scope, facts);
  const bool windows = facts.window.value.has_value();
  bool switched_on = true;
  if (row.rotary == GgufRotary::unless_finetuned_false) {
    const Setting<bool> finetuned = scope.flag("rope.scaling.finetuned");
    switched_on = finetuned.value.value_or(true);
    if (finetuned.value) facts.rotates_from = finetuned.from;
  }
  const bool by_window = row.rotary == GgufRotary::sliding_layers || row.rotary == GgufRotary::sliding_or_windowless;
  if (by_window) facts.rotates_from = facts.slides_from;
  for (std::size_t i = 0; i < facts.layers.size(); ++i) {
    GgufLayer& layer = facts.layers[i];
    const bool last = (i + 1) % kRestPeriod == 0;
    const auto by_rule = [&] {
      switch (row.rotary) {
        case GgufRotary::every_layer: return true;
        case GgufRotary::sliding_layers: return layer.slides;
        case GgufRotary::sliding_or_windowless: return layer.slides || !windows;
        case GgufRotary::rests_last_of_4: return !last;
        case GgufRotary::rests_first_of_4: return !windows || i % kRestPeriod != 0;
        case GgufRotary::rests_last_if_chunked: return !windows || !last;
        case GgufRotary::unless_finetuned_false: return switched_on;
      }
      return true;
    };
    layer.rotates = any && is_attention(layer) && by_rule();
  }
}

// ---- shared keys ----

// Layers from the first sharing one on take keys from the last layer of their kind before it: the last but one slides.
void read_sharing(GgufScope& scope, std::int64_t blocks, GgufLayers& facts) {
  const GgufArchitecture& row = scope.architecture();
  std::int64_t first = row.kv_shared_from != 0 ? row.kv_shared_from : blocks;
  facts.shares_from = gguf_default(row);
  if (row.reads_shared_kv) {
    const Setting<std::int64_t> shared = scope.integer("attention.shared_kv_layers", {0, blocks});
    if (shared.value) facts.shares_from = shared.from;
    first = blocks - shared.value.value_or(0);
    if (shared.value && *shared.value > 0 && first < 2) {
      return scope.fail("attention.shared_kv_layers", ErrorKind::out_of_range,
                        formatted("at most {}, so that two layers keep keys", blocks - 2));
    }
  }
  for (std::size_t i = 0; i < facts.layers.size(); ++i) {
    if (static_cast<std::int64_t>(i) < first) continue;
    facts.layers[i].kv_from = first - (facts.layers[i].slides ? 2 : 1);
  }
}

}  // namespace

GgufLayers read_gguf_layers(GgufScope& scope) {
  GgufLayers facts;
  const Sourced<std::int64_t> blocks = scope.required_integer("block_count", {1, kMaxLayers});
  facts.trained_length = scope.required_integer("context_length", {1, kMaxPosition});
  facts.hidden = scope.required_integer("embedding_length", {1, kMaxHiddenSize});
  const Setting<std::int64_t> further = scope.integer("nextn_predict_layers", {0, blocks.value - 1});
  if (scope.failed()) return facts;
  facts.count_from = blocks.from;
  facts.layers.resize(static_cast<std::size_t>(blocks.value - further.value.value_or(0)));
  read_heads(scope, blocks.value, facts);
  if (!scope.failed()) read_kinds(scope, blocks.value, facts);
  if (!scope.failed()) check_heads(scope, facts);
  if (!scope.failed()) read_channels(scope, facts);
  if (!scope.failed()) read_window(scope, facts);
  if (!scope.failed()) read_sliding(scope, blocks.value, facts);
  if (!scope.failed()) read_rotary(scope, facts);
  if (!scope.failed()) read_sharing(scope, blocks.value, facts);
  return facts;
}

}  // namespace posenc::plan

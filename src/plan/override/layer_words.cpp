// Words for what a layer does beside its rotation: window, chunk, mask, softmax scale, soft cap, sinks, KV heads, ...
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/formatted.h"
#include "plan/facts/dual_chunk.h"
#include "plan/facts/plan_limits.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

using Places = std::vector<std::size_t>;

// The chosen layers that have it already; where the user names layers, all of them: what is not there is given to them.
template <typename Has>
Places those_with(const StackEdit& edit, bool gives, const Has& has) {
  Places chosen = chosen_layers(edit);
  if (!gives || !names_layers(edit.which)) {
    std::erase_if(chosen, [&](std::size_t place) { return !has(edit.layer(place)); });
  }
  return chosen;
}

std::size_t told(const StackEdit& edit, const Assignment& assignment, const Places& layers, std::string_view field) {
  replace_source(edit.plan, edit.at, layers, field, set_by(assignment));
  return layers.size();
}

// ---- window ----

// "past..future"
std::optional<Window> both_sides(const Assignment& assignment) {
  const std::string_view text = assignment.value;
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return {};
  const Assignment past{assignment.word, std::string(text.substr(0, dots))};
  const Assignment future{assignment.word, std::string(text.substr(dots + 2))};
  return Window{whole_number(past, 0, kMaxPosition), whole_number(future, 0, kMaxPosition)};
}

// How a class counts: the key of a bidirectional stack may count both sides, or each.
struct WidthRule {
  bool halved = false;
  bool leans_ahead = false;
  bool beside_own = false;
  bool of_past = false;
};

WidthRule width_rule(const StackEdit& edit, const LayerPlan& layer) {
  if (edit.architecture != nullptr) return {.halved = edit.architecture->symmetric};
  if (edit.family == nullptr) return {};
  const Family& family = *edit.family;
  const StackRule& stack = edit.stack().name == "encoder" && family.encoder != nullptr ? *family.encoder : family.main;
  return {.halved = stack.mask.window_spans_both ||
                    (family.reads_bidirectional && layer.mask.kind == MaskKind::bidirectional),
          .leans_ahead = stack.mask.window_leans_ahead,
          .beside_own = family.window_beside_own,
          .of_past = stack.mask.window_of_past};
}

// As the reader of a config makes a window of its width (src/plan/layers/layer_masks.cpp).
Window window_of(const StackEdit& edit, const LayerPlan& layer, std::int64_t given) {
  const WidthRule rule = width_rule(edit, layer);
  const std::int64_t width = rule.beside_own ? std::min(given + 1, kMaxPosition) : given;
  const bool causal = layer.mask.kind == MaskKind::causal || rule.of_past ||
                      (layer.mask.window && layer.mask.window->future == 0 && layer.mask.window->past > 0);
  if (rule.halved && layer.mask.kind == MaskKind::causal && edit.architecture == nullptr) {
    return {std::max<std::int64_t>(width / 2 - 1, 0), 0};
  }
  if (causal && !rule.halved) return {width - 1, 0};
  if (rule.leans_ahead) return {std::max<std::int64_t>((width + 1) / 2 - 1, 0), width / 2};
  if (rule.halved) return {width / 2, width / 2};
  return {width, width};
}

// A window that covers all that the model is for is read as none.
void warn_of_cover(const StackEdit& edit, const Assignment& assignment) {
  Warning warning{.code = "window-covers-length",
                  .message = formatted("{} covers the {} tokens that the model is for; taken as none.",
                                       assignment.shown(), *edit.plan.trained_length),
                  .keys = {}};
  if (std::ranges::find(edit.plan.warnings, warning) == edit.plan.warnings.end()) {
    edit.plan.warnings.push_back(std::move(warning));
  }
}

// Classes whose key of the window is for every layer, as Mistral's.
bool windows_everywhere(const StackEdit& edit) {
  return edit.family != nullptr &&
         (edit.family->windows == Windows::every_layer || edit.family->windows == Windows::listed);
}

std::size_t set_window(const StackEdit& edit, const Assignment& assignment) {
  const bool none = is_none(assignment);
  const auto has = [](const LayerPlan& layer) { return layer.mask.window.has_value(); };
  Places layers = those_with(edit, !none, has);
  if (layers.empty() && !none && windows_everywhere(edit)) layers = chosen_layers(edit);
  const std::optional<Window> exact = none ? std::nullopt : both_sides(assignment);
  const std::int64_t width = none || exact ? 0 : whole_number(assignment, 1, kMaxPosition);
  Places undescribed;
  for (const std::size_t place : layers) {
    LayerPlan& layer = edit.layer(place);
    layer.mask.window = none || exact ? exact : std::optional(window_of(edit, layer, width));
    if (width > 0 && edit.plan.trained_length && layer.mask.window->past >= *edit.plan.trained_length - 1) {
      layer.mask.window = std::nullopt;
      warn_of_cover(edit, assignment);
    }
    // Words beside a causal mask may be about its window: "..., within the window".
    if (!layer.mask.window && layer.mask.detail.find("the window") != std::string::npos) {
      layer.mask.detail.clear();
      layer.mask.beyond_window = layer.mask.by_blocks = layer.mask.by_indexer = false;
      undescribed.push_back(place);
    }
  }
  forget_sources(edit.plan, edit.at, undescribed, "mask/detail");
  return told(edit, assignment, layers, "mask/window");
}

std::size_t set_chunk(const StackEdit& edit, const Assignment& assignment) {
  const bool none = is_none(assignment);
  const auto chunk = none ? std::nullopt : std::optional(whole_number(assignment, 1, kMaxPosition));
  const Places layers = those_with(edit, !none, [](const LayerPlan& layer) { return layer.mask.chunk.has_value(); });
  for (const std::size_t place : layers) edit.layer(place).mask.chunk = chunk;
  return told(edit, assignment, layers, "mask/chunk");
}

// ---- mask ----

// A mask that words describe (sparse, prefix) is one that no word here can make again.
std::size_t set_mask_kind(const StackEdit& edit, const Assignment& assignment, MaskKind kind) {
  const Places layers = chosen_layers(edit);
  for (const std::size_t place : layers) {
    Mask& mask = edit.layer(place).mask;
    mask = {.kind = kind, .window = mask.window, .chunk = mask.chunk, .detail = {}};
  }
  forget_sources(edit.plan, edit.at, layers, "mask/detail");
  return told(edit, assignment, layers, "mask/kind");
}

std::size_t set_mask(const StackEdit& edit, const Assignment& assignment) {
  static constexpr std::array<std::string_view, 2> kNames = {"causal", "bidirectional"};
  return set_mask_kind(edit, assignment, static_cast<MaskKind>(choice(assignment, kNames)));
}

std::size_t set_causal(const StackEdit& edit, const Assignment& assignment) {
  return set_mask_kind(edit, assignment, truth(assignment) ? MaskKind::causal : MaskKind::bidirectional);
}

// ---- scores ----

std::size_t set_scale(const StackEdit& edit, const Assignment& assignment) {
  const double scale = finite_number(assignment);
  const Places layers = chosen_layers(edit);
  for (const std::size_t place : layers) edit.layer(place).softmax_scale = scale;
  return told(edit, assignment, layers, "softmax_scale");
}

std::size_t set_soft_cap(const StackEdit& edit, const Assignment& assignment) {
  const bool none = is_none(assignment);
  const double cap = none ? 0 : finite_number(assignment);
  if (!none && cap <= 0) refuse_value(assignment, "be none or a number above 0");
  const Places layers = those_with(edit, !none, [](const LayerPlan& layer) { return layer.soft_cap.has_value(); });
  for (const std::size_t place : layers) {
    std::optional<SoftCap>& soft_cap = edit.layer(place).soft_cap;
    const SoftCap::Order order = soft_cap ? soft_cap->order : SoftCap::Order::after_bias;
    soft_cap = none ? std::nullopt : std::optional(SoftCap{.cap = cap, .order = order});
  }
  return told(edit, assignment, layers, "soft_cap");
}

std::size_t set_sinks(const StackEdit& edit, const Assignment& assignment) {
  const bool sinks = !is_none(assignment) && truth(assignment);
  const Places layers = those_with(edit, sinks, [](const LayerPlan& layer) { return layer.sinks; });
  for (const std::size_t place : layers) edit.layer(place).sinks = sinks;
  return told(edit, assignment, layers, "sinks");
}

std::size_t set_qk_norm(const StackEdit& edit, const Assignment& assignment) {
  if (!is_none(assignment)) refuse_value(assignment, "be none: a norm has weights, which no word gives");
  const Places layers = those_with(edit, false, [](const LayerPlan& layer) { return layer.qk_norm.has_value(); });
  for (const std::size_t place : layers) edit.layer(place).qk_norm.reset();
  return told(edit, assignment, layers, "qk_norm");
}

std::size_t set_query_scale(const StackEdit& edit, const Assignment& assignment) {
  if (!is_none(assignment)) refuse_value(assignment, "be none");
  const Places layers = those_with(
      edit, false, [](const LayerPlan& layer) { return !std::holds_alternative<std::monostate>(layer.query_scale); });
  for (const std::size_t place : layers) edit.layer(place).query_scale = {};
  return told(edit, assignment, layers, "query_scale");
}

// ---- keys ----

// Where the user names no layers, those whose number comes from where that of the first layer does: layers of cross
// attention too (Llama 3.2 Vision), and not those that have a key of their own (Gemma 4's full layers).
Places layers_with_kv_heads(const StackEdit& edit) {
  Places chosen = chosen_layers(edit);
  if (names_layers(edit.which) || chosen.empty()) return chosen;
  const std::vector<std::string> sources = sources_of_field(edit.plan, edit.at, "kv_heads");
  const std::string lead = sources[chosen.front()];
  chosen.clear();
  for (std::size_t place = 0; place < sources.size(); ++place) {
    const LayerKind kind = edit.layer(place).kind;
    const bool attends = kind == LayerKind::attention || kind == LayerKind::cross_attention;
    if (attends && sources[place] == lead) chosen.push_back(place);
  }
  return chosen;
}

std::size_t set_kv_heads(const StackEdit& edit, const Assignment& assignment) {
  const std::int64_t kv_heads = whole_number(assignment, 1, kMaxHeads);
  const Places layers = layers_with_kv_heads(edit);
  for (const std::size_t place : layers) {
    LayerPlan& layer = edit.layer(place);
    if (is_latent(edit, layer)) {
      refuse(assignment, "be for layers with KV heads; latent attention is read expanded, a KV head for each head,",
             formatted("for layer {}", layer.index));
    }
    if (layer.heads % kv_heads != 0) {
      refuse(assignment, formatted("divide the {} heads of layer {}", layer.heads, layer.index),
             formatted("{}", kv_heads));
    }
    layer.kv_heads = kv_heads;
  }
  return told(edit, assignment, layers, "kv_heads");
}

// A/B of a setting's value.
std::pair<std::int64_t, std::int64_t> two_numbers(const Assignment& assignment, std::int64_t least_b,
                                                  const char* must) {
  const std::size_t slash = assignment.value.find('/');
  if (slash == std::string::npos) refuse_value(assignment, must);
  return {whole_number({assignment.word, assignment.value.substr(0, slash)}, 1, kMaxPosition),
          whole_number({assignment.word, assignment.value.substr(slash + 1)}, least_b, kMaxPosition)};
}

template <typename Kind, typename Make>
std::size_t set_regions(const StackEdit& edit, const Assignment& assignment, const Make& make) {
  const bool none = is_none(assignment);
  const Regions regions = none ? Regions{} : Regions{make()};
  Places layers = rotating_layers(edit, "regions");
  if (none) {
    std::erase_if(layers, [&](std::size_t place) { return !std::holds_alternative<Kind>(edit.layer(place).regions); });
  }
  for (const std::size_t place : layers) edit.layer(place).regions = regions;
  return told(edit, assignment, layers, "regions");
}

// SelfExtend, arXiv 2401.01325: GROUP/WINDOW, llama.cpp's --grp-attn-n and --grp-attn-w.
std::size_t set_self_extend(const StackEdit& edit, const Assignment& assignment) {
  return set_regions<SelfExtend>(edit, assignment, [&] {
    const auto [group, window] = two_numbers(assignment, 0, "be none or GROUP/WINDOW, such as 4/1024,");
    return SelfExtend{.group = group, .window = window};
  });
}

// Dual chunk attention, arXiv 2402.17463: chunk_size/local_size of Qwen's dual_chunk_attention_config.
std::size_t set_dual_chunk(const StackEdit& edit, const Assignment& assignment) {
  return set_regions<DualChunk>(edit, assignment, [&] {
    const auto [size, local] = two_numbers(assignment, 0, "be none or SIZE/LOCAL, such as 262144/8192,");
    if (local >= size) refuse_value(assignment, "have fewer local tokens than a chunk has,");
    return dual_chunk(size, local);
  });
}

}  // namespace

std::span<const LayerWord> layer_words() noexcept {
  static constexpr LayerWord kWords[] = {
      {"window", "sliding_window", "a window", set_window},
      {"chunk", "attention_chunk_size", "chunks", set_chunk},
      {"mask", {}, "attention", set_mask},
      {"causal", {}, "attention", set_causal},
      {"scale", "softmax_scale", "attention", set_scale},
      {"soft_cap", "attn_logit_softcapping", "a soft cap", set_soft_cap},
      {"sinks", {}, "sinks", set_sinks},
      {"qk_norm", {}, "a QK norm", set_qk_norm},
      {"query_scale", {}, "a query scale", set_query_scale},
      {"kv_heads", "num_key_value_heads", "attention", set_kv_heads},
      {"self_extend", {}, "a rotation to extend", set_self_extend},
      {"dual_chunk", {}, "a rotation to extend", set_dual_chunk},
  };
  return kWords;
}

}  // namespace posenc::plan

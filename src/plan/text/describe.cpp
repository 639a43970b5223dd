// Plans as text: one paragraph a stack, one block a run of equal layers, one line for each thing that is there.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "plan/json/plan_json.h"
#include "plan/json/plan_names.h"
#include "plan/text/text_fields.h"
#include "plan/text/text_lines.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {
namespace {

using plan::TextLines;

template <typename T>
std::string each(const std::vector<T>& schemes) {
  std::string out;
  for (const T& scheme : schemes) out.append(out.empty() ? "" : "; ").append(plan::kind_and_fields(scheme));
  return out.empty() ? "none" : out;
}

// "t", or "t, h, w rotating 24, 20, 20 pairs".
std::string axes(const Rope& rope) {
  std::string out = joined(rope.axes.names, ", ");
  if (rope.axes.of_pair.empty()) return out;
  std::vector<std::int64_t> pairs(rope.axes.names.size());
  for (const std::int32_t axis : rope.axes.of_pair) ++pairs[static_cast<std::size_t>(axis)];
  return formatted("{} rotating {} pairs", out, joined(pairs, ", "));
}

std::string rotation(const Rotate& rotate, std::optional<std::int64_t> length) {
  const Rope& rope = posenc::rope(rotate);
  if (const std::optional<Problem> problem = check(rope, length)) {
    return formatted("impossible, {} must {} but is {}", problem->field, problem->must, problem->is);
  }
  std::string out = formatted("{} of {} heads, channels {}-{} of {}, pairing {}, base {}, rule {}, attention factor {}",
                              plan::kind_name(rotate.scheme), rotate.heads, rope.first_channel,
                              rope.first_channel + rope.dim - 1, rope.head_dim, plan::pairing_words(rope.pairing),
                              rope.base, describe(rope.scaling), frequencies(rope, length).attention_factor);
  if (const XPos* xpos = std::get_if<XPos>(&rotate.scheme)) {
    out += formatted(", scale base {}", xpos->scale_base);
  }
  if (rope.axes != AxisMap{}) out += formatted(", axes {}", axes(rope));
  if (rotate.offset != 0) out += formatted(", positions + {}", rotate.offset);
  if (rope.axis_frequencies != AxisFrequencies::shared)
    out += formatted(", axis frequencies {}", name(rope.axis_frequencies));
  if (rope.rotation_direction != RotationDirection::counterclockwise)
    out += formatted(", {}", name(rope.rotation_direction));
  return out;
}

void add_rotations(TextLines& lines, const LayerPlan& layer, std::optional<std::int64_t> length) {
  if (layer.rotate.empty()) lines.add(4, "rotate: none");
  for (const Rotate& rotate : layer.rotate) {
    const std::string role = rotate.role == RotateRole::main ? "" : formatted(" ({})", name(rotate.role));
    lines.add(4, formatted("rotate{}: {}", role, rotation(rotate, length)));
  }
}

std::string heads(const LayerPlan& layer) {
  const auto size = [](std::int64_t known) { return known == 0 ? std::string("?") : formatted("{}", known); };
  std::string out = formatted("{} of {} channels, {} for keys and values", size(layer.heads), size(layer.head_dim),
                              size(layer.kv_heads));
  if (layer.value_dim != layer.head_dim) {
    out += formatted(", values of {} channels", size(layer.value_dim));
  }
  if (layer.kv_from) out += formatted(", keys and values of layer {}", *layer.kv_from);
  if (layer.compression) out += formatted(", also keys of {} tokens each", *layer.compression);
  return out;
}

std::string mask(const Mask& mask) {
  std::string out(name(mask.kind));
  if (mask.window) {
    out += formatted(", window {} past and {} future", mask.window->past, mask.window->future);
  }
  if (mask.chunk) out += formatted(", chunks of {}", *mask.chunk);
  if (!mask.detail.empty()) out += ", " + mask.detail;
  return out;
}

std::string logits(const LayerPlan& layer) {
  std::string out = formatted("scale {}", layer.softmax_scale);
  if (layer.channel_scale) out += " and a learned one per channel";
  if (layer.soft_cap) {
    const bool after = layer.soft_cap->order == SoftCap::Order::after_bias;
    out += formatted(", soft cap {} {} the bias", layer.soft_cap->cap, after ? "after" : "before");
  }
  if (layer.sinks) out += ", sinks";
  return out;
}

std::string norm(const QkNorm& norm) {
  return formatted("{} {} the rotation, {} weights, over {}{}", name(norm.kind), name(norm.order),
                   norm.weighted ? "with" : "without",
                   norm.over == QkNorm::Over::head ? "each head" : "all heads at once",
                   norm.of == QkNorm::Of::keys ? ", of keys only" : "");
}

void add_run(TextLines& lines, const Stack& stack, const LayerRun& run, std::optional<std::int64_t> length) {
  const LayerPlan& layer = stack.layers[static_cast<std::size_t>(run.layers.front())];
  lines.add(2, formatted("layers {} ({}): {}", selection(run), run.layers.size(), name(layer.kind)));
  if (plan::has_index_and_kind_only(layer)) return;
  lines.add(4, "heads: " + heads(layer));
  add_rotations(lines, layer, length);
  if (layer.regions != Regions{}) lines.add(4, "regions: " + plan::kind_and_fields(layer.regions));
  lines.add(4, "score: " + each(layer.score));
  lines.add(4, "value: " + plan::kind_and_fields(layer.value));
  lines.add(4, "mask: " + mask(layer.mask));
  lines.add(4, "logits: " + logits(layer));
  if (layer.qk_norm) lines.add(4, "q and k norm: " + norm(*layer.qk_norm));
  if (layer.query_scale != QueryScale{}) lines.add(4, "query scale: " + plan::kind_and_fields(layer.query_scale));
}

void add_summary(TextLines& lines, const Plan& plan) {
  const auto or_none = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
  lines.add(0, formatted("{}: {}", name(plan.source.kind), plan.source.name));
  lines.add(2, formatted("model type {}, family {}, {}", or_none(plan.model_type), or_none(plan.family),
                         plan.known ? "known" : "not known in full"));
  const auto tokens = [](std::optional<std::int64_t> count) {
    return count ? formatted("{} tokens", *count) : std::string("not given");
  };
  lines.add(2, formatted("trained length {}, length {}", tokens(plan.trained_length), tokens(plan.length)));
}

// "2 layers", or "2 layers, 4 sub-layers": a block's second attention is an entry of its own with the block's index.
std::string size(const Stack& stack) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    if (i == 0 || stack.layers[i].index != stack.layers[i - 1].index) ++blocks;
  }
  if (blocks == stack.layers.size()) return formatted("{} layers", blocks);
  return formatted("{} layers, {} sub-layers", blocks, stack.layers.size());
}

}  // namespace

std::string describe(const Scaling& scaling) { return plan::kind_and_fields(scaling); }

std::string describe(const Plan& plan) {
  TextLines lines;
  add_summary(lines, plan);
  for (const Stack& stack : plan.stacks) {
    lines.blank();
    lines.add(0, formatted("{}, {}", stack.name, size(stack)));
    lines.add(2, "input: " + each(stack.input));
    for (const LayerRun& run : layer_runs(stack)) add_run(lines, stack, run, plan.length);
  }
  return lines.take();
}

}  // namespace posenc::inline v0_2

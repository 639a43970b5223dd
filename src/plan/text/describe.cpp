// Plans as text: one paragraph a stack, one block a run of equal layers, one line for each thing that is there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "plan/json/fields.h"
#include "plan/json/plan_json.h"
#include "plan/json/plan_names.h"
#include "plan/text/text_lines.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {
namespace {

using plan::TextLines;

// A visitor of json/fields.h that makes "factor 40, truncate yes" of a scheme's numbers.
class TextFields : public plan::OptionalFields<TextFields> {
 public:
  template <typename T>
  void field(std::string_view key, const T& what, plan::Range = {}) {
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      if (what.empty()) return;
    }
    if (!out_.empty()) out_ += ", ";
    out_.append(key).append(" ").append(text(what));
  }
  template <typename T>
  void nullable(std::string_view key, const std::optional<T>& what, plan::Range = {}) {
    if (what) field(key, *what);
  }
  void text(std::string_view key, const std::string& what) {
    if (!what.empty()) field(key, what);
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string text(const std::string& what) { return what; }
  static std::string text(const Distances& what) { return formatted("{} to {}", what.low, what.high); }
  static std::string text(bool what) { return what ? "yes" : "no"; }
  static std::string text(std::int64_t what) { return formatted("{}", what); }
  static std::string text(double what) { return formatted("{}", what); }
  template <typename E>
  requires std::is_enum_v<E>
  static std::string text(E what) { return std::string(plan::enum_name(what)); }
  template <typename T>
  static std::string text(const std::vector<T>& what) {
    if (what.empty()) return "of 0 numbers";
    const auto [low, high] = std::minmax_element(what.begin(), what.end());
    return formatted("of {} numbers {} to {}", what.size(), *low, *high);
  }
  static std::string text(const std::vector<std::int64_t>& what) { return joined(what, " x "); }

  std::string out_;
};

// "yarn, factor 40, truncate yes", or "none".
template <typename... T>
std::string kind_and_fields(const std::variant<T...>& scheme) {
  return std::visit(
      [&](const auto& alternative) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(alternative)>, std::monostate>) {
          return "none";
        } else {
          TextFields visitor;
          fields(visitor, alternative);
          const std::string numbers = visitor.take();
          return formatted("{}{}{}", plan::kind_name(scheme), numbers.empty() ? "" : ", ", numbers);
        }
      },
      scheme);
}

template <typename T>
std::string each(const std::vector<T>& schemes) {
  std::string out;
  for (const T& scheme : schemes) out.append(out.empty() ? "" : "; ").append(kind_and_fields(scheme));
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

// Before what was read of a stack that is not known.
std::string said(const Stack& stack) { return stack.known ? "" : "read: "; }

void add_rotations(TextLines& lines, const Stack& stack, const LayerPlan& layer, std::optional<std::int64_t> length) {
  if (layer.rotate.empty() && stack.known) lines.add(4, "rotate: none");
  for (const Rotate& rotate : layer.rotate) {
    const std::string role = rotate.role == RotateRole::main ? "" : formatted(" ({})", name(rotate.role));
    lines.add(4, formatted("{}rotate{}: {}", said(stack), role, rotation(rotate, length)));
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

std::string addition(const Added& added) {
  std::string to(name(added.to));
  if (added.how != AddedHow::before_projection) to += formatted(", {}", name(added.how));
  if (added.gated) to += ", gated";
  return formatted("to {}: {}", to, kind_and_fields(added.scheme));
}

std::string mask(const Mask& mask) {
  std::string out(name(mask.kind));
  if (mask.window) {
    out += formatted(", window {} past and {} future", mask.window->past, mask.window->future);
  }
  if (mask.chunk) out += formatted(", chunks of {}", *mask.chunk);
  if (!mask.detail.empty()) out += ", " + mask.detail;
  if (mask.beyond_window) out += ", keys beyond the window too";
  if (mask.by_blocks) out += ", by blocks";
  if (mask.by_indexer) out += ", by an indexer";
  return out;
}

std::string mixing(const Mixing& mixing) {
  std::string out;
  const auto add = [&](std::string text) { out += (out.empty() ? "" : ", ") + std::move(text); };
  if (!mixing.tokens_before) add("keys and values of tokens before too");
  if (mixing.tokens_before.value_or(0) > 0) add(formatted("keys and values of {} before too", *mixing.tokens_before));
  if (mixing.outputs) add("outputs of tokens before too");
  if (mixing.beside) add(formatted("beside {}", name(*mixing.beside)));
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
  return formatted("{} {} the rotation, {} weights{}, over {}{}", name(norm.kind), name(norm.order),
                   norm.weighted ? "with" : "without", norm.weighted && !norm.weighted_queries ? " for keys alone" : "",
                   norm.over == QkNorm::Over::head ? "each head" : "all heads at once",
                   norm.of == QkNorm::Of::keys ? ", of keys only" : "");
}

void add_run(TextLines& lines, const Stack& stack, const LayerRun& run, std::optional<std::int64_t> length) {
  const LayerPlan& layer = stack.layers[static_cast<std::size_t>(run.layers.front())];
  lines.add(2, formatted("layers {} ({}): {}{}", selection(run), run.layers.size(), name(layer.kind),
                         layer.begins_apart ? ", position 0 apart" : ""));
  if (plan::has_index_and_kind_only(layer)) return;
  const std::string before = said(stack);
  const auto add = [&](std::string_view what, const std::string& text) {
    lines.add(4, formatted("{}{}: {}", before, what, text));
  };
  add("heads", heads(layer));
  for (const Added& added : layer.added) add("added", addition(added));
  add_rotations(lines, stack, layer, length);
  if (layer.regions != Regions{}) add("regions", kind_and_fields(layer.regions));
  if (stack.known || !layer.score.empty()) add("score", each(layer.score));
  if (stack.known || layer.value != ValueScheme{}) add("value", kind_and_fields(layer.value));
  add("mask", mask(layer.mask));
  if (layer.mixing != Mixing{}) add("mixing", mixing(layer.mixing));
  add("logits", logits(layer));
  if (layer.qk_norm) add("q and k norm", norm(*layer.qk_norm));
  if (layer.query_scale != QueryScale{}) add("query scale", kind_and_fields(layer.query_scale));
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

// Of a stack that is not known each line says that it was read, which is not what the model does; what it has no word
// of is left out, so that nothing is called none.
void add_stack(TextLines& lines, const Stack& stack, std::optional<std::int64_t> length) {
  const bool is_read = stack.known || !stack.layers.empty();
  lines.add(0, formatted("{}{}{}", stack.name, is_read ? ", " + size(stack) : "", stack.known ? "" : ", not known"));
  for (const std::string& fact : stack.unknown) lines.add(2, "not known: " + fact);
  if (stack.known || !stack.input.empty()) lines.add(2, said(stack) + "input: " + each(stack.input));
  if (stack.fed_by == FedBy::mixed_tokens) lines.add(2, said(stack) + "fed by: " + std::string(name(stack.fed_by)));
  for (const LayerRun& run : layer_runs(stack)) add_run(lines, stack, run, length);
}

}  // namespace

std::string describe(const Scaling& scaling) { return kind_and_fields(scaling); }

std::string describe(const Plan& plan) {
  TextLines lines;
  add_summary(lines, plan);
  for (const Stack& stack : plan.stacks) {
    lines.blank();
    add_stack(lines, stack, plan.length);
  }
  return lines.take();
}

}  // namespace posenc::inline v0_2

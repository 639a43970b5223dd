// Why an order of rows suffices: a rotation turns pairs of channels, each by its own angle, and a score is a sum over
// channels. Where pair p of q and of k stands in the head is nobody's business but the rotation's, so that P q and P k,
// with P the permutation and the rotation by the other pairing, have the scores of q and k. What else looks at single
// channels of q and k must have its numbers permuted too: norms' weights do, and what has none in the checkpoint under
// a known name is refused here.
#include "convert/layer_rotations.h"

#include <algorithm>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::conversion {
namespace {

[[noreturn]] void refuse_layer(const LayerPlan& layer, std::string must, std::string is) {
  throw Error("convert", {formatted("layer {} of the plan", layer.index), std::move(must), std::move(is)});
}

// Whether a term of the scores has vectors of q's or k's channels.
bool is_by_channel(const ScoreTerm& term) {
  return std::visit(
      [](const auto& t) {
        using T = std::decay_t<decltype(t)>;
        constexpr bool kByPosition =
            std::is_same_v<T, Alibi> || std::is_same_v<T, T5Bias> || std::is_same_v<T, ClippedBias> ||
            std::is_same_v<T, GridBias> || std::is_same_v<T, Kerple> || std::is_same_v<T, Fire> ||
            std::is_same_v<T, Sandwich> || std::is_same_v<T, MlpBias> || std::is_same_v<T, ForgetGate>;
        return !kByPosition;
      },
      term);
}

// What holds for a layer that rotates.
void check_layer(const LayerPlan& layer, const Rotate& rotate) {
  if (rotate.role == RotateRole::before_projection) {
    refuse_layer(layer, "rotate queries and keys",
                 "one that rotates hidden states before the projections: no order of their rows changes the pairing");
  }
  if (rotate.heads != 0 && rotate.heads < layer.heads) {
    refuse_layer(layer, "rotate all of its heads", formatted("one that rotates {} of {}", rotate.heads, layer.heads));
  }
  if (std::holds_alternative<RotatedValues>(layer.value)) {
    refuse_layer(layer, "rotate queries and keys only",
                 "one that rotates values too: columns of the output projection would have to move");
  }
  if (std::ranges::any_of(layer.score, is_by_channel)) {
    refuse_layer(layer, "score by the rotation, by positions or by heads",
                 "one with vectors of its own for the channels of q or k, which would have to move too");
  }
  if (layer.channel_scale) {
    refuse_layer(layer, "scale queries by one number", "one with a learned factor for each channel");
  }
  if (layer.compression) {
    refuse_layer(layer, "have a key for each token", "one whose keys are made of several tokens");
  }
  const auto beside = [](const Added& one) { return one.how != AddedHow::before_projection; };
  if (std::ranges::any_of(layer.added, beside)) {
    refuse_layer(layer, "add positions before its projections, or none", "one with a projection of its own for them");
  }
}

}  // namespace

const Stack& stack_to_convert(const Plan& plan, std::string_view name) {
  if (plan.stacks.empty()) {
    throw Error("convert", {"the plan", "say what the model does with positions",
                            plan.warnings.empty() ? "one without stacks" : plan.warnings.front().message});
  }
  const auto rotates = [](const Stack& stack) {
    return std::ranges::any_of(stack.layers, [](const LayerPlan& layer) { return !layer.rotate.empty(); });
  };
  std::vector<std::string_view> names;
  for (const Stack& stack : plan.stacks) {
    if (name.empty() ? rotates(stack) : stack.name == name) return stack;
    names.push_back(stack.name);
  }
  if (name.empty()) throw Error("convert", {"the plan", "rotate queries and keys", "one without a rotation"});
  throw Error("convert", {"stack", formatted("be one of {}", joined(names, ", ")), std::string(name)});
}

StackRotations rotations_of(const Plan& plan, std::string_view stack, std::optional<Pairing> from, Pairing to) {
  StackRotations out;
  out.stack = &stack_to_convert(plan, stack);
  if (!out.stack->known) {
    throw Error("convert", {formatted("the stack {}", out.stack->name), "be known",
                            formatted("not decided by its file: {}", joined(out.stack->unknown, "; "))});
  }
  for (const LayerPlan& layer : out.stack->layers) {
    const Rotate* main = nullptr;
    for (const Rotate& rotate : layer.rotate) {
      if (rotate.role == RotateRole::indexer) {
        out.indexers = true;
        continue;
      }
      if (main != nullptr) refuse_layer(layer, "have one rotation", "one with several");
      main = &rotate;
    }
    if (main == nullptr) continue;
    check_layer(layer, *main);
    const RotatingLayer rotating{&layer, &rope(*main)};
    if (!out.all.emplace(layer.index, rotating).second) {
      refuse_layer(layer, "be one attention", "a block with several that rotate");
    }
    if (from ? *from != to : rotating.rope->pairing != to) out.layers.emplace(layer.index, rotating);
  }
  if (out.all.empty())
    throw Error("convert", {"stack", "rotate queries and keys", out.stack->name + ", which does not"});
  out.from = from.value_or(to == Pairing::half ? Pairing::interleaved : Pairing::half);
  if (out.layers.empty()) {
    throw Error("convert", {"to", "be another pairing than the rows have",
                            formatted("{}, which {}", name(to),
                                      from ? "is what `from` says too"
                                           : "is what the plan has; say `from` where the rows are not as it says")});
  }
  for (const auto& [index, one] : out.layers) {
    const std::optional<std::int64_t> source = one.layer->kv_from;
    if (!source) continue;
    const auto keys = out.all.find(*source);
    const bool same = keys != out.all.end() && keys->second.rope->dim == one.rope->dim &&
                      keys->second.rope->first_channel == one.rope->first_channel && out.layers.contains(*source);
    if (!same) {
      refuse_layer(*one.layer, "rotate as the layer whose KV cache it uses", formatted("unlike layer {}", *source));
    }
  }
  return out;
}

}  // namespace posenc::conversion

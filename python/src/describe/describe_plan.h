// Plans and their parts (posenc/plan.h), as Python sees them.
// read_plan and preset_plan make plans; plan_from_json reads them again. Their JSON has the same names
// (docs/plan.schema.json).
#pragma once

#include "describe/describe_rope.h"
#include "describe/describe_schemes.h"
#include "describe/described.h"
#include "posenc/plan.h"

namespace posenc::python {

// scheme: a Rope or an XPos; Rotate.rope (bind_plan.cpp) is the Rope of either.
constexpr auto description(Type<Rotate>) {
  using T = Rotate;
  return described_as<T>("Rotate", "A rotation of a layer.",
                         member("role", &T::role, "'indexer' belongs to what picks keys (DeepSeek V3.2)."),
                         member("heads", &T::heads), member("scheme", &T::scheme),
                         member("offset", &T::offset, "Added to every coordinate."));
}

// A config's sliding_window w is past w - 1, future 0.
constexpr auto description(Type<Window>) {
  using T = Window;
  return described_as<T>("Window", "Visible iff -future <= i - j <= past, by order in the sequence.",
                         member("past", &T::past), member("future", &T::future));
}

// Window and chunk narrow what `kind` lets a query see.
constexpr auto description(Type<Mask>) {
  using T = Mask;
  return described_as<T>("Mask", "The attention mask: which keys a query attends to.", member("kind", &T::kind),
                         member("window", &T::window),
                         member("chunk", &T::chunk, "Keys of the query's own chunk of so many tokens only."),
                         member("detail", &T::detail, "What 'sparse' and 'prefix' mean here."),
                         member("beyond_window", &T::beyond_window, "Some keys outside the window are seen too."),
                         member("by_blocks", &T::by_blocks, "Which keys are seen depends on where blocks begin."),
                         member("by_indexer", &T::by_indexer, "An indexer picks keys."));
}

constexpr auto description(Type<Mixing>) {
  using T = Mixing;
  return described_as<T>(
      "Mixing", "What a layer makes of other tokens besides what it attends to.",
      member("tokens_before", &T::tokens_before,
             "Keys or values are made of so many tokens before theirs; None: of how many is not said."),
      member("outputs", &T::outputs, "Convolutions follow attention and the MLP too (Inkling)."),
      member("beside", &T::beside, "A recurrent mixer in the same block (Falcon-H1)."));
}

// order: 'after_bias' caps the sum of scores and biases, 'before_bias' the scores alone.
constexpr auto description(Type<SoftCap>) {
  using T = SoftCap;
  return described_as<T>("SoftCap", "z = cap * tanh(y / cap).", member("cap", &T::cap), member("order", &T::order));
}

// The kind and place of a norm. Its weights are not part of a plan: rotate_into_cache and reference.normalise take
// them.
constexpr auto description(Type<QkNorm>) {
  using T = QkNorm;
  return described_as<T>("QkNorm", "Normalisation of queries and keys.", member("kind", &T::kind),
                         member("order", &T::order, "Before or after the rotation."), member("weighted", &T::weighted),
                         member("over", &T::over), member("of", &T::of),
                         member("weighted_queries", &T::weighted_queries,
                                "False: of weighted norms only that of keys has weights (DeepSeek V4)."));
}

// docs/schemes/added.md. attend is given queries and keys that have it.
constexpr auto description(Type<Added>) {
  using T = Added;
  return described_as<T>("Added", "What a layer adds to what its queries, keys, ... are made of, in every layer again.",
                         member("to", &T::to), member("how", &T::how, "'beside' takes channels of its own in a head."),
                         member("gated", &T::gated, "Times numbers made of the hidden states."),
                         member("scheme", &T::scheme));
}

// What attend, prepare_layer and attend_linear are given. head_dim, value_dim: channels of a key, and of a value.
constexpr auto description(Type<LayerPlan>) {
  using T = LayerPlan;
  return described_as<T>(
      "LayerPlan", "Everything that one attention sub-layer does with positions.",
      member("index", &T::index, "Of the block; self and cross attention of one block share it."),
      member("kind", &T::kind),
      member("begins_apart", &T::begins_apart, "Of a state: the token at position 0 enters it otherwise."),
      member("heads", &T::heads), member("kv_heads", &T::kv_heads), member("head_dim", &T::head_dim),
      member("value_dim", &T::value_dim), member("kv_from", &T::kv_from, "Reuses keys and values of that layer."),
      member("compression", &T::compression, "Tokens of a compressed key (DeepSeek V4)."), member("mixing", &T::mixing),
      member("softmax_scale", &T::softmax_scale, "The final factor on q.k: 1 / sqrt(head_dim) of most."),
      member("channel_scale", &T::channel_scale, "A learned factor per channel besides."),
      member("soft_cap", &T::soft_cap), member("sinks", &T::sinks), member("qk_norm", &T::qk_norm),
      member("mask", &T::mask), member("added", &T::added), member("rotate", &T::rotate),
      member("regions", &T::regions, "Of the main rotation."), member("score", &T::score), member("value", &T::value),
      member("query_scale", &T::query_scale));
}

constexpr auto description(Type<Stack>) {
  using T = Stack;
  return described_as<T>("Stack", "The layers of a decoder, an encoder, or a vision or audio tower.",
                         member("name", &T::name), member("input", &T::input), member("layers", &T::layers),
                         member("known", &T::known, "False: `unknown` names what could not be decided."),
                         member("unknown", &T::unknown, "The facts that could not be decided, a phrase each."),
                         member("fed_by", &T::fed_by, "What enters the first layer, where `input` says nothing else."));
}

constexpr auto description(Type<PlanSource>) {
  using T = PlanSource;
  return described_as<T>("PlanSource", "What a plan was read from.", member("kind", &T::kind),
                         member("name", &T::name));
}

// `from` is a keyword of Python, hence from_.
constexpr auto description(Type<ValueSource>) {
  using T = ValueSource;
  return described_as<T>("ValueSource", "Where a value of a plan came from.",
                         member("where", &T::where, "'/stacks/0/layers/0-31/rotate/0/base'"),
                         member("from_", &T::from, "A JSON pointer into the file, or 'default: why'."));
}

// Hides Python's own Warning for whoever imports all names of posenc; there it is no exception.
constexpr auto description(Type<Warning>) {
  using T = Warning;
  return described_as<T>("Warning", "Something odd that does not hinder.",
                         member("code", &T::code, "Stable, kebab case: 'precedence'."), member("message", &T::message),
                         member("keys", &T::keys, "JSON pointers into the file, or GGUF's keys and tensors."));
}

constexpr auto description(Type<Plan>) {
  using T = Plan;
  return described_as<T>(
      "Plan",
      "Everything that a model does with positions, layer by layer, and where each value came from. read_plan makes "
      "plans of model files. Frequencies are not stored: frequencies(rope, length=plan.length) gives them.",
      member("known", &T::known, "False: some fact that positions need could not be decided; a warning names it."),
      member("model_type", &T::model_type), member("family", &T::family), member("source", &T::source),
      member("trained_length", &T::trained_length, "Tokens."),
      member("length", &T::length, "The sequence length that length-dependent rules are read for."),
      member("stacks", &T::stacks), member("sources", &T::sources),
      member("absent_keys", &T::absent_keys, "Asked for and not in the file, so that a default holds."),
      member("ignored_keys", &T::ignored_keys, "Present in the file, not read."), member("warnings", &T::warnings));
}

}  // namespace posenc::python

#include "plan/plan_summary.h"

#include <sstream>
#include <string_view>
#include <variant>

#include "plan/json/plan_names.h"

namespace posenc::test {
namespace {

class Text {
 public:
  template <typename... Parts>
  Text& add(const Parts&... parts) {
    (out_ << ... << parts);
    return *this;
  }
  std::string take() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

std::string_view word(LayerKind kind) {
  switch (kind) {
    case LayerKind::attention: return "";
    case LayerKind::cross_attention: return "cross ";
    case LayerKind::linear_attention: return "linear";
    case LayerKind::state_space: return "state";
    case LayerKind::convolution: return "convolution";
    case LayerKind::deformable_attention: return "deformable";
    case LayerKind::none: return "none";
  }
  return "?";
}

std::string_view word(MaskKind kind) {
  switch (kind) {
    case MaskKind::causal: return "causal";
    case MaskKind::bidirectional: return "both";
    case MaskKind::prefix: return "prefix";
    case MaskKind::sparse: return "sparse";
  }
  return "?";
}

void add_rotation(const Rotate& rotate, Text& text) {
  const Rope& rotated = rope(rotate);
  text.add(rotated.pairing == Pairing::half ? " half " : " interleaved ");
  if (rotated.first_channel != 0) text.add(rotated.first_channel, "+");
  text.add(rotated.dim, " @", rotated.base);
  if (rotated.rotation_direction == RotationDirection::clockwise) text.add(" clockwise");
  if (rotated.axes.names.size() > 1) {
    text.add(" ");
    for (const std::string& axis : rotated.axes.names) text.add(axis);
  }
  if (const auto* ntk = std::get_if<NtkScaling>(&rotated.scaling)) text.add(" ntk", ntk->alpha);
  if (const auto* linear = std::get_if<LinearScaling>(&rotated.scaling)) text.add(" linear", linear->factor);
}

std::string_view word(AddedTo to) {
  switch (to) {
    case AddedTo::queries: return "q";
    case AddedTo::keys: return "k";
    case AddedTo::queries_and_keys: return "qk";
    case AddedTo::keys_and_values: return "kv";
    case AddedTo::hidden_states: return "all";
  }
  return "?";
}

// " +qk:learned100", " +q/beside*:axis_sines" of what is gated.
void add_addition(const Added& added, Text& text) {
  text.add(" +", word(added.to));
  if (added.how != AddedHow::before_projection) text.add("/", name(added.how));
  text.add(added.gated ? "*:" : ":", plan::kind_name(added.scheme));
  if (const auto* table = std::get_if<LearnedInput>(&added.scheme)) text.add(table->positions);
}

void add_score(const ScoreTerm& term, Text& text) {
  if (const auto* t5 = std::get_if<T5Bias>(&term)) {
    text.add(" t5 ", t5->buckets, "/", t5->max_distance);
  } else if (const auto* shaw = std::get_if<ShawKeys>(&term)) {
    text.add(" shaw ", shaw->left, ",", shaw->right);
  } else if (const auto* clipped = std::get_if<ClippedBias>(&term)) {
    text.add(" clipped ", clipped->past, ",", clipped->future);
  } else {
    text.add(" another score");
  }
}

std::string summary(const LayerPlan& layer) {
  Text text;
  text.add(word(layer.kind));
  if (layer.kind != LayerKind::attention && layer.kind != LayerKind::cross_attention) return text.take();
  text.add(layer.heads, "/", layer.kv_heads, "x", layer.head_dim);
  if (layer.value_dim != layer.head_dim) text.add(":", layer.value_dim);
  if (layer.kv_from) text.add(" kv", *layer.kv_from);
  for (const Added& added : layer.added) add_addition(added, text);
  for (const Rotate& rotate : layer.rotate) add_rotation(rotate, text);
  for (const ScoreTerm& term : layer.score) add_score(term, text);
  text.add(" s", layer.softmax_scale);
  if (layer.soft_cap) text.add(" cap", layer.soft_cap->cap);
  if (layer.sinks) text.add(" sinks");
  if (layer.qk_norm) {
    text.add(" ", name(layer.qk_norm->kind));
    if (layer.qk_norm->over == QkNorm::Over::all_heads) text.add("-all");
    if (layer.qk_norm->order == QkNorm::Order::after) text.add("-after");
  }
  if (!std::holds_alternative<std::monostate>(layer.query_scale)) text.add(" query-scale");
  text.add(" ", word(layer.mask.kind));
  if (layer.mask.window) text.add(" w", layer.mask.window->past, ",", layer.mask.window->future);
  if (layer.mask.chunk) text.add(" c", *layer.mask.chunk);
  return text.take();
}

void add_input(const InputScheme& scheme, Text& text) {
  if (const auto* table = std::get_if<LearnedInput>(&scheme)) {
    text.add(" table ", table->positions, "+", table->offset);
    if (table->token_types) text.add(" types", *table->token_types);
    if (table->embedding_multiplier != 1) text.add(" x", table->embedding_multiplier);
  } else if (const auto* sines = std::get_if<SinusoidalInput>(&scheme)) {
    text.add(" sines+", sines->offset);
    if (sines->embedding_multiplier != 1) text.add(" x", sines->embedding_multiplier);
  } else {
    text.add(" another input");
  }
  text.add(";");
}

}  // namespace

std::string summary(const Stack& stack) {
  Text text;
  text.add(stack.name, ":");
  for (const InputScheme& scheme : stack.input) add_input(scheme, text);
  for (std::size_t first = 0; first < stack.layers.size();) {
    const std::string layer = summary(stack.layers[first]);
    std::size_t last = first;
    while (last + 1 < stack.layers.size() && summary(stack.layers[last + 1]) == layer) ++last;
    text.add(first > 0 ? "; " : " ", first);
    if (last > first) text.add("-", last);
    text.add(" ", layer);
    first = last + 1;
  }
  return text.take();
}

std::string summary(const Plan& plan) {
  std::string text;
  for (const Stack& stack : plan.stacks) text += (text.empty() ? "" : " | ") + summary(stack);
  return text;
}

}  // namespace posenc::test

// rope,base=B,dim=D, or the RoPE of a model's layer with its trained length.
#include "plot/rope_choice.h"

#include <variant>

#include "inspect/layer_choice.h"
#include "inspect/rope_lengths.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/text.h"
#include "plot/numbers.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostChannels = 4096;

// All channels of a head, half-split: no frequency depends on the pairing.
Rope rope_said(const SchemeWord& word) {
  if (word.name != "rope") unknown_scheme(word, {"rope"});
  check_numbers(word, {"base", "dim"});
  const Numbers n(word);
  const std::int64_t dim = n.whole("dim", 128, 2, kMostChannels);
  return {.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = n.real("base", 10000.0)};
}

LayerWords layer_words(const ModelWords& words) { return {words.stack, words.layer, words.rotation}; }

RopeChoice of_layer(const Plan& plan, const LayerChoice& choice, const RopeWords& words) {
  const Rope& chosen = rope(*choice.rotate);
  const bool plain = std::holds_alternative<std::monostate>(chosen.scaling);
  const std::string numbers =
      formatted("base {}{}", number(chosen.base), plain ? "" : ", " + short_rule(chosen.scaling));
  const std::string model = printable(plan.source.name);
  const std::string layers = layer_name(choice, layer_words(*words.model));
  return {.rope = chosen,
          .trained = plan.trained_length,
          .served = served_length(chosen, plan.trained_length),
          .length = shown_length(chosen, words.length, plan.trained_length),
          .detail = formatted("{}, {}: {}", model, layers, numbers),
          .numbers = numbers,
          .model = model,
          .layers = layers};
}

}  // namespace

RopeChoice choose_rope(const RopeWords& words) {
  // Where no layer was asked for, the first that has RoPE, even if others rotate otherwise (Gemma 3).
  if (words.model) {
    const Plan plan = plan_of(words.model->model, {});
    return of_layer(plan, choose_layer(plan, layer_words(*words.model), WhenLayersDiffer::take_the_first), words);
  }
  Rope rope = read_scheme({"--scheme", words.scheme}, rope_said);
  const std::string detail = formatted("base {}, {} channels", number(rope.base), rope.dim);
  return {.rope = std::move(rope),
          .trained = words.trained,
          .served = words.trained,
          .length = words.length,
          .detail = detail,
          .numbers = detail};
}

std::vector<RopeChoice> choose_ropes(const RopeWords& words) {
  if (!words.model) return {choose_rope(words)};
  const Plan plan = plan_of(words.model->model, {});
  std::vector<RopeChoice> out;
  for (const LayerChoice& kind : choose_kinds(plan, layer_words(*words.model)))
    out.push_back(of_layer(plan, kind, words));
  return out;
}

std::string detail_at_length(const RopeChoice& choice) {
  const std::string holds = length_text(choice.rope, choice.length);
  return holds.empty() ? choice.detail : choice.detail + ", " + holds;
}

}  // namespace posenc::tool

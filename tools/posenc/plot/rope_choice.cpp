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

Rope rope_of(const SchemeWord& word) {
  if (word.name != "rope") unknown_scheme(word, {"rope"});
  check_numbers(word, {"base", "dim"});
  const Numbers n(word);
  const std::int64_t dim = n.whole("dim", 128, 2, kMostChannels);
  return {.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = n.real("base", 10000.0)};
}

RopeChoice of_model(const ModelWords& words, std::optional<std::int64_t> length) {
  const Plan plan = plan_of(words.model, {});
  const LayerWords layer{words.stack, words.layer, words.rotation};
  const LayerChoice choice = choose_layer(plan, layer, WhenLayersDiffer::take_the_first);
  const Rope& chosen = rope(*choice.rotate);
  const bool plain = std::holds_alternative<std::monostate>(chosen.scaling);
  return {.rope = chosen,
          .trained = plan.trained_length,
          .length = shown_length(chosen, length, plan.trained_length),
          .detail = formatted("{}, {}: base {}{}", printable(plan.source.name), layer_name(choice, layer),
                              number(chosen.base), plain ? "" : ", " + short_rule(chosen.scaling))};
}

}  // namespace

RopeChoice choose_rope(const RopeWords& words) {
  if (words.model) return of_model(*words.model, words.length);
  Rope rope = read_scheme({"--scheme", words.scheme}, rope_of);
  const std::string detail = formatted("base {}, {} channels", number(rope.base), rope.dim);
  return {.rope = std::move(rope), .trained = words.trained, .length = words.length, .detail = detail};
}

std::string detail_at_length(const RopeChoice& choice) {
  const std::string holds = length_text(choice.rope, choice.length);
  return holds.empty() ? choice.detail : choice.detail + ", " + holds;
}

}  // namespace posenc::tool

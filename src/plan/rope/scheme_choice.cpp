// Whether a stack has RoPE, ALiBi, a learned table, relative terms or nothing, where its family leaves it to configs.
#include "plan/rope/scheme_choice.h"

#include <string_view>
#include <utility>

namespace posenc::plan {
namespace {

std::string known_words(const RelativeTypes& types) {
  std::string words;
  if (types.relative) words += "\"relative\", ";
  if (types.relative_key) words += "\"relative_key\", ";
  if (types.rotary) words += "\"rotary\", ";
  return words + "or null";
}

// ---- an unknown family ----

constexpr std::string_view kDictionaries[] = {"rope_parameters", "rope_scaling"};

// Where a base is given: beside the dictionaries or in one of them.
std::optional<Place> base_of(ConfigScope& scope) {
  if (auto place = scope.peek(keys::kBase)) return place;
  for (std::string_view name : kDictionaries) {
    const auto dictionary = scope.reader().look(scope.object(), name);
    if (!dictionary || dictionary->value.kind() != io::JsonKind::object) continue;
    if (auto place = scope.reader().look(dictionary->value, keys::kBase.name())) return place;
  }
  return {};
}

}  // namespace

SchemeChoice choose_rotation(std::string from) { return {.rotates = true, .from = std::move(from)}; }

SchemeChoice choose_table(std::int64_t positions, std::string from) {
  return {.table = LearnedInput{.positions = positions}, .from = std::move(from)};
}

Sourced<double> read_max_bias(ConfigScope& scope) {
  constexpr double kPaperBias = 8.0;  // slopes 2^(-8 k / heads): ALiBi, section 3
  const Setting<double> given = scope.number(keys::kMaxBias);
  if (given.value && *given.value <= 0) scope.fail(keys::kMaxBias, ErrorKind::out_of_range, "a number above 0");
  return given_or(given, {kPaperBias, family_default(scope.family())});
}

SchemeChoice choose_alibi(ConfigScope& scope, std::int64_t heads, std::string from) {
  return {.alibi = Alibi{.heads = heads, .max_bias = read_max_bias(scope).value}, .from = std::move(from)};
}

SchemeChoice scheme_by_type(ConfigScope& scope, const SchemeFacts&) {
  const auto type = scope.find(keys::kPositionType);
  if (!type) return {.from = family_default(scope.family())};
  const auto name = scope.reader().string(*type);
  if (name == "rope" || name == "rotary") return choose_rotation(type->from);
  return {.from = type->from};
}

SchemeChoice rotation_of_layers(ConfigScope& scope, const SchemeFacts&) {
  if (!scope.peek(keys::kLayerConfig)) scope.fail_missing(keys::kLayerConfig);
  return choose_rotation(family_default(scope.family()));
}

SchemeChoice relative_scheme(ConfigScope& scope, const SchemeFacts&) {
  const RelativeTypes& types = scope.stack().types;
  if (types == RelativeTypes{}) return {.from = family_default(scope.family())};
  const auto place = scope.find(keys::kRelativeType);
  if (!place) return {.relative = ScoreKind::none, .from = "default: not given"};
  if (place->value.is_null()) return {.relative = ScoreKind::none, .from = place->from};
  const auto word = scope.reader().string(*place);
  if (types.rotary && word == "rotary") return {.rotates = true, .relative = ScoreKind::none, .from = place->from};
  if (types.relative && word == "relative") return {.relative = ScoreKind::transformer_xl, .from = place->from};
  if (types.relative_key && word == "relative_key") return {.relative = ScoreKind::shaw, .from = place->from};
  scope.reader().fail(*place, ErrorKind::out_of_range, known_words(types));
  return {};
}

SchemeChoice scheme_by_keys(ConfigScope& scope, const SchemeFacts& facts) {
  if (const auto base = base_of(scope)) return choose_rotation(base->from);
  const auto length = scope.peek(keys::kLength);
  if (length && length->value.key() == "n_positions") return choose_table(facts.trained_length, length->from);
  const auto type = scope.peek(keys::kPositionType);
  const bool absolute = type && scope.reader().string(*type) == "absolute";
  if (!absolute || facts.trained_length == 0) {
    scope.reader().leave_open("no key of the file speaks of a rotation, a table or ALiBi");
    return {.from = "default: no key of the file speaks of a scheme"};
  }
  scope.reader().mark_read(*type);
  return choose_table(facts.trained_length, type->from);
}

SchemeChoice read_scheme(ConfigScope& scope, std::int64_t heads, std::int64_t trained_length) {
  const Family& family = scope.family();
  return family.scheme != nullptr ? family.scheme(scope, {heads, trained_length})
                                  : choose_rotation(family_default(family));
}

void let_rest(LayerPattern& pattern, const std::string& from) {
  for (LayerTraits& layer : pattern.layers) layer.rotates = false;
  pattern.rotary_from = from;
}

}  // namespace posenc::plan

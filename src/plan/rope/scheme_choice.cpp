#include "plan/rope/scheme_choice.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "base/formatted.h"

namespace posenc::plan {
namespace {

// Baichuan's two sizes: its 7B turns (Llama's shape), its 13B has ALiBi.
constexpr std::int64_t kTurningWidth = 4096;
constexpr std::int64_t kAlibiWidth = 5120;

SchemeChoice rotation(std::string from) { return {.rotates = true, .from = std::move(from)}; }
SchemeChoice unknown(std::string from) { return {.from = std::move(from), .known = false}; }
SchemeChoice learned(std::int64_t positions, std::string from) {
  return {.table = LearnedInput{.positions = positions}, .from = std::move(from)};
}

// A number above 0 under alibi_bias_max, else 8, the paper's.
SchemeChoice alibi(ConfigScope& scope, std::int64_t heads, std::string from) {
  const Setting<double> given = scope.number(keys::kMaxBias);
  const double max_bias = given.value.value_or(8.0);
  if (const auto place = scope.peek(keys::kMaxBias); place && max_bias <= 0) {
    scope.reader().fail(*place, ErrorKind::out_of_range, "a number above 0");
  }
  return {.alibi = Alibi{.heads = heads, .max_bias = max_bias}, .from = std::move(from)};
}

SchemeChoice falcon_scheme(ConfigScope& scope, std::int64_t heads) {
  const Setting<bool> biased = scope.flag(keys::kAlibi);
  if (!biased.value.value_or(false)) {
    return rotation(biased.from.empty() ? family_default(scope.family()) : biased.from);
  }
  // build_alibi_tensor: bfloat16 in every model, and the product with an integer is taken in bfloat16 too.
  SchemeChoice choice = alibi(scope, heads, biased.from);
  choice.alibi->scaled = true;
  choice.alibi->form = AlibiForm::column_bfloat16;
  return choice;
}

SchemeChoice granite_scheme(ConfigScope& scope) {
  const auto type = scope.find(keys::kPositionType);
  if (!type) return {.from = family_default(scope.family())};
  const auto name = scope.reader().string(*type);
  if (name == "rope" || name == "rotary") return rotation(type->from);
  return {.from = type->from};
}

SchemeChoice flagged_scheme(ConfigScope& scope) {
  const Setting<bool> turns = scope.flag(keys::kMemoryRope);
  if (turns.value.value_or(false)) return rotation(turns.from);
  return {.from = turns.from.empty() ? family_default(scope.family()) : turns.from};
}

SchemeChoice based_scheme(ConfigScope& scope) {
  const auto dictionary = scope.reader().look(scope.object(), keys::kRopeParameters.name());
  if (!dictionary || dictionary->value.kind() != io::JsonKind::object) return rotation(family_default(scope.family()));
  const auto base = scope.reader().look(dictionary->value, keys::kBase.name());
  if (!base || !base->value.is_null()) return rotation(family_default(scope.family()));
  scope.reader().enter(dictionary->value);
  scope.reader().mark_read(*base);
  return {.from = base->from};
}

// olmo/model.py: blocks turn where rope is true, alibi adds its bias, and with neither the model has a table wpe.
SchemeChoice olmo_scheme(ConfigScope& scope, std::int64_t heads, std::int64_t trained_length) {
  const Setting<bool> rope = scope.flag(keys::kRopeFlag);
  const Setting<bool> biased = scope.flag(keys::kAlibi);
  if (rope.value.value_or(false)) return rotation(rope.from);
  if (biased.value.value_or(false)) {
    SchemeChoice choice = alibi(scope, heads, biased.from);
    // alibi_attention_bias: one ladder whatever the number of heads, which for a power of two is the paper's.
    choice.alibi->geometric_slopes = !std::has_single_bit(static_cast<std::uint64_t>(heads));
    return choice;
  }
  return learned(trained_length, rope.from);
}

SchemeChoice baichuan_scheme(ConfigScope& scope, std::int64_t heads) {
  const Sourced<std::int64_t> width = scope.required_integer(keys::kHidden, {1, kMaxHiddenSize});
  if (width.value == kTurningWidth) return rotation(width.from);
  if (width.value == kAlibiWidth) return alibi(scope, heads, width.from);
  scope.reader().warn("undecided",
                      formatted("{} is {}: models of {} channels turn, those of {} have ALiBi, and this "
                                "is neither.",
                                width.from, width.value, kTurningWidth, kAlibiWidth),
                      {width.from});
  return unknown(width.from);
}

// transformers 4 also had relative_key and relative_key_query here; its version 5 does without.
SchemeChoice esm_scheme(ConfigScope& scope) {
  const auto place = scope.find(keys::kPositionType);
  if (!place) return {.from = family_default(scope.family())};
  const auto type = scope.reader().string(*place);
  if (type && type != "rotary" && type != "absolute") {
    scope.reader().fail(*place, ErrorKind::out_of_range, "\"rotary\" or \"absolute\"");
  }
  return {.rotates = type == "rotary", .input = type != "rotary", .from = place->from};
}

SchemeChoice nomic_scheme(ConfigScope& scope) {
  const auto place = scope.peek(keys::kPartialFactor);
  if (!place) return {.rotates = true, .input = false, .from = family_default(scope.family())};
  if (scope.reader().number(*place) != 0.0) return {.rotates = true, .input = false, .from = place->from};
  scope.reader().mark_read(*place);
  return {.from = place->from};
}

// llm-foundry's gen_rotary_embedding: both codes pair halves of the whole head; what else they can do is not read.
bool is_plain_rope(ConfigScope& scope) {
  const auto code = scope.find(keys::kRopeCode);
  const std::string name = code ? std::string(scope.reader().string(*code).value_or("dail")) : "dail";
  if (name != "dail" && name != "hf") {
    scope.reader().fail(*code, ErrorKind::out_of_range, "\"dail\" or \"hf\"");
    return false;
  }
  const auto dictionary = scope.find(name == "hf" ? keys::kHfRules : keys::kDailRope);
  const auto type = dictionary && dictionary->value.kind() == io::JsonKind::object
                        ? scope.reader().look(dictionary->value, "type")
                        : std::nullopt;
  if (!type) return true;
  const auto variant = scope.reader().string(*type);
  if (variant == (name == "hf" ? "no_scaling" : "original")) return true;
  scope.reader().warn("undecided",
                      formatted("{} is {}: how that variant turns is not read.", type->from, variant.value_or("")),
                      {type->from});
  return false;
}

// Where the model turns, its code drops the learned table, and has ALiBi too only if the file says so: the default,
// true, is that of the class in transformers, which does not know `rope`.
SchemeChoice mpt_scheme(ConfigScope& scope) {
  const Setting<bool> turns = scope.flag(keys::kRopeFlag);
  const auto alibi_place = scope.peek(keys::kAlibi);
  const Setting<bool> biased = scope.flag(keys::kAlibi);
  if (turns.value.value_or(false)) {
    const bool both = alibi_place && alibi_place->in_file && biased.value.value_or(false);
    return {.rotates = true, .input = false, .score = both, .from = turns.from, .known = is_plain_rope(scope)};
  }
  const bool on = biased.value.value_or(false);
  return {.input = !on, .score = on, .from = biased.from};
}

std::string known_words(const RelativeTypes& types) {
  std::string words;
  if (types.relative) words += "\"relative\", ";
  if (types.relative_key) words += "\"relative_key\", ";
  if (types.rotary) words += "\"rotary\", ";
  return words + "or null";
}

SchemeChoice relative_scheme(ConfigScope& scope) {
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

// General rules of the plan's contract: a base means rotation; n_positions or the type "absolute" a table.
SchemeChoice scheme_by_keys(ConfigScope& scope, std::int64_t trained_length) {
  if (const auto base = base_of(scope)) return rotation(base->from);
  const auto length = scope.peek(keys::kLength);
  if (length && length->value.key() == "n_positions") return learned(trained_length, length->from);
  const auto type = scope.peek(keys::kPositionType);
  const bool absolute = type && scope.reader().string(*type) == "absolute";
  if (!absolute || trained_length == 0) return unknown("default: no key of the file speaks of a scheme");
  scope.reader().mark_read(*type);
  return learned(trained_length, type->from);
}

}  // namespace

SchemeChoice read_scheme(ConfigScope& scope, std::int64_t heads, std::int64_t trained_length) {
  switch (scope.family().scheme) {
    case Scheme::rotation: break;
    case Scheme::rotation_or_alibi: return falcon_scheme(scope, heads);
    case Scheme::rotation_by_type: return granite_scheme(scope);
    case Scheme::rotation_by_base: return based_scheme(scope);
    case Scheme::rotation_by_flag: return flagged_scheme(scope);
    case Scheme::by_flags: return olmo_scheme(scope, heads, trained_length);
    case Scheme::by_width: return baichuan_scheme(scope, heads);
    case Scheme::by_keys: return scheme_by_keys(scope, trained_length);
    case Scheme::learned: return learned(trained_length, family_default(scope.family()));
    case Scheme::rotation_or_input: return esm_scheme(scope);
    case Scheme::rotation_or_none: return nomic_scheme(scope);
    case Scheme::mpt: return mpt_scheme(scope);
    case Scheme::relative_type: return relative_scheme(scope);
  }
  return rotation(family_default(scope.family()));
}

void let_rest(LayerPattern& pattern, const std::string& from) {
  for (LayerTraits& layer : pattern.layers) layer.turns = false;
  pattern.turning_from = from;
}

}  // namespace posenc::plan

#include "plan/position_scheme.h"

namespace posenc::plan {
namespace {

// transformers 4 also had relative_key and relative_key_query here; its version 5 does without.
PositionScheme by_embedding_type(ConfigScope& scope) {
  const auto place = scope.find(keys::kPositionType);
  if (!place) return {.turns = false, .input = true, .score = false, .from = family_default(scope.family())};
  const auto type = scope.reader().string(*place);
  const bool rotary = type == "rotary";
  if (type && !rotary && type != "absolute") {
    scope.reader().fail(*place, ErrorKind::out_of_range, "\"rotary\" or \"absolute\"");
  }
  return {.turns = rotary, .input = !rotary, .score = false, .from = place->from};
}

PositionScheme by_fraction(ConfigScope& scope) {
  const auto place = scope.peek(keys::kPartialFactor);
  const bool rotary = !place || scope.reader().number(*place).value_or(1) != 0;
  if (place && !rotary) scope.reader().mark_read(*place);
  return {.turns = rotary, .input = !rotary, .score = false, .from = place ? place->from : std::string()};
}

PositionScheme by_alibi(ConfigScope& scope) {
  const Setting<bool> alibi = scope.flag(keys::kAlibi);
  const bool on = alibi.value.value_or(false);
  return {.turns = false, .input = !on, .score = on, .from = alibi.from};
}

}  // namespace

PositionScheme read_position_scheme(ConfigScope& scope) {
  switch (scope.family().choice) {
    case SchemeChoice::none: break;
    case SchemeChoice::embedding_type: return by_embedding_type(scope);
    case SchemeChoice::rotary_fraction: return by_fraction(scope);
    case SchemeChoice::alibi_flag: return by_alibi(scope);
  }
  return {.from = family_default(scope.family())};
}

}  // namespace posenc::plan

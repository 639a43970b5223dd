#include "plan/layer_scores.h"

#include <cmath>

namespace posenc::plan {
namespace {

// The one key that the scale is 1/sqrt of, or the scale itself.
Sourced<double> key_above_zero(ConfigScope& scope, const Key& key) {
  const Sourced<double> value = scope.required_number(key);
  if (const auto place = scope.peek(key); place && value.value <= 0) {
    scope.reader().fail(*place, ErrorKind::out_of_range, "a number above 0");
  }
  return value;
}

Sourced<double> read_scale(ConfigScope& scope, const AttentionShape& shape) {
  switch (scope.family().scale) {
    case Scale::query_scalar: {
      const Sourced<double> scalar = key_above_zero(scope, keys::kQueryScalar);
      return {1 / std::sqrt(scalar.value), scalar.from};
    }
    case Scale::multiplier: return key_above_zero(scope, keys::kAttentionMultiplier);
    case Scale::head_dim: break;
  }
  return {1 / std::sqrt(static_cast<double>(shape.head_dim.value)), "default: 1 / sqrt(head_dim)"};
}

void read_qk_norm(ConfigScope& scope, LayerScores& scores) {
  const auto& rule = scope.family().qk_norm;
  scores.qk_norm_from = family_default(scope.family());
  if (!rule) return;
  if (!rule->switch_key.empty()) {
    const std::string_view names[] = {rule->switch_key};
    const Setting<bool> on = scope.flag(Key{names, {}});
    scores.qk_norm_from = on.from;
    if (!on.value || !*on.value) return;
  }
  scores.qk_norm = rule->norm;
}

// Old Llama 4 files write a number for true.
bool is_on(ConfigScope& scope, const Key& key, std::string& from) {
  const auto place = scope.find(key);
  if (!place) return false;
  from = place->from;
  if (place->value.kind() == io::JsonKind::number) return scope.reader().number(*place).value_or(0) != 0;
  return scope.reader().boolean(*place).value_or(false);
}

void read_resting_scale(ConfigScope& scope, LayerScores& scores) {
  scores.resting_scale_from = family_default(scope.family());
  if (!scope.family().temperature || !is_on(scope, keys::kTemperature, scores.resting_scale_from)) return;
  const Sourced<double> scale = scope.required_number(keys::kTemperatureScale);
  const Sourced<double> floor = key_above_zero(scope, keys::kTemperatureFloor);
  scores.resting_scale = Llama4Temperature{.attn_scale = scale.value, .floor_scale = floor.value};
}

}  // namespace

LayerScores read_layer_scores(ConfigScope& scope, const AttentionShape& shape) {
  LayerScores scores;
  scores.scale = read_scale(scope, shape);
  scores.soft_cap.from = family_default(scope.family());
  if (scope.family().soft_cap) {
    scores.soft_cap = scope.number(keys::kSoftCap);
    if (const auto place = scope.peek(keys::kSoftCap); place && scores.soft_cap.value && *scores.soft_cap.value <= 0) {
      scope.reader().fail(*place, ErrorKind::out_of_range, "a number above 0, or null");
    }
  }
  read_qk_norm(scope, scores);
  read_resting_scale(scope, scores);
  return scores;
}

}  // namespace posenc::plan

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

Sourced<double> query_scalar_scale(ConfigScope& scope) {
  const Sourced<double> scalar = key_above_zero(scope, keys::kQueryScalar);
  return {1 / std::sqrt(scalar.value), scalar.from};
}

Sourced<double> read_scale(ConfigScope& scope, const AttentionShape& shape) {
  switch (scope.family().scale) {
    case Scale::query_scalar: return query_scalar_scale(scope);
    case Scale::multiplier: return key_above_zero(scope, keys::kAttentionMultiplier);
    case Scale::one: return {1.0, family_default(scope.family())};
    case Scale::multiplier_or_dim:
      if (scope.peek(keys::kAttentionMultiplier)) return key_above_zero(scope, keys::kAttentionMultiplier);
      break;
    case Scale::scalar_or_dim:
      if (scope.peek(keys::kQueryScalar)) return query_scalar_scale(scope);
      break;
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
  if (rule->before_key.empty()) return;
  const std::string_view names[] = {rule->before_key};
  const Setting<bool> before = scope.flag(Key{.names = names, .about = {}});
  scores.qk_norm->order = before.value.value_or(false) ? QkNorm::Order::before : QkNorm::Order::after;
}

}  // namespace

LayerScores read_layer_scores(ConfigScope& scope, const std::vector<AttentionShape>& shapes) {
  LayerScores scores;
  for (const AttentionShape& shape : shapes) scores.scales.push_back(read_scale(scope, shape));
  scores.soft_cap.from = family_default(scope.family());
  if (scope.family().soft_cap) {
    scores.soft_cap = scope.number(keys::kSoftCap);
    if (const auto place = scope.peek(keys::kSoftCap); place && scores.soft_cap.value && *scores.soft_cap.value <= 0) {
      scope.reader().fail(*place, ErrorKind::out_of_range, "a number above 0, or null");
    }
  }
  read_qk_norm(scope, scores);
  return scores;
}

}  // namespace posenc::plan

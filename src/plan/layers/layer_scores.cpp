// Softmax scale, softcap and QK norm of a stack. Which layers have the norm, and sinks: text_layer.cpp.
#include <cmath>
#include <cstdint>
#include <utility>

#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

double over_root(std::int64_t channels) { return 1 / std::sqrt(static_cast<double>(channels)); }

Sourced<double> by_width(const AttentionShape& shape) {
  return {over_root(shape.head_dim.value), "default: 1 / sqrt(head_dim)"};
}

Sourced<double> by_scalar(ConfigScope& scope) {
  const Sourced<double> scalar = scope.required_positive(keys::kQueryScalar);
  return {1 / std::sqrt(scalar.value), scalar.from};
}

void read_qk_norm(ConfigScope& scope, LayerScores& scores) {
  const auto& rule = scope.family().qk_norm;
  scores.qk_norm_from = family_default(scope.family());
  if (!rule) return;
  if (!rule->switch_key.empty()) {
    const Setting<bool> on = scope.flag(Key{Names(rule->switch_key), {}});
    scores.qk_norm_from = on.from;
    if (!on.value || !*on.value) return;
  }
  scores.qk_norm = rule->norm;
  if (rule->before_key.empty()) return;
  const Setting<bool> before = scope.flag(Key{.names = Names(rule->before_key), .about = {}});
  scores.qk_norm->order = before.value.value_or(false) ? QkNorm::Order::before : QkNorm::Order::after;
}

// The factor on q.k: 1/sqrt(head_dim), or what a family has in its place. `parts`: terms that share the scale
// (DeBERTa: 1/sqrt(head_dim * parts)).
Sourced<double> read_softmax_scale(ConfigScope& scope, const AttentionShape& shape,
                                   const Sourced<std::int64_t>& parts) {
  const Family& family = scope.family();
  if (family.softmax_scale != nullptr) {
    if (auto own = family.softmax_scale(scope, shape)) return *std::move(own);
  }
  switch (family.scale) {
    case Scale::head_dim: break;
    case Scale::one: return {1.0, family_default(scope.family())};
    case Scale::query_scalar: return by_scalar(scope);
    case Scale::scalar_or_dim: return scope.peek(keys::kQueryScalar) ? by_scalar(scope) : by_width(shape);
    case Scale::multiplier: return scope.required_positive(keys::kAttentionMultiplier);
    case Scale::multiplier_or_dim:
      return scope.peek(keys::kAttentionMultiplier) ? scope.required_positive(keys::kAttentionMultiplier)
                                                    : by_width(shape);
    case Scale::half_head_dim:
      return {std::sqrt(2.0) * over_root(shape.head_dim.value), "default: 1 / sqrt(head_dim / 2)"};
    case Scale::switched: {
      const Setting<bool> scaled = scope.flag(keys::kScaleScores);
      if (!scaled.value.value_or(true)) return {1.0, scaled.from};
      break;
    }
    case Scale::shared_by_parts: {
      const std::string from = parts.from.empty() ? "default: 1 / sqrt(head_dim)" : parts.from;
      return {over_root(shape.head_dim.value * parts.value), from};
    }
  }
  return by_width(shape);
}

}  // namespace

LayerScores read_layer_scores(ConfigScope& scope, const std::vector<AttentionShape>& shapes,
                              const Sourced<std::int64_t>& parts) {
  LayerScores scores;
  for (const AttentionShape& shape : shapes) scores.scales.push_back(read_softmax_scale(scope, shape, parts));
  scores.soft_cap.from = family_default(scope.family());
  if (scope.family().soft_cap) {
    scores.soft_cap = scope.number(keys::kSoftCap);
    if (scores.soft_cap.value && *scores.soft_cap.value <= 0) {
      scope.fail(keys::kSoftCap, ErrorKind::out_of_range, "a number above 0, or null");
    }
  }
  read_qk_norm(scope, scores);
  return scores;
}

Sourced<bool> read_division_by_layer(ConfigScope& scope) {
  if (scope.family().scale != Scale::switched) return {false, {}};
  const Setting<bool> divided = scope.flag(keys::kScaleByLayer);
  return {divided.value.value_or(false), divided.from};
}

}  // namespace posenc::plan

#include "plan/rope/logit_scale.h"

#include <cmath>
#include <utility>

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

}  // namespace

Sourced<double> read_logit_scale(ConfigScope& scope, const AttentionShape& shape, const Sourced<std::int64_t>& parts) {
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

Sourced<bool> read_division_by_layer(ConfigScope& scope) {
  if (scope.family().scale != Scale::switched) return {false, {}};
  const Setting<bool> divided = scope.flag(keys::kScaleByLayer);
  return {divided.value.value_or(false), divided.from};
}

}  // namespace posenc::plan

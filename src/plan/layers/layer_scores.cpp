#include "plan/layers/layer_scores.h"

#include "plan/rope/softmax_scale.h"

namespace posenc::plan {
namespace {

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

LayerScores read_layer_scores(ConfigScope& scope, const std::vector<AttentionShape>& shapes,
                              const Sourced<std::int64_t>& parts) {
  LayerScores scores;
  for (const AttentionShape& shape : shapes) scores.scales.push_back(read_softmax_scale(scope, shape, parts));
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

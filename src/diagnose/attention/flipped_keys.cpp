#include "diagnose/attention/flipped_keys.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "diagnose/attention/measured_mask.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr std::size_t kFewOf = 4;  // a quarter of all queries

// What is left of a head's row of the output, by [key], with that key shown or hidden other than the plan does; added.
void add_rests(const DumpedAttention& dumped, const AttentionTried& plan, const Scores& scores, std::size_t h,
               std::size_t i, std::vector<double>& rests) {
  const double* const z = scores.data() + dumped.at(h, i, 0);
  const char* const seen = plan.seen->data() + i * dumped.keys;
  const double* const out = dumped.out.data() + (i * dumped.heads + h) * dumped.value_dim;
  const std::size_t of = kv_head_of(plan.v_of, dumped, h);
  const auto values = [&](std::size_t j) { return plan.v->data() + (j * dumped.kv_heads + of) * dumped.value_dim; };
  double largest = *std::max_element(z, z + dumped.keys);
  if (!plan.sinks.empty()) largest = std::max(largest, plan.sinks[h]);
  double sum = plan.sinks.empty() ? 0.0 : std::exp(plan.sinks[h] - largest);
  std::vector<double> sums(dumped.value_dim, 0.0);
  std::vector<double> weights(dumped.keys);
  for (std::size_t j = 0; j < dumped.keys; ++j) {
    weights[j] = std::exp(z[j] - largest);
    if (seen[j] == 0) continue;
    sum += weights[j];
    for (std::size_t c = 0; c < dumped.value_dim; ++c) sums[c] += weights[j] * values(j)[c];
  }
  for (std::size_t j = 0; j < dumped.keys; ++j) {
    const double weight = seen[j] != 0 ? -weights[j] : weights[j];
    const double total = sum + weight;
    if (!(total > 0)) {
      rests[j] = std::numeric_limits<double>::infinity();
      continue;
    }
    for (std::size_t c = 0; c < dumped.value_dim; ++c) {
      const double d = out[c] - (sums[c] + weight * values(j)[c]) / total;
      rests[j] += d * d;
    }
  }
}

}  // namespace

std::vector<AttentionTried> flipped_keys(const StageJudge& judge, const Mask& mask, const DumpedAttention& dumped,
                                         const Stage& stage, const AttentionTried& plan) {
  if (stage.stage != AttentionStage::out || stage.before == AttentionStage::weights || dumped.masked) return {};
  const Left of_plan = judge.left(stage, plan);
  const auto failing = static_cast<std::size_t>(std::ranges::count(of_plan.rows, 1));
  if (failing == 0 || kFewOf * failing > dumped.queries) return {};
  const Scores scores = stage.before ? dumped.scores : predicted_scores(plan);
  Seen seen = *plan.seen;
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    if (of_plan.rows[i] == 0) continue;
    std::vector<double> rests(dumped.keys, 0.0);
    for (std::size_t h = 0; h < dumped.heads; ++h) add_rests(dumped, plan, scores, h, i, rests);
    const auto key = static_cast<std::size_t>(std::ranges::min_element(rests) - rests.begin());
    char& flipped = seen[i * dumped.keys + key];
    flipped = flipped == 0 ? 1 : 0;
  }
  std::vector<AttentionTried> out;
  for (Change& change : mask_words(mask, dumped, *plan.seen, seen)) {
    AttentionTried tried = plan;
    tried.seen = kept(seen);
    tried.of_mask = true;
    tried.fitted = failing;
    tried = changed(std::move(tried), std::move(change), AttentionStage::weights);
    const Left left = judge.left(stage, tried);
    if (left.holds() && std::ranges::count(left.rows, 1) == 0 && judge.unlikely(stage, tried, left).nowhere()) {
      out.push_back(std::move(tried));
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

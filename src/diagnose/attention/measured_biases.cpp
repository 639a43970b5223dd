#include "diagnose/attention/measured_biases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/few_queries.h"
#include "diagnose/attention/tried_biases.h"

namespace posenc::inline v0_2::port {
namespace {

// Of each head every head's bias is tried on so many queries: with 32 heads, 512 keys and 128 channels 0.2 s.
constexpr std::size_t kQueriesTried = 2;
constexpr std::size_t kListed = 12;

template <typename Numbers>
std::string list_words(const Numbers& numbers) {
  const std::size_t count = std::min(numbers.size(), kListed);
  const std::vector<typename Numbers::value_type> few(numbers.begin(),
                                                      numbers.begin() + static_cast<std::ptrdiff_t>(count));
  return formatted("{}{}", joined(few, ", "), count < numbers.size() ? ", ..." : "");
}

AttentionTried with_bias(const AttentionTried& plan, Scores bias, std::size_t fitted, Change change) {
  AttentionTried out = plan;
  out.bias = kept(std::move(bias));
  out.fitted = fitted;
  return changed(std::move(out), std::move(change));
}

// ---- heads ----

std::optional<AttentionTried> other_heads(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                          const Stage& stage, const AttentionTried& plan, PortFact fact) {
  if (dumped.heads < 2) return {};
  const Few few = few_queries(dumped, plan, kQueriesTried);
  const StageJudge judge(few.dumped, args.layer->softmax_scale);
  std::vector<std::size_t> found(dumped.heads, 0);
  std::vector<double> least(dumped.heads, std::numeric_limits<double>::infinity());
  for (std::size_t g = 0; g < dumped.heads; ++g) {
    AttentionTried tried = few.plan;
    tried.bias = kept(bias_of_heads(*few.plan.bias, few.dumped, [g](std::size_t) { return g; }));
    const Left left = judge.left(stage, tried);
    for (std::size_t h = 0; h < dumped.heads; ++h) {
      double rest = 0.0;
      for (std::size_t i = 0; i < few.dumped.queries; ++i) rest += left.rests[h * few.dumped.queries + i];
      if (rest >= least[h]) continue;
      least[h] = rest;
      found[h] = g;
    }
  }
  std::vector<std::size_t> own(dumped.heads);
  for (std::size_t h = 0; h < own.size(); ++h) own[h] = h;
  if (found == own) return {};
  return with_bias(plan, bias_of_heads(*plan.bias, dumped, [&](std::size_t h) { return found[h]; }), 0,
                   {fact, formatted("heads 0, 1, ..: those of {}", list_words(found)), "each head its own",
                    "head h has the h-th slope or column"});
}

// ---- distances ----

// Scores beside the content, but for what all of a query have in common, of which the first row of cells is 0. Of a
// stage that holds scores or weights, and of layers without a cap.
struct Beside {
  std::map<std::int64_t, std::vector<std::size_t>> cells;  // of each distance i - j, those that are seen
  Scores of;                                               // [heads, queries, keys]
};

std::optional<Beside> beside_content(const DumpedAttention& dumped, const Stage& stage, const AttentionTried& plan) {
  if (plan.cap || stage.before || stage.stage == AttentionStage::out) return {};
  const bool of_scores = stage.stage == AttentionStage::scores;
  Beside out;
  out.of.assign(plan.content->size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t n = 0; n < out.of.size(); ++n) {
    const std::size_t j = n % dumped.keys;
    const std::size_t i = n / dumped.keys % dumped.queries;
    if ((*plan.seen)[i * dumped.keys + j] == 0) continue;
    const double z = of_scores ? dumped.scores[n] : std::log(dumped.weights[n]);
    if (!std::isfinite(z)) continue;
    out.of[n] = z - (*plan.content)[n] * plan.content_times;
    out.cells[dumped.q_order[i] - dumped.k_order[j]].push_back(n);
  }
  if (out.cells.size() < 2) return {};
  return out;
}

// What each query's cells have more than `bias` in the mean, [heads, queries]; taken off them.
void take_off_common(Beside& beside, const DumpedAttention& dumped, const Scores& bias) {
  for (std::size_t row = 0; row < dumped.heads * dumped.queries; ++row) {
    std::vector<double> off;
    for (std::size_t n = row * dumped.keys; n < (row + 1) * dumped.keys; ++n) {
      if (!std::isnan(beside.of[n])) off.push_back(beside.of[n] - bias[n]);
    }
    if (off.empty()) continue;
    const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
    std::ranges::nth_element(off, middle);
    const double common = *middle;
    for (std::size_t n = row * dumped.keys; n < (row + 1) * dumped.keys; ++n) beside.of[n] -= common;
  }
}

// The bucket of each distance whose numbers, of all heads, are nearest. What weights have in common is another number
// for each query, which the buckets found before say, the plan's at first.
std::optional<AttentionTried> other_buckets(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                            const Stage& stage, const AttentionTried& plan) {
  constexpr int kRounds = 4;
  const auto table = t5_table(args, dumped);
  auto beside = table ? beside_content(dumped, stage, plan) : std::nullopt;
  if (!beside) return {};
  std::map<std::int64_t, std::int64_t> buckets;
  Scores bias = *plan.bias;
  const std::size_t each = dumped.queries * dumped.keys;
  for (int round = 0; round < kRounds; ++round) {
    take_off_common(*beside, dumped, bias);
    const std::map<std::int64_t, std::int64_t> before = buckets;
    for (const auto& [distance, cells] : beside->cells) {
      double least = std::numeric_limits<double>::infinity();
      for (std::int64_t bucket = 0; bucket < table->of.buckets; ++bucket) {
        double rest = 0.0;
        for (const std::size_t n : cells) rest += std::fabs(beside->of[n] - table->at(bucket, n / each));
        if (rest >= least) continue;
        least = rest;
        buckets[distance] = bucket;
      }
    }
    if (buckets == before) break;
    bias = by_bucket(*table, dumped, [&](std::int64_t distance) {
      const auto at = buckets.find(distance);
      return at == buckets.end() ? 0 : at->second;
    });
  }
  std::vector<std::int64_t> told;
  for (const auto& [distance, bucket] : buckets) {
    if (distance >= 0) told.push_back(bucket);
  }
  return with_bias(
      plan, std::move(bias), buckets.size(),
      {PortFact::buckets, formatted("of distances 0, 1, ..: {}", list_words(told)),
       "half of the buckets exact, the others logarithmic", "compare the bucket of one distance with T5's formula"});
}

// "clamped at 8", or the first of them.
std::string distance_words(const std::map<std::int64_t, double>& distances) {
  constexpr double kNear = 1e-3;
  const double last = distances.rbegin()->second;
  const bool clamped = std::ranges::all_of(distances, [&](const auto& one) {
    return std::fabs(one.second - std::min(static_cast<double>(one.first), last)) <= kNear * (1 + last);
  });
  if (clamped) return formatted("distances that end at {:.4g}", last);
  std::vector<std::string> told;
  for (const auto& one : distances) {
    if (one.first >= 0) told.push_back(formatted("{:.4g}", one.second));
  }
  return formatted("of distances 0, 1, ..: slopes times {}", list_words(told));
}

// What slopes are multiplied by at each distance, the same of all heads: by least squares of the differences from the
// query's own key.
std::optional<AttentionTried> other_distances(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                              const Stage& stage, const AttentionTried& plan) {
  const auto& score = args.layer->score;
  const Alibi* const alibi = score.size() == 1 ? std::get_if<Alibi>(&score.front()) : nullptr;
  if (alibi == nullptr || alibi->symmetric || dumped.keys < 2) return {};
  const auto beside = beside_content(dumped, stage, plan);
  if (!beside) return {};
  const std::size_t each = dumped.queries * dumped.keys;
  const auto slope = [&](std::size_t h) {
    const double* const row = plan.bias->data() + dumped.at(h, 0, 0);
    return (row[1] - row[0]) / static_cast<double>(dumped.k_order[1] - dumped.k_order[0]);
  };
  std::vector<double> own(dumped.heads * dumped.queries, std::numeric_limits<double>::quiet_NaN());
  const auto nearest = beside->cells.find(0);
  if (nearest == beside->cells.end()) return {};
  for (const std::size_t n : nearest->second) own[n / dumped.keys] = beside->of[n];
  std::map<std::int64_t, double> found;
  for (const auto& [distance, cells] : beside->cells) {
    double up = 0.0;
    double down = 0.0;
    for (const std::size_t n : cells) {
      const double off = beside->of[n] - own[n / dumped.keys];
      if (std::isnan(off)) continue;
      const double s = slope(n / each);
      up -= s * off;
      down += s * s;
    }
    if (down > 0) found[distance] = up / down;
  }
  if (found.size() < 2) return {};
  Scores bias(plan.bias->size(), 0.0);
  for (std::size_t n = 0; n < bias.size(); ++n) {
    const std::int64_t distance = dumped.q_order[n / dumped.keys % dumped.queries] - dumped.k_order[n % dumped.keys];
    if (const auto at = found.find(distance); at != found.end()) bias[n] = -slope(n / each) * at->second;
  }
  return with_bias(plan, std::move(bias), found.size(),
                   {PortFact::slopes, distance_words(found), "the distance i - j", "multiply slopes by i - j"});
}

}  // namespace

std::vector<AttentionTried> measured_biases(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                            const Stage& stage, const AttentionTried& plan) {
  std::vector<AttentionTried> out;
  if (args.layer->score.empty() || stage.before) return out;
  const bool alibi =
      std::ranges::any_of(args.layer->score, [](const ScoreTerm& of) { return std::holds_alternative<Alibi>(of); });
  const auto add = [&](std::optional<AttentionTried> one) {
    if (one) out.push_back(std::move(*one));
  };
  add(other_heads(args, dumped, stage, plan, alibi ? PortFact::slopes : PortFact::buckets));
  add(other_buckets(args, dumped, stage, plan));
  add(other_distances(args, dumped, stage, plan));
  return out;
}

}  // namespace posenc::inline v0_2::port

#include "diagnose/attention/measured_heads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/few_queries.h"

namespace posenc::inline v0_2::port {
namespace {

// Products of a query and a key of all KV heads that are tried, channels counted: 0.3 s of the float64 reference.
constexpr std::size_t kProductsOfHeads = std::size_t{1} << 26;
constexpr std::size_t kFewQueries = 4;

// x, [tokens, kv_heads, channels], with one KV head in the place of all.
std::vector<double> of_one_head(const std::vector<double>& x, std::size_t kv_heads, std::size_t channels,
                                std::size_t head) {
  std::vector<double> out(x.size());
  for (std::size_t row = 0; row < x.size() / channels; ++row) {
    const auto from = x.begin() + static_cast<std::ptrdiff_t>((row / kv_heads * kv_heads + head) * channels);
    std::copy_n(from, channels, out.begin() + static_cast<std::ptrdiff_t>(row * channels));
  }
  return out;
}

// Of each head the KV head that leaves least of the stage.
KvHeads likely_heads(const AttentionDumpArgs& args, const DumpedAttention& dumped, const Stage& stage,
                     const AttentionTried& plan) {
  const Few few = few_queries(dumped, plan, kFewQueries);
  const StageJudge judge(few.dumped, args.layer->softmax_scale);
  const bool of_products = !stage.before;
  KvHeads out(dumped.heads, 0);
  std::vector<double> least(dumped.heads, std::numeric_limits<double>::infinity());
  for (std::size_t g = 0; g < dumped.kv_heads; ++g) {
    AttentionTried tried = few.plan;
    if (of_products) {
      tried.content =
          std::make_shared<const Scores>(content_scores(*args.layer, args, few.dumped, KvHeads(dumped.heads, g)));
    }
    if (stage.stage == AttentionStage::out) {
      tried.v = std::make_shared<const std::vector<double>>(of_one_head(*plan.v, dumped.kv_heads, dumped.value_dim, g));
    }
    const Left left = judge.left(stage, tried);
    for (std::size_t h = 0; h < dumped.heads; ++h) {
      double rest = 0.0;
      for (std::size_t i = 0; i < few.dumped.queries; ++i) rest += left.rests[h * few.dumped.queries + i];
      if (rest >= least[h]) continue;
      least[h] = rest;
      out[h] = g;
    }
  }
  return out;
}

std::string heads_words(const KvHeads& of) {
  constexpr std::size_t kTold = 12;
  std::vector<std::string> out;
  for (std::size_t h = 0; h < std::min(of.size(), kTold); ++h) out.push_back(formatted("{}", of[h]));
  if (of.size() > kTold) out.emplace_back("...");
  return joined(out, ", ");
}

void add_heads(const AttentionDumpArgs& args, const DumpedAttention& dumped, const Stage& stage,
               const AttentionTried& plan, std::vector<AttentionTried>& out) {
  const std::size_t products =
      dumped.kv_heads * dumped.heads * std::min(dumped.queries, kFewQueries) * dumped.keys * dumped.head_dim;
  if (dumped.kv_heads < 2 || products > kProductsOfHeads) return;
  const KvHeads found = likely_heads(args, dumped, stage, plan);
  KvHeads own(dumped.heads);
  for (std::size_t h = 0; h < dumped.heads; ++h) own[h] = kv_head_of({}, dumped, h);
  if (found == own) return;
  AttentionTried tried = plan;
  if (!stage.before) tried.content = std::make_shared<const Scores>(content_scores(*args.layer, args, dumped, found));
  tried.v_of = found;
  tried.change = Change{
      PortFact::kv_heads, formatted("{}of heads 0, 1, ..: {}", stage.before ? "values " : "", heads_words(found)),
      formatted("of heads 0, 1, ..: {}", heads_words(own)), "head h has KV head h / (heads / kv_heads)"};
  out.push_back(std::move(tried));
}

// The output over what the values make of it, by least squares.
void add_factor(const StageJudge& judge, const DumpedAttention& dumped, const Stage& stage, const AttentionTried& plan,
                std::vector<AttentionTried>& out) {
  const std::vector<double> made = judge.output(plan, stage.before);
  double up = 0.0;
  double down = 0.0;
  for (std::size_t n = 0; n < made.size(); ++n) {
    up += dumped.out[n] * made[n];
    down += made[n] * made[n];
  }
  const double times = down > 0 ? up / down : 0.0;
  if (times == 0 || std::fabs(times - 1) <= 4 * std::max(dumped.unit, dumped.out_unit)) return;
  AttentionTried tried = plan;
  std::vector<double> v = *plan.v;
  for (double& x : v) x *= times;
  tried.v = std::make_shared<const std::vector<double>>(std::move(v));
  tried.fitted = 1;
  tried.change = Change{PortFact::value, formatted("multiplied by {:.6g}", times), "as they are",
                        "sum values as they were dumped: no scale of a quantised cache, no dropout"};
  out.push_back(std::move(tried));
}

}  // namespace

std::vector<AttentionTried> measured_heads(const StageJudge& judge, const AttentionDumpArgs& args,
                                           const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan) {
  std::vector<AttentionTried> out;
  // Weights come of scores as they are, whatever heads they are of.
  if (stage.stage != AttentionStage::weights || !stage.before) add_heads(args, dumped, stage, plan, out);
  if (stage.stage == AttentionStage::out) add_factor(judge, dumped, stage, plan, out);
  return out;
}

}  // namespace posenc::inline v0_2::port

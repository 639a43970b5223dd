// diagnose_attention() of posenc/diagnose_attention.h: each stage that was dumped against what the plan, and the plan
// with one thing changed, make of what the port had before it.
#include "posenc/diagnose_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/tried.h"
#include "diagnose/noise.h"
#include "reference/elements.h"

namespace posenc::inline v0_2 {
namespace {

using port::AttentionTried;
using port::Change;
using port::DumpedAttention;
using port::Scores;
using port::Seen;

constexpr double kFloatUnit = 0x1p-24;
// Products, sums, exp and a conversion: so many roundings of each number.
constexpr double kRoundings = 4.0;
// An explanation that leaves a sixteenth of the squares of another, a quarter of its size, is better; within four times
// of it, as good.
constexpr double kBetter = 16.0;
constexpr double kAsGood = 4.0;
constexpr std::size_t kTold = 6;
constexpr std::size_t kNamedTogether = 3;

// What one hypothesis leaves of a stage.
struct Left {
  double rest = 0.0;         // sum of squares
  double allowed = 0.0;      // by rounding
  bool fits = true;          // hides the keys that are hidden in the dump
  std::vector<char> rows{};  // [queries]: in which more is left than rounding makes
  bool holds() const { return fits && rest <= allowed; }
};

// Numbers of a whole stage for all hypotheses.
struct Stage {
  AttentionStage stage;
  std::optional<AttentionStage> before{};  // the latest stage before it that was dumped
  double energy = 0.0;
};

bool applies(const AttentionTried& tried, const Stage& stage) {
  if (!tried.change) return true;
  return tried.first <= stage.stage && (!stage.before || tried.first > *stage.before);
}

Scores predicted_scores(const AttentionTried& tried) {
  if (tried.content_times == 1.0) return port::capped_scores(*tried.content, *tried.bias, tried.cap);
  Scores content = *tried.content;
  for (double& x : content) x *= tried.content_times;
  return port::capped_scores(content, *tried.bias, tried.cap);
}

// Lengths of queries and keys times the scale: what products of float32 lose is a part of that, not of the score.
struct Lengths {
  std::vector<double> q;  // [queries, heads]
  std::vector<double> k;  // [keys], the longest of all heads
};

Lengths lengths_of(const DumpedAttention& d, double scale) {
  const auto length = [](const double* x, std::size_t channels) {
    double sum = 0.0;
    for (std::size_t c = 0; c < channels; ++c) sum += x[c] * x[c];
    return std::sqrt(sum);
  };
  Lengths out;
  for (std::size_t n = 0; n < d.queries * d.heads; ++n) {
    out.q.push_back(std::fabs(scale) * length(d.q.data() + n * d.head_dim, d.head_dim));
  }
  for (std::size_t j = 0; j < d.keys; ++j) {
    double most = 0.0;
    for (std::size_t g = 0; g < d.kv_heads; ++g) {
      most = std::max(most, length(d.k.data() + (j * d.kv_heads + g) * d.head_dim, d.head_dim));
    }
    out.k.push_back(most);
  }
  return out;
}

class Judge {
 public:
  Judge(const AttentionDumpArgs& args, const DumpedAttention& dumped)
      : dumped_(dumped), lengths_(lengths_of(dumped, args.layer->softmax_scale)) {}

  double energy(const Stage& stage) const {
    const std::vector<double>& of = stage.stage == AttentionStage::weights ? dumped_.weights : dumped_.out;
    double sum = 0.0;
    if (stage.stage != AttentionStage::scores) {
      for (const double x : of) sum += x * x;
      return sum;
    }
    each_row([&](std::size_t h, std::size_t i) {
      double mean = 0.0;
      double count = 0.0;
      for_seen(h, i, nullptr, [&](std::size_t n) {
        mean += dumped_.scores[n];
        count += 1;
      });
      for_seen(h, i, nullptr, [&](std::size_t n) {
        const double x = dumped_.scores[n] - mean / count;
        sum += x * x;
      });
    });
    return sum;
  }

  Left left(const Stage& stage, const AttentionTried& tried) const {
    switch (stage.stage) {
      case AttentionStage::scores: return of_scores(tried);
      case AttentionStage::weights: return of_weights(tried, stage.before.has_value());
      case AttentionStage::out: return of_out(tried, stage.before);
    }
    return {};
  }

 private:
  template <typename Do>
  void each_row(Do act) const {
    for (std::size_t h = 0; h < dumped_.heads; ++h) {
      for (std::size_t i = 0; i < dumped_.queries; ++i) act(h, i);
    }
  }
  // Keys whose scores are seen in the dump, and by the hypothesis.
  template <typename Do>
  void for_seen(std::size_t h, std::size_t i, const Seen* seen, Do act) const {
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      if (seen != nullptr && (*seen)[i * dumped_.keys + j] == 0) continue;
      const std::size_t n = dumped_.at(h, i, j);
      if (dumped_.scores.empty() || std::isfinite(dumped_.scores[n])) act(n);
    }
  }

  double score_error(std::size_t h, std::size_t i, std::size_t j, double z, double content, double unit) const {
    const double length = lengths_.q[i * dumped_.heads + h] * lengths_.k[j];
    return kRoundings * (kFloatUnit * length + unit * (std::fabs(z) + std::fabs(content)));
  }

  // A number that all scores of a query have in common changes nothing: both are compared without it.
  Left of_scores(const AttentionTried& tried) const {
    Left out{.rows = std::vector<char>(dumped_.queries, 0)};
    const Scores z = predicted_scores(tried);
    const double unit = std::max(dumped_.scores_unit, dumped_.unit);
    each_row([&](std::size_t h, std::size_t i) {
      double off = 0.0;
      double count = 0.0;
      for_seen(h, i, tried.seen.get(), [&](std::size_t n) {
        off += dumped_.scores[n] - z[n];
        count += 1;
      });
      double rest = 0.0;
      double allowed = 0.0;
      for_seen(h, i, tried.seen.get(), [&](std::size_t n) {
        const double d = dumped_.scores[n] - z[n] - off / count;
        rest += d * d;
        const double error = score_error(h, i, n % dumped_.keys, z[n], (*tried.content)[n] * tried.content_times, unit);
        allowed += error * error;
      });
      out.rest += rest;
      out.allowed += allowed;
      if (rest > allowed) out.rows[i] = 1;
      if (!dumped_.masked) return;
      for (std::size_t j = 0; j < dumped_.keys; ++j) {
        const bool seen = std::isfinite(dumped_.scores[dumped_.at(h, i, j)]);
        if (seen == ((*tried.seen)[i * dumped_.keys + j] != 0)) continue;
        out.fits = false;
        out.rows[i] = 1;
      }
    });
    return out;
  }

  // The scores that the softmax is of: the port's own where they were dumped.
  Scores softmaxed(const AttentionTried& tried, bool dumped_scores) const {
    if (!dumped_scores) return port::softmax_weights(predicted_scores(tried), *tried.seen, tried.sinks, dumped_);
    Seen seen = *tried.seen;
    if (dumped_.masked) {
      for (std::size_t n = 0; n < seen.size(); ++n) seen[n] = std::isfinite(dumped_.scores[n]) ? 1 : 0;
    }
    return port::softmax_weights(dumped_.scores, seen, tried.sinks, dumped_);
  }

  // Of a query's weights, how much each may be off, relative to itself.
  double weight_error(const AttentionTried& tried, std::size_t h, std::size_t i, bool dumped_scores) const {
    double most = 0.0;
    const double unit = dumped_scores ? dumped_.scores_unit : std::max(dumped_.unit, dumped_.weights_unit);
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      if ((*tried.seen)[i * dumped_.keys + j] == 0) continue;
      const std::size_t n = dumped_.at(h, i, j);
      const double z = (*tried.content)[n] * tried.content_times + (*tried.bias)[n];
      most = std::max(most, dumped_scores ? kRoundings * unit * std::fabs(z)
                                          : score_error(h, i, j, z, (*tried.content)[n] * tried.content_times, unit));
    }
    return 2 * most + kRoundings * std::max({kFloatUnit, dumped_.weights_unit, dumped_.unit});
  }

  Left of_weights(const AttentionTried& tried, bool dumped_scores) const {
    Left out{.rows = std::vector<char>(dumped_.queries, 0)};
    const Scores p = softmaxed(tried, dumped_scores);
    each_row([&](std::size_t h, std::size_t i) {
      const double error = weight_error(tried, h, i, dumped_scores);
      double rest = 0.0;
      double allowed = 0.0;
      for (std::size_t j = 0; j < dumped_.keys; ++j) {
        const std::size_t n = dumped_.at(h, i, j);
        const double d = dumped_.weights[n] - p[n];
        rest += d * d;
        allowed += error * error * p[n] * p[n];
      }
      allowed += 0x1p-120;
      out.rest += rest;
      out.allowed += allowed;
      if (rest > allowed) out.rows[i] = 1;
    });
    return out;
  }

  Left of_out(const AttentionTried& tried, std::optional<AttentionStage> before) const {
    Left out{.rows = std::vector<char>(dumped_.queries, 0)};
    const bool has_weights = before == AttentionStage::weights;
    const Scores p = has_weights ? dumped_.weights : softmaxed(tried, before == AttentionStage::scores);
    const std::vector<double> made = port::summed_values(p, *tried.v, tried.v_in_turn, dumped_);
    std::vector<double> sizes = *tried.v;
    for (double& x : sizes) x = std::fabs(x);
    const std::vector<double> bound = port::summed_values(p, sizes, tried.v_in_turn, dumped_);
    const double unit = std::max({kFloatUnit, dumped_.out_unit, dumped_.unit});
    each_row([&](std::size_t h, std::size_t i) {
      const double error = has_weights ? kRoundings * std::max(unit, dumped_.weights_unit)
                                       : weight_error(tried, h, i, before == AttentionStage::scores);
      double rest = 0.0;
      double allowed = 0.0;
      for (std::size_t c = 0; c < dumped_.value_dim; ++c) {
        const std::size_t n = (i * dumped_.heads + h) * dumped_.value_dim + c;
        const double d = dumped_.out[n] - made[n];
        rest += d * d;
        const double may = error * bound[n] + kRoundings * unit * std::fabs(made[n]);
        allowed += may * may;
      }
      allowed += 0x1p-120;
      out.rest += rest;
      out.allowed += allowed;
      if (rest > allowed) out.rows[i] = 1;
    });
    return out;
  }

  const DumpedAttention& dumped_;
  Lengths lengths_;
};

double share(double squares, double energy) { return energy > 0 ? std::sqrt(squares / energy) : 0.0; }

PortFinding finding_of(const Change& change, const DumpedAttention& dumped, const Left& plan, double rest,
                       double confidence, double energy) {
  PortFinding out{.fact = change.fact,
                  .found = change.found,
                  .expected = change.expected,
                  .unexplained = share(rest, energy),
                  .confidence = confidence,
                  .tokens = std::ranges::count(plan.rows, 1),
                  .mend = change.mend};
  if (out.tokens == 0) out.tokens = static_cast<std::int64_t>(dumped.queries);
  return out;
}

std::string_view whole(AttentionStage stage) {
  switch (stage) {
    case AttentionStage::scores: return "scores";
    case AttentionStage::weights: return "weights";
    case AttentionStage::out: return "output";
  }
  return "";
}

Change unknown_change(AttentionStage stage) {
  switch (stage) {
    case AttentionStage::scores:
      return {PortFact::rotation, "scores that nothing known makes of these queries and keys", "the plan's scores",
              "diagnose queries and keys before and after their rotation first"};
    case AttentionStage::weights:
      return {PortFact::mask, "weights that no softmax known makes of these scores", "the plan's softmax",
              "compare one row by hand"};
    case AttentionStage::out: break;
  }
  return {PortFact::value, "an output that these values do not make", "weights times values",
          "compare one row by hand"};
}

// Scores that are the plan's times a number.
std::optional<AttentionTried> fitted_scale(const Judge& judge, const Stage& stage, const AttentionTried& plan,
                                           const DumpedAttention& dumped, double own) {
  if (stage.stage != AttentionStage::scores || plan.cap) return {};
  double up = 0.0;
  double down = 0.0;
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    for (std::size_t i = 0; i < dumped.queries; ++i) {
      double x = 0.0, y = 0.0, n = 0.0;
      const auto each = [&](auto act) {
        for (std::size_t j = 0; j < dumped.keys; ++j) {
          const std::size_t at = dumped.at(h, i, j);
          if ((*plan.seen)[i * dumped.keys + j] != 0 && std::isfinite(dumped.scores[at])) {
            act((*plan.content)[at], dumped.scores[at] - (*plan.bias)[at]);
          }
        }
      };
      each([&](double a, double b) {
        x += a;
        y += b;
        n += 1;
      });
      each([&](double a, double b) {
        up += (a - x / n) * (b - y / n);
        down += (a - x / n) * (a - x / n);
      });
    }
  }
  if (!(down > 0)) return {};
  AttentionTried out = plan;
  out.content_times = up / down;
  out.change = Change{PortFact::scale, formatted("{:.6g}", out.content_times * own), formatted("{:.6g}", own),
                      formatted("multiply QK^T by {:.6g}", own)};
  if (!judge.left(stage, out).holds()) return {};
  return out;
}

struct Weighed {
  const AttentionTried* tried;
  Left left;
};

// Alternatives that the dump does not tell from the plan, and facts of which all are told apart.
void add_confirmed(const std::vector<Weighed>& all, const Stage& stage, const DumpedAttention& dumped,
                   AttentionDiagnosis& out) {
  std::map<PortFact, bool> apart;
  std::map<PortFact, std::string> expected;
  const Left& plan = all.front().left;
  for (std::size_t n = 1; n < all.size(); ++n) {
    const Change& change = *all[n].tried->change;
    const bool other = !all[n].left.fits || all[n].left.rest > kBetter * std::max(plan.rest, 1e-4 * plan.allowed);
    const auto [at, first] = apart.emplace(change.fact, other);
    if (!first) at->second = at->second && other;
    expected[change.fact] = change.expected;
    if (!other && out.undecided.size() < kTold) {
      out.undecided.push_back(
          formatted("{}: {} would make the same {} here", name(change.fact), change.found, whole(stage.stage)));
    }
  }
  for (const auto& entry : apart) {
    const PortFact fact = entry.first;
    const bool known = entry.second;
    const bool told = std::ranges::any_of(out.confirmed, [&](const PortFinding& f) { return f.fact == fact; }) ||
                      std::ranges::any_of(out.findings, [&](const PortFinding& f) { return f.fact == fact; });
    if (!known || told) continue;
    out.confirmed.push_back(finding_of({fact, expected[fact], expected[fact], ""}, dumped, plan, plan.rest,
                                       1.0 - port::kFalseAlarm, stage.energy));
  }
}

bool agree(const std::vector<const Weighed*>& all) {
  return std::ranges::all_of(
      all, [&](const Weighed* one) { return one->tried->change->fact == all.front()->tried->change->fact; });
}

void judge_stage(const Judge& judge, const Stage& stage, const std::vector<AttentionTried>& tried,
                 const DumpedAttention& dumped, double own_scale, AttentionDiagnosis& out) {
  std::vector<Weighed> all;
  for (const AttentionTried& one : tried) {
    if (applies(one, stage)) all.push_back({&one, judge.left(stage, one)});
  }
  const Left& plan = all.front().left;
  std::vector<const Weighed*> held;
  for (std::size_t n = 1; n < all.size(); ++n) {
    // Large scores in a short format allow anything: what is named leaves a quarter at most, of the stage and of what
    // the plan leaves.
    const Left& left = all[n].left;
    if (left.holds() && left.rest * kBetter <= stage.energy && left.rest * kAsGood <= plan.rest)
      held.push_back(&all[n]);
  }
  std::ranges::sort(held, {}, [](const Weighed* of) { return of->left.rest; });
  const bool better = !held.empty() && held.front()->left.rest * kBetter < plan.rest && plan.rest > 1e-6 * plan.allowed;
  if (!out.stage) {
    out.unexplained = share(plan.rest, stage.energy);
    out.allowed = share(plan.allowed, stage.energy);
  }
  if (plan.holds() && !better) {
    add_confirmed(all, stage, dumped, out);
    return;
  }
  const bool first = !out.stage;
  if (first) out.stage = stage.stage;
  std::optional<AttentionTried> fitted;
  std::vector<const Weighed*> named;
  Weighed of_fitted{};
  for (const Weighed* one : held) {
    if (one->left.rest <= kAsGood * held.front()->left.rest + 1e-6 * one->left.allowed) named.push_back(one);
  }
  if (named.empty()) {
    fitted = fitted_scale(judge, stage, *all.front().tried, dumped, own_scale);
    if (fitted) {
      of_fitted = {&*fitted, judge.left(stage, *fitted)};
      named.push_back(&of_fitted);
    }
  }
  if (named.empty()) {
    out.findings.push_back(
        finding_of(unknown_change(stage.stage), dumped, plan, plan.rest, 1.0 - port::kFalseAlarm, stage.energy));
    return;
  }
  const double confidence = (1.0 - port::kFalseAlarm) / static_cast<double>(named.size());
  for (std::size_t n = 0; n < std::min(named.size(), kTold); ++n) {
    out.findings.push_back(
        finding_of(*named[n]->tried->change, dumped, plan, named[n]->left.rest, confidence, stage.energy));
  }
  if (first) out.unexplained = share(named.front()->left.rest, stage.energy);
  if (named.size() > kNamedTogether && !agree(named)) {
    out.undecided.push_back(
        formatted("{} hypotheses of different kinds make these {}", named.size(), whole(stage.stage)));
    out.dump = "dump scores and weights too, of more tokens, in float32";
  }
}

}  // namespace

bool are_weights(const ConstTensorView& numbers) {
  constexpr double kRounded = 0.05;  // rows of 16-bit numbers, summed
  if (numbers.rank != 3 && numbers.rank != 4) return false;
  std::array<std::int64_t, kMaxRank> at{};
  const auto last = static_cast<std::size_t>(numbers.rank - 1);
  for (;;) {
    double sum = 0.0;
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < last; ++axis) from += at[axis] * numbers.strides[axis];
    for (std::int64_t j = 0; j < numbers.shape[last]; ++j) {
      const double x = reference::read(numbers, from + j * numbers.strides[last]);
      if (!(x >= 0 && x <= 1 + kRounded)) return false;
      sum += x;
    }
    if (sum > 1 + kRounded) return false;
    std::size_t axis = last;
    while (axis > 0 && ++at[axis - 1] >= numbers.shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return true;
  }
}

std::string_view name(AttentionStage stage) noexcept {
  switch (stage) {
    case AttentionStage::scores: return "scores";
    case AttentionStage::weights: return "weights";
    case AttentionStage::out: return "out";
  }
  return "";
}

AttentionDiagnosis diagnose_attention(const AttentionDumpArgs& args) {
  const DumpedAttention dumped = port::dumped_attention(args);
  AttentionDiagnosis out{.queries = static_cast<std::int64_t>(dumped.queries),
                         .keys = static_cast<std::int64_t>(dumped.keys),
                         .heads = static_cast<std::int64_t>(dumped.heads)};
  const std::vector<AttentionTried> tried = port::tried_attention(args, dumped);
  const Judge judge(args, dumped);
  std::optional<AttentionStage> before;
  bool judged = false;
  for (const AttentionStage at : {AttentionStage::scores, AttentionStage::weights, AttentionStage::out}) {
    const bool given = at == AttentionStage::scores    ? !dumped.scores.empty()
                       : at == AttentionStage::weights ? !dumped.weights.empty()
                                                       : !dumped.out.empty();
    if (!given) continue;
    if (at == AttentionStage::out && args.layer->value != ValueScheme{}) {
      out.undecided.push_back("the output has terms of the layer's value scheme, which is not looked at");
      continue;
    }
    Stage stage{at, before};
    stage.energy = judge.energy(stage);
    judge_stage(judge, stage, tried, dumped, args.layer->softmax_scale, out);
    judged = true;
    before = at;
  }
  // Scores from before the mask say nothing of it, and nothing after them was dumped.
  const bool hides = std::ranges::count(*tried.front().seen, 0) > 0;
  const bool mask_is_open = before == AttentionStage::scores && !dumped.masked && hides;
  if (mask_is_open) {
    out.undecided.push_back("the mask: these scores hide no key, as scores before the mask do");
    if (out.findings.empty()) out.dump = "dump weights or the output too";
  }
  if (dumped.keys < 2 || !judged || (mask_is_open && out.findings.empty())) {
    out.verdict = PortVerdict::cannot_tell;
    if (out.dump.empty()) out.dump = "dump several tokens";
  } else if (out.findings.empty()) {
    out.verdict = PortVerdict::as_the_plan;
  } else {
    out.verdict = out.dump.empty() ? PortVerdict::differs : PortVerdict::cannot_tell;
  }
  return out;
}

}  // namespace posenc::inline v0_2

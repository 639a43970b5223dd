// diagnose_attention() of posenc/diagnose_attention.h: each stage that was dumped against what the plan, and the plan
// with one thing changed, make of what the port had before it.
#include "posenc/diagnose_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/flipped_keys.h"
#include "diagnose/attention/inner_formats.h"
#include "diagnose/attention/measured_biases.h"
#include "diagnose/attention/measured_heads.h"
#include "diagnose/attention/measured_mask.h"
#include "diagnose/attention/measured_numbers.h"
#include "diagnose/attention/stage_judge.h"
#include "diagnose/noise.h"
#include "reference/elements.h"

namespace posenc::inline v0_2 {
namespace {

using port::AttentionTried;
using port::Change;
using port::DumpedAttention;
using port::Left;
using port::Scores;
using port::Seen;
using port::Stage;
using port::StageJudge;

// An explanation that leaves a sixteenth of the squares of another, a quarter of its size, is better; within four times
// of it, as good.
constexpr double kBetter = 16.0;
constexpr double kAsGood = 4.0;
constexpr std::size_t kTold = 6;
constexpr std::size_t kNamedTogether = 3;

bool applies(const AttentionTried& tried, const Stage& stage) {
  if (!tried.change) return true;
  return tried.first <= stage.stage && (!stage.before || tried.first > *stage.before);
}

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

Change unknown_change(const Stage& stage) {
  switch (stage.stage) {
    case AttentionStage::scores:
      return {PortFact::rotation, "scores that nothing known makes of these queries and keys", "the plan's scores",
              "diagnose queries and keys before and after their rotation first"};
    case AttentionStage::weights:
      return {PortFact::mask, "weights that no softmax known makes of these scores", "the plan's softmax",
              "compare one row by hand"};
    case AttentionStage::out: break;
  }
  if (!stage.before) {
    return {PortFact::value, "an output that nothing known makes of these queries, keys and values",
            "the plan's output",
            "dump scores and weights too: they say whether queries and keys, the softmax or values are off"};
  }
  return {PortFact::value, "an output that these values do not make", "weights times values",
          "compare one row by hand"};
}

struct Weighed {
  const AttentionTried* tried;
  Left left;
  bool is_likely = true;  // no more is left than roundings are likely to leave
};

// Alternatives that the dump does not tell from the plan, and facts of which all are told apart.
void add_confirmed(const std::vector<Weighed>& all, const Stage& stage, const DumpedAttention& dumped,
                   AttentionDiagnosis& out) {
  std::map<PortFact, bool> apart;
  std::map<PortFact, std::string> expected;
  const Left& plan = all.front().left;
  for (std::size_t n = 1; n < all.size(); ++n) {
    const Change& change = *all[n].tried->change;
    // A mask that scores hold is read, not judged by numbers.
    const bool is_read = all[n].tried->of_mask && stage.stage == AttentionStage::scores;
    const bool other = is_read ? *all[n].tried->seen != *all.front().tried->seen
                               : all[n].left.rest > kBetter * std::max(plan.rest, 1e-4 * plan.allowed);
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

// The mask that scores hold: the plan's, another one that is known, or one that hides keys in another way.
void judge_mask(const Stage& stage, const std::vector<AttentionTried>& tried, const Mask& mask,
                const DumpedAttention& dumped, const Left& plan, AttentionDiagnosis& out) {
  const std::optional<Seen> shown = port::shown_by_scores(dumped);
  const Seen& own = *tried.front().seen;
  if (shown == own) return;
  std::vector<Change> named;
  Left off = plan;
  std::ranges::fill(off.rows, 0);
  if (shown) {
    for (std::size_t n = 0; n < own.size(); ++n) {
      if ((*shown)[n] != own[n]) off.rows[n / dumped.keys] = 1;
    }
    for (const AttentionTried& one : tried) {
      if (one.of_mask && *one.seen == *shown) named.push_back(*one.change);
    }
    if (named.empty()) named = port::mask_words(mask, dumped, own, *shown);
  }
  if (named.empty()) {
    named.push_back({PortFact::mask,
                     shown ? "no mask that is known hides these keys" : "no mask known: heads hide others",
                     std::string(name(mask.kind)), "compare one row of the mask by hand"});
  }
  if (!out.stage) out.stage = stage.stage;
  for (std::size_t n = 0; n < std::min(named.size(), kTold); ++n) {
    out.findings.push_back(finding_of(named[n], dumped, off, 0.0,
                                      (1.0 - port::kFalseAlarm) / static_cast<double>(named.size()), stage.energy));
  }
}

// Masks that weights show, or that an output comes of, where none of those that are known explains it.
std::vector<AttentionTried> measured_masks(const Stage& stage, const AttentionTried& plan, const Mask& mask,
                                           const DumpedAttention& dumped) {
  if (dumped.masked || stage.stage == AttentionStage::scores || stage.before == AttentionStage::weights) return {};
  if (stage.stage == AttentionStage::out) {
    return port::searched_masks(
        mask, dumped, plan, stage.before ? dumped.scores : port::capped_scores(*plan.content, *plan.bias, plan.cap));
  }
  const std::optional<Seen> shown = port::shown_by_weights(dumped, *plan.seen);
  if (!shown) return {};
  std::vector<AttentionTried> out;
  for (Change& change : port::mask_words(mask, dumped, *plan.seen, *shown)) {
    out.push_back(plan);
    out.back().change = std::move(change);
    out.back().seen = std::make_shared<const Seen>(*shown);
  }
  return out;
}

// What a hypothesis has to leave to be named: what rounding makes, and, as large scores in a short format allow
// anything, a quarter of the stage and of what the plan leaves at most.
bool explains(const Left& left, const Left& plan, const Stage& stage) {
  return left.holds() && left.rest * kBetter <= stage.energy && left.rest * kAsGood <= plan.rest;
}

std::string unlikely_words(const std::vector<std::size_t>& queries, const DumpedAttention& dumped, const Stage& stage) {
  std::vector<std::int64_t> few;
  for (const std::size_t i : queries) {
    if (few.size() < kTold) few.push_back(dumped.q_order[i]);
  }
  return formatted("the query at {}{}: the plan leaves more of its {} than rounding is likely to, beside the others",
                   joined(few, ", "), few.size() < queries.size() ? ", ..." : "", whole(stage.stage));
}

// What explains a stage of which nothing holds, with some of it in a format that is coarser than what was dumped.
struct Inside {
  std::vector<const Weighed*> others{};     // than the plan, that leave no more than such roundings may
  std::vector<AttentionTried> roundings{};  // that make these numbers, and what each leaves
  std::vector<double> rests{};
  const port::InnerFormat* likely =
      nullptr;  // where it is not known which roundings: the finest that may leave as much
};

// `candidates`: the plan first.
Inside in_short_format(const StageJudge& judge, const Stage& stage, const std::vector<const Weighed*>& candidates,
                       const AttentionDumpArgs& args, const DumpedAttention& dumped) {
  Inside out;
  const Weighed& plan = *candidates.front();
  // Roundings spare no query but those that see one key.
  constexpr std::ptrdiff_t kSpared = 4;
  double least = plan.left.rest;
  for (const Weighed* one : candidates) least = std::min(least, one->left.rest);
  for (const port::InnerFormat& format : port::kInnerFormats) {
    if (format.unit <= dumped.unit) continue;
    if (!out.roundings.empty() && format.unit > 2 * out.likely->unit) break;
    std::vector<const Weighed*> likely;
    for (const Weighed* one : candidates) {
      const bool is_plan = one == &plan;
      if (one->left.rest > kAsGood * least) continue;
      if (!is_plan && (one->left.rest * kBetter > stage.energy || one->left.rest * kBetter > plan.left.rest)) continue;
      if (kSpared * std::ranges::count(one->left.rows, 0) > std::ssize(one->left.rows)) continue;
      if (!judge.unlikely(stage, *one->tried, one->left, format.unit).nowhere()) continue;
      likely.push_back(one);
      if (is_plan) break;
    }
    if (likely.empty()) continue;
    const auto best = *std::ranges::min_element(likely, {}, [](const Weighed* one) { return one->left.rest; });
    if (best != &plan && out.others.empty()) out.others = likely;
    if (out.likely == nullptr) out.likely = &format;
    for (AttentionTried& tried : port::in_inner_format(format, args, dumped, stage, *plan.tried, *best->tried)) {
      const double rest = judge.left(stage, tried).rest;
      if (rest * kBetter > best->left.rest) continue;
      const bool told = std::ranges::any_of(
          out.roundings, [&](const AttentionTried& one) { return one.change->found == tried.change->found; });
      if (told) continue;
      out.rests.push_back(rest);
      out.roundings.push_back(std::move(tried));
    }
  }
  // TF32 has float16's places, and is told from it by small numbers alone.
  const double best = out.rests.empty() ? 0.0 : *std::ranges::min_element(out.rests);
  for (std::size_t n = out.rests.size(); n-- > 0;) {
    if (out.rests[n] <= kAsGood * best) continue;
    out.rests.erase(out.rests.begin() + static_cast<std::ptrdiff_t>(n));
    out.roundings.erase(out.roundings.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return out;
}

const port::InnerFormat* format_of(double unit) {
  const auto at = std::ranges::find_if(port::kInnerFormats, [&](const port::InnerFormat& format) {
    return format.unit == unit && !format.products_alone;
  });
  return at == port::kInnerFormats.end() ? nullptr : &*at;
}

// Scores or weights that were dumped in a shorter format than all else: whether the port went on with them so, or they
// were only dumped so. What comes of them says it.
void add_format_of_scores(const StageJudge& judge, const Stage& stage, const AttentionTried& plan, const Left& left,
                          const AttentionDumpArgs& args, const DumpedAttention& dumped, AttentionDiagnosis& out) {
  if (!stage.before || !out.findings.empty()) return;
  const double unit = stage.before == AttentionStage::scores ? dumped.scores_unit : dumped.weights_unit;
  const port::InnerFormat* const format = format_of(unit);
  if (unit <= dumped.unit || format == nullptr) return;
  const auto add = [&](const Change& change, double rest) {
    out.stage = stage.before;
    out.findings.push_back(finding_of(change, dumped, left, rest, 1.0 - port::kFalseAlarm, stage.energy));
  };
  const Stage without{.stage = stage.stage, .energy = stage.energy};
  if (left.rest * kBetter < judge.left(without, plan).rest) {
    add({PortFact::precision, formatted("{} in {}", whole(*stage.before), format->name), "float32 or better",
         formatted("make them in float32, or take {} as it is", format->name)},
        left.rest);
    return;
  }
  for (const AttentionTried& tried : port::in_inner_format(*format, args, dumped, stage, plan, plan)) {
    const double rest = judge.left(stage, tried).rest;
    if (rest * kBetter >= left.rest) continue;
    add(*tried.change, rest);
    return;
  }
}

// False where the plan and something else both hold and the latter leaves less, or the plan holds but is not likely.
bool judge_stage(const StageJudge& judge, const Stage& stage, const std::vector<AttentionTried>& tried,
                 const DumpedAttention& dumped, const AttentionDumpArgs& args, AttentionDiagnosis& out) {
  const LayerPlan& layer = *args.layer;
  const bool reads_mask = stage.stage == AttentionStage::scores && dumped.masked;
  std::vector<Weighed> all;
  for (const AttentionTried& one : tried) {
    if (applies(one, stage)) all.push_back({&one, judge.left(stage, one)});
  }
  const Left plan = all.front().left;
  if (!out.stage && share(plan.rest, stage.energy) >= out.unexplained) {
    out.unexplained = share(plan.rest, stage.energy);
    out.allowed = share(plan.allowed, stage.energy);
  }
  if (reads_mask) judge_mask(stage, tried, layer.mask, dumped, plan, out);
  // What leaves less than one rounding of the output does so since values lie on the same grid.
  const bool is_exact = plan.rest <= std::max(1e-6 * plan.allowed, plan.rounded);
  // What float32 loses hides no number that matters: a thousandth of the amplitude, of outputs of what scores do to it.
  const bool is_moved = stage.stage == AttentionStage::out && stage.before != AttentionStage::weights;
  const bool is_loose = !is_exact && plan.allowed > 1e-6 * (is_moved ? plan.moved : stage.energy);
  std::vector<const Weighed*> held;
  const auto hold = [&](Weighed& one) {
    if (!explains(one.left, plan, stage)) return;
    one.is_likely = !is_loose || judge.unlikely(stage, *one.tried, one.left).nowhere();
    held.push_back(&one);
  };
  for (std::size_t n = 1; n < all.size(); ++n) {
    if (!reads_mask || !all[n].tried->of_mask) hold(all[n]);
  }
  const auto sort = [&] { std::ranges::sort(held, {}, [](const Weighed* of) { return of->left.rest; }); };
  sort();
  const auto is_better = [&](double by) {
    return !held.empty() && !is_exact && held.front()->left.rest * by < plan.rest;
  };
  // What is measured comes after what is known, unless all of that leaves more than is likely. Where the plan holds
  // only since short formats allow so much, a number or a bound that leaves far less speaks against it.
  std::deque<AttentionTried> measured;
  std::deque<Weighed> of_measured;
  // Numbers that are fitted to as few rows of numbers leave less of any rounding.
  const auto is_overfitted = [&](const AttentionTried& one) {
    return kAsGood * static_cast<double>(one.fitted) > static_cast<double>(dumped.queries * dumped.heads);
  };
  const auto measure = [&](std::vector<AttentionTried> more) {
    for (AttentionTried& one : more) {
      measured.push_back(std::move(one));
      of_measured.push_back({&measured.back(), judge.left(stage, measured.back())});
      Weighed& last = of_measured.back();
      if (!plan.holds() || !is_overfitted(*last.tried)) hold(last);
    }
    sort();
  };
  const auto is_open = [&] { return std::ranges::none_of(held, &Weighed::is_likely); };
  if (!plan.holds() || is_loose) {
    if (is_open()) measure(measured_masks(stage, tried.front(), layer.mask, dumped));
    if (is_open() && !plan.holds()) measure(port::measured_heads(judge, args, dumped, stage, tried.front()));
    if (is_open() && !plan.holds()) measure(port::measured_biases(args, dumped, stage, tried.front()));
    if (is_open()) measure(port::fitted_numbers(judge, layer, dumped, stage, tried.front()));
    if (is_open() && !plan.holds()) {
      measure(port::flipped_keys(judge, layer.mask, dumped, stage, tried.front()));
    }
  }
  if (!is_open()) std::erase_if(held, [](const Weighed* one) { return !one->is_likely; });
  if (plan.holds() && !is_better(kBetter)) {
    if (is_better(kAsGood)) {
      const Change& other = *held.front()->tried->change;
      out.undecided.push_back(formatted("{}: {} would leave less of the {}, and the plan no more than rounding may",
                                        name(other.fact), other.found, whole(stage.stage)));
      return false;
    }
    const port::Unlikely unlikely = is_loose ? judge.unlikely(stage, tried.front(), plan) : port::Unlikely{};
    if (is_loose && (!plan.likely || (unlikely.in_sum && unlikely.queries.empty()))) {
      out.undecided.push_back(
          formatted("the plan leaves {:.2g} % of the {}, in some heads more than rounding to as few bits is "
                    "likely to",
                    100 * share(plan.rest, stage.energy), whole(stage.stage)));
      return false;
    }
    if (!unlikely.nowhere()) {
      out.undecided.push_back(unlikely_words(unlikely.queries, dumped, stage));
      return false;
    }
    add_confirmed(all, stage, dumped, out);
    add_format_of_scores(judge, stage, tried.front(), plan, args, dumped, out);
    return true;
  }
  Inside inside;
  if (held.empty()) {
    std::vector<const Weighed*> candidates;
    for (const Weighed& one : all) {
      if (one.tried->change && reads_mask && one.tried->of_mask) continue;
      candidates.push_back(&one);
    }
    for (const Weighed& one : of_measured) {
      if (!is_overfitted(*one.tried)) candidates.push_back(&one);
    }
    inside = in_short_format(judge, stage, candidates, args, dumped);
    held = inside.others;
    sort();
    if (held.empty() && inside.roundings.empty() && inside.likely != nullptr) {
      out.undecided.push_back(
          formatted("the plan leaves {:.2g} % of the {}, of no query more than roundings to {} are likely to",
                    100 * share(plan.rest, stage.energy), whole(stage.stage), inside.likely->name));
      if (out.dump.empty()) out.dump = "run the port with products, scores and weights in float32, and dump that";
      return false;
    }
  }
  const bool first = !out.stage;
  if (first) out.stage = stage.stage;
  for (std::size_t n = 0; n < inside.roundings.size(); ++n) {
    out.findings.push_back(finding_of(*inside.roundings[n].change, dumped, plan, inside.rests[n],
                                      (1.0 - port::kFalseAlarm) / static_cast<double>(inside.roundings.size()),
                                      stage.energy));
  }
  if (!inside.roundings.empty() && held.empty()) {
    if (first) out.unexplained = share(*std::ranges::min_element(inside.rests), stage.energy);
    return true;
  }
  std::vector<const Weighed*> named;
  for (const Weighed* one : held) {
    if (one->left.rest <= kAsGood * held.front()->left.rest + 1e-6 * one->left.allowed) named.push_back(one);
  }
  if (named.empty()) {
    out.findings.push_back(
        finding_of(unknown_change(stage), dumped, plan, plan.rest, 1.0 - port::kFalseAlarm, stage.energy));
    return true;
  }
  // One number for all is less than one for each.
  const auto is_simpler = [&](const Weighed* one, const Weighed* than) {
    return one->tried->change->fact == than->tried->change->fact && one->tried->fitted < than->tried->fitted;
  };
  const std::vector<const Weighed*> as_good = named;
  std::erase_if(named, [&](const Weighed* one) {
    return std::ranges::any_of(as_good, [&](const Weighed* other) { return is_simpler(other, one); });
  });
  const double sure = named.front()->is_likely ? 1.0 - port::kFalseAlarm : 0.5;
  for (std::size_t n = 0; n < std::min(named.size(), kTold); ++n) {
    Change change = *named[n]->tried->change;
    if (!named[n]->is_likely) change.found += ", and something else";
    out.findings.push_back(
        finding_of(change, dumped, plan, named[n]->left.rest, sure / static_cast<double>(named.size()), stage.energy));
  }
  if (first) out.unexplained = share(named.front()->left.rest, stage.energy);
  if (named.size() > kNamedTogether && !agree(named)) {
    out.undecided.push_back(
        formatted("{} hypotheses of different kinds make these {}", named.size(), whole(stage.stage)));
    out.dump = "dump scores and weights too, of more tokens, in float32";
  }
  return true;
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
  const StageJudge judge(dumped, args.layer->softmax_scale);
  std::optional<AttentionStage> before;
  bool judged = false;
  bool is_open = false;
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
    stage.energy = judge.energy(at);
    if (!judge_stage(judge, stage, tried, dumped, args, out)) is_open = true;
    judged = true;
    before = at;
  }
  // Scores from before the mask say nothing of it, and nothing after them was dumped.
  const bool hides = std::ranges::count(*tried.front().seen, 0) > 0;
  const port::InnerFormat* const of_scores = format_of(dumped.scores_unit);
  if (before == AttentionStage::scores && of_scores != nullptr && of_scores->unit > dumped.unit) {
    out.undecided.push_back(
        formatted("precision: these scores are in {}, made so by the port or but dumped so", of_scores->name));
  }
  const bool mask_is_open = before == AttentionStage::scores && !dumped.masked && hides;
  if (mask_is_open) {
    out.undecided.push_back("the mask: these scores hide no key, as scores before the mask do");
    if (out.findings.empty()) out.dump = "dump weights or the output too";
  }
  if (is_open && out.findings.empty() && out.dump.empty()) out.dump = "dump in float32, or more tokens";
  if (dumped.keys < 2 || !judged || ((mask_is_open || is_open) && out.findings.empty())) {
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

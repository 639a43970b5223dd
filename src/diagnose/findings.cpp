#include "diagnose/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/formatted.h"
#include "diagnose/axis_maps.h"
#include "diagnose/fitted_lists.h"
#include "diagnose/noise.h"
#include "diagnose/precision/precision.h"
#include "diagnose/words/few.h"

namespace posenc::inline v0_2::port {
namespace {

// Of equally good explanations, how many are told.
constexpr std::size_t kTold = 6;
// So many name a fault together: a rotation twice, steps of 2, and half of a linear factor. More that agree in no fact
// name none.
constexpr std::size_t kNamedTogether = 3;

constexpr std::string_view kUnknownAngles = "angles that nothing known explains";

double free_rest(const MeasuredTable& table) {
  double sum = table.outside_rest;
  for (const double rest : table.pair_rest) sum += rest;
  return sum;
}

// Tokens and channels that the plan does not explain, where it was judged.
struct Support {
  std::int64_t tokens = 0;
  std::int64_t channels = 0;
};

Support against_plan(const Report& report) {
  const MeasuredTable& table = report.table;
  Support all{static_cast<std::int64_t>(table.rows), 2 * static_cast<std::int64_t>(table.pairs)};
  if (!report.expected.rope) return all;
  const auto plan = frequency_list(*report.expected.rope, report.expected.length, report.pairs, {});
  if (!plan) return all;
  const Places places = report.expected.places();
  const std::vector<std::int32_t> axes =
      axes_over(report.expected.rope->axes.of_pair, *report.expected.rope, report.pairs);
  const Judged judged = judge(table, {&*plan, &places, &axes});
  Support out{std::ranges::count(judged.row_holds, 0), 2 * std::ranges::count(judged.pair_holds, 0)};
  if (out.tokens == 0) out.tokens = all.tokens;
  if (out.channels == 0) out.channels = all.channels;
  return out;
}

void place(const MeasuredTable& table, std::optional<std::size_t> row, PortFinding& finding) {
  if (!row) return;
  finding.first_sequence = static_cast<std::int64_t>(*row) / table.tokens;
  finding.first_token = static_cast<std::int64_t>(*row) % table.tokens;
}

PortFinding with_support(const Report& report, const Change& change, double confidence, double rest, Support support) {
  PortFinding out{.fact = change.fact,
                  .found = change.found,
                  .expected = report.expected.rope ? change.expected : "",
                  .unexplained = share_of(report.table, rest),
                  .confidence = confidence,
                  .tokens = support.tokens,
                  .channels = support.channels,
                  .mend = report.expected.rope ? change.mend : ""};
  place(report.table, change.first_row, out);
  return out;
}

bool has(const std::vector<PortFinding>& findings, PortFact fact) {
  return std::ranges::any_of(findings, [&](const PortFinding& f) { return f.fact == fact; });
}

// One error in a million was allowed for all tests of a hypothesis, shared by those that are as good.
double confidence_among(std::size_t count) {
  return (1.0 - kFalseAlarm) / static_cast<double>(std::max<std::size_t>(1, count));
}

// What the plan says and the tensors show.
void add_confirmed(const Report& report, const Explanation& explanation, const std::string& precision, Diagnosis& out) {
  if (!report.expected.rope) return;
  const Rope& rope = *report.expected.rope;
  const Support all{static_cast<std::int64_t>(report.table.rows), 2 * static_cast<std::int64_t>(report.table.pairs)};
  const auto add = [&](PortFact fact, const std::string& value) {
    if (has(out.findings, fact)) return;
    out.confirmed.push_back(with_support(report, {fact, value, value, ""}, confidence_among(1), explanation.rest, all));
  };
  add(PortFact::pairing, std::string(name(rope.pairing)));
  add(PortFact::first_channel, formatted("{}", rope.first_channel));
  add(PortFact::dim, formatted("{}", rope.dim));
  add(PortFact::base, number_words(rope.base));
  add(PortFact::scaling, describe(rope.scaling));
  const double factor = frequencies(rope, report.expected.length).attention_factor;
  // Weights of a norm may hold it.
  if (!has(out.findings, PortFact::norm)) add(PortFact::attention_factor, formatted("{:.6g}", factor));
  add(PortFact::direction, std::string(name(rope.rotation_direction)));
  if (report.expected.counted && !has(out.findings, PortFact::positions)) {
    add(PortFact::offset, formatted("first position {}", explanation.first_position));
  }
  add(PortFact::precision, precision);
}

// Without a plan everything that explains is a finding.
void add_recovered(const Report& report, const Explanation& explanation, double confidence,
                   const std::string& precision, Diagnosis& out) {
  const Support all{static_cast<std::int64_t>(report.table.rows), 2 * static_cast<std::int64_t>(report.table.pairs)};
  const auto add = [&](PortFact fact, std::string value) {
    const PortFinding finding =
        with_support(report, {fact, std::move(value), "", ""}, confidence, explanation.rest, all);
    const bool told = std::ranges::any_of(
        out.findings, [&](const PortFinding& f) { return f.fact == finding.fact && f.found == finding.found; });
    if (!told) out.findings.push_back(finding);
  };
  if (explanation.frequencies.rope) {
    const Rope& rope = *explanation.frequencies.rope;
    add(PortFact::pairing, std::string(name(rope.pairing)));
    add(PortFact::first_channel, formatted("{}", rope.first_channel));
    add(PortFact::dim, formatted("{}", rope.dim));
    add(PortFact::base, number_words(rope.base));
    add(PortFact::scaling, describe(rope.scaling));
  }
  add(PortFact::offset, formatted("first position {}", explanation.first_position));
  for (const Change& change : explanation.places.changes) add(change.fact, change.found);
  for (const Change& change : explanation.changes) {
    if (change.fact == PortFact::attention_factor || change.fact == PortFact::rotation) add(change.fact, change.found);
  }
  add(PortFact::precision, precision);
}

bool is_plan(const Explanation& e) { return e.changes.empty() && e.steps == Steps::exact; }

bool agree_in_a_fact(const std::vector<Explanation>& all) {
  return std::ranges::any_of(all.front().changes, [&](const Change& change) {
    return std::ranges::all_of(all, [&](const Explanation& e) {
      return std::ranges::any_of(e.changes, [&](const Change& other) { return other.fact == change.fact; });
    });
  });
}

std::string changes_words(const Explanation& e) {
  std::vector<std::string> out;
  for (const Change& change : e.changes) out.push_back(formatted("{} {}", name(change.fact), change.found));
  return joined(out, "; ");
}

// One token more, and where it would have to stand, is not known here: far positions and many tokens always say more.
std::string dump_words(const Report& report) {
  return formatted("dump at least {} consecutive tokens{}, some of them far beyond position {}, in float32",
                   std::max<std::int64_t>(16, 2 * report.table.tokens),
                   report.expected.start_known ? "" : ", say at which position the first stands", report.table.tokens);
}

}  // namespace

double share_of(const MeasuredTable& table, double rest) {
  return table.energy > 0 ? std::sqrt(std::max(0.0, rest + free_rest(table)) / table.energy) : 0.0;
}

PortFinding finding_of(const Report& report, const Change& change, double confidence, double rest) {
  return with_support(report, change, confidence, rest, against_plan(report));
}

bool is_open(const PortFinding& finding) {
  return finding.fact == PortFact::rotation &&
         (finding.found == kUnknownAngles || finding.found.starts_with("no rotation "));
}

bool is_of_numbers(const PortFinding& finding) {
  constexpr std::array kNumbers{PortFact::base, PortFact::scaling, PortFact::attention_factor, PortFact::step,
                                PortFact::precision};
  return is_open(finding) || std::ranges::find(kNumbers, finding.fact) != kNumbers.end();
}

bool is_permutation(const PortFinding& finding) { return finding.expected == kChannelsStay; }

void add_unsound(const Report& report, Diagnosis& out, const Hypothesis* explained) {
  const Unsound found = unsound(report.table, explained);
  const auto add = [&](Change change, Support support) {
    out.findings.push_back(with_support(report, change, confidence_among(1), 0.0, support));
  };
  const auto rows = static_cast<std::int64_t>(report.table.rows);
  if (!found.pairs.empty()) {
    add({PortFact::rotation,
         formatted("no rotation that the heads share, of pairs {}", few_of(found.pairs, kTold)),
         "one angle for all heads of a token", "look at how these channels are read and written"},
        {rows, 2 * static_cast<std::int64_t>(found.pairs.size())});
  } else if (!found.rows.empty()) {
    Change change{PortFact::rotation, formatted("no rotation that the heads share, in {} tokens", found.rows.size()),
                  "one angle for all heads of a token", "look at what is done to these tokens alone"};
    change.first_row = found.rows.front();
    add(std::move(change),
        {static_cast<std::int64_t>(found.rows.size()), 2 * static_cast<std::int64_t>(report.table.pairs)});
  }
  if (found.outside) {
    add({PortFact::rotation, "channels beside the rotated ones changed", "they stay as they are",
         "copy the channels that do not rotate"},
        {rows, static_cast<std::int64_t>(report.table.outside_count / std::max(1.0, static_cast<double>(rows)))});
  }
}

void add_explained(const Report& report, const Explained& explained, Diagnosis& out) {
  std::vector<Explanation> all = explained.as_good;
  for (Explanation& e : all) {
    e.rest = judge(report.table, {&e.frequencies, &e.places, &e.axis_of_pair, e.steps}).rest;
    if (e.first_row) e.rest = 0.0;
  }
  const Explanation& best = *std::ranges::min_element(all, {}, &Explanation::rest);
  out.unexplained = share_of(report.table, best.rest);
  Explanation finest = best;
  finest.frequencies = refitted(report.table, report.pairs, best.frequencies, best.places, best.axis_of_pair);
  const FoundPrecision precision = found_precision(report.table, finest);
  const Hypothesis hypothesis{&best.frequencies, &best.places, &best.axis_of_pair,
                              best.steps == Steps::exact ? precision.as_good.front() : best.steps};
  const double confidence = confidence_among(all.size());
  if (!report.expected.rope) {
    for (const Change& change : report.shape) {
      out.findings.push_back(finding_of(report, change, confidence_among(1), best.rest));
    }
    for (const Explanation& e : all) add_recovered(report, e, confidence, precision.words, out);
    out.verdict = all.size() == 1 ? PortVerdict::recovered : PortVerdict::cannot_tell;
    if (all.size() > 1) {
      out.undecided.push_back(formatted("{} hypotheses leave no more than noise", all.size()));
      out.dump = dump_words(report);
    }
    add_unsound(report, out, &hypothesis);
    return;
  }
  const bool plan = is_plan(all.front());
  for (const Change& change : report.shape) {
    out.findings.push_back(finding_of(report, change, confidence_among(1), best.rest));
  }
  if (!plan) {
    // The same change in several explanations is as sure as all of them together.
    std::map<std::pair<PortFact, std::string>, std::size_t> times;
    for (const Explanation& e : all) {
      for (const Change& change : e.changes) ++times[{change.fact, change.found}];
    }
    const Support support = against_plan(report);
    for (const Explanation& e : all) {
      for (const Change& change : e.changes) {
        const auto found = times.find({change.fact, change.found});
        if (found == times.end()) continue;
        const double sure = confidence * static_cast<double>(found->second);
        times.erase(found);
        if (out.findings.size() < kTold + report.shape.size()) {
          out.findings.push_back(with_support(report, change, sure, e.rest, support));
        }
      }
    }
  }
  if (precision.coarse && !has(out.findings, PortFact::precision)) {
    out.findings.push_back(finding_of(report,
                                      {PortFact::precision, precision.words, "float32 or better",
                                       "make frequencies, angles, cos and sin in float32, and convert last"},
                                      confidence, best.rest));
  }
  add_unsound(report, out, &hypothesis);
  for (const std::string& sentence : explained.alike) out.undecided.push_back(sentence);
  out.verdict = out.findings.empty() ? PortVerdict::as_the_plan : PortVerdict::differs;
  if (!plan && report.shape.empty() && all.size() > kNamedTogether && !agree_in_a_fact(all)) {
    out.verdict = PortVerdict::cannot_tell;
    out.undecided.push_back(formatted("{} hypotheses of different kinds leave no more than noise", all.size()));
    out.dump = dump_words(report);
  }
  if (plan && all.size() > 1) {
    for (std::size_t i = 1; i < std::min(all.size(), kTold); ++i) {
      out.undecided.push_back(formatted("{} would leave no more than noise either", changes_words(all[i])));
    }
    if (out.findings.empty()) out.verdict = PortVerdict::cannot_tell;
    out.dump = dump_words(report);
  }
  if (plan && explained.suspect) {
    out.undecided.push_back("noise hides whether each pair turns by its own frequency");
    if (out.findings.empty()) out.verdict = PortVerdict::cannot_tell;
    out.dump = dump_words(report);
  }
  if (plan && all.front().shifts_start) {
    out.undecided.push_back(
        formatted("this is as the plan says where the first token stands at position {}; no start was said",
                  all.front().first_position));
    if (out.findings.empty()) out.verdict = PortVerdict::cannot_tell;
    out.dump = "say at which position the first token stands (start)";
  }
  add_confirmed(report, best, precision.words, out);
}

void add_unexplained(const Report& report, Diagnosis& out) {
  out.verdict = report.expected.rope ? PortVerdict::differs : PortVerdict::cannot_tell;
  out.unexplained = share_of(report.table, 0.0);
  // What the channels seem to do is not proved by angles that make no sense.
  for (const Change& change : report.shape) {
    out.undecided.push_back(formatted("by the lengths of pairs {} is {}", name(change.fact), change.found));
  }
  Change change{PortFact::rotation, std::string(kUnknownAngles), "the plan's angles",
                "compare angles with posenc.cos_sin at the first token that differs"};
  if (report.expected.rope) {
    if (const auto plan = frequency_list(*report.expected.rope, report.expected.length, report.pairs, {})) {
      const Places places = report.expected.places();
      const Judged judged = judge(report.table, {&*plan, &places, nullptr});
      const auto row = std::ranges::find(judged.row_holds, 0);
      if (row != judged.row_holds.end() && row != judged.row_holds.begin()) {
        change.first_row = static_cast<std::size_t>(row - judged.row_holds.begin());
      }
      out.unexplained = share_of(report.table, judged.rest);
    }
  }
  out.findings.push_back(finding_of(report, change, confidence_among(1), 0.0));
  out.findings.back().unexplained = out.unexplained;
  add_unsound(report, out, nullptr);
  if (!report.expected.rope) out.dump = dump_words(report);
}

}  // namespace posenc::inline v0_2::port

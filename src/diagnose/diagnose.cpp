// diagnose() of posenc/diagnose.h: what channels do, then what angles do, then what is to be said of it.
#include "posenc/diagnose.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/formatted.h"
#include "diagnose/channel_pairs.h"
#include "diagnose/expectation.h"
#include "diagnose/findings.h"
#include "diagnose/head_factors.h"
#include "diagnose/heads_apart.h"
#include "diagnose/leaks.h"
#include "diagnose/measured_table.h"
#include "diagnose/noise.h"
#include "diagnose/norms.h"
#include "diagnose/passed_channels.h"
#include "diagnose/precision/stored_levels.h"
#include "diagnose/samples.h"
#include "diagnose/slips.h"
#include "diagnose/words/explain.h"

namespace posenc::inline v0_2 {
namespace {

using port::Change;
using port::ChannelPairs;
using port::Expectation;
using port::MeasuredTable;
using port::Samples;

// Tokens and heads are axes 0 and 1, or 2 and 1.
ConstTensorView heads_exchanged(const ConstTensorView& view) {
  return view.rank == 3 ? transposed(view, 0, 1) : transposed(view, 1, 2);
}

Change layout_change(const char* found) {
  return {PortFact::layout, found, "heads and tokens as in before",
          "transpose tokens and heads where the shape says so"};
}

double energy(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double x : values) sum += x * x;
  return sum;
}

Diagnosis cannot_tell(Diagnosis out, std::string why, std::string dump) {
  out.verdict = PortVerdict::cannot_tell;
  out.undecided.push_back(std::move(why));
  out.dump = std::move(dump);
  return out;
}

double noise_of(const MeasuredTable& table, std::int64_t heads) {
  const double count = 2.0 * static_cast<double>(table.rows * table.pairs) * static_cast<double>(heads);
  return table.energy > 0 ? std::sqrt(table.common * count / table.energy) : 0.0;
}

// Heads as tokens and tokens as heads, of one sequence: a rotation along the wrong axis has one angle for each head.
Samples along_heads(const Samples& samples) {
  Samples out = samples;
  std::swap(out.tokens, out.heads);
  for (std::int64_t b = 0; b < samples.sequences; ++b) {
    for (std::int64_t t = 0; t < samples.tokens; ++t) {
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        const std::int64_t from = ((b * samples.tokens + t) * samples.heads + h) * samples.channels;
        const std::int64_t to = ((b * samples.heads + h) * samples.tokens + t) * samples.channels;
        std::copy_n(samples.before.begin() + from, samples.channels, out.before.begin() + to);
        std::copy_n(samples.after.begin() + from, samples.channels, out.after.begin() + to);
      }
    }
  }
  return out;
}

Change along_heads_change() {
  return {PortFact::layout, "positions go along the heads", "positions go along the tokens",
          "give the rotation its tensor with tokens and heads the other way round"};
}

// The expected positions of as many tokens, counted from the same start.
Expectation recounted(Expectation expected, const Samples& samples) {
  for (std::vector<double>& list : expected.axes) {
    list.clear();
    for (std::int64_t r = 0; r < samples.rows(); ++r) {
      list.push_back(expected.start + static_cast<double>(r % samples.tokens));
    }
  }
  expected.counted = true;
  return expected;
}

// What the pairs say beside their angles.
std::vector<Change> pair_changes(const ChannelPairs& pairs, const Expectation& expected) {
  std::vector<Change> out;
  if (!expected.rope) return out;
  const Rope& rope = *expected.rope;
  if (pairs.in != rope.pairing) {
    out.push_back({PortFact::pairing, std::string(name(pairs.in)), std::string(name(rope.pairing)),
                   formatted("pair channels as {} does, or permute the rows of the q and k projections "
                             "(posenc.permute_pairing)",
                             name(rope.pairing))});
  }
  if (pairs.permuted()) {
    out.push_back({PortFact::channel_order,
                   pairs.out == Pairing::half ? "first channels of all pairs, then second ones"
                                              : "both channels of a pair side by side",
                   std::string(port::kChannelsStay), "do not permute the channels of a head on the way"});
  }
  const std::int64_t first = pairs.in == Pairing::half ? rope.first_channel : rope.first_channel % 2;
  if (pairs.in == rope.pairing && pairs.first != first && pairs.first != rope.first_channel) {
    out.push_back({PortFact::first_channel, formatted("{}", pairs.first), formatted("{}", rope.first_channel),
                   formatted("rotate from channel {} on", rope.first_channel)});
  }
  if (pairs.in == Pairing::half && pairs.in == rope.pairing && pairs.dim != rope.dim) {
    out.push_back({PortFact::dim, formatted("{}", pairs.dim), formatted("{}", rope.dim),
                   formatted("rotate {} channels of each head", rope.dim)});
  }
  return out;
}

// Changes that a list of frequencies says again: the width.
void drop_repeated(std::vector<Change>& shape, const port::Explained& explained) {
  std::erase_if(shape, [&](const Change& change) {
    return !explained.as_good.empty() && std::ranges::all_of(explained.as_good, [&](const port::Explanation& e) {
      return std::ranges::any_of(e.changes, [&](const Change& c) { return c.fact == change.fact; });
    });
  });
}

// Whether the lengths of vectors of `width` before and after go together, as they do for whatever was made of them:
// Fisher's z of the correlation of their logarithms; or vectors themselves, their products against chance.
bool lengths_related(const Samples& samples, std::size_t width) {
  double n = 0.0;
  double sx = 0.0, sy = 0.0, sxx = 0.0, syy = 0.0, sxy = 0.0;
  double dot = 0.0;
  double product = 0.0;
  for (std::size_t from = 0; from + width <= samples.before.size(); from += width) {
    double x = 0.0;
    double y = 0.0;
    for (std::size_t c = 0; c < width; ++c) {
      x += samples.before[from + c] * samples.before[from + c];
      y += samples.after[from + c] * samples.after[from + c];
      dot += samples.before[from + c] * samples.after[from + c];
    }
    product += x * y / static_cast<double>(width);
    if (!(x > 0) || !(y > 0)) continue;
    const double lx = std::log(x);
    const double ly = std::log(y);
    n += 1;
    sx += lx;
    sy += ly;
    sxx += lx * lx;
    syy += ly * ly;
    sxy += lx * ly;
  }
  const double limit = std::sqrt(2 * port::level_of(2));
  if (product > 0 && std::fabs(dot) > limit * std::sqrt(product)) return true;
  const double down = std::sqrt((sxx - sx * sx / n) * (syy - sy * sy / n));
  if (n < 8 || !(down > 0)) return false;
  const double r = std::clamp((sxy - sx * sy / n) / down, -1 + 1e-12, 1 - 1e-12);
  return std::fabs(std::atanh(r)) * std::sqrt(n - 3) > limit;
}

// Whether a table's heads share its angles: what is left of the angles is then what is left of the lengths, by the best
// of all pairings, up to the error of both and what rounding varies by within a power of two.
bool shared_by_heads(const MeasuredTable& table, const port::PairSearch& search) {
  constexpr double kWithinBinade = 4.0;
  const double t = port::level_of(2);
  const double freedom = std::min(search.freedom, table.pair_freedom * static_cast<double>(table.pairs));
  const double unsure = 1 + 2 * std::sqrt(t / freedom) + 2 * t / freedom;
  return table.common <= kWithinBinade * unsure * search.variance;
}

// Whether no token changed by more than noise: pairs are those of the plan then, since all are as good.
bool is_unchanged(const Samples& samples, const ChannelPairs& pairs, const port::PairSearch& search) {
  const MeasuredTable table = measure(samples, pairs);
  const port::FrequencyList none{.inv_freq = std::vector<double>(table.pairs, 0.0)};
  const port::Places places{.axes = {std::vector<double>(table.rows, 0.0)}};
  return judge(table, {&none, &places, nullptr}).holds && !unsound(table).outside && shared_by_heads(table, search);
}

// Of a head, and of all heads of a token, which a permutation of heads leaves.
bool related(const Samples& samples) {
  const auto width = static_cast<std::size_t>(samples.channels);
  return lengths_related(samples, width) || lengths_related(samples, width * static_cast<std::size_t>(samples.heads));
}

// Signs by channel that undo a reflection of the pairs, of those that the plan rotates.
std::vector<double> mirror_of(const Samples& samples, const ChannelPairs& pairs, const Expectation& expected) {
  std::vector<double> out(static_cast<std::size_t>(samples.channels), 1.0);
  for (const auto& [a, b] : pairs.from) {
    const Rope* rope = expected.rope ? &*expected.rope : nullptr;
    const bool rotates = rope == nullptr || pairs.in != rope->pairing ||
                         (a >= rope->first_channel && b < rope->first_channel + rope->dim);
    if (rotates) out[static_cast<std::size_t>(b)] = -1.0;
  }
  return out;
}

Change reflected_change() {
  return {PortFact::direction, "reflected: one sign of the second channel is wrong", "a rotation",
          "(a cos - b sin, a sin + b cos): check the signs of both channels"};
}

// ---- One set of pairs ----

void name_apart(const port::Report& report, const port::HeadsApart& apart, Diagnosis& out) {
  out.verdict = PortVerdict::differs;
  out.unexplained = report.table.energy > 0 ? std::sqrt(apart.rest / report.table.energy) : 0.0;
  for (const Change& change : report.shape) {
    out.findings.push_back(finding_of(report, change, 1.0 - port::kFalseAlarm, apart.rest));
  }
  out.findings.push_back(finding_of(report, apart.change, 1.0 - port::kFalseAlarm, 0.0));
  out.findings.back().unexplained = out.unexplained;
}

// Whether what heads do one by one is known: then it is said.
bool name_heads(const Samples& samples, const ChannelPairs& pairs, const Expectation& expected,
                const std::vector<Change>& shape, const MeasuredTable& table, Diagnosis& out) {
  const auto apart = port::heads_apart(samples, pairs, nullptr, expected);
  if (apart) name_apart({expected, pairs, table, shape}, *apart, out);
  return apart.has_value();
}

// What explains the mean of all heads beside what they do one by one, where both are within noise: `explained` alone,
// heads apart alone, or each with half of the confidence. Beside the plan, rounding alone is no doubt.
void add_shared_or_apart(const Samples& samples, const port::Report& report, const port::Explained& explained,
                         Diagnosis& out) {
  const bool is_clear = explained.as_good.front().changes.empty() && out.noise < 4 * samples.after_unit;
  const auto apart =
      is_clear ? std::nullopt : port::heads_apart(samples, report.pairs, &report.table, report.expected);
  const port::Against against =
      apart ? port::against_shared(samples, report.pairs, report.table, *apart, explained) : port::Against::less;
  if (against == port::Against::more) {
    name_apart(report, *apart, out);
    return;
  }
  add_explained(report, explained, out);
  if (against != port::Against::as_much || out.verdict != PortVerdict::differs) return;
  for (PortFinding& finding : out.findings) finding.confidence /= 2;
  out.findings.push_back(finding_of(report, apart->change, (1.0 - port::kFalseAlarm) / 2, apart->rest));
}

Diagnosis of_pairs(const Samples& samples, const ChannelPairs& pairs, const port::PairSearch& search,
                   const Expectation& expected, std::vector<Change> shape, Diagnosis out) {
  MeasuredTable table = measure(samples, pairs);
  Samples other_way;
  Expectation along = expected;
  bool is_along = false;  // the table is of along_heads(samples)
  bool is_mirrored = false;
  const auto is_sound = [&](const MeasuredTable& t) { return shared_by_heads(t, search) && unsound(t).pairs.empty(); };
  if (!is_sound(table)) {
    out.noise = noise_of(table, samples.heads);
    if (name_heads(samples, pairs, expected, shape, table, out)) return out;
    // Along heads, or mirrored, they may be shared.
    other_way = along_heads(samples);
    MeasuredTable crossed = measure(other_way, pairs);
    MeasuredTable mirrored = measure(samples, pairs, {.before = mirror_of(samples, pairs, expected)});
    if (samples.heads > 1 && samples.tokens > 1 && is_sound(crossed)) {
      shape.push_back(along_heads_change());
      along = recounted(expected, other_way);
      table = std::move(crossed);
      is_along = true;
    } else if (samples.heads > 1 && is_sound(mirrored)) {
      shape.push_back(reflected_change());
      table = std::move(mirrored);
      is_mirrored = true;
    } else if (!shared_by_heads(table, search)) {
      if (!expected.rope) {
        return cannot_tell(std::move(out), "angles differ between the heads of a token", "dump one layer's q alone");
      }
      const port::Report report{expected, pairs, table, std::move(shape)};
      add_unexplained(report, out);
      return out;
    }
  }
  out.noise = noise_of(table, samples.heads);
  port::Explained explained = along.rope ? explain(table, pairs, along) : recover(table, pairs, along);
  if (explained.as_good.empty() && along.rope && samples.heads == 1) {
    // One head shares its angles with itself, mirrored or not.
    MeasuredTable mirrored = measure(samples, pairs, {.before = mirror_of(samples, pairs, expected)});
    port::Explained other = explain(mirrored, pairs, along);
    if (!other.as_good.empty()) {
      shape.push_back(reflected_change());
      table = std::move(mirrored);
      is_mirrored = true;
      explained = std::move(other);
    }
  }
  if (explained.as_good.empty() && along.rope && samples.heads > 1 && !is_along && !is_mirrored) {
    // Noise may hide that heads do not share their angles.
    if (name_heads(samples, pairs, expected, shape, table, out)) return out;
  }
  const bool one_axis = expected.axes.size() == 1;
  if (explained.as_good.empty() && along.rope && one_axis && samples.heads > 1 && !is_along) {
    other_way = along_heads(samples);
    MeasuredTable crossed = measure(other_way, pairs);
    const Expectation by_head = recounted(expected, other_way);
    port::Explained other = samples.tokens > 1 ? explain(crossed, pairs, by_head) : port::Explained{};
    if (!other.as_good.empty() && other.as_good.front().changes.empty()) {
      shape.push_back(along_heads_change());
      along = by_head;
      table = std::move(crossed);
      is_along = true;
      explained = std::move(other);
    }
  }
  drop_repeated(shape, explained);
  const port::Report report{along, pairs, table, std::move(shape)};
  if (explained.as_good.empty()) {
    const bool one_place = table.rows == 1 || std::ranges::all_of(along.axes.front(), [&](double x) {
                             return x == along.axes.front().front();
                           });
    if (one_place && report.shape.empty() && unsound(table).pairs.empty()) {
      return cannot_tell(std::move(out), "all tokens have one position, which says little of what makes their angles",
                         "dump several consecutive tokens");
    }
    add_unexplained(report, out);
  } else if (along.rope && samples.heads > 1 && !is_along && !is_mirrored) {
    add_shared_or_apart(samples, report, explained, out);
  } else {
    add_explained(report, explained, out);
  }
  return out;
}

// Pairs that noise does not tell from those that were taken: whether the plan explains them as well.
void weigh_pairs(const Samples& samples, const std::vector<port::FittedPairs>& others, const ChannelPairs& taken,
                 const Expectation& expected, Diagnosis& out) {
  constexpr std::size_t kWeighed = 4;
  std::size_t weighed = 0;
  for (const port::FittedPairs& other : others) {
    if (weighed == kWeighed || !expected.rope || out.verdict == PortVerdict::cannot_tell) return;
    if (other.pairs.in == taken.in && other.pairs.out == taken.out && other.pairs.first == taken.first) continue;
    ++weighed;
    const MeasuredTable table = measure(samples, other.pairs);
    const port::Explained explained = explain(table, other.pairs, expected);
    if (explained.as_good.empty()) continue;
    out.undecided.push_back(formatted("pairing {} would leave no more than noise either", name(other.pairs.in)));
    out.verdict = PortVerdict::cannot_tell;
    out.dump = "dump more tokens, at positions above 0, in float32";
  }
}

// Pairs that keep no lengths: a norm, or nothing that is known.
Diagnosis of_no_rotation(const Samples& samples, const port::PairSearch& search, const Expectation& expected,
                         Diagnosis out) {
  out.unexplained = std::sqrt(search.best.share);
  if (!related(samples)) {
    return cannot_tell(std::move(out), "after has nothing to do with before",
                       "dump q before and after the rotation of one and the same call");
  }
  if (!expected.rope) {
    return cannot_tell(std::move(out), "after is no rotation of pairs of channels", "say which model it is");
  }
  const MeasuredTable table = measure(samples, search.best.pairs);
  out.noise = noise_of(table, samples.heads);
  out.verdict = PortVerdict::differs;
  const port::Report report{expected, search.best.pairs, table};
  const Change change{PortFact::rotation, "no rotation of pairs of channels", "a rotation of pairs of channels",
                      "compare one head of one token by hand"};
  out.findings.push_back(finding_of(report, change, 1.0 - port::kFalseAlarm, 0.0));
  return out;
}

// In place of "nothing known": slips of code that are no rotation. And what leaves much is no explanation where a slip
// leaves far less, be it too noisy to be named; one that leaves as little stands beside what was found.
void name_slips(const Samples& samples, const Expectation& expected, Diagnosis& out) {
  constexpr double kMuch = 0.1;
  if (out.verdict != PortVerdict::differs || out.findings.empty()) return;
  const auto open = std::ranges::find_if(out.findings, port::is_open);
  const bool is_named = open == out.findings.end();
  // Rounding alone leaves no doubt.
  if (is_named && out.unexplained < 4 * samples.after_unit) return;
  const port::FoundSlips slips = port::found_slips(samples, expected);
  const double found = out.unexplained * out.unexplained;
  const bool is_rival = is_named && slips.share > found / 4;
  if (is_named && slips.share > 4 * found) return;
  if (slips.named.empty()) {
    // A slip that leaves less is no noise's doing where it leaves far less, and a rival where it does not.
    const bool is_doubted = is_rival ? slips.share <= found : out.unexplained >= kMuch;
    if (is_named && is_doubted) {
      out = cannot_tell(std::move(out), "what was found leaves more than a slip of code would, which is no rotation",
                        "dump three heads or more, in float32");
    }
    return;
  }
  const PortFinding where = is_named ? out.findings.front() : *open;
  double share = 1.0;
  if (is_rival) {
    share = 0.5;
    for (PortFinding& one : out.findings) one.confidence *= share;
  } else {
    out.findings.clear();
    out.undecided.clear();
    out.unexplained = std::sqrt(slips.share);
  }
  for (const Change& slip : slips.named) {
    out.findings.push_back({.fact = slip.fact,
                            .found = slip.found,
                            .expected = slip.expected,
                            .unexplained = std::sqrt(slips.share),
                            .confidence = share * (1.0 - port::kFalseAlarm) / static_cast<double>(slips.named.size()),
                            .tokens = where.tokens,
                            .channels = where.channels,
                            .mend = slip.mend});
  }
}

// A port that is as the plan but for what is no noise: a leak of other channels, tokens or heads, or a quantiser that
// follows them.
void doubt_what_leaks(const Samples& samples, const Expectation& expected, Diagnosis& out) {
  if (out.verdict != PortVerdict::as_the_plan) return;
  const auto leak = port::found_leak(samples, expected);
  if (!leak) return;
  out = cannot_tell(std::move(out), formatted("{}, which neither noise nor rounding does", *leak),
                    "dump q before and after the rotation alone, unquantised, in float32");
}

PortFinding finding_of_factor(const Samples& samples, const Change& change, double rest, std::int64_t channels) {
  const double after = energy(samples.after);
  return {.fact = change.fact,
          .found = change.found,
          .expected = change.expected,
          .unexplained = after > 0 ? std::sqrt(rest / after) : 0.0,
          .confidence = 1.0 - port::kFalseAlarm,
          .tokens = samples.rows(),
          .channels = channels,
          .mend = change.mend};
}

// What multiplies the channels beside the rotation, of a port whose rotation is as the plan.
void judge_passed_channels(const Samples& samples, const Expectation& expected, Diagnosis& out) {
  if (out.verdict != PortVerdict::as_the_plan || !expected.rope) return;
  const auto passed = port::passed_factor(samples, *expected.rope);
  if (!passed) return;
  if (!passed->explains) {
    out = cannot_tell(std::move(out), formatted("a factor of {}, beside noise", passed->change.found),
                      "dump q before and after the rotation alone, unquantised, in float32");
    return;
  }
  out.verdict = PortVerdict::differs;
  out.findings.push_back(
      finding_of_factor(samples, passed->change, passed->rest, samples.channels - expected.rope->dim));
}

// What multiplies some heads: of a port that is as the plan but for a factor, or where far less is left than was found.
void judge_head_factors(const Samples& samples, const Expectation& expected, Diagnosis& out) {
  constexpr double kFarLess = 16.0;
  const auto factors = expected.rope ? port::head_factors(samples, expected) : std::nullopt;
  if (!factors) return;
  const bool is_of_factor = !out.findings.empty() && std::ranges::all_of(out.findings, [](const PortFinding& f) {
    return f.fact == PortFact::attention_factor;
  });
  const bool leaves_less = kFarLess * factors->rest <= out.unexplained * out.unexplained * energy(samples.after);
  if (out.verdict != PortVerdict::as_the_plan && !is_of_factor && !leaves_less) return;
  out.verdict = PortVerdict::differs;
  out.undecided.clear();
  out.findings = {finding_of_factor(samples, factors->change, factors->rest, samples.channels)};
  out.unexplained = out.findings.front().unexplained;
}

// Beyond a quarter of the amplitude anything holds: what is left of `after` then is no noise, and what leaves it no
// name. And a port that is as the plan leaves what rounding to eight bits leaves, at most.
void drop_what_explains_nothing(Diagnosis& out) {
  constexpr double kMost = 0.25;
  constexpr double kMostOfPort = 0.05;
  const bool is_right = out.verdict == PortVerdict::as_the_plan || out.verdict == PortVerdict::recovered;
  // Lengths alone are fitted by a number that any disturbance changes.
  const bool is_of_lengths =
      out.verdict == PortVerdict::differs && std::ranges::all_of(out.findings, [](const auto& f) {
        return f.fact == PortFact::norm || f.fact == PortFact::attention_factor;
      });
  // Nor is one of several that hold within so much.
  const bool is_unsure = out.verdict == PortVerdict::differs &&
                         std::ranges::all_of(out.findings, [](const auto& f) { return f.confidence <= 0.5; });
  if ((is_right || is_of_lengths || is_unsure) && out.unexplained >= kMostOfPort) {
    out = cannot_tell(std::move(out),
                      formatted("{:.2g} % of the tensor is left, more than a rotation's rounding or a quantised cache "
                                "leaves: noise, or something that is no rotation",
                                100 * out.unexplained),
                      "dump q before and after the rotation of one and the same call");
    return;
  }
  if (out.unexplained < kMost) return;
  if (out.verdict != PortVerdict::differs || std::ranges::any_of(out.findings, port::is_open)) return;
  PortFinding open{.fact = PortFact::rotation,
                   .found = "no rotation of pairs of channels",
                   .expected = "a rotation of pairs of channels",
                   .unexplained = out.unexplained,
                   .confidence = 1.0 - port::kFalseAlarm,
                   .mend = "compare one head of one token by hand"};
  if (!out.findings.empty()) {
    open.tokens = out.findings.front().tokens;
    open.channels = out.findings.front().channels;
  }
  out.findings = {std::move(open)};
}

// Few levels may be all that is wrong where the plan is within their steps (null: another layout), or nothing is known.
void doubt_what_was_stored(const Samples& samples, const Expectation* expected, Diagnosis& out) {
  if (out.verdict != PortVerdict::differs) return;
  const bool soft = std::ranges::all_of(out.findings, port::is_of_numbers);
  auto how = expected != nullptr ? port::stored_within_steps(samples, *expected, soft) : std::nullopt;
  if (!how && std::ranges::all_of(out.findings, port::is_open)) how = port::stored_coarsely(samples);
  const char* const dump = "dump keys after the rotation before they are stored";
  if (how) out = cannot_tell(std::move(out), formatted("{}, as a quantised cache has it", *how), dump);
}

Diagnosis of_samples(const Samples& samples, const Expectation& expected, std::vector<Change> shape, Diagnosis out) {
  const Rope* rope = expected.rope ? &*expected.rope : nullptr;
  const port::PairSearch search = search_pairs(samples, rope);
  if (auto norm = found_norm(samples, expected, search)) {
    shape.push_back(
        {PortFact::norm, norm->words, "none", "dump after the norm, or leave the norm out where the plan has none"});
    for (Change& change : pair_changes(norm->search.best.pairs, expected)) shape.push_back(std::move(change));
    return of_pairs(norm->samples, norm->search.best.pairs, norm->search, expected, std::move(shape), std::move(out));
  }
  if (!search.found) return of_no_rotation(samples, search, expected, std::move(out));
  const ChannelPairs plan = rope != nullptr
                                ? port::expected_pairs(*rope, samples.channels)
                                : port::channel_pairs(Pairing::half, Pairing::half, 0, samples.channels / 2 * 2);
  const auto is_plan = [&](const port::FittedPairs& fit) {
    return fit.pairs.in == plan.in && fit.pairs.out == plan.out && fit.pairs.first == plan.first &&
           fit.pairs.dim == plan.dim;
  };
  const bool plan_is_good = is_plan(search.best) || std::ranges::any_of(search.as_good, is_plan);
  if (plan_is_good && is_unchanged(samples, plan, search)) {
    return of_pairs(samples, plan, search, expected, std::move(shape), std::move(out));
  }
  ChannelPairs pairs = search.best.pairs;
  std::vector<port::FittedPairs> others = search.as_good;
  for (port::FittedPairs& fit : others) {
    if (rope != nullptr && is_plan(fit)) std::swap(pairs, fit.pairs);
  }
  std::vector<Change> plan_shape = shape;
  Diagnosis plan_out = out;
  for (Change& change : pair_changes(pairs, expected)) shape.push_back(std::move(change));
  Diagnosis found = of_pairs(samples, pairs, search, expected, std::move(shape), std::move(out));
  weigh_pairs(samples, others, pairs, expected, found);
  if (rope != nullptr && !plan_is_good && std::ranges::any_of(found.findings, port::is_open)) {
    // Rounding of a few large channels may make other pairs keep their lengths better than those that were turned.
    Diagnosis by_plan = of_pairs(samples, plan, search, expected, std::move(plan_shape), std::move(plan_out));
    if (by_plan.verdict == PortVerdict::as_the_plan) return by_plan;
  }
  return found;
}

}  // namespace

Diagnosis diagnose(const DiagnoseArgs& args) {
  std::vector<Change> shape;
  ConstTensorView after = args.after;
  const bool known_rank = after.rank == args.before.rank && (after.rank == 3 || after.rank == 4);
  if (known_rank && after.shape != args.before.shape && heads_exchanged(after).shape == args.before.shape) {
    after = heads_exchanged(after);
    shape.push_back(layout_change("tokens and heads exchanged"));
  }
  const Samples samples = port::samples_of(args.before, after);
  const Expectation expected = port::expectation_of(args, samples);
  Diagnosis out{
      .sequences = samples.sequences, .tokens = samples.tokens, .heads = samples.heads, .channels = samples.channels};
  if (samples.before.empty() || samples.channels < 2) {
    return cannot_tell(std::move(out), "there are no elements to look at", "dump tokens, heads and channels");
  }
  if (energy(samples.before) == 0 || energy(samples.after) == 0) {
    return cannot_tell(std::move(out), "one of the tensors is zero", "dump queries or keys of a real input");
  }
  Diagnosis found = of_samples(samples, expected, shape, out);
  if (shape.empty()) name_slips(samples, expected, found);
  judge_passed_channels(samples, expected, found);
  if (shape.empty()) judge_head_factors(samples, expected, found);
  if (shape.empty()) doubt_what_leaks(samples, expected, found);
  drop_what_explains_nothing(found);
  doubt_what_was_stored(samples, shape.empty() ? &expected : nullptr, found);
  const auto is_by = [&](PortFact fact) { return std::ranges::count(found.findings, fact, &PortFinding::fact) > 0; };
  if (is_by(PortFact::attention_factor) && !is_by(PortFact::norm) && found.verdict == PortVerdict::differs) {
    const Rope* rope = expected.rope ? &*expected.rope : nullptr;
    if (norm_competes(samples, rope, search_pairs(samples, rope))) {
      return cannot_tell(std::move(out), "a factor on cos and sin and a norm beside the rotation look the same",
                         "dump more tokens and heads, in float32");
    }
  }
  // Of as many tokens as heads the shape cannot say that they were exchanged.
  const bool square = shape.empty() && samples.tokens == samples.heads && samples.tokens > 1;
  if (square && (found.verdict == PortVerdict::differs || found.verdict == PortVerdict::cannot_tell)) {
    const Samples other = port::samples_of(args.before, heads_exchanged(args.after));
    const port::PairSearch search = search_pairs(other, expected.rope ? &*expected.rope : nullptr);
    const port::PairSearch direct = search_pairs(samples, expected.rope ? &*expected.rope : nullptr);
    if (search.found && search.best.share < direct.best.share / 4) {
      return of_samples(other, expected, {layout_change("tokens and heads exchanged")}, out);
    }
  }
  return found;
}

}  // namespace posenc::inline v0_2

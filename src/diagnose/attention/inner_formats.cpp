#include "diagnose/attention/inner_formats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/few_queries.h"

namespace posenc::inline v0_2::port {
namespace {

// Products of a query and a key, channels counted, that one try costs at most: 5 ms.
constexpr std::size_t kProductsOfTry = std::size_t{1} << 21;
constexpr std::size_t kFewestRows = 2;
constexpr std::size_t kMostRows = 64;
// What leaves as little as the best, in squares; how much less than nothing rounded; and how many of these are tried on
// all queries.
constexpr double kAsLittle = 4.0;
constexpr double kLess = 8.0;
constexpr std::size_t kTriedWhole = 3;

// Queries and keys before they are multiplied: as they are; rounded; then times the scale, or its root each, and
// rounded again.
enum class Operands : std::uint8_t { as_they_are, rounded, scaled_queries, both_scaled };
// What is rounded of scores: nothing; the product; what the softmax is of; every step.
enum class OfScores : std::uint8_t { nothing, product, last, every_step };
enum class OfWeights : std::uint8_t { nothing, normalised, of_largest };

struct Rounded {
  Operands operands = Operands::as_they_are;
  OfScores scores = OfScores::nothing;
  OfWeights weights = OfWeights::nothing;
  bool values = false;
  bool operator==(const Rounded&) const = default;
  bool operator<(const Rounded& other) const {
    return std::tie(operands, scores, weights, values) <
           std::tie(other.operands, other.scores, other.weights, other.values);
  }
};

// How many are read of a dump: parts of a stage's past that it does not come of cannot be told.
struct Tries {
  std::vector<Operands> operands{Operands::as_they_are};
  std::vector<OfScores> scores{OfScores::nothing};
  std::vector<OfWeights> weights{OfWeights::nothing};
  std::vector<bool> values{false};
};

Tries tries_of(const InnerFormat& format, const Stage& stage, bool has_own_content) {
  Tries out;
  if (!stage.before) {
    if (has_own_content) {
      out.operands.push_back(Operands::rounded);
      if (!format.products_alone) {
        out.operands.insert(out.operands.end(), {Operands::scaled_queries, Operands::both_scaled});
      }
    }
    if (!format.products_alone) {
      out.scores.insert(out.scores.end(), {OfScores::product, OfScores::last, OfScores::every_step});
    }
  }
  if (stage.stage != AttentionStage::scores && stage.before != AttentionStage::scores) {
    out.weights.push_back(OfWeights::normalised);
  }
  if (stage.stage == AttentionStage::out) {
    out.weights = {OfWeights::nothing, OfWeights::normalised, OfWeights::of_largest};
    out.values.push_back(true);
  }
  return out;
}

std::string parts_words(const Rounded& of, std::string_view format) {
  std::vector<std::string> parts;
  if (of.operands != Operands::as_they_are) parts.emplace_back("queries and keys");
  if (of.scores != OfScores::nothing) parts.emplace_back("scores");
  if (of.weights != OfWeights::nothing) parts.emplace_back("weights");
  if (of.values) parts.emplace_back("values");
  return formatted("{} in {}", joined(parts, ", "), format);
}

// Hypotheses of one dump, with what they share.
class Roundings {
 public:
  Roundings(const ShortFormat& format, const AttentionDumpArgs& args, const DumpedAttention& dumped,
            const AttentionTried& of)
      : format_(format), args_(args), dumped_(dumped), of_(of), scale_(args.layer->softmax_scale * of.content_times) {}

  AttentionTried made(const Rounded& parts) {
    AttentionTried out = of_;
    if (parts.operands != Operands::as_they_are || parts.scores != OfScores::nothing) {
      out.content = scores(parts);
      out.content_times = 1.0;
      out.bias = zeros();
      out.cap.reset();
    }
    if (parts.weights != OfWeights::nothing) {
      out.weights_in = RoundedWeights{format_, parts.weights == OfWeights::of_largest};
    }
    if (parts.values) out.v = values();
    if (dumped_.out_unit >= std::ldexp(1.0, -format_.bits)) out.out_in = format_;
    return out;
  }

 private:
  using Part = std::shared_ptr<const Scores>;

  double round(double x) const { return rounded_to(format_, x); }

  // Scores that the softmax is of.
  Part scores(const Rounded& parts) {
    Part& out = scores_[{parts.operands, parts.scores}];
    if (out) return out;
    const bool steps = parts.scores == OfScores::every_step;
    const auto step = [&](double x) { return steps ? round(x) : x; };
    Scores z = *content(parts.operands);
    for (double& x : z) {
      if (steps || parts.scores == OfScores::product) x = step(scale_ * round(x / scale_));
    }
    const auto capped = [&](double x) { return step(of_.cap->cap * step(std::tanh(step(x / of_.cap->cap)))); };
    for (std::size_t n = 0; n < z.size(); ++n) {
      if (of_.cap && of_.cap->order == SoftCap::Order::before_bias) z[n] = capped(z[n]);
      if ((*of_.bias)[n] != 0) z[n] = step(z[n] + (*of_.bias)[n]);
      if (of_.cap && of_.cap->order == SoftCap::Order::after_bias) z[n] = capped(z[n]);
      if (parts.scores == OfScores::last) z[n] = round(z[n]);
    }
    out = std::make_shared<const Scores>(std::move(z));
    return out;
  }

  // scale q . k of queries and keys as they were multiplied.
  Part content(Operands operands) {
    Part& out = contents_[operands];
    if (out) return out;
    if (operands == Operands::as_they_are) {
      Scores times = *of_.content;
      for (double& x : times) x *= of_.content_times;
      out = std::make_shared<const Scores>(std::move(times));
      return out;
    }
    DumpedAttention dumped = dumped_;
    const double root = std::sqrt(scale_);
    const double of_q = operands == Operands::scaled_queries ? scale_ : operands == Operands::both_scaled ? root : 1.0;
    const double of_k = operands == Operands::both_scaled ? root : 1.0;
    for (double& x : dumped.q) x = of_q == 1 ? round(x) : round(of_q * round(x)) / of_q;
    for (double& x : dumped.k) x = of_k == 1 ? round(x) : round(of_k * round(x)) / of_k;
    Scores z = content_scores(*args_.layer, args_, dumped);
    for (double& x : z) x *= of_.content_times;
    out = std::make_shared<const Scores>(std::move(z));
    return out;
  }

  Part zeros() {
    if (!zeros_) zeros_ = std::make_shared<const Scores>(of_.bias->size(), 0.0);
    return zeros_;
  }

  std::shared_ptr<const std::vector<double>> values() {
    if (!values_) {
      std::vector<double> v = *of_.v;
      for (double& x : v) x = round(x);
      values_ = std::make_shared<const std::vector<double>>(std::move(v));
    }
    return values_;
  }

  const ShortFormat& format_;
  const AttentionDumpArgs& args_;
  const DumpedAttention& dumped_;
  const AttentionTried& of_;
  double scale_;
  std::map<std::pair<Operands, OfScores>, Part> scores_;
  std::map<Operands, Part> contents_;
  Part zeros_;
  std::shared_ptr<const std::vector<double>> values_;
};

struct RoundedRest {
  Rounded parts;
  double rest = 0.0;
};

// Errors of scores and those of what follows are independent, so that each is searched with the other as it is: first
// nothing, then the best. Twice, since a part that is small beside the other shows once that is known.
std::vector<RoundedRest> searched(Roundings& roundings, const StageJudge& judge, const Stage& stage,
                                  const Tries& tries) {
  std::map<Rounded, double> rests;
  const auto rest = [&](const Rounded& parts) {
    const auto [at, is_new] = rests.emplace(parts, 0.0);
    if (is_new) at->second = judge.left(stage, roundings.made(parts)).rest;
    return at->second;
  };
  Rounded best;
  const auto better = [&](const Rounded& parts) {
    if (rest(parts) < rest(best)) best = parts;
  };
  for (int round = 0; round < 2; ++round) {
    for (const Operands operands : tries.operands) {
      for (const OfScores scores : tries.scores) better({operands, scores, best.weights, best.values});
    }
    for (const OfWeights weights : tries.weights) {
      for (const bool values : tries.values) better({best.operands, best.scores, weights, values});
    }
  }
  std::vector<RoundedRest> out;
  out.reserve(rests.size());
  for (const auto& [parts, left] : rests) out.push_back({parts, left});
  std::ranges::sort(out, {}, &RoundedRest::rest);
  return out;
}

}  // namespace

std::vector<AttentionTried> in_inner_format(const InnerFormat& format, const AttentionDumpArgs& args,
                                            const DumpedAttention& dumped, const Stage& stage,
                                            const AttentionTried& plan, const AttentionTried& of) {
  std::vector<AttentionTried> out;
  if (stage.before == AttentionStage::scores && stage.stage == AttentionStage::weights) return out;
  const std::size_t each = std::max<std::size_t>(1, dumped.heads * dumped.keys * dumped.head_dim);
  const Few few = few_queries(dumped, of, std::clamp(kProductsOfTry / each, kFewestRows, kMostRows));
  const StageJudge judge(few.dumped, args.layer->softmax_scale);
  const Tries tries = tries_of(format, stage, of.content == plan.content);
  Roundings of_few(format.format, args, few.dumped, few.plan);
  Roundings of_all(format.format, args, dumped, of);
  const std::vector<RoundedRest> found = searched(of_few, judge, stage, tries);
  const auto as_it_is = std::ranges::find(found, Rounded{}, &RoundedRest::parts);
  for (std::size_t n = 0; n < std::min(found.size(), kTriedWhole); ++n) {
    if (found[n].rest > kAsLittle * found.front().rest || found[n].rest * kLess > as_it_is->rest) break;
    if (found[n].parts == Rounded{}) continue;
    AttentionTried tried = of_all.made(found[n].parts);
    tried.change = Change{PortFact::precision, parts_words(found[n].parts, format.name), "float32 or better",
                          format.products_alone ? std::string("multiply in float32, without TF32, or take it as it is")
                                                : formatted("make them in float32, or take {} as it is", format.name)};
    out.push_back(std::move(tried));
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

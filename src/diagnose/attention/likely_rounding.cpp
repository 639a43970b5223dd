// Where a right port's roundings are not likely to leave as much: of a query, of a head, of all.
//
// The most that roundings may do grows with their number; independent ones leave the root of the sum of their squares,
// 3 to 20 times less, and a fault that leaves what lies between is none of them.
//
// A rounding to a format of unit u is even within u e(x), e(x) the power of two below |x|: its variance is
// u^2 e(x)^2 / 3. Errors e of a row's scores move its weights and output by
//
//   d p_j = p_j (e_j - sum_k p_k e_k),   d o = sum_j p_j e_j (v_j - o)
//
// so that the squares of a row are a quadratic form of independent errors, which noise.h bounds (Hsu, Kakade and Zhang
// 2012, theorem 2.1: the same bound for all that is not wider than normal, as even errors are).
//
// Whether scores were rounded at all is for the other queries to say: where they leave less than one rounding of a
// score does, the port had its scores in float32, and every query is held to what is rounded after them.
//
// No rounding shows a key that is hidden, and none hides one whose weight a format has a number for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "diagnose/attention/stage_judge.h"
#include "diagnose/noise.h"

namespace posenc::inline v0_2::port {
namespace {

// Roundings that code does at most: of a bias itself and scaled; of a weight its exponential and its quotient, and the
// sum, which all of a row have in common; of an output once, and once more where parts of the keys are merged. Those of
// scores are counted in score_variance().
constexpr double kOfBias = 2.0;
constexpr double kOfWeight = 2.0;
constexpr double kOfOutput = 2.0;
// Queries and keys that the port rotates itself: cos, sin, two products and their sum are as much as three roundings.
constexpr double kOfRotation = 3.0;
// Queries and keys that were finer than the format inside are rounded to it, and rounded again when they are scaled.
constexpr double kOfOperandsInside = 2.0;
// Even within a place: u^2 x^2 / 3 where x is a power of two, a fourth of it just below the next one.
constexpr double kWithinBinade = 4.0;
// The lower three quarters of squares of normal numbers hold 0.277 of their sum, P(chi^2_3 <= 1.323); a quarter.
constexpr double kLowerQuarters = 0.75;
constexpr double kOfLower = 4.0;
// What is above it is no 0 in float16, whose least number is 2^-24.
constexpr double kLeastWeight = 0x1p-24;

// Of a sum of squares: its mean, the square of its covariance's Frobenius norm, and its spectral norm or more.
struct Form {
  double mean = 0.0;
  double squares = 0.0;
  double largest = 0.0;

  void add(double variance) {
    mean += variance;
    squares += variance * variance;
    largest = std::max(largest, variance);
  }
  // Of one direction at worst.
  static Form of_trace(double trace) { return {trace, trace * trace, trace}; }
};

// Of errors that are added.
Form operator+(const Form& a, const Form& b) {
  const double frobenius = std::sqrt(a.squares) + std::sqrt(b.squares);
  return {a.mean + b.mean, frobenius * frobenius, a.largest + b.largest};
}

// What is likely of some rows, and what is left of them.
struct LikelyOfRows {
  double rest = 0.0;
  double least = 0.0;          // of one rounding of each score, at the least
  double least_squares = 0.0;  // of heads
  Variances finer, coarser;    // scores in float32, or rounded at every step

  void add_row(double left, double one_rounding, const Form& after, const Form& scores) {
    rest += left;
    least += one_rounding;
    least_squares += one_rounding * one_rounding;
    const auto add = [](Variances& to, const Form& form) {
      to.sum += form.mean;
      to.squares += form.squares;
      to.largest = std::max(to.largest, form.largest);
    };
    add(finer, after);
    add(coarser, after + scores);
  }
};

std::vector<std::size_t> beyond(const std::vector<LikelyOfRows>& rows, Variances LikelyOfRows::*allowed, double t) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].rest > (rows[i].*allowed).bound(t)) out.push_back(i);
  }
  return out;
}

double of_place(double unit, double x) {
  const double place = power_below(x);
  return rounding_variance(unit, place * place);
}

}  // namespace

// Of the errors of a score that code rounds at every step: the product; the scaled one, or queries and keys before it;
// over the cap, through tanh, times the cap; with its bias, and what is below the largest of its row, `below`.
double StageJudge::score_variance(const AttentionTried& tried, std::size_t n, double below, double unit,
                                  double operands) const {
  const double content = (*tried.content)[n] * tried.content_times;
  const double bias = (*tried.bias)[n];
  const double scale = std::fabs(scale_ * tried.content_times);
  double out = scale > 0 ? scale * scale * of_place(unit, content / scale) : 0.0;
  const double factors = rounding_variance(unit, tried.content_times * tried.content_times * scaled_factors_[n]);
  out += std::max(of_place(unit, content), factors) + (operands - 1) * factors;
  const auto with_bias = [&] {
    if (bias != 0) out += of_place(unit, content + bias) + rounding_variance(unit, kOfBias * bias * bias);
  };
  const bool biased_first = !tried.cap || tried.cap->order == SoftCap::Order::after_bias;
  if (biased_first) with_bias();
  if (tried.cap) {
    const double cap = tried.cap->cap;
    const double x = biased_first ? content + bias : content;
    const double t = std::tanh(x / cap);
    out = (out + cap * cap * of_place(unit, x / cap)) * (1 - t * t) * (1 - t * t) + cap * cap * of_place(unit, t) +
          of_place(unit, cap * t);
  }
  if (!biased_first) with_bias();
  return out + of_place(unit, below);
}

Unlikely StageJudge::unlikely(const Stage& stage, const AttentionTried& tried, const Left& left, double inside) const {
  const bool scores_dumped = stage.before == AttentionStage::scores;
  const bool weights_dumped = stage.before == AttentionStage::weights;
  const bool of_scores = stage.stage == AttentionStage::scores;
  const bool of_out = stage.stage == AttentionStage::out;
  const Scores z = predicted_scores(tried);
  const Scores p = weights_dumped ? dumped_.weights : of_scores ? Scores{} : softmaxed(tried, scores_dumped);
  const std::vector<double> o = of_out ? summed_values(p, *tried.v, tried.v_of, dumped_) : std::vector<double>{};
  const double unit = std::max({dumped_.unit, dumped_.scores_unit, kStageUnit, inside});
  const double score_unit = scores_dumped ? std::max(dumped_.scores_unit, inside) : unit;
  const double weight_unit = std::max({dumped_.unit, dumped_.weights_unit, kStageUnit, inside});
  const double out_unit = std::max({dumped_.unit, dumped_.out_unit, kStageUnit});
  const double of_operands = (inside > 0 ? kOfOperandsInside : 1.0) + (dumped_.rotates ? kOfRotation : 0.0);
  const double of_weight = inside > 0 ? kOfWeight + 1 : kOfWeight;  // and of the value that it is multiplied with
  // float32 sums lose a part of the lengths.
  const auto in_float = [&](std::size_t h, std::size_t i, std::size_t j) {
    const double length = kStageRoundings * kStageUnit * q_length_[i * dumped_.heads + h] * k_length_[j];
    return length * length;
  };
  Scores variances(z.size(), 0.0);
  each_row([&](std::size_t h, std::size_t i) {
    if (weights_dumped) return;
    const Scores& of = scores_dumped ? dumped_.scores : z;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      if ((*tried.seen)[i * dumped_.keys + j] != 0) largest = std::max(largest, of[dumped_.at(h, i, j)]);
    }
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      const std::size_t n = dumped_.at(h, i, j);
      if (!std::isfinite(of[n])) continue;
      const double below = of_scores || !std::isfinite(largest) ? 0.0 : largest - of[n];
      variances[n] = scores_dumped ? of_place(score_unit, of[n]) + of_place(score_unit, below)
                                   : score_variance(tried, n, below, score_unit, of_operands);
    }
  });
  // Of float32 sums, of the softmax and of products, each of at most all that is added.
  const auto additions = static_cast<double>(dumped_.keys);
  std::vector<double> sizes(of_out ? dumped_.value_dim : 0);  // sum_j p_j |v_j|, of a row
  std::vector<LikelyOfRows> queries(dumped_.queries);
  std::vector<LikelyOfRows> sums(dumped_.heads + 1);  // of heads, and of all
  each_row([&](std::size_t h, std::size_t i) {
    Form after;
    Form scores;
    double least = 0.0;
    double mean = 0.0;  // of errors of scores, by weight
    if (of_scores) {
      for_seen(h, i, tried.seen.get(), [&](std::size_t n) {
        const double once = rounding_variance(unit, z[n] * z[n]);
        after.add(once + in_float(h, i, n % dumped_.keys));
        scores.add(variances[n]);
        least += (once + rounding_variance(unit, (*tried.content)[n] * (*tried.content)[n])) / kWithinBinade;
      });
    } else {
      for (std::size_t j = 0; j < dumped_.keys; ++j) {
        const std::size_t n = dumped_.at(h, i, j);
        mean += p[n] * p[n] * variances[n];
      }
    }
    const std::size_t g = kv_head_of(tried.v_of, dumped_, h);
    double of_scores_sum = 0.0;
    double of_floats = 0.0;
    double of_weights = 0.0;
    double of_sum = 0.0;
    std::ranges::fill(sizes, 0.0);
    for (std::size_t j = 0; j < dumped_.keys && !of_scores; ++j) {
      const std::size_t n = dumped_.at(h, i, j);
      if (p[n] == 0) continue;
      const double square = p[n] * p[n];
      const double rounded = rounding_variance(weight_unit, of_weight * square);
      const double once = rounding_variance(unit, z[n] * z[n]) / kWithinBinade;
      if (!of_out) {
        after.add(rounded + square * in_float(h, i, j));
        of_sum += rounding_variance(weight_unit, square);
        of_scores_sum += square * (variances[n] * (1 - 2 * p[n]) + mean);
        least += square * once * (1 - p[n]) * (1 - p[n]);
        continue;
      }
      double from_mean = 0.0;
      double size = 0.0;
      const double* const v = tried.v->data() + (j * dumped_.kv_heads + g) * dumped_.value_dim;
      const double* const at = o.data() + (i * dumped_.heads + h) * dumped_.value_dim;
      for (std::size_t c = 0; c < dumped_.value_dim; ++c) {
        from_mean += (v[c] - at[c]) * (v[c] - at[c]);
        size += v[c] * v[c];
        sizes[c] += p[n] * std::fabs(v[c]);
      }
      of_weights += rounded * size;
      of_floats += square * in_float(h, i, j) * from_mean;
      of_scores_sum += square * variances[n] * from_mean;
      least += square * once * from_mean;
    }
    if (of_out) {
      const double* const at = o.data() + (i * dumped_.heads + h) * dumped_.value_dim;
      double of_softmax = 0.0;
      for (std::size_t c = 0; c < dumped_.value_dim; ++c) {
        const double of_products = additions * rounding_variance(kStageUnit, sizes[c] * sizes[c]);
        after.add(rounding_variance(out_unit, kOfOutput * at[c] * at[c]) + of_products);
        of_softmax += additions * rounding_variance(kStageUnit, at[c] * at[c]);
      }
      after = after + Form::of_trace(of_weights + of_floats + of_softmax);
    }
    if (!of_scores) scores = Form::of_trace(of_scores_sum);
    if (of_sum > 0) after = after + Form::of_trace(of_sum);
    for (LikelyOfRows* const rows : {&queries[i], &sums[h], &sums.back()}) {
      rows->add_row(left.rests[h * dumped_.queries + i], least, after, scores);
    }
  });
  std::vector<std::size_t> out =
      stage.stage == AttentionStage::weights ? shown_otherwise(tried, p, scores_dumped) : std::vector<std::size_t>{};
  const double t = level_of(static_cast<double>(queries.size() + sums.size()));
  const std::vector<std::size_t> finer = beyond(queries, &LikelyOfRows::finer, t);
  double rest = 0.0;
  Variances least;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (std::ranges::binary_search(finer, i)) continue;
    rest += queries[i].rest;
    least.sum += queries[i].least;
    least.squares += queries[i].least_squares;
  }
  const auto within = static_cast<double>(queries.size() - finer.size());
  const bool is_finer = inside == 0 && within >= kLowerQuarters * static_cast<double>(queries.size()) &&
                        kOfLower * rest <= least.sum - 2 * std::sqrt(t * least.squares);
  for (const std::size_t i : is_finer ? finer : beyond(queries, &LikelyOfRows::coarser, t)) out.push_back(i);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return {.queries = std::move(out),
          .in_sum = !beyond(sums, is_finer ? &LikelyOfRows::finer : &LikelyOfRows::coarser, t).empty()};
}

// Where the plan shows no key at all, code makes of the row what it likes.
std::vector<std::size_t> StageJudge::shown_otherwise(const AttentionTried& tried, const Scores& p,
                                                     bool dumped_scores) const {
  std::vector<std::size_t> out;
  // Scores that hold the mask are judged by themselves.
  if (dumped_scores && dumped_.masked) return out;
  each_row([&](std::size_t h, std::size_t i) {
    const char* const seen = tried.seen->data() + i * dumped_.keys;
    if (std::none_of(seen, seen + dumped_.keys, [](char s) { return s != 0; })) return;
    const double least = kLeastWeight * std::exp(weight_error(tried, h, i, dumped_scores));
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      const std::size_t n = dumped_.at(h, i, j);
      const bool is_shown = dumped_.weights[n] > 0;
      if (is_shown != (seen[j] != 0) && (is_shown || p[n] > least)) out.push_back(i);
    }
  });
  return out;
}

}  // namespace posenc::inline v0_2::port

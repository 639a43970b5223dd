// What a hypothesis leaves of a stage that was dumped, and what rounding of the dump may leave.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "diagnose/attention/tried.h"

namespace posenc::inline v0_2::port {

// What one hypothesis leaves of a stage.
struct Left {
  double rest = 0.0;            // sum of squares
  double allowed = 0.0;         // by rounding
  double rounded = 0.0;         // by even roundings of outputs to their format, on the average
  double moved = 0.0;           // sum of squares of what scores that are off by 1 may do to outputs, at the most
  std::vector<char> rows{};     // [queries]: in which more is left than rounding makes
  std::vector<double> rests{};  // [heads, queries]: of rest
  bool likely = true;           // of all and of each head no more is left than rounding is likely to make
  bool holds() const { return rest <= allowed; }
};

// Where a hypothesis leaves more than roundings are likely to.
struct Unlikely {
  std::vector<std::size_t> queries{};
  bool in_sum = false;  // of all rows, or of a head's
  bool nowhere() const { return queries.empty() && !in_sum; }
};

// Numbers of a whole stage for all hypotheses.
struct Stage {
  AttentionStage stage;
  std::optional<AttentionStage> before{};  // the latest stage before it that was dumped
  double energy = 0.0;
};

// Keys that scores which hold the mask show, [queries, keys]; nothing where heads differ, or no scores hold it.
std::optional<Seen> shown_by_scores(const DumpedAttention& dumped);

// What float32 rounds, and how often: products, sums, exp and a conversion.
inline constexpr double kStageUnit = 0x1p-24;
inline constexpr double kStageRoundings = 4.0;

// What float32 sums of so many numbers lose of the sum of their sizes, at the most: roundings of partial sums are
// independent, so that their squares add up (Higham and Mary 2019, theorem 2.4).
double sum_error(std::size_t count);

// The power of two that is next to |x| from below; 0 of 0.
double power_below(double x);

// Scores of a hypothesis, all keys seen.
Scores predicted_scores(const AttentionTried& tried);

// `scale`: the layer's softmax scale.
class StageJudge {
 public:
  StageJudge(const DumpedAttention& dumped, double scale);

  double energy(AttentionStage stage) const;
  // Of scores, numbers alone: whether the mask is the hypothesis's is another question, which shown_by_scores()
  // answers.
  Left left(const Stage& stage, const AttentionTried& tried) const;
  // The output of a hypothesis, [queries, heads, value_dim]. `before`: as in Stage.
  std::vector<double> output(const AttentionTried& tried, std::optional<AttentionStage> before) const;
  // Of what it left, `left`: where roundings, one by one, are not likely to leave as much. Holds where every step of
  // scores has been rounded to the dtype of the tensors, and closer where other queries show that none was.
  // `inside`: half an ulp of 1 of a format that products, scores, weights and values may be in though what was dumped
  // is finer; 0: none.
  Unlikely unlikely(const Stage& stage, const AttentionTried& tried, const Left& left, double inside = 0.0) const;

 private:
  Left of_scores(const AttentionTried& tried) const;
  Left of_weights(const AttentionTried& tried, bool dumped_scores) const;
  Left of_out(const AttentionTried& tried, std::optional<AttentionStage> before) const;
  Scores softmaxed(const AttentionTried& tried, bool dumped_scores) const;
  Scores rounded_weights(Scores weights, const AttentionTried& tried) const;
  // What values are multiplied with.
  Scores summed_weights(const AttentionTried& tried, std::optional<AttentionStage> before) const;
  double score_variance(const AttentionTried& tried, std::size_t n, double below, double unit, double operands) const;
  double score_error_of_row(const AttentionTried& tried, std::size_t h, std::size_t i, bool dumped_scores) const;
  double weight_error(const AttentionTried& tried, std::size_t h, std::size_t i, bool dumped_scores) const;
  // Queries with weights of keys that the hypothesis hides, or none of keys that it shows.
  std::vector<std::size_t> shown_otherwise(const AttentionTried& tried, const Scores& p, bool dumped_scores) const;
  double score_error(std::size_t h, std::size_t i, std::size_t j, double z, double content, double unit) const;

  template <typename Do>
  void each_row(Do act) const {
    for (std::size_t h = 0; h < dumped_.heads; ++h) {
      for (std::size_t i = 0; i < dumped_.queries; ++i) act(h, i);
    }
  }

  // Keys whose scores are seen in the dump, and, where it holds no mask, by the hypothesis.
  template <typename Do>
  void for_seen(std::size_t h, std::size_t i, const Seen* seen, Do act) const {
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      if (seen != nullptr && !dumped_.masked && (*seen)[i * dumped_.keys + j] == 0) continue;
      const std::size_t n = dumped_.at(h, i, j);
      if (dumped_.scores.empty() || std::isfinite(dumped_.scores[n])) act(n);
    }
  }

  const DumpedAttention& dumped_;
  // Lengths of queries and keys times the scale: what products of float32 lose is a part of that, not of the score.
  std::vector<double> q_length_;  // [queries, heads]
  std::vector<double> k_length_;  // [keys], the longest of all heads
  double scale_;
  // Of each score scale sum_c (e(q_c)^2 k_c^2 + e(k_c)^2 q_c^2), e(x) the power of two below sqrt(scale) x: u^2 / 3
  // times this is what rounding of q and k, each times a part of the scale, makes of it.
  Scores scaled_factors_;
};

}  // namespace posenc::inline v0_2::port

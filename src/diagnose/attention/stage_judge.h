// What a hypothesis leaves of a stage that was dumped, and what rounding of the dump may leave.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/attention/tried.h"

namespace posenc::inline v0_2::port {

// What one hypothesis leaves of a stage.
struct Left {
  double rest = 0.0;         // sum of squares
  double allowed = 0.0;      // by rounding
  std::vector<char> rows{};  // [queries]: in which more is left than rounding makes
  bool likely = true;        // of all, of each head and of each query no more is left than rounding is likely to make
  bool holds() const { return rest <= allowed; }
};

// Numbers of a whole stage for all hypotheses.
struct Stage {
  AttentionStage stage;
  std::optional<AttentionStage> before{};  // the latest stage before it that was dumped
  double energy = 0.0;
};

// Keys that scores which hold the mask show, [queries, keys]; nothing where heads differ, or no scores hold it.
std::optional<Seen> shown_by_scores(const DumpedAttention& dumped);

// `scale`: the layer's softmax scale.
class StageJudge {
 public:
  StageJudge(const DumpedAttention& dumped, double scale);

  double energy(AttentionStage stage) const;
  // Of scores, numbers alone: whether the mask is the hypothesis's is another question, which shown_by_scores()
  // answers.
  Left left(const Stage& stage, const AttentionTried& tried) const;

 private:
  Left of_scores(const AttentionTried& tried) const;
  Left of_weights(const AttentionTried& tried, bool dumped_scores) const;
  Left of_out(const AttentionTried& tried, std::optional<AttentionStage> before) const;
  Scores softmaxed(const AttentionTried& tried, bool dumped_scores) const;
  double weight_error(const AttentionTried& tried, std::size_t h, std::size_t i, bool dumped_scores) const;
  double score_error(std::size_t h, std::size_t i, std::size_t j, double z, double content, double unit) const;

  template <typename Do>
  void each_row(Do act) const;
  template <typename Do>
  void for_seen(std::size_t h, std::size_t i, const Seen* seen, Do act) const;

  const DumpedAttention& dumped_;
  // Lengths of queries and keys times the scale: what products of float32 lose is a part of that, not of the score.
  std::vector<double> q_length_;  // [queries, heads]
  std::vector<double> k_length_;  // [keys], the longest of all heads
};

}  // namespace posenc::inline v0_2::port

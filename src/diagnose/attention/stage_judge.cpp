#include "diagnose/attention/stage_judge.h"

#include <algorithm>
#include <cmath>

namespace posenc::inline v0_2::port {
namespace {

// What is allowed adds up the most that each rounding may do, (4 u (|z| + |content|))^2 of a score; a weight may be off
// by twice the error of its score and 4 u besides. What is likely is less. Two roundings of a score that is all bias,
// each even within u |z|, leave 1/24 of that, and (2 u |z|)^2, 1/4, at the most; one rounding of a weight 1/48, and
// 1/16 at the most. The most counts where few rows are added up.
struct Likely {
  double many;
  double few;
};
constexpr Likely kLikelyScores{16.0, 4.0};
constexpr Likely kLikelyWeights{24.0, 12.0};
constexpr std::size_t kManyRows = 8;

// What is left and what is allowed, by head.
class RowSums {
 public:
  RowSums(std::size_t heads, std::size_t queries) : heads_(heads), queries_(queries) {}

  void add(std::size_t h, std::size_t i, double rest, double allowed, Left& out) {
    heads_[h].add(rest, allowed);
    out.rests.push_back(rest);
    out.rest += rest;
    out.allowed += allowed;
    if (rest > allowed) out.rows[i] = 1;
  }
  bool are_likely(const Likely& times, const Left& all) const {
    const auto within = [&](const Sums& sums, std::size_t rows) {
      return sums.rest * (rows < kManyRows ? times.few : times.many) <= sums.allowed;
    };
    return within({all.rest, all.allowed}, heads_.size() * queries_) &&
           std::ranges::all_of(heads_, [&](const Sums& s) { return within(s, queries_); });
  }

 private:
  struct Sums {
    double rest = 0.0, allowed = 0.0;

    void add(double more, double may) {
      rest += more;
      allowed += may;
    }
  };
  std::vector<Sums> heads_;
  std::size_t queries_;
};

double length(const double* x, std::size_t channels) {
  double sum = 0.0;
  for (std::size_t c = 0; c < channels; ++c) sum += x[c] * x[c];
  return std::sqrt(sum);
}

}  // namespace

double sum_error(std::size_t count) { return kStageRoundings * kStageUnit * std::sqrt(static_cast<double>(count)); }

double power_below(double x) { return x == 0 ? 0.0 : std::ldexp(1.0, std::ilogb(x)); }

Scores predicted_scores(const AttentionTried& tried) {
  if (tried.content_times == 1.0) return capped_scores(*tried.content, *tried.bias, tried.cap);
  Scores content = *tried.content;
  for (double& x : content) x *= tried.content_times;
  return capped_scores(content, *tried.bias, tried.cap);
}

std::optional<Seen> shown_by_scores(const DumpedAttention& dumped) {
  if (!dumped.masked) return {};
  Seen out(dumped.queries * dumped.keys);
  for (std::size_t n = 0; n < out.size(); ++n) {
    out[n] = std::isfinite(dumped.scores[n]) ? 1 : 0;
    for (std::size_t h = 1; h < dumped.heads; ++h) {
      if ((std::isfinite(dumped.scores[h * out.size() + n]) ? 1 : 0) != out[n]) return {};
    }
  }
  return out;
}

StageJudge::StageJudge(const DumpedAttention& dumped, double scale) : dumped_(dumped), scale_(scale) {
  for (std::size_t n = 0; n < dumped.queries * dumped.heads; ++n) {
    q_length_.push_back(std::fabs(scale) * length(dumped.q.data() + n * dumped.head_dim, dumped.head_dim));
  }
  for (std::size_t j = 0; j < dumped.keys; ++j) {
    double most = 0.0;
    for (std::size_t g = 0; g < dumped.kv_heads; ++g) {
      most = std::max(most, length(dumped.k.data() + (j * dumped.kv_heads + g) * dumped.head_dim, dumped.head_dim));
    }
    k_length_.push_back(most);
  }
  const std::size_t group = std::max<std::size_t>(1, dumped.heads / std::max<std::size_t>(1, dumped.kv_heads));
  scaled_factors_.assign(dumped.heads * dumped.queries * dumped.keys, 0.0);
  const auto places = [root = std::sqrt(std::fabs(scale))](const std::vector<double>& of) {
    std::vector<double> out = of;
    for (double& x : out) x = power_below(root * x);
    return out;
  };
  const std::vector<double> q_places = places(dumped.q);
  const std::vector<double> k_places = places(dumped.k);
  each_row([&](std::size_t h, std::size_t i) {
    const std::size_t of_q = (i * dumped.heads + h) * dumped.head_dim;
    for (std::size_t j = 0; j < dumped.keys; ++j) {
      const std::size_t of_k = (j * dumped.kv_heads + h / group) * dumped.head_dim;
      double sum = 0.0;
      for (std::size_t c = 0; c < dumped.head_dim; ++c) {
        const double q = q_places[of_q + c] * dumped.k[of_k + c];
        const double k = k_places[of_k + c] * dumped.q[of_q + c];
        sum += q * q + k * k;
      }
      scaled_factors_[dumped.at(h, i, j)] = std::fabs(scale) * sum;
    }
  });
}

double StageJudge::energy(AttentionStage stage) const {
  const std::vector<double>& of = stage == AttentionStage::weights ? dumped_.weights : dumped_.out;
  double sum = 0.0;
  if (stage != AttentionStage::scores) {
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

Left StageJudge::left(const Stage& stage, const AttentionTried& tried) const {
  switch (stage.stage) {
    case AttentionStage::scores: return of_scores(tried);
    case AttentionStage::weights: return of_weights(tried, stage.before.has_value());
    case AttentionStage::out: return of_out(tried, stage.before);
  }
  return {};
}

double StageJudge::score_error(std::size_t h, std::size_t i, std::size_t j, double z, double content,
                               double unit) const {
  const double length = q_length_[i * dumped_.heads + h] * k_length_[j];
  return kStageRoundings * (kStageUnit * length + unit * (std::fabs(z) + std::fabs(content)));
}

// A number that all scores of a query have in common changes nothing: both are compared without it.
Left StageJudge::of_scores(const AttentionTried& tried) const {
  Left out{.rows = std::vector<char>(dumped_.queries, 0)};
  RowSums sums(dumped_.heads, dumped_.queries);
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
    sums.add(h, i, rest, allowed, out);
  });
  out.likely = sums.are_likely(kLikelyScores, out);
  return out;
}

// The scores that the softmax is of: the port's own where they were dumped.
Scores StageJudge::softmaxed(const AttentionTried& tried, bool dumped_scores) const {
  if (!dumped_scores) {
    return rounded_weights(softmax_weights(predicted_scores(tried), *tried.seen, tried.sinks, dumped_), tried);
  }
  Seen seen = *tried.seen;
  if (dumped_.masked) {
    for (std::size_t n = 0; n < seen.size(); ++n) seen[n] = std::isfinite(dumped_.scores[n]) ? 1 : 0;
  }
  return rounded_weights(softmax_weights(dumped_.scores, seen, tried.sinks, dumped_), tried);
}

Scores StageJudge::rounded_weights(Scores weights, const AttentionTried& tried) const {
  if (!tried.weights_in) return weights;
  const RoundedWeights& in = *tried.weights_in;
  each_row([&](std::size_t h, std::size_t i) {
    double* const row = weights.data() + dumped_.at(h, i, 0);
    const double largest = in.of_largest ? *std::max_element(row, row + dumped_.keys) : 1.0;
    if (largest == 0) return;
    for (std::size_t j = 0; j < dumped_.keys; ++j) row[j] = largest * rounded_to(in.format, row[j] / largest);
  });
  return weights;
}

// Of a query's weights, how much scores may move each, relative to itself: twice the most that a score may be off.
double StageJudge::score_error_of_row(const AttentionTried& tried, std::size_t h, std::size_t i,
                                      bool dumped_scores) const {
  double most = 0.0;
  const double unit = dumped_scores ? dumped_.scores_unit : std::max(dumped_.unit, dumped_.weights_unit);
  for (std::size_t j = 0; j < dumped_.keys; ++j) {
    if ((*tried.seen)[i * dumped_.keys + j] == 0) continue;
    const std::size_t n = dumped_.at(h, i, j);
    const double z = (*tried.content)[n] * tried.content_times + (*tried.bias)[n];
    most = std::max(most, dumped_scores ? kStageRoundings * unit * std::fabs(z)
                                        : score_error(h, i, j, z, (*tried.content)[n] * tried.content_times, unit));
  }
  return 2 * most;
}

// Of a query's weights, how much each may be off, relative to itself.
double StageJudge::weight_error(const AttentionTried& tried, std::size_t h, std::size_t i, bool dumped_scores) const {
  return score_error_of_row(tried, h, i, dumped_scores) +
         kStageRoundings * std::max({kStageUnit, dumped_.weights_unit, dumped_.unit});
}

Left StageJudge::of_weights(const AttentionTried& tried, bool dumped_scores) const {
  Left out{.rows = std::vector<char>(dumped_.queries, 0)};
  RowSums sums(dumped_.heads, dumped_.queries);
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
    sums.add(h, i, rest, allowed, out);
  });
  out.likely = sums.are_likely(kLikelyWeights, out);
  return out;
}

Scores StageJudge::summed_weights(const AttentionTried& tried, std::optional<AttentionStage> before) const {
  if (before == AttentionStage::weights) return rounded_weights(dumped_.weights, tried);
  return softmaxed(tried, before == AttentionStage::scores);
}

std::vector<double> StageJudge::output(const AttentionTried& tried, std::optional<AttentionStage> before) const {
  return summed_values(summed_weights(tried, before), *tried.v, tried.v_of, dumped_);
}

// A score that is off by e_j moves o by sum_j p_j e_j (v_j - o) (likely_rounding.cpp): values that hardly differ hide
// what scores do, and their roundings with it. Those of weights, sums and outputs are of their sizes.
Left StageJudge::of_out(const AttentionTried& tried, std::optional<AttentionStage> before) const {
  Left out{.rows = std::vector<char>(dumped_.queries, 0)};
  RowSums sums(dumped_.heads, dumped_.queries);
  const bool has_weights = before == AttentionStage::weights;
  const Scores p = summed_weights(tried, before);
  const std::vector<double> made = summed_values(p, *tried.v, tried.v_of, dumped_);
  std::vector<double> sizes = *tried.v;
  for (double& x : sizes) x = std::fabs(x);
  const std::vector<double> bound = summed_values(p, sizes, tried.v_of, dumped_);
  const double unit = std::max({kStageUnit, dumped_.out_unit, dumped_.unit});
  const double of_weights = kStageRoundings * std::max(unit, dumped_.weights_unit);
  std::vector<double> apart(dumped_.value_dim);  // sum_j p_j |v_j - o|, of a row
  each_row([&](std::size_t h, std::size_t i) {
    const std::size_t g = kv_head_of(tried.v_of, dumped_, h);
    const std::size_t row = (i * dumped_.heads + h) * dumped_.value_dim;
    std::ranges::fill(apart, 0.0);
    double of_sink = 1.0;
    for (std::size_t j = 0; j < dumped_.keys; ++j) {
      const double weight = p[dumped_.at(h, i, j)];
      if (weight == 0) continue;
      const double* const v = tried.v->data() + (j * dumped_.kv_heads + g) * dumped_.value_dim;
      for (std::size_t c = 0; c < dumped_.value_dim; ++c) apart[c] += weight * std::fabs(v[c] - made[row + c]);
      of_sink -= weight;
    }
    // A sink is a key whose value is 0.
    for (std::size_t c = 0; c < dumped_.value_dim && !tried.sinks.empty(); ++c) {
      apart[c] += std::max(0.0, of_sink) * std::fabs(made[row + c]);
    }
    const double of_scores = has_weights ? 0.0 : score_error_of_row(tried, h, i, before == AttentionStage::scores);
    double rest = 0.0;
    double allowed = 0.0;
    for (std::size_t c = 0; c < dumped_.value_dim; ++c) {
      const std::size_t n = row + c;
      const std::size_t at = tried.out_by_heads ? (h * dumped_.queries + i) * dumped_.value_dim + c : n;
      const double d = dumped_.out[at] - (tried.out_in ? rounded_to(*tried.out_in, made[n]) : made[n]);
      rest += d * d;
      const double may = of_scores * apart[c] + (of_weights + sum_error(dumped_.keys)) * bound[n] +
                         kStageRoundings * unit * std::fabs(made[n]);
      allowed += may * may;
      const double place = power_below(made[n]);
      out.rounded += rounding_variance(std::max(kStageUnit, dumped_.out_unit), place * place);
      out.moved += apart[c] * apart[c];
    }
    allowed += 0x1p-120;
    sums.add(h, i, rest, allowed, out);
  });
  out.likely = sums.are_likely(kLikelyWeights, out);
  return out;
}

}  // namespace posenc::inline v0_2::port

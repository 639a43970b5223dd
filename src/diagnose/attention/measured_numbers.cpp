#include "diagnose/attention/measured_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"

namespace posenc::inline v0_2::port {
namespace {

// Queries that a number is searched on: with 32 heads, 512 keys and 128 channels one try takes 5 ms.
constexpr std::size_t kSearched = 2;
// Steps of a grid over a factor of 2^18, then thirds of what is left: 0.618^32 of a step is below float32.
constexpr int kGrid = 24;
constexpr int kTrials = 32;

std::vector<double> rows_of(const std::vector<double>& of, const std::vector<std::size_t>& queries, std::size_t all,
                            std::size_t width, std::size_t heads) {
  std::vector<double> out;
  if (of.empty()) return out;
  for (std::size_t h = 0; h < heads; ++h) {
    for (const std::size_t i : queries) {
      const auto from = of.begin() + static_cast<std::ptrdiff_t>((h * all + i) * width);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
  }
  return out;
}

// The dump, and the plan's scores, of a few queries: the last one among them, evenly.
struct Few {
  DumpedAttention dumped;
  AttentionTried plan;
};

Few few_queries(const DumpedAttention& dumped, const AttentionTried& plan) {
  std::vector<std::size_t> queries;
  const std::size_t count = std::min(dumped.queries, kSearched);
  for (std::size_t n = 0; n < count; ++n) queries.push_back(dumped.queries - 1 - n * dumped.queries / count);
  Few out{dumped, plan};
  DumpedAttention& few = out.dumped;
  few.queries = count;
  few.q = rows_of(dumped.q, queries, dumped.queries, dumped.heads * dumped.head_dim, 1);
  few.out = rows_of(dumped.out, queries, dumped.queries, dumped.heads * dumped.value_dim, 1);
  few.scores = rows_of(dumped.scores, queries, dumped.queries, dumped.keys, dumped.heads);
  few.weights = rows_of(dumped.weights, queries, dumped.queries, dumped.keys, dumped.heads);
  few.given.clear();
  Seen seen;
  few.q_order.clear();
  for (const std::size_t i : queries) {
    few.q_order.push_back(dumped.q_order[i]);
    const auto from = plan.seen->begin() + static_cast<std::ptrdiff_t>(i * dumped.keys);
    seen.insert(seen.end(), from, from + static_cast<std::ptrdiff_t>(dumped.keys));
  }
  out.plan.seen = std::make_shared<const Seen>(std::move(seen));
  out.plan.content =
      std::make_shared<const Scores>(rows_of(*plan.content, queries, dumped.queries, dumped.keys, dumped.heads));
  out.plan.bias =
      std::make_shared<const Scores>(rows_of(*plan.bias, queries, dumped.queries, dumped.keys, dumped.heads));
  return out;
}

// The number above 0 with which least is left; `with(tried, number)` sets it.
template <typename With>
double least_number(const Few& few, const Stage& stage, double scale, double near, With with) {
  const StageJudge judge(few.dumped, scale);
  const auto left = [&](double x) {
    AttentionTried tried = few.plan;
    with(tried, std::exp(x));
    return judge.left(stage, tried).rest;
  };
  const double middle = std::log(near);
  const double reach = 9 * std::log(2.0);
  const double step = 2 * reach / kGrid;
  double best = middle;
  double least = std::numeric_limits<double>::infinity();
  for (int n = 0; n <= kGrid; ++n) {
    const double x = middle - reach + n * step;
    const double rest = left(x);
    if (rest >= least) continue;
    least = rest;
    best = x;
  }
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = best - step;
  double b = best + step;
  double c = b - golden * (b - a);
  double d = a + golden * (b - a);
  double at_c = left(c);
  double at_d = left(d);
  for (int n = 0; n < kTrials; ++n) {
    if (at_c < at_d) {
      b = std::exchange(d, c);
      at_d = at_c;
      c = b - golden * (b - a);
      at_c = left(c);
    } else {
      a = std::exchange(c, d);
      at_c = at_d;
      d = a + golden * (b - a);
      at_d = left(d);
    }
  }
  return std::exp((a + b) / 2);
}

// Cells of a stage as scores: of weights their logarithms, which a number of each query is added to.
template <typename Act>
void each_score(const DumpedAttention& dumped, const Stage& stage, const AttentionTried& plan, std::size_t h,
                std::size_t i, Act act) {
  for (std::size_t j = 0; j < dumped.keys; ++j) {
    const std::size_t n = dumped.at(h, i, j);
    if ((*plan.seen)[i * dumped.keys + j] == 0) continue;
    const double z = stage.stage == AttentionStage::scores ? dumped.scores[n] : std::log(dumped.weights[n]);
    if (std::isfinite(z)) act(n, j, z);
  }
}

// The slope of scores over `of(cell, key, query)`, other than `known` says: least squares in each query, by all of
// them.
template <typename Of, typename Known>
double slope_of(const DumpedAttention& dumped, const Stage& stage, const AttentionTried& plan, std::size_t first_head,
                std::size_t end_head, Of of, Known known) {
  double up = 0.0;
  double down = 0.0;
  for (std::size_t h = first_head; h < end_head; ++h) {
    for (std::size_t i = 0; i < dumped.queries; ++i) {
      double x = 0.0, y = 0.0, n = 0.0;
      each_score(dumped, stage, plan, h, i, [&](std::size_t cell, std::size_t j, double z) {
        x += of(cell, i, j);
        y += z - known(cell);
        n += 1;
      });
      each_score(dumped, stage, plan, h, i, [&](std::size_t cell, std::size_t j, double z) {
        const double off = of(cell, i, j) - x / n;
        up += off * (z - known(cell) - y / n);
        down += off * off;
      });
    }
  }
  return down > 0 ? up / down : 0.0;
}

std::string scale_words(double scale) {
  const double width = 1 / (scale * scale);
  const double whole = std::nearbyint(width);
  if (whole >= 1 && std::fabs(width - whole) < 1e-4 * whole) return formatted("{:.6g}: 1 / sqrt({})", scale, whole);
  return formatted("{:.6g}", scale);
}

std::string list_words(const std::vector<double>& numbers) {
  std::vector<std::string> out;
  for (const double x : numbers) {
    if (out.size() == 4) {
      out.emplace_back("...");
      break;
    }
    out.push_back(formatted("{:.4g}", x));
  }
  return joined(out, ", ");
}

std::optional<AttentionTried> fitted_scale(const LayerPlan& layer, const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan, const Few& few) {
  const double own = layer.softmax_scale;
  if (stage.before) return {};
  AttentionTried out = plan;
  if (!plan.cap && stage.stage != AttentionStage::out) {
    out.content_times = slope_of(
        dumped, stage, plan, 0, dumped.heads,
        [&](std::size_t cell, std::size_t, std::size_t) { return (*plan.content)[cell]; },
        [&](std::size_t cell) { return (*plan.bias)[cell]; });
  } else {
    out.content_times = least_number(few, stage, own, 1.0, [](AttentionTried& of, double x) { of.content_times = x; });
  }
  // Ports round the scale as they round the rest.
  if (std::fabs(out.content_times - 1) <= 4 * std::max(dumped.unit, dumped.scores_unit)) return {};
  out.fitted = 1;
  out.change = Change{PortFact::scale, scale_words(out.content_times * own), formatted("{:.6g}", own),
                      formatted("multiply QK^T by {:.6g}", own)};
  return out;
}

std::optional<AttentionTried> fitted_cap(const LayerPlan& layer, const Stage& stage, const AttentionTried& plan,
                                         const Few& few) {
  if (stage.before) return {};
  const SoftCap own = layer.soft_cap.value_or(SoftCap{30.0, SoftCap::Order::after_bias});
  const double cap = least_number(few, stage, layer.softmax_scale, own.cap, [&](AttentionTried& of, double x) {
    of.cap = SoftCap{x, own.order};
  });
  AttentionTried out = plan;
  out.cap = SoftCap{cap, own.order};
  out.change = Change{
      PortFact::soft_cap, formatted("{:.6g}", cap), layer.soft_cap ? formatted("{:.6g}", own.cap) : std::string("none"),
      layer.soft_cap ? formatted("the cap is {:.6g}", own.cap) : std::string("scores have no soft cap")};
  return out;
}

// A sink s takes e^s / (sum e^z + e^s) of a query's weights: all that are left, and the output, are smaller by so much.
std::optional<AttentionTried> fitted_sinks(const LayerPlan& layer, const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan) {
  const bool weights = stage.stage == AttentionStage::weights;
  if (stage.stage == AttentionStage::scores || stage.before == AttentionStage::weights) return {};
  Scores content = *plan.content;
  for (double& x : content) x *= plan.content_times;
  const Scores scores = stage.before ? dumped.scores : capped_scores(content, *plan.bias, plan.cap);
  const Scores without = softmax_weights(scores, *plan.seen, {}, dumped);
  const std::vector<double> made =
      weights ? std::vector<double>{} : summed_values(without, *plan.v, plan.v_in_turn, dumped);
  AttentionTried out = plan;
  out.sinks.assign(dumped.heads, 0.0);
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    // Of each query a sink; those of which the sink takes a good part tell it well, and without any the best does.
    std::vector<double> found;
    double best = 0.5;
    double of_best = plan.sinks.empty() ? -1e300 : plan.sinks[h];
    for (std::size_t i = 0; i < dumped.queries; ++i) {
      const std::size_t at = weights ? dumped.at(h, i, 0) : (i * dumped.heads + h) * dumped.value_dim;
      const std::vector<double>& by = weights ? without : made;
      const std::vector<double>& of = weights ? dumped.weights : dumped.out;
      double up = 0.0;
      double down = 0.0;
      for (std::size_t c = 0; c < (weights ? dumped.keys : dumped.value_dim); ++c) {
        up += of[at + c] * by[at + c];
        down += by[at + c] * by[at + c];
      }
      const double left = down > 0 ? up / down : 0.0;
      if (!(left > 0 && left < 1)) continue;
      double largest = -std::numeric_limits<double>::infinity();
      double sum = 0.0;
      for (std::size_t j = 0; j < dumped.keys; ++j) {
        if ((*plan.seen)[i * dumped.keys + j] != 0) largest = std::max(largest, scores[dumped.at(h, i, j)]);
      }
      for (std::size_t j = 0; j < dumped.keys; ++j) {
        if ((*plan.seen)[i * dumped.keys + j] != 0) sum += std::exp(scores[dumped.at(h, i, j)] - largest);
      }
      const double sink = largest + std::log(sum) + std::log(1 / left - 1);
      if (left > 0.01 && left < 0.99) found.push_back(sink);
      if (std::fabs(left - 0.5) >= best) continue;
      best = std::fabs(left - 0.5);
      of_best = sink;
    }
    if (found.empty()) found.push_back(of_best);
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
    std::ranges::nth_element(found, middle);
    out.sinks[h] = *middle;
  }
  out.fitted = dumped.heads;
  out.change = Change{PortFact::sinks, formatted("others: {}", list_words(out.sinks)),
                      layer.sinks ? formatted("as in the checkpoint: {}", list_words(plan.sinks)) : "no sinks",
                      layer.sinks ? "head h has the h-th sink of the checkpoint, as it is" : "a plain softmax"};
  return out;
}

std::optional<AttentionTried> fitted_slopes(const LayerPlan& layer, const DumpedAttention& dumped, const Stage& stage,
                                            const AttentionTried& plan) {
  const bool alibi = layer.score.size() == 1 && std::holds_alternative<Alibi>(layer.score.front());
  if (!alibi || plan.cap || stage.before || stage.stage == AttentionStage::out) return {};
  AttentionTried out = plan;
  Scores bias(plan.bias->size());
  std::vector<double> slopes;
  const auto back = [&](std::size_t, std::size_t i, std::size_t j) {
    return static_cast<double>(dumped.q_order[i] - dumped.k_order[j]);
  };
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    slopes.push_back(-slope_of(dumped, stage, plan, h, h + 1, back,
                               [&](std::size_t cell) { return plan.content_times * (*plan.content)[cell]; }));
    for (std::size_t i = 0; i < dumped.queries; ++i) {
      for (std::size_t j = 0; j < dumped.keys; ++j) bias[dumped.at(h, i, j)] = -slopes.back() * back(0, i, j);
    }
  }
  out.bias = std::make_shared<const Scores>(std::move(bias));
  out.fitted = dumped.heads;
  out.change = Change{PortFact::slopes, formatted("others: {}", list_words(slopes)), "the plan's slopes",
                      "make the slopes of all heads of the layer, and take those of the heads that are here"};
  return out;
}

}  // namespace

std::vector<AttentionTried> fitted_numbers(const LayerPlan& layer, const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan) {
  std::vector<AttentionTried> out;
  const auto add = [&](std::optional<AttentionTried> one) {
    if (one) out.push_back(std::move(*one));
  };
  if (stage.before != AttentionStage::weights) {
    const Few few = few_queries(dumped, plan);
    add(fitted_scale(layer, dumped, stage, plan, few));
    add(fitted_cap(layer, stage, plan, few));
    add(fitted_sinks(layer, dumped, stage, plan));
    add(fitted_slopes(layer, dumped, stage, plan));
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

#include "diagnose/attention/measured_numbers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/attention/few_queries.h"

namespace posenc::inline v0_2::port {
namespace {

// Queries that a number is searched on: with 32 heads, 512 keys and 128 channels one try takes 5 ms.
constexpr std::size_t kSearched = 2;
// Steps of a grid over a factor of 2^18, then thirds of what is left: 0.618^32 of a step is below float32.
constexpr int kGrid = 24;
constexpr int kTrials = 32;

// The numbers above 0 with which least is left, each of its own part: `left(numbers)`, of each. All are searched at
// once.
template <typename Parts>
std::vector<double> least_numbers(std::size_t count, double near, Parts left) {
  const auto rests = [&](const std::vector<double>& logarithms) {
    std::vector<double> numbers = logarithms;
    for (double& x : numbers) x = std::exp(x);
    return left(numbers);
  };
  const double middle = std::log(near);
  const double reach = 9 * std::log(2.0);
  const double step = 2 * reach / kGrid;
  std::vector<double> best(count, middle);
  std::vector<double> least(count, std::numeric_limits<double>::infinity());
  for (int n = 0; n <= kGrid; ++n) {
    const double x = middle - reach + n * step;
    const std::vector<double> rest = rests(std::vector<double>(count, x));
    for (std::size_t m = 0; m < count; ++m) {
      if (rest[m] >= least[m]) continue;
      least[m] = rest[m];
      best[m] = x;
    }
  }
  // Golden sections of each: the new point is c where what is left there was less, else d.
  const double golden = (std::sqrt(5.0) - 1) / 2;
  struct Section {
    double a, b, c, d;
    double at_c = 0.0, at_d = 0.0;
    bool asks_c = true;
  };
  std::vector<Section> sections;
  for (const double x : best) {
    const double a = x - step;
    const double b = x + step;
    sections.push_back({a, b, b - golden * (b - a), a + golden * (b - a)});
  }
  const auto ask = [&](auto at) {
    std::vector<double> points(count);
    for (std::size_t m = 0; m < count; ++m) points[m] = at(sections[m]);
    return rests(points);
  };
  const std::vector<double> at_c = ask([](const Section& s) { return s.c; });
  const std::vector<double> at_d = ask([](const Section& s) { return s.d; });
  for (std::size_t m = 0; m < count; ++m) {
    sections[m].at_c = at_c[m];
    sections[m].at_d = at_d[m];
  }
  for (int n = 0; n < kTrials; ++n) {
    for (Section& s : sections) {
      s.asks_c = s.at_c < s.at_d;
      if (s.asks_c) {
        s.b = std::exchange(s.d, s.c);
        s.at_d = s.at_c;
        s.c = s.b - golden * (s.b - s.a);
      } else {
        s.a = std::exchange(s.c, s.d);
        s.at_c = s.at_d;
        s.d = s.a + golden * (s.b - s.a);
      }
    }
    const std::vector<double> rest = ask([](const Section& s) { return s.asks_c ? s.c : s.d; });
    for (std::size_t m = 0; m < count; ++m) (sections[m].asks_c ? sections[m].at_c : sections[m].at_d) = rest[m];
  }
  std::vector<double> out;
  out.reserve(count);
  for (const Section& s : sections) out.push_back(std::exp((s.a + s.b) / 2));
  return out;
}

// One of all; `with(tried, number)` sets it.
template <typename With>
double least_number(const Few& few, const Stage& stage, double scale, double near, With with) {
  const StageJudge judge(few.dumped, scale);
  return least_numbers(1, near,
                       [&](const std::vector<double>& numbers) {
                         AttentionTried tried = few.plan;
                         with(tried, numbers.front());
                         return std::vector<double>{judge.left(stage, tried).rest};
                       })
      .front();
}

std::vector<double> rests_of_heads(const Left& left, const DumpedAttention& dumped) {
  std::vector<double> sums(dumped.heads, 0.0);
  for (std::size_t n = 0; n < left.rests.size(); ++n) sums[n / dumped.queries] += left.rests[n];
  return sums;
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

// Rows of a stage: heads, and queries, from the first to before the end.
struct ScoreRows {
  std::size_t first_head, end_head, first_query, end_query;
};

ScoreRows all_rows(const DumpedAttention& dumped) { return {0, dumped.heads, 0, dumped.queries}; }

// The slope of scores over `of(cell, key, query)`, other than `known` says: least squares in each query, by all of
// them.
template <typename Of, typename Known>
double slope_of(const DumpedAttention& dumped, const Stage& stage, const AttentionTried& plan, const ScoreRows& rows,
                Of of, Known known) {
  double up = 0.0;
  double down = 0.0;
  for (std::size_t h = rows.first_head; h < rows.end_head; ++h) {
    for (std::size_t i = rows.first_query; i < rows.end_query; ++i) {
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

// How often the plan's scale some rows have.
double scale_of_rows(const DumpedAttention& dumped, const Stage& stage, const AttentionTried& plan,
                     const ScoreRows& rows) {
  return slope_of(
      dumped, stage, plan, rows, [&](std::size_t cell, std::size_t, std::size_t) { return (*plan.content)[cell]; },
      [&](std::size_t cell) { return (*plan.bias)[cell]; });
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
    out.content_times = scale_of_rows(dumped, stage, plan, all_rows(dumped));
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

// Factors of 1 and others, "2 (1.5 times)", by the places of those that have them.
std::string times_words(const std::vector<double>& times, const std::vector<std::int64_t>& places, double near) {
  std::vector<std::string> out;
  for (std::size_t n = 0; n < times.size(); ++n) {
    if (std::fabs(times[n] - 1) <= near) continue;
    if (out.size() == 4) {
      out.emplace_back("...");
      break;
    }
    out.push_back(formatted("{} ({:.4g} times)", places[n], times[n]));
  }
  return joined(out, ", ");
}

AttentionTried with_times(const LayerPlan& layer, const DumpedAttention& dumped, const AttentionTried& plan,
                          std::size_t fitted, const std::string& found,
                          const std::function<double(std::size_t h, std::size_t i)>& at) {
  AttentionTried out = plan;
  Scores content = *plan.content;
  for (std::size_t n = 0; n < content.size(); ++n) {
    content[n] *= at(n / (dumped.queries * dumped.keys), n / dumped.keys % dumped.queries);
  }
  out.content = kept(std::move(content));
  out.fitted = fitted;
  return changed(std::move(out), {PortFact::scale, formatted("{:.6g} but of {}", layer.softmax_scale, found),
                                  formatted("{:.6g} of all", layer.softmax_scale),
                                  formatted("multiply QK^T by {:.6g}, of all", layer.softmax_scale)});
}

std::vector<std::int64_t> numbered(std::size_t heads) {
  std::vector<std::int64_t> out(heads);
  for (std::size_t h = 0; h < heads; ++h) out[h] = static_cast<std::int64_t>(h);
  return out;
}

// A scale of each head, and one of each query, of scores and weights without a cap.
std::vector<AttentionTried> fitted_scales(const LayerPlan& layer, const DumpedAttention& dumped, const Stage& stage,
                                          const AttentionTried& plan) {
  std::vector<AttentionTried> out;
  if (plan.cap || stage.before || stage.stage == AttentionStage::out) return out;
  const double near = 4 * std::max(dumped.unit, dumped.scores_unit) + 0x1p-18;
  const auto add = [&](const std::vector<double>& times, const std::vector<std::int64_t>& places, const char* of,
                       auto at) {
    // Rows of one key have no scale.
    const auto is_plans = [&](double x) { return x == 0 || std::fabs(x - 1) <= near; };
    if (std::ranges::all_of(times, is_plans)) return;
    out.push_back(with_times(layer, dumped, plan, times.size(),
                             formatted("{}: {}", of, times_words(times, places, near)),
                             [&](std::size_t h, std::size_t i) { return times[at(h, i)]; }));
  };
  std::vector<double> of_heads;
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    of_heads.push_back(scale_of_rows(dumped, stage, plan, {h, h + 1, 0, dumped.queries}));
  }
  add(of_heads, numbered(dumped.heads), "heads", [](std::size_t h, std::size_t) { return h; });
  std::vector<double> of_queries;
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    of_queries.push_back(scale_of_rows(dumped, stage, plan, {0, dumped.heads, i, i + 1}));
  }
  add(of_queries, dumped.q_order, "queries", [](std::size_t, std::size_t i) { return i; });
  return out;
}

// The same where scores are capped, and of outputs: searched, of all heads at once on a few queries; one number of all
// queries of which the plan leaves too much.
std::vector<AttentionTried> searched_scales(const StageJudge& judge, const LayerPlan& layer,
                                            const DumpedAttention& dumped, const Stage& stage,
                                            const AttentionTried& plan, const Few& few) {
  std::vector<AttentionTried> out;
  if (stage.before || (!plan.cap && stage.stage != AttentionStage::out)) return out;
  const Left of_plan = judge.left(stage, plan);
  if (of_plan.holds()) return out;
  const std::vector<char>& rows = of_plan.rows;
  const double near = 16 * std::max({dumped.unit, dumped.scores_unit, dumped.out_unit}) + 0x1p-12;
  const StageJudge of_few(few.dumped, layer.softmax_scale);
  const std::vector<double> times = least_numbers(dumped.heads, 1.0, [&](const std::vector<double>& numbers) {
    const AttentionTried tried =
        with_times(layer, few.dumped, few.plan, 0, "", [&](std::size_t h, std::size_t) { return numbers[h]; });
    return rests_of_heads(of_few.left(stage, tried), few.dumped);
  });
  if (std::ranges::any_of(times, [&](double x) { return std::fabs(x - 1) > near; })) {
    out.push_back(with_times(layer, dumped, plan, times.size(),
                             formatted("heads: {}", times_words(times, numbered(dumped.heads), near)),
                             [&](std::size_t h, std::size_t) { return times[h]; }));
  }
  std::vector<std::size_t> failing;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != 0) failing.push_back(i);
  }
  if (failing.empty() || failing.size() == rows.size()) return out;
  // The last, which see the most keys.
  const std::size_t count = std::min(failing.size(), kSearched);
  const Few some = these_queries(dumped, plan, {failing.end() - static_cast<std::ptrdiff_t>(count), failing.end()});
  const double one =
      least_number(some, stage, layer.softmax_scale, 1.0, [](AttentionTried& of, double x) { of.content_times = x; });
  if (std::fabs(one - 1) <= near) return out;
  std::vector<double> of_queries(rows.size(), 1.0);
  for (const std::size_t i : failing) of_queries[i] = one;
  // A number, and which queries have it.
  out.push_back(with_times(layer, dumped, plan, 2,
                           formatted("queries: {}", times_words(of_queries, dumped.q_order, near)),
                           [&](std::size_t, std::size_t i) { return of_queries[i]; }));
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
  const std::vector<double> made = weights ? std::vector<double>{} : summed_values(without, *plan.v, plan.v_of, dumped);
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

// By least squares; of outputs, searched on a few queries.
std::optional<AttentionTried> fitted_slopes(const LayerPlan& layer, const DumpedAttention& dumped, const Stage& stage,
                                            const AttentionTried& plan, const Few& few) {
  const bool alibi = layer.score.size() == 1 && std::holds_alternative<Alibi>(layer.score.front());
  if (!alibi || plan.cap || stage.before) return {};
  const auto back_in = [](const DumpedAttention& of) {
    return
        [&of](std::size_t, std::size_t i, std::size_t j) { return static_cast<double>(of.q_order[i] - of.k_order[j]); };
  };
  const auto with = [&](const DumpedAttention& of, AttentionTried tried, const std::vector<double>& slopes) {
    Scores bias(tried.bias->size());
    for (std::size_t n = 0; n < bias.size(); ++n) {
      const std::size_t row = n / of.keys;
      bias[n] = -slopes[row / of.queries] * back_in(of)(0, row % of.queries, n % of.keys);
    }
    tried.bias = kept(std::move(bias));
    return tried;
  };
  std::vector<double> slopes;
  if (stage.stage == AttentionStage::out) {
    const StageJudge judge(few.dumped, layer.softmax_scale);
    // 2^-4: the middle of the slopes.
    slopes = least_numbers(dumped.heads, 0x1p-4, [&](const std::vector<double>& numbers) {
      return rests_of_heads(judge.left(stage, with(few.dumped, few.plan, numbers)), few.dumped);
    });
  } else {
    for (std::size_t h = 0; h < dumped.heads; ++h) {
      slopes.push_back(-slope_of(dumped, stage, plan, {h, h + 1, 0, dumped.queries}, back_in(dumped),
                                 [&](std::size_t cell) { return plan.content_times * (*plan.content)[cell]; }));
    }
  }
  AttentionTried out = with(dumped, plan, slopes);
  out.fitted = dumped.heads;
  out.change = Change{PortFact::slopes, formatted("others: {}", list_words(slopes)), "the plan's slopes",
                      "make the slopes of all heads of the layer, and take those of the heads that are here"};
  return out;
}

}  // namespace

std::vector<AttentionTried> fitted_numbers(const StageJudge& judge, const LayerPlan& layer,
                                           const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan) {
  std::vector<AttentionTried> out;
  const auto add = [&](std::optional<AttentionTried> one) {
    if (one) out.push_back(std::move(*one));
  };
  if (stage.before != AttentionStage::weights) {
    const Few few = few_queries(dumped, plan, kSearched);
    add(fitted_scale(layer, dumped, stage, plan, few));
    add(fitted_cap(layer, stage, plan, few));
    add(fitted_sinks(layer, dumped, stage, plan));
    add(fitted_slopes(layer, dumped, stage, plan, few));
    for (AttentionTried& one : fitted_scales(layer, dumped, stage, plan)) out.push_back(std::move(one));
    for (AttentionTried& one : searched_scales(judge, layer, dumped, stage, plan, few)) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

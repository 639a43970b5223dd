// posenc plot bias: what a scheme of the score stage makes of a query's and a key's positions.
//
// y_ij of reference_attend.h for a layer that has nothing but the term (term_tables.h): one head's as a heat map over
// queries and keys, or, with --curves, one query's as curves over i - j. Papers: posenc/schemes.h.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "inspect/layer_choice.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/text.h"
#include "plot/figures.h"
#include "plot/term_tables.h"
#include "plot/term_word.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostCurves = 8;

// The first layer with a term: of the number that was asked for, or of any.
DrawnTerm term_of_model(const ModelWords& words) {
  const Plan plan = plan_of(words.model, {});
  for (const Stack* stack : chosen_stacks(plan, words.stack)) {
    for (const LayerPlan& layer : stack->layers) {
      if (words.layer && layer.index != *words.layer) continue;
      if (!layer.score.empty()) return {.term = layer.score.front(), .heads = layer.heads};
    }
  }
  throw failure(kMalformed, "nothing is added to the scores there");
}

DrawnTerm term_of(const BiasPlot& plot) {
  return plot.model ? term_of_model(*plot.model) : read_term({"--scheme", plot.scheme});
}

// The term says how many heads there are: a scheme's number, or the model's.
void check_head(const BiasPlot& plot, const DrawnTerm& term) {
  if (plot.head < term.heads) return;
  throw UsageError{formatted("--head {}: there {} {}, counted from 0", plot.head, term.heads == 1 ? "is" : "are",
                             count(term.heads, "head"))};
}

// The term alone.
std::vector<double> values_of(const TermPicture& picture, std::int64_t asked) {
  const std::int64_t head = picture.one_head ? 0 : asked;
  std::vector<double> values = scores_of(picture.drawn, reference::ScoreStage::biased, head);
  if (!picture.over_content) return values;
  const std::vector<double> content = scores_of(picture.drawn, reference::ScoreStage::content, head);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] -= content[n];
  return values;
}

// The first letter of a value, which is ASCII (term_tables.cpp), as a capital.
std::string title_of(const TermPicture& picture, std::string_view by) {
  std::string what = picture.value;
  what.front() = static_cast<char>(what.front() - 'a' + 'A');
  return formatted("{}, by {}", what, by);
}

std::string detail_of(const TermPicture& picture, const DrawnTerm& term, const BiasPlot& plot) {
  return term.heads == 1 || plot.curves ? picture.detail
                                        : formatted("{}; head {} of {}", picture.detail, plot.head, term.heads);
}

// ---- by query and key ----

// A scheme over a grid has its window's tokens, all of which see one another.
Figure matrix_figure(const BiasPlot& plot, const DrawnTerm& term) {
  const TermPicture picture =
      term_picture(term, plot.tokens, plot.tokens, plot.both_ways ? MaskKind::bidirectional : MaskKind::causal);
  std::vector<double> values = values_of(picture, plot.head);
  const bool over_grid = picture.over_grid;
  return {.title = title_of(picture, "query and key"),
          .detail = detail_of(picture, term, plot),
          .content = HeatMaps{.rows = picture.drawn.queries,
                              .columns = picture.drawn.keys,
                              .row = {.label = over_grid ? "query (patches, row by row)" : "query i (tokens)"},
                              .column = {.label = over_grid ? "key (patches, row by row)" : "key j (tokens)"},
                              .value = picture.value,
                              .nothing = plot.both_ways || over_grid ? "" : "masked: the key is in the future",
                              .maps = {{.values = std::move(values)}}}};
}

// ---- by distance ----

// Evenly spread, the first and the last among them.
std::vector<std::int64_t> drawn_heads(std::int64_t heads) {
  const std::int64_t shown = std::min(heads, kMostCurves);
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < shown; ++n) out.push_back(shown == 1 ? 0 : n * (heads - 1) / (shown - 1));
  return out;
}

Figure curves_figure(const BiasPlot& plot, const DrawnTerm& term) {
  // One query with all its keys: tokens - 1 before it, and as many behind it.
  // q_order says where it stands; without that it would be with the last key. Points go from the last key to the first,
  // so by rising distance, from -(tokens - 1) or 0 up.
  const std::int64_t query = plot.tokens - 1;
  const std::int64_t keys = plot.both_ways ? 2 * plot.tokens - 1 : plot.tokens;
  TermPicture picture = term_picture(term, 1, keys, plot.both_ways ? MaskKind::bidirectional : MaskKind::causal);
  if (picture.over_grid) throw UsageError{"--curves: a grid has two distances, and no curve"};
  const std::vector<std::int64_t> order{query};
  picture.drawn.inputs.q_order = order;
  Curves curves{.x = {.label = "distance i - j (tokens)", .whole = true},
                .y = {.label = picture.value, .whole = picture.whole_numbers},
                .ordered = term.heads > 1};
  for (const std::int64_t head : drawn_heads(term.heads)) {
    const std::vector<double> values = values_of(picture, head);
    Curve curve{.name = term.heads > 1 ? formatted("head {}", head) : "",
                .style = picture.whole_numbers ? CurveStyle::steps : CurveStyle::line};
    for (std::int64_t j = keys - 1; j >= 0; --j) {
      curve.points.push_back({static_cast<double>(query - j), values[static_cast<std::size_t>(j)]});
    }
    curves.curves.push_back(std::move(curve));
  }
  return {.title = title_of(picture, "distance"), .detail = detail_of(picture, term, plot), .content = curves};
}

}  // namespace

Figure figure_of(const BiasPlot& plot) {
  const DrawnTerm term = term_of(plot);
  check_head(plot, term);
  return plot.curves ? curves_figure(plot, term) : matrix_figure(plot, term);
}

}  // namespace posenc::tool

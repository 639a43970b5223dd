// posenc plot query-scale: what queries are multiplied by, by position.
//
// The factor tau_i (formulas: posenc/scores.h) for queries at the positions 0 to tokens - 1.
#include <utility>
#include <variant>
#include <vector>

#include "inspect/layer_choice.h"
#include "inspect/stage_text.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/model_argument.h"
#include "line/text.h"
#include "plot/figures.h"
#include "posenc/scores.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kPoints = 512;

struct NamedScale {
  std::string name;
  QueryScale scale;
};

// Three kinds, with the numbers of the models that have them.
std::vector<NamedScale> published() {
  return {{"Llama 4", Llama4Temperature{}},
          {"Ministral 3", MinistralTemperature{.original_max_position_embeddings = 16384}},
          {"Qwen 1", LogNScale{.seq_length = 8192}}};
}

// The first layer with a scale: of the number that was asked for, or of any.
QueryScale scale_of(const ModelWords& words) {
  const Plan plan = plan_of(words.model, {});
  for (const Stack* stack : chosen_stacks(plan, words.stack)) {
    for (const LayerPlan& layer : stack->layers) {
      if (words.layer && layer.index != *words.layer) continue;
      if (!std::holds_alternative<std::monostate>(layer.query_scale)) return layer.query_scale;
    }
  }
  throw failure(kMalformed, "this model has no query scale by position");
}

}  // namespace

Figure figure_of(const QueryScalePlot& plot) {
  std::vector<NamedScale> scales;
  if (plot.model) {
    scales.push_back({"", scale_of(*plot.model)});
  } else {
    scales = published();
  }
  std::string detail;
  std::vector<Curve> curves;
  for (const NamedScale& named : scales) {
    const std::string text = query_scale_text(named.scale);
    detail += (detail.empty() ? "" : "; ") + (named.name.empty() ? text : named.name + ": " + text);
    Curve curve{.name = named.name, .points = {}};
    for (std::int64_t n = 0; n < kPoints; ++n) {
      // Evenly spread; some come twice where there are fewer positions. 511 * 2^53 is below 2^63.
      const std::int64_t position = n * (plot.tokens - 1) / (kPoints - 1);
      curve.points.push_back({static_cast<double>(position), query_scale(named.scale, position)});
    }
    curves.push_back(std::move(curve));
  }
  return {.title = "Query scale by position",
          .detail = detail,
          .content = Curves{.x = {.label = "position (tokens)", .whole = true},
                            .y = {.label = "factor on the query"},
                            .curves = std::move(curves)}};
}

}  // namespace posenc::tool

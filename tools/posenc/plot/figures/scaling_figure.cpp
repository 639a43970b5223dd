// posenc plot scaling: what a scaling rule does to each pair's frequency.
//
// A curve is inv_freq[p] with the rule over inv_freq[p] without it: 1 where the rule leaves a pair alone, 1 / factor
// where it interpolates positions. A pair that is no longer rotated has 0, which a logarithmic axis leaves out. The
// rules: docs/scaling-rules.md.
#include <utility>
#include <variant>
#include <vector>

#include "inspect/rope_lengths.h"
#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/nearest.h"
#include "line/text.h"
#include "plot/figures.h"
#include "plot/rope_choice.h"

namespace posenc::tool {
namespace {

Rope without_rule(Rope rope) {
  rope.scaling = std::monostate{};
  return rope;
}

// inv_freq by the rule over inv_freq without one.
Curve ratios(const std::string& name, const Rope& rope, std::optional<std::int64_t> length) {
  const std::vector<double> before = frequencies(without_rule(rope)).inv_freq;
  const std::vector<double> after = frequencies(rope, length).inv_freq;
  Curve curve{.name = name, .points = {}};
  for (std::size_t p = 0; p < before.size(); ++p) {
    curve.points.push_back({static_cast<double>(p), after[p] / before[p]});
  }
  return curve;
}

// ---- rules of the command line, all for one factor ----

struct NamedRule {
  std::string name;
  Scaling scaling;
};

// Throws UsageError for a name that is none of the four. What a rule has besides these numbers are its defaults
// (posenc/rope.h).
NamedRule rule_of(const std::string& name, const ScalingPlot& plot) {
  if (name == "linear") return {name, LinearScaling{.factor = plot.factor}};
  if (name == "ntk") return {name, NtkScaling{.alpha = plot.factor}};
  if (name == "yarn") {
    return {name, YarnScaling{.factor = plot.factor, .original_max_position_embeddings = plot.original_length}};
  }
  if (name == "llama3") {
    return {name, Llama3Scaling{.factor = plot.factor, .original_max_position_embeddings = plot.original_length}};
  }
  const std::vector<std::string> near = nearest(name, {"linear", "ntk", "yarn", "llama3"});
  throw UsageError{formatted("--rules: expected some of linear, ntk, yarn, llama3, got '{}'{}", printable(name),
                             near.empty() ? "" : formatted("; did you mean {}?", near.front()))};
}

std::vector<Curve> curves_of_rules(const ScalingPlot& plot, const Rope& rope) {
  std::vector<Curve> curves;
  for (const std::string& name : plot.rules) {
    const NamedRule rule = rule_of(name, plot);
    Rope scaled = rope;
    scaled.scaling = rule.scaling;
    curves.push_back(ratios(rule.name, scaled, {}));
  }
  return curves;
}

// ---- the rule of a model ----

// A curve for each length at which the rule does something else (Phi's two lists, dynamic NTK), or for the one asked
// for; a single one without a name where the length does not matter. Throws Failure for a layer without a rule.
std::vector<Curve> curves_of_model(const ScalingPlot& plot, const Rope& rope) {
  if (std::holds_alternative<std::monostate>(rope.scaling)) {
    throw failure(kMalformed, "this layer's RoPE has no scaling rule");
  }
  const std::vector<std::int64_t> lengths = plot.rope.length ? std::vector{*plot.rope.length} : telling_lengths(rope);
  if (lengths.empty()) return {ratios("", rope, {})};
  std::vector<Curve> curves;
  for (const std::int64_t length : lengths) {
    curves.push_back(ratios(count(length, "token"), rope, length));
  }
  return curves;
}

}  // namespace

Figure figure_of(const ScalingPlot& plot) {
  const RopeChoice choice = choose_rope(plot.rope);
  const bool of_model = plot.rope.model.has_value();
  const std::string detail = of_model ? choice.detail
                                      : formatted("{}; factor {}, original length {} tokens", choice.detail,
                                                  number(plot.factor), plot.original_length);
  // Before the braces below: GCC 12 destroys the strings in them twice when a later member throws.
  std::vector<Curve> curves = of_model ? curves_of_model(plot, choice.rope) : curves_of_rules(plot, choice.rope);
  return {.title = "RoPE scaling: what a rule leaves of each frequency",
          .detail = detail,
          .content = Curves{.x = {.label = "pair of channels, the fastest first", .whole = true},
                            .y = {.label = "inv_freq with the rule / without it", .logarithmic = true},
                            .curves = std::move(curves)}};
}

}  // namespace posenc::tool

// named_weights() of posenc/named_weights.h: asks for each learned table that a layer has by its name, and refuses
// names that it does not know or that are given twice.
#include "posenc/named_weights.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "cpu/lower/weight_reader.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::string_view kLayerWeights = "named_weights";

// What one term asks for, under its names.
// `prefix` is "2." for term 2 of several, and empty for the only one. An operator for each scheme: a new one without
// any does not compile.
struct TablesOfTerm {
  const FindWeight& find;
  std::string prefix;

  ConstTensorView table(const std::string& name) const { return find(prefix + name, true); }
  ConstTensorView if_any(const std::string& name) const { return find(prefix + name, false); }
  Linear linear(const std::string& name) const { return {table(name + ".weight"), if_any(name + ".bias")}; }
  Linear linear_if_any(const std::string& name) const { return {if_any(name + ".weight"), if_any(name + ".bias")}; }
  // FIRE's c and threshold; 1 where `find` gives nothing.
  double number(const std::string& name) const {
    const ConstTensorView x = table(name);
    if (x.empty()) return 1.0;
    if (x.rank != 1 || x.shape[0] != 1) {
      throw Error(kLayerWeights, {formatted("weights[\"{}{}\"]", prefix, name), "be one number, of shape [1],",
                                  formatted("of rank {}", x.rank)});
    }
    return cpu::read(x, {0});
  }

  ScoreWeights operator()(const Alibi&) const { return {}; }
  ScoreWeights operator()(const Sandwich&) const { return {}; }
  ScoreWeights operator()(const ForgetGate&) const { return {}; }
  ScoreWeights operator()(const DistanceLogits&) const { return {}; }
  ScoreWeights operator()(const T5Bias&) const { return T5Weights{table("table")}; }
  ScoreWeights operator()(const ClippedBias&) const { return ClippedBiasWeights{table("table")}; }
  ScoreWeights operator()(const GridBias&) const { return GridBiasWeights{table("table")}; }
  ScoreWeights operator()(const ContextualPosition&) const { return CopeWeights{table("table")}; }
  ScoreWeights operator()(const Kerple&) const { return KerpleWeights{table("r1"), table("r2")}; }
  ScoreWeights operator()(const Fire&) const {
    return FireWeights{number("c"), number("threshold"), linear("hidden"), linear("out")};
  }
  ScoreWeights operator()(const MlpBias&) const {
    MlpBiasWeights out{{linear("layers.0")}};
    for (Linear next = linear_if_any("layers.1"); !next.weight.empty();
         next = linear_if_any(formatted("layers.{}", out.layers.size()))) {
      out.layers.push_back(next);
    }
    return out;
  }
  ScoreWeights operator()(const ShawKeys& scheme) const {
    return scheme.sinusoidal ? ShawWeights{} : ShawWeights{table("table")};
  }
  ScoreWeights operator()(const TransformerXl& scheme) const {
    TransformerXlWeights out{.projection = table("projection"), .table = if_any("table")};
    if (scheme.content_bias) out.content_bias = table("content_bias");
    if (scheme.position_bias) out.position_bias = table("position_bias");
    return out;
  }
  ScoreWeights operator()(const XlNet&) const {
    return XlNetWeights{
        .positions = {table("projection"), table("content_bias"), table("position_bias"), if_any("table")},
        .segment_bias = if_any("segment_bias"),
        .segments = if_any("segments")};
  }
  ScoreWeights operator()(const Deberta& scheme) const {
    DebertaWeights out{.table = table("table")};
    if (scheme.content_to_position || scheme.position_to_position) out.keys = linear("keys");
    if (scheme.position_to_content || scheme.position_to_position) out.queries = linear("queries");
    return out;
  }
  ScoreWeights operator()(const DecomposedHw&) const { return DecomposedHwWeights{table("rows"), table("columns")}; }
};

std::string quoted(std::string_view name) { return formatted("weights[\"{}\"]", name); }

}  // namespace

LayerWeights named_weights(const LayerPlan& layer, const FindWeight& find) {
  LayerWeights out;
  for (std::size_t n = 0; n < layer.score.size(); ++n) {
    const TablesOfTerm tables{find, layer.score.size() > 1 ? formatted("{}.", n) : ""};
    out.score.push_back(std::visit(tables, layer.score[n]));
  }
  const auto* values = std::get_if<ShawValues>(&layer.value);
  if (values != nullptr && !values->sinusoidal) out.value = {find("value_table", true)};
  if (layer.sinks) out.sinks = find("sinks", true);
  return out;
}

// The names that the layer asked for are noted, so that one which nobody asked for is an error and not ignored.
LayerWeights named_weights(const LayerPlan& layer, std::span<const NamedWeight> given) {
  std::vector<std::string> asked;
  const LayerWeights out = named_weights(layer, [&](const std::string& name, bool is_needed) {
    asked.push_back(name);
    const auto found = std::ranges::find(given, name, &NamedWeight::name);
    if (found != given.end() && !found->tensor.empty()) return found->tensor;
    if (is_needed) throw Error(kLayerWeights, {quoted(name), "be given", "omitted"});
    return ConstTensorView{};
  });
  for (const NamedWeight& one : given) {
    if (std::ranges::count(given, one.name, &NamedWeight::name) > 1) {
      throw Error(kLayerWeights, {quoted(one.name), "be given once", "given again"});
    }
    if (std::ranges::find(asked, one.name) != asked.end()) continue;
    throw Error(kLayerWeights, {quoted(one.name),
                                asked.empty() ? "be omitted for a layer without tables"
                                              : formatted("be a table of the layer: {}", joined(asked, ", ")),
                                asked.empty() ? "given" : "none"});
  }
  return out;
}

}  // namespace posenc::inline v0_2

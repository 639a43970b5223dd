#include "models/score_tables.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <variant>

namespace posenc::test {
namespace {

// "encoder.layers.3.attn." -> "encoder."
std::string stack_of(const std::string& at) { return at.substr(0, at.find("layers.")); }

// A checkpoint of Shaw's family has its rows by j - i, ascending.
Tensor reversed(const Tensor& table) {
  Tensor out{{}, table.shape};
  const std::size_t width = index(table.shape[1]);
  for (std::size_t row = table.values.size(); row > 0; row -= width) {
    append(out.values, part_of(table.values, row - width, width));
  }
  return out;
}

}  // namespace

ScoreTables::ScoreTables(const LayerPlan& layer, const std::string& at, Arithmetic& arithmetic) {
  const auto linear = [&](const std::string& name) {
    const std::string bias = at + name + ".bias";
    return Linear{arithmetic.weight(at + name),
                  arithmetic.has(bias) ? ConstTensorView(arithmetic.weight(bias)) : ConstTensorView{}};
  };
  const auto tables = [&](const auto& scheme) -> ScoreWeights {
    using Scheme = std::decay_t<decltype(scheme)>;
    if constexpr (std::is_same_v<Scheme, Alibi>) {
      return {};
    } else if constexpr (std::is_same_v<Scheme, T5Bias>) {
      return T5Weights{
          arithmetic.weight(scheme.table_per_layer ? at + "distances" : stack_of(at) + "layers.0.attn.distances")};
    } else if constexpr (std::is_same_v<Scheme, GridBias>) {
      return GridBiasWeights{arithmetic.weight(at + "distances")};
    } else if constexpr (std::is_same_v<Scheme, ShawKeys>) {
      return ShawWeights{made_.emplace_back(reversed(arithmetic.weight(at + "distances")))};
    } else if constexpr (std::is_same_v<Scheme, Deberta>) {
      const std::string name = stack_of(at) + "distances";
      const Tensor& rows = arithmetic.weight(name);
      const Tensor& table = made_.emplace_back(Tensor{arithmetic.norm(rows.values, name + "_norm"), rows.shape});
      return DebertaWeights{table, linear("k"), linear("q")};
    } else {
      ADD_FAILURE() << "no table of this scheme is known at " << at;
      return {};
    }
  };
  for (const ScoreTerm& term : layer.score) weights_.score.push_back(std::visit(tables, term));
  if (layer.sinks) weights_.sinks = arithmetic.weight(at + "sinks");
}

}  // namespace posenc::test

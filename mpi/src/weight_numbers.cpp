// An overload for each kind of weights: a new one without any does not compile.
#include "weight_numbers.h"

#include <array>
#include <span>
#include <variant>

namespace posenc::mpi_library {
namespace {

struct NumbersOf {
  Digest& digest;

  void add(const Linear& linear) const {
    digest.add_tensor(linear.weight);
    digest.add_tensor(linear.bias);
  }

  void operator()(std::monostate) const {}
  void operator()(const T5Weights& given) const { digest.add_tensor(given.table); }
  void operator()(const ClippedBiasWeights& given) const { digest.add_tensor(given.table); }
  void operator()(const GridBiasWeights& given) const { digest.add_tensor(given.table); }
  void operator()(const CopeWeights& given) const { digest.add_tensor(given.table); }
  void operator()(const ShawWeights& given) const { digest.add_tensor(given.table); }
  void operator()(const KerpleWeights& given) const {
    digest.add_tensor(given.r1);
    digest.add_tensor(given.r2);
  }
  void operator()(const FireWeights& given) const {
    digest.add_numbers(std::span<const double>(std::array{given.c, given.threshold}));
    add(given.hidden);
    add(given.out);
  }
  void operator()(const MlpBiasWeights& given) const {
    for (const Linear& one : given.layers) add(one);
  }
  void operator()(const TransformerXlWeights& given) const {
    for (const ConstTensorView& one : {given.projection, given.content_bias, given.position_bias, given.table}) {
      digest.add_tensor(one);
    }
  }
  void operator()(const XlNetWeights& given) const {
    (*this)(given.positions);
    digest.add_tensor(given.segment_bias);
    digest.add_tensor(given.segments);
  }
  void operator()(const DebertaWeights& given) const {
    digest.add_tensor(given.table);
    add(given.keys);
    add(given.queries);
  }
  void operator()(const DecomposedHwWeights& given) const {
    digest.add_tensor(given.rows);
    digest.add_tensor(given.columns);
  }
};

}  // namespace

void add_weights(Digest& digest, const LayerWeights& weights) {
  for (const ScoreWeights& one : weights.score) std::visit(NumbersOf{digest}, one);
  digest.add_tensor(weights.value.table);
  digest.add_tensor(weights.sinks);
}

}  // namespace posenc::mpi_library

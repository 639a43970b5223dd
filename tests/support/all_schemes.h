// Every scheme there is, as layers with weights: the one list that tests over schemes go through.
//
// all_schemes() asks for cases_of(Case<Alternative>) of each alternative of ScoreTerm, ValueScheme, Regions, QueryScale
// and the rotation: one without cases does not compile (tests/attend/forgotten_scheme.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "posenc/attention.h"
#include "posenc/plan.h"
#include "support/random_tensor.h"

namespace posenc::test {

// Tables that weights view.
class Tables {
 public:
  explicit Tables(Random& random) : random_(random) {}
  ConstTensorView operator()(std::initializer_list<std::int64_t> shape, double scale = 1.0) {
    return kept_.emplace_back(random_tensor(random_, shape, scale));
  }
  // From low to high.
  ConstTensorView between(double low, double high, std::initializer_list<std::int64_t> shape) {
    Tensor& made = kept_.emplace_back(zeros(shape));
    for (double& x : made.values) x = low + (high - low) * random_.uniform();
    return made;
  }

 private:
  Random& random_;
  std::deque<Tensor> kept_;
};

struct SchemeCase {
  std::string name;
  LayerPlan layer;  // mask left to the test
  std::function<LayerWeights(Tables&)> weights{};
  // What may be asked of it.
  std::int64_t side = 0;      // coordinates lie in [0, side); 0: anywhere
  bool from_zero = false;     // positions are at least 0
  bool real = false;          // positions need not be whole
  bool batches_only = false;  // not packed
  // A shift of all positions by a multiple of it changes no output; 0: any shift does.
  std::int64_t period = 1;
};

inline constexpr std::int64_t kHeads = 4;
inline constexpr std::int64_t kKvHeads = 2;
inline constexpr std::int64_t kHeadDim = 8;
inline constexpr std::int64_t kValueDim = 6;

// A layer without positions.
inline LayerPlan plain_layer() {
  return {.heads = kHeads,
          .kv_heads = kKvHeads,
          .head_dim = kHeadDim,
          .value_dim = kValueDim,
          .softmax_scale = 0.35355339059327373};  // 1 / sqrt(8)
}

// The same with one term of the score stage, or one rotation.
LayerPlan with_term(const ScoreTerm& term);
LayerPlan with_rotation(const Rope& rope);
Rope half_rope();

// Weights of a layer with one score term.
template <typename Weights>
std::function<LayerWeights(Tables&)> of_term(std::function<Weights(Tables&)> make) {
  return [make](Tables& tables) { return LayerWeights{.score = {make(tables)}}; };
}

template <typename Scheme>
struct Case {};

std::vector<SchemeCase> cases_of(Case<Alibi>);
std::vector<SchemeCase> cases_of(Case<T5Bias>);
std::vector<SchemeCase> cases_of(Case<ClippedBias>);
std::vector<SchemeCase> cases_of(Case<GridBias>);
std::vector<SchemeCase> cases_of(Case<Kerple>);
std::vector<SchemeCase> cases_of(Case<Fire>);
std::vector<SchemeCase> cases_of(Case<Sandwich>);
std::vector<SchemeCase> cases_of(Case<MlpBias>);
std::vector<SchemeCase> cases_of(Case<ShawKeys>);
std::vector<SchemeCase> cases_of(Case<TransformerXl>);
std::vector<SchemeCase> cases_of(Case<XlNet>);
std::vector<SchemeCase> cases_of(Case<Deberta>);
std::vector<SchemeCase> cases_of(Case<DecomposedHw>);
std::vector<SchemeCase> cases_of(Case<ContextualPosition>);
std::vector<SchemeCase> cases_of(Case<ForgetGate>);
std::vector<SchemeCase> cases_of(Case<DistanceLogits>);  // none: its numbers are a call's bias

std::vector<SchemeCase> cases_of(Case<std::monostate>);  // no scheme
std::vector<SchemeCase> cases_of(Case<ShawValues>);
std::vector<SchemeCase> cases_of(Case<RotatedValues>);
std::vector<SchemeCase> cases_of(Case<SelfExtend>);
std::vector<SchemeCase> cases_of(Case<ReRope>);
std::vector<SchemeCase> cases_of(Case<DualChunk>);
std::vector<SchemeCase> cases_of(Case<Llama4Temperature>);
std::vector<SchemeCase> cases_of(Case<MinistralTemperature>);
std::vector<SchemeCase> cases_of(Case<LogNScale>);
std::vector<SchemeCase> cases_of(Case<BeamTemperature>);
std::vector<SchemeCase> cases_of(Case<InklingTemperature>);
std::vector<SchemeCase> cases_of(Case<Rope>);
std::vector<SchemeCase> cases_of(Case<XPos>);

// What else a layer says of its scores: caps in both orders, sinks, and several schemes at once.
std::vector<SchemeCase> layers_of_several();

std::vector<SchemeCase> all_schemes();

}  // namespace posenc::test

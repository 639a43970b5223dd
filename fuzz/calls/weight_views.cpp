#include "fuzz/calls/weight_views.h"

#include <variant>

namespace posenc::fuzz {
namespace {

using Views = std::vector<ConstTensorView*>;

// An overload for each alternative of ScoreWeights: a new one does not compile without.
void add(Views&, std::monostate&) {}
void add(Views& to, Linear& x) { to.insert(to.end(), {&x.weight, &x.bias}); }
void add(Views& to, T5Weights& x) { to.push_back(&x.table); }
void add(Views& to, ClippedBiasWeights& x) { to.push_back(&x.table); }
void add(Views& to, GridBiasWeights& x) { to.push_back(&x.table); }
void add(Views& to, KerpleWeights& x) { to.insert(to.end(), {&x.r1, &x.r2}); }
void add(Views& to, FireWeights& x) {
  add(to, x.hidden);
  add(to, x.out);
}
void add(Views& to, MlpBiasWeights& x) {
  for (Linear& one : x.layers) add(to, one);
}
void add(Views& to, ShawWeights& x) { to.push_back(&x.table); }
void add(Views& to, TransformerXlWeights& x) {
  to.insert(to.end(), {&x.projection, &x.content_bias, &x.position_bias, &x.table});
}
void add(Views& to, XlNetWeights& x) {
  add(to, x.positions);
  to.insert(to.end(), {&x.segment_bias, &x.segments});
}
void add(Views& to, DebertaWeights& x) {
  to.push_back(&x.table);
  add(to, x.keys);
  add(to, x.queries);
}
void add(Views& to, CopeWeights& x) { to.push_back(&x.table); }
void add(Views& to, DecomposedHwWeights& x) { to.insert(to.end(), {&x.rows, &x.columns}); }

}  // namespace

std::vector<ConstTensorView*> views_of(LayerWeights& weights) {
  Views out;
  for (ScoreWeights& one : weights.score) {
    std::visit([&](auto& x) { add(out, x); }, one);
  }
  add(out, weights.value);
  out.push_back(&weights.sinks);
  return out;
}

}  // namespace posenc::fuzz

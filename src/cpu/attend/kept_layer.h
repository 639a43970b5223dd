// What a PreparedLayer holds (posenc/prepared_layer.h): the plan, views of the weights, and each score term's floats.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cpu/attend/term_vectors.h"
#include "posenc/attention.h"
#include "posenc/info.h"
#include "posenc/plan.h"
#include "posenc/prepared_layer.h"

namespace posenc::cpu {

// `weights` are views: their memory is the caller's. `isa` is the one that the floats were made for.
struct KeptLayer {
  LayerPlan layer;
  LayerWeights weights;
  Isa isa;
  std::vector<TermVectors> terms;  // in the order in which the layer is lowered
};

// What a PreparedLayer keeps to itself.
struct KeptLayerAccess {
  static PreparedLayer make(std::unique_ptr<const KeptLayer> kept) noexcept { return PreparedLayer(std::move(kept)); }
  static const KeptLayer& kept(const PreparedLayer& prepared) { return prepared.kept(); }
};

}  // namespace posenc::cpu

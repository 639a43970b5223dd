// What a PreparedLayer holds (posenc/prepared_layer.h): the plan, views of the weights, and each score term's floats.
#pragma once

#include <memory>
#include <string_view>
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

// Throws Error where a call has weights, which might be others, or asks for another instruction set than the layer's.
void require_no_weights(std::string_view where, const KeptLayer& kept, const LayerWeights& weights, Isa isa);

// The arguments of a call, AttendArgs or AttendBackwardArgs, with the layer's own weights and instruction set.
template <typename Args>
Args with_kept(std::string_view where, const KeptLayer& kept, const Args& args) {
  require_no_weights(where, kept, args.weights, args.isa);
  Args out = args;
  out.weights = kept.weights;
  out.isa = kept.isa;
  return out;
}

}  // namespace posenc::cpu

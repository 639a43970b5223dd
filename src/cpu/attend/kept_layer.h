// What a PreparedLayer holds (posenc/prepared_layer.h): the plan, views of the weights, and each score term's floats.
#pragma once

#include <vector>

#include "cpu/attend/term_vectors.h"
#include "posenc/attention.h"
#include "posenc/info.h"
#include "posenc/plan.h"

namespace posenc::cpu {

struct KeptLayer {
  LayerPlan layer;
  LayerWeights weights;
  Isa isa;
  std::vector<TermVectors> terms;  // in the order in which the layer is lowered
};

}  // namespace posenc::cpu

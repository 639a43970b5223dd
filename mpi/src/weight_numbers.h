// The numbers of what a layer has learned, for ranks to compare.
#pragma once

#include "agreement.h"
#include "posenc/attention.h"

namespace posenc::mpi_library {

// Each tensor that is given, every bit of it. Shapes need not be checked before.
void add_weights(Digest& digest, const LayerWeights& weights);

}  // namespace posenc::mpi_library

// What a port's attention did instead: the layer with one thing changed, by the reference, held against the port.
#pragma once

#include <vector>

#include "vectors/port_layouts.h"

namespace posenc::inline v0_2::golden {

// `tensor`: "scores" or "out", as the port has it. `rotation_is_known`: q_rotated and k_rotated have passed, so that
// other rotations are not tried. All changes that leave nothing above the bound; none: nothing that is known.
std::vector<PortFinding> attention_faults(const Vectors& vectors, const VectorBounds& bounds, const std::string& tensor,
                                          const ConstTensorView& port, bool rotation_is_known);

}  // namespace posenc::inline v0_2::golden

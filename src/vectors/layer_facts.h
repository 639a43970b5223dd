// What is said of a layer in words, and where its values come from.
#pragma once

#include <string>
#include <vector>

#include "vectors/layer_choice.h"

namespace posenc::inline v0_2::golden {

// A sentence each, as describe() of plan.h has them, of the layer with the heads that it has in the vectors.
std::vector<std::string> facts_of(const Plan& plan, const Vectors& vectors);

// Those of the layer, with `where` counted from it: "rotate/0/base".
std::vector<ValueSource> sources_of(const Plan& plan, const LayerChoice& choice);

}  // namespace posenc::inline v0_2::golden

// Tokenizers of sound that are convolutions throughout: their layers are counted, and no position is told.
#pragma once

#include <string_view>

#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct Convolutions {
  Family family;
  std::string_view encoder;  // names of the stacks
  std::string_view decoder;  // empty: there is none
};

// The row of a model type; null when there is none.
const Convolutions* find_convolutions(std::string_view model_type) noexcept;

void read_convolution_stacks(ConfigScope& scope, const Convolutions& row, Plan& plan);

}  // namespace posenc::plan

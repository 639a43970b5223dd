// Tokenizers of sound that are convolutions throughout: their layers are counted, and no position is told.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/facts/stack_facts.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

struct Convolutions {
  Family family;
  std::string_view encoder;  // names of the stacks
  std::string_view decoder;  // empty: there is none
};

// The row of a model type; null when there is none.
const Convolutions* find_convolutions(std::string_view model_type) noexcept;

// `room`: how many layers the plan may still get. After an error (scope.reader().failed()) the result is void.
std::vector<StackFacts> read_convolution_stacks(ConfigScope& scope, const Convolutions& row, std::int64_t room);

}  // namespace posenc::plan

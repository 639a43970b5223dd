// What a stack adds to its embeddings: a learned table, sines, a table for each axis, a convolution of themselves.
//
//   x_i -> m * x_i + p_i,   m = 1, or sqrt(hidden size) where scale_embedding is true
#pragma once

#include <vector>

#include "plan/facts/sourced.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"
#include "posenc/schemes.h"

namespace posenc::plan {

struct InputStage {
  std::vector<InputScheme> schemes;
  std::vector<FieldSource> sources;  // "input/0/positions"
  Sourced<std::int64_t> length;      // tokens: the trained length, less the rows that the offset keeps from tokens
};

InputStage read_input_stage(ConfigScope& scope, Sourced<std::int64_t> trained_length);

}  // namespace posenc::plan

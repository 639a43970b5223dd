// Which way the tokens of a stack look: the class's kind of mask, and the keys that change it.
#pragma once

#include <string>

#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct StackMask {
  Sourced<MaskKind> kind{MaskKind::causal, {}};
  std::string detail;
  bool turned_causal = false;  // a key made it so where the class does not by itself: the stack is a decoder then
};

StackMask read_stack_mask(ConfigScope& scope);

}  // namespace posenc::plan

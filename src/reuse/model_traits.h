// What a model does to hidden states before its layers and beside attention that no stage of its plan says: by family
// and stack.
#pragma once

#include "posenc/plan.h"

namespace posenc::reuse {

struct ModelTraits {
  // What enters the first layer is made of each token by itself, as far as the plan does not say otherwise. False: of
  // others too, how many the plan does not say; keys of cross attention are then of the same text, and not an
  // encoder's.
  bool tokens_alone = true;
  bool start_apart = false;   // a state takes the token at position 0 otherwise than all others
  bool state_beside = false;  // layers that attend keep a state of all tokens besides
};

ModelTraits model_traits(const Plan& plan, const Stack& stack);

}  // namespace posenc::reuse

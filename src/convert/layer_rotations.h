// Which layers of a plan have rows to move, and whether an order of rows can do it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/plan.h"
#include "posenc/rope.h"

namespace posenc::conversion {

struct RotatingLayer {
  const LayerPlan* layer = nullptr;
  const Rope* rope = nullptr;
};

struct StackRotations {
  const Stack* stack = nullptr;
  Pairing from = Pairing::half;
  std::map<std::int64_t, RotatingLayer> layers;  // by LayerPlan::index: those that move
  std::map<std::int64_t, RotatingLayer> all;     // and those whose pairs are as they shall be
  bool indexers = false;                         // some layer has one, which is left
};

// The stack of that name; empty: the first that rotates. Throws Error for a plan without stacks, and for an unknown
// name.
const Stack& stack_to_convert(const Plan& plan, std::string_view name);

// `from`: what the rows are, whatever the plan says. Throws Error for an unknown stack, one of which a fact is not
// known, one without a rotation, one that is `to` already, and for what no order of rows converts.
StackRotations rotations_of(const Plan& plan, std::string_view stack, std::optional<Pairing> from, Pairing to);

}  // namespace posenc::conversion

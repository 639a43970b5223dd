// Which rotation of a model is meant: --stack, --layer, --rotation, or what needs no saying.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posenc/plan.h"

namespace posenc::tool {

// The stacks of that name, or all. Throws UsageError when there is none.
std::vector<const Stack*> chosen_stacks(const Plan& plan, const std::optional<std::string>& name);
// Throws Failure with what is missing where none of them has layers since it could not be read.
void require_read(const std::vector<const Stack*>& stacks);
// "decoder 0-31, vision 0-26": the blocks that there are.
std::string block_ranges(const std::vector<const Stack*>& stacks);

// What the command line says, each or nothing. Numbers count from 0.
struct LayerWords {
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> rotation;
};

struct LayerChoice {
  const Stack* stack = nullptr;
  const LayerPlan* layer = nullptr;  // the sub-layer of the block that has the rotation
  const Rotate* rotate = nullptr;
  std::int64_t rotation = 0;   // its number in the block
  std::int64_t rotations = 0;  // how many the block has
  std::string alike;           // the blocks of the stack whose RoPE is the same: "0-31"
};

// Where nothing is said of the stack or the layer: `ask` takes one only when RoPE is the same in all that have it.
enum class WhenLayersDiffer { ask, take_the_first };

// Throws UsageError for a stack, layer or rotation that the plan does not have, or that must be said; Failure when what
// is asked for has no RoPE.
LayerChoice choose_layer(const Plan& plan, const LayerWords& words, WhenLayersDiffer when);

// One choice for each kind of RoPE in the first stack that has it, or the one that is asked for.
std::vector<LayerChoice> choose_kinds(const Plan& plan, const LayerWords& words);

// "decoder layer 5"; "decoder layers 0-31" where none was asked for and their RoPE is the same.
std::string layer_name(const LayerChoice& choice, const LayerWords& words);

}  // namespace posenc::tool

// Layers of a stack that do the same with positions, under a letter each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/plan.h"

namespace posenc::tool {

struct Group {
  std::string label;  // "A", "B", ...; empty when there is one group only; "*" when letters run out
  LayerRun run;
  const LayerPlan* layer = nullptr;  // one of them, in the stack that was asked about
};

// In the order of each group's first layer; every layer is in one.
std::vector<Group> groups_of(const Stack& stack);
bool has_attention(const LayerPlan& layer);
// What a model's card calls its layers: self and cross attention of one block share its index, and count once.
std::int64_t block_count(const Stack& stack);

// The letters of the layers in "0-4,6-10" (places in Stack::layers). Empty when these are all layers; the text itself
// when they are not whole groups.
std::string letters_of(const Stack& stack, const std::vector<Group>& groups, std::string_view layers);

}  // namespace posenc::tool

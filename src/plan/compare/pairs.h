// Which stack and which layers of two plans stand beside each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "posenc/compare.h"
#include "posenc/plan.h"

namespace posenc::plan {

// A null side: the other plan has no such stack, or no such layer.
struct StackPair {
  const Stack* a = nullptr;
  const Stack* b = nullptr;
  std::int64_t at_a = 0;  // places in Plan::stacks
  std::int64_t at_b = 0;
  const std::string& name() const { return a != nullptr ? a->name : b->name; }
};

// Layers that are one kind in A and one kind in B: what is said of one pair of them holds for all.
struct LayerPair {
  const LayerPlan* a = nullptr;
  const LayerPlan* b = nullptr;
  ComparedLayers layers;
};

// By name, the n-th of a name with the n-th; two plans of one stack each whatever it is called. B's own come last.
std::vector<StackPair> paired_stacks(const Plan& a, const Plan& b);

// By the index of the block and the place within it. In the order of the first layer of each.
std::vector<LayerPair> paired_layers(const StackPair& stacks);

// Layers of one stack, put together and then in order.
void append_layers(ComparedLayers& to, const ComparedLayers& more);
void sort_layers(ComparedLayers& layers);

// "0-4,6-10": the layers of a run by their places.
std::string places(const LayerRun& run);

}  // namespace posenc::plan

#include "plan/assemble/plan_of.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/formatted.h"

namespace posenc::plan {

void set_trained_length(const Sourced<std::int64_t>& length, Plan& plan) {
  if (length.value > 0) plan.trained_length = length.value;
  plan.sources.push_back({"/trained_length", length.from});
}

void add_stack(StackFacts facts, Plan& plan) {
  const std::string place = formatted("/stacks/{}", plan.stacks.size());
  for (FieldSource& source : facts.input_sources) {
    plan.sources.push_back({formatted("{}/{}", place, source.field), std::move(source.from)});
  }
  const std::string layers = place + "/layers";
  if (!facts.count_from.empty()) plan.sources.push_back({layers, std::move(facts.count_from)});
  std::ranges::move(facts.layers.sources(layers), std::back_inserter(plan.sources));
  plan.stacks.push_back(
      {.name = std::move(facts.name), .input = std::move(facts.input), .layers = facts.layers.take_layers()});
}

}  // namespace posenc::plan

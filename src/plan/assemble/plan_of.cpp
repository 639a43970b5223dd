// From StackFacts to a Plan, for configs and GGUF files alike: layers move over, each source is named by its place in
// the plan's JSON (/stacks/0/layers/0-31/heads). And the limit on pairs of channels that rotate, over all layers.
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
  const bool known = facts.unknown.empty();
  plan.known = plan.known && known;
  plan.stacks.push_back({.name = std::move(facts.name),
                         .input = std::move(facts.input),
                         .layers = facts.layers.take_layers(),
                         .known = known,
                         .unknown = std::move(facts.unknown),
                         .fed_by = facts.fed_by});
}

std::optional<FileError> beyond_size(const Plan& plan) {
  std::int64_t pairs = 0;  // at most kMaxLayers x kMaxHeadDim for each of a few rotations and stacks
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) pairs += rope(rotate).dim / 2;
    }
  }
  if (pairs <= kMaxPairs) return {};
  return FileError{.kind = ErrorKind::limit,
                   .file = plan.source.name,
                   .expected = formatted("at most {} pairs of channels that rotate, in all layers", kMaxPairs),
                   .got = formatted("{}", pairs)};
}

}  // namespace posenc::plan

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/formatted.h"
#include "plan/shapes/shapes.h"

namespace posenc::plan {
namespace {

// Words of a layer that predicts further tokens: numbered after the others, it is no layer of the stack (DeepSeek V3).
constexpr std::array<std::string_view, 4> kFurther = {".eh_proj.", ".enorm.", ".hnorm.", ".shared_head."};

struct LayerNumbers {
  std::map<std::int64_t, std::string_view> attending;  // each with one of its tensors
  std::set<std::int64_t> all;
  std::set<std::int64_t> further;
  std::set<std::int64_t> inner;  // numbers behind the layer's: of two attentions in one block (LongCat)
};

using LayerNumbersByName = std::map<std::string_view, LayerNumbers>;  // by what stands before the number

LayerNumbersByName numbers_of(const Plan& plan, std::span<const NamedShape> tensors,
                              std::map<const Stack*, std::set<std::string_view>>& names) {
  LayerNumbersByName found;
  for (const NamedShape& tensor : tensors) {
    const std::optional<Numbered> place = numbered(tensor.name);
    if (!place) continue;
    LayerNumbers& numbers = found[place->before];
    numbers.all.insert(place->number);
    const auto has = [&](std::string_view word) { return tensor.name.find(word) != std::string::npos; };
    if (std::ranges::any_of(kFurther, has)) numbers.further.insert(place->number);
    const std::optional<Role> role = role_of(tensor.name);
    if (!role || !role->layer || role->crosses) continue;
    numbers.attending.try_emplace(place->number, tensor.name);
    const std::string_view rest = std::string_view(tensor.name).substr(place->before.size());
    if (const auto second = numbered(rest.substr(rest.find('.') + 1))) numbers.inner.insert(second->number);
    if (const Stack* stack = stack_for(plan, *role)) names[stack].insert(place->before);
  }
  return found;
}

std::string and_more(std::int64_t count) { return count > 0 ? formatted(" So are {} more.", count) : std::string(); }

void judge_stack(const Stack& stack, const LayerNumbers& numbers, std::vector<Warning>& warnings) {
  std::int64_t layers = 0;
  for (const LayerPlan& layer : stack.layers) layers = std::max(layers, layer.index + 1);
  std::vector<std::string_view> beyond;
  std::int64_t named = 0;
  for (const std::int64_t number : numbers.all) {
    if (numbers.further.contains(number)) continue;
    named = number + 1;
    const auto attends = numbers.attending.find(number);
    if (number >= layers && attends != numbers.attending.end()) beyond.push_back(attends->second);
  }
  if (!beyond.empty()) {
    warnings.push_back({"shape-mismatch",
                        formatted("{} is of layer {}, where the plan has {} layers in the {}.{}", beyond.front(),
                                  numbered(beyond.front())->number, layers, stack.name,
                                  and_more(static_cast<std::int64_t>(beyond.size()) - 1)),
                        {std::string(beyond.front())}});
  } else if (named < layers) {
    warnings.push_back({"shape-mismatch",
                        formatted("There is no tensor of layer {} of the {}, where the plan has {} layers.", named,
                                  stack.name, layers),
                        {}});
  }
}

}  // namespace

std::vector<Warning> judge_layer_numbers(const Plan& plan, std::span<const NamedShape> tensors) {
  std::map<const Stack*, std::set<std::string_view>> names;
  const LayerNumbersByName numbers = numbers_of(plan, tensors, names);
  std::vector<Warning> warnings;
  for (const Stack& stack : plan.stacks) {
    const auto of_stack = names.find(&stack);
    // Of two lists of layers one may be another model's, a draft's or a talker's.
    if (!stack.known || stack.layers.empty() || of_stack == names.end() || of_stack->second.size() != 1) continue;
    const LayerNumbers& found = numbers.at(*of_stack->second.begin());
    if (found.inner.size() < 2) judge_stack(stack, found, warnings);
  }
  return warnings;
}

}  // namespace posenc::plan

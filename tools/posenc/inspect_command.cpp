#include "inspect_command.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exit_code.h"
#include "formatted.h"
#include "model_argument.h"
#include "nearest.h"
#include "page.h"
#include "plan_sections.h"
#include "text.h"

namespace posenc::tool {
namespace {

std::vector<std::string> stack_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Stack& stack : plan.stacks) names.push_back(stack.name);
  return names;
}

// The stacks to show. Throws UsageError when --stack names none.
std::vector<const Stack*> chosen_stacks(const Plan& plan, const std::optional<std::string>& name) {
  std::vector<const Stack*> chosen;
  for (const Stack& stack : plan.stacks) {
    if (!name || stack.name == *name) chosen.push_back(&stack);
  }
  if (name && chosen.empty()) {
    throw UsageError{formatted("--stack {}: this model has {}", printable(*name),
                               plan.stacks.empty() ? "no stacks" : printable(join(stack_names(plan), ", ")))};
  }
  return chosen;
}

// "decoder 0-31, vision 0-26": the blocks that there are.
std::string block_ranges(const std::vector<const Stack*>& stacks) {
  std::vector<std::string> parts;
  for (const Stack* stack : stacks) {
    if (stack->layers.empty()) continue;
    const auto [first, last] = std::minmax_element(stack->layers.begin(), stack->layers.end(),
                                                   [](const auto& a, const auto& b) { return a.index < b.index; });
    parts.push_back(formatted("{} {}-{}", printable(stack->name), first->index, last->index));
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

void add_layers(Page& page, const Plan& plan, const std::vector<const Stack*>& stacks, std::int64_t index) {
  bool found = false;
  for (const Stack* stack : stacks) found |= add_layer(page, plan, *stack, index);
  if (!found) throw UsageError{formatted("--layer {}: this model's layers are {}", index, block_ranges(stacks))};
}

std::string for_people(const InspectArguments& arguments, const Plan& plan) {
  Page page(output_wants_colour());
  const std::vector<const Stack*> stacks = chosen_stacks(plan, arguments.stack);
  add_head(page, plan);
  if (arguments.layer) {
    add_layers(page, plan, stacks, *arguments.layer);
    return page.text();
  }
  for (const Stack* stack : stacks) add_stack(page, plan, *stack);
  add_sources(page, plan);
  add_remarks(page, plan);
  return page.text();
}

}  // namespace

int run_inspect(const InspectArguments& arguments) {
  const std::variant<Plan, NoPlan> loaded = load_plan(arguments.model, arguments.length);
  if (const auto* none = std::get_if<NoPlan>(&loaded)) {
    write_message(none->message);
    return none->exit_code;
  }
  const Plan& plan = std::get<Plan>(loaded);
  const int written = write_output(arguments.json ? to_json(plan) + "\n" : for_people(arguments, plan));
  if (written != kOk) return written;
  if (!arguments.strict || (plan.known && plan.warnings.empty())) return kOk;
  write_message(formatted("posenc: --strict: {}{}\n", count(std::ssize(plan.warnings), "warning"),
                          plan.known ? "" : ", and facts that could not be decided"));
  return kJudged;
}

}  // namespace posenc::tool

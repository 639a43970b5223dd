// The parts of the page, in order: head, each stack (or one layer of each), sources, remarks. Each is one file,
// NAME_section.cpp.
#include "inspect/inspect_command.h"

#include <string>
#include <utility>
#include <vector>

#include "inspect/brief_row.h"
#include "inspect/conversion_marks.h"
#include "inspect/layer_choice.h"
#include "inspect/override_patches.h"
#include "inspect/plan_sections.h"
#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// The layer in each of the stacks that has one of that number; none: exit code 2.
void add_layers(Page& page, const Plan& plan, const std::vector<const Stack*>& stacks, std::int64_t index) {
  bool found = false;
  for (const Stack* stack : stacks) found |= add_layer(page, plan, *stack, index);
  if (!found) throw UsageError{formatted("--layer {}: this model's layers are {}", index, block_ranges(stacks))};
}

// With --layer, sources and remarks are left out: they are about the whole model.
std::string plan_text(const InspectArguments& arguments, const Plan& plan) {
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

// Exit code 1 where --strict finds a plan with warnings, or with facts that could not be decided; each is told of.
int strictly(const std::vector<Plan>& plans) {
  int code = kOk;
  for (const Plan& plan : plans) {
    if (plan.known && plan.warnings.empty()) continue;
    const std::string whose = plans.size() > 1 ? printable(excerpt(plan.source.name)) + ": " : "";
    write_message(formatted("posenc: --strict: {}{}{}\n", whose, count(std::ssize(plan.warnings), "warning"),
                            plan.known ? "" : ", and facts that could not be decided"));
    code = kJudged;
  }
  return code;
}

std::string text_of(const InspectArguments& arguments, const std::vector<Plan>& plans) {
  if (arguments.brief) return arguments.json ? brief_json(plans) : brief_text(plans);
  return of_model(plans.front().source.name,
                  [&] { return arguments.json ? to_json(plans.front()) + "\n" : plan_text(arguments, plans.front()); });
}

}  // namespace

int run_inspect(const InspectArguments& arguments) {
  if (arguments.patch) return run_override_patches(arguments);
  std::vector<Plan> plans;
  for (const ModelWord& model : arguments.models) {
    plans.push_back(plan_of(model, arguments.length));
    for (Warning& mark : conversion_marks(model)) plans.back().warnings.push_back(std::move(mark));
  }
  const int written = write_output(text_of(arguments, plans));
  if (written != kOk || !arguments.strict) return written;
  return strictly(plans);
}

}  // namespace posenc::tool

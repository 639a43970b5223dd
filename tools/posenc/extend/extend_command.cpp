// The library measures the ways and words the result (src/extend); here are the model and the exit code.
#include "extend/extend_command.h"

#include <string>
#include <utility>

#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/extend.h"

namespace posenc::tool {

int run_extend(const ExtendArguments& arguments) {
  PlanAndConfig read = plan_and_config(arguments.model, {});
  const bool is_set = !arguments.model.set.empty();
  const Plan plan = with_settings(std::move(read.plan), arguments.model);
  try {
    // What --set changed no config says, so that patches start from nothing.
    const ExtensionStudy study =
        study_extension(plan, {.to = arguments.to, .from = arguments.from}, is_set ? std::string() : read.config);
    return write_output(arguments.json ? to_json(study) + "\n" : describe(study));
  } catch (const Error& error) {
    const Problem& problem = error.problem();
    if (problem.field == "from" || problem.field == "to") {
      throw UsageError{printable(formatted("--{} must {} but is {}", problem.field, problem.must, problem.is))};
    }
    throw refused_of_model(arguments.model.name, error);
  }
}

}  // namespace posenc::tool

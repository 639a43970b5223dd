// The library measures the ways and words the result (src/extend); here are the model, what a checkpoint says of them,
// and the exit code.
#include "extend/extend_command.h"

#include <string>
#include <utility>

#include "extend/evaluation.h"
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
    std::string text = arguments.json ? to_json(study) : describe(study);
    if (arguments.checkpoint) {
      const Evaluation evaluation = evaluate(study, plan, arguments);
      if (arguments.json) {
        text.erase(text.find_last_not_of("\n}") + 1);  // one member more
        text += ",\n  \"evaluation\": " + evaluation_json(evaluation) + "\n}";
      } else {
        text += evaluation_text(evaluation, study);
      }
    }
    return write_output(arguments.json ? text + "\n" : text);
  } catch (const Error& error) {
    const Problem& problem = error.problem();
    if (problem.field == "from" || problem.field == "to") {
      throw UsageError{printable(formatted("--{} must {} but is {}", problem.field, problem.must, problem.is))};
    }
    throw refused_of_model(arguments.model.name, error);
  }
}

}  // namespace posenc::tool

// The library studies the cache and words the result (src/reuse); here are the model and the exit code.
#include "cache/cache_command.h"

#include <string>

#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/cache/study_cache.h"

namespace posenc::tool {

int run_cache(const CacheArguments& arguments) {
  const Plan plan = plan_of(arguments.model, {});
  try {
    const CacheStudy study =
        study_cache(plan, {.stack = arguments.stack, .simulate = arguments.simulate, .shift_by = arguments.shift_by});
    return write_output(arguments.json ? to_json(study) + "\n" : describe(study));
  } catch (const Error& error) {
    const Problem& problem = error.problem();
    if (problem.field == "stack") {
      throw UsageError{printable(formatted("--stack must {} but is {}", problem.must, problem.is))};
    }
    throw refused_of_model(arguments.model.name, error);
  }
}

}  // namespace posenc::tool

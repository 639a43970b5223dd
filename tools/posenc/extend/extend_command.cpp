// The library measures the ways and words the result (src/extend); here are the model, what a checkpoint says of them,
// and the exit code.
#include "extend/extend_command.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "extend/evaluation.h"
#include "extend/weight_rows.h"
#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/extend.h"
#include "posenc/override_plan.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {

int run_extend(const ExtendArguments& arguments) {
  PlanAndConfig read = plan_and_config(arguments.model, {});
  const bool is_set = !arguments.model.set.empty();
  const Plan plan = with_settings(std::move(read.plan), arguments.model);
  try {
    // What --set changed no config says, so that patches start from nothing.
    ExtendOptions options{.to = arguments.to, .from = arguments.from};
    std::vector<TensorArgument> given;
    if (arguments.q) {
      const std::vector<TensorWord> words{{"--q", *arguments.q}, {"--k", *arguments.k}};
      check_standard_input(arguments.model.name, words);
      for (const TensorWord& word : words) {
        given.push_back(read_tensor_argument(word));
        if (!dtype_of(given.back().data.type())) {
          refuse(word, given.back(),
                 formatted("expected f32, f16, bf16 or f64, got {}", name(given.back().data.type())));
        }
      }
      options.q = given[0].data.view();
      options.k = given[1].data.view();
    }
    const std::string config = is_set ? std::string() : read.config;
    ExtensionStudy study = study_extension(plan, options, config);
    WeightRows rows;
    if (arguments.weights) {
      const auto& layers = std::ranges::find(plan.stacks, study.stack, &Stack::name)->layers;
      const LayerPlan& layer = *std::ranges::find_if(
          layers, [&](const LayerPlan& one) { return one.index == study.layer && !one.rotate.empty(); });
      rows = rows_of_weights(*arguments.weights, plan.model_type, layer);
      options.q = rows.q_view;
      options.k = rows.k_view;
      study = study_extension(plan, options, config);
    }
    std::optional<Evaluator> evaluator;
    std::optional<Search> search;
    std::vector<OverridePatch> patches;  // of what the search found
    if (arguments.checkpoint) evaluator.emplace(study, plan, arguments);
    if (arguments.search) {
      search = evaluator->search(study);
      patches = override_patches(plan, search->way.settings, config);
      options.also = {search->way};
      study = study_extension(plan, options, config);
    }
    std::string text = arguments.json ? to_json(study) : describe(study);
    if (evaluator) {
      const Evaluation evaluation = evaluator->measure(study);
      if (arguments.json) {
        const std::string found = search ? search_json(*search, patches) : "null";
        text.erase(text.find_last_not_of("\n}") + 1);  // one member more
        text += ",\n  \"evaluation\": " + evaluation_json(evaluation, found) + "\n}";
      } else {
        text += evaluation_text(evaluation, study);
        if (search) text += search_text(*search, patches);
      }
    }
    return write_output(arguments.json ? text + "\n" : text);
  } catch (const Error& error) {
    const Problem& problem = error.problem();
    if (problem.field == "q" || problem.field == "k" || problem.field == "from" || problem.field == "to") {
      throw UsageError{printable(formatted("--{} must {} but is {}", problem.field, problem.must, problem.is))};
    }
    throw refused_of_model(arguments.model.name, error);
  }
}

}  // namespace posenc::tool

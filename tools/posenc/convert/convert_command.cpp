// The library converts and words the report (src/convert); here are the plan, the progress and the exit code.
#include "convert/convert_command.h"

#include <optional>
#include <string>

#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/progress.h"
#include "line/text.h"
#include "posenc/convert.h"
#include "posenc/error.h"
#include "posenc/plan.h"
#include "tensors/file_error_text.h"

namespace posenc::tool {
namespace {

std::string_view stage_words(ConvertStage stage) {
  switch (stage) {
    case ConvertStage::copying: return "converting";
    case ConvertStage::checking: return "checking scores";
  }
  return "";
}

// The report with its first line, the totals, in bold.
std::string conversion_text(const Conversion& conversion) {
  const std::string text = describe(conversion);
  const std::size_t first = text.find('\n');
  const Page page(output_wants_colour());
  return page.paint(Style::bold, text.substr(0, first)) + text.substr(first);
}

}  // namespace

int run_convert(const ConvertArguments& arguments) {
  std::optional<Plan> plan;
  if (arguments.model) plan = plan_of(*arguments.model, {});
  Progress progress;
  const ConvertArgs args{.source = arguments.source,
                         .output = arguments.out.value_or(""),
                         .to = arguments.to,
                         .from = arguments.from,
                         .plan = plan ? &*plan : nullptr,
                         .stack = arguments.stack.value_or(""),
                         .padded_head_dim = arguments.padded_head_dim,
                         .again = arguments.again,
                         .replace = arguments.force,
                         .dry_run = arguments.dry_run,
                         .keep_going = [&](ConvertStage stage, std::int64_t done, std::int64_t all) {
                           progress.show(stage_words(stage), done, all);
                           return true;
                         }};
  const Result<Conversion> converted = of_model(arguments.source, [&] { return convert(args); });
  progress.wipe();
  if (!converted) throw failure(exit_code_of(converted.error()), converted.error().message());
  return write_output(arguments.json ? to_json(*converted) + "\n" : conversion_text(*converted));
}

}  // namespace posenc::tool

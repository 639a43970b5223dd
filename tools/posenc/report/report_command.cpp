// The library computes and makes the page (src/report); here are the models and the file. The page is complete before
// a file is opened.
#include "report/report_command.h"

#include <optional>
#include <string>
#include <vector>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "posenc/report.h"
#include "posenc/write_file.h"
#include "tensors/file_error_text.h"
#include "tensors/held_signals.h"

namespace posenc::tool {
namespace {

// "a.json, b.json": whose file it is that the library refuses.
std::string names_of(const std::vector<Plan>& plans, const std::optional<Plan>& against) {
  std::string out;
  for (const Plan& plan : plans) out += (out.empty() ? "" : ", ") + plan.source.name;
  if (against) out += ", " + against->source.name;
  return out;
}

}  // namespace

int run_report(const ReportArguments& arguments) {
  if (arguments.out) {
    for (const ModelWord& model : arguments.models) require_other_file("-o", *arguments.out, model.name);
    if (arguments.against) require_other_file("-o", *arguments.out, arguments.against->name);
  }
  std::vector<Plan> plans;
  for (const ModelWord& model : arguments.models) plans.push_back(plan_of(model, arguments.length));
  std::optional<Plan> against;
  if (arguments.against) against = plan_of(*arguments.against, arguments.length);
  const ReportOptions options{.length = arguments.length, .against = against ? &*against : nullptr};
  const std::string text = of_model(names_of(plans, against), [&] {
    return arguments.json ? report_json(plans, options) + "\n" : report_html(plans, options);
  });
  if (!arguments.out) return write_output(text);
  // Ctrl-C while the file is written: write_file gives up and removes its part, then held lets the signal through.
  const HeldSignals held;
  const WriteOptions write{.replace = arguments.force, .keep_going = [](std::int64_t) { return !HeldSignals::came(); }};
  const Result<std::int64_t> written = write_file(*arguments.out, text, write);
  if (!written) throw Failure{file_error_text(written.error()), exit_code_of(written.error())};
  return kOk;
}

}  // namespace posenc::tool

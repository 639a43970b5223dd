// The library diagnoses and words the result (src/diagnose); here are the plan, the tensors and their axes, and the
// exit code.
#include "diagnose/diagnose_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "diagnose/diagnosed_tensors.h"
#include "inspect/layer_choice.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "posenc/diagnose.h"
#include "posenc/error.h"
#include "tensors/row_positions.h"

namespace posenc::tool {
namespace {

int exit_code_of_verdict(PortVerdict verdict) {
  switch (verdict) {
    case PortVerdict::as_the_plan:
    case PortVerdict::recovered: return kOk;
    case PortVerdict::differs: return kJudged;
    case PortVerdict::cannot_tell: return kCannotTell;
  }
  return kInternal;
}

// The text with its first line, the verdict, in bold.
std::string diagnosis_text(const Diagnosis& diagnosis) {
  const std::string text = describe(diagnosis);
  const std::size_t first = text.find('\n');
  const Page page(output_wants_colour());
  return page.paint(Style::bold, text.substr(0, first)) + text.substr(first);
}

// A start, or the coordinates of tokens.
struct GivenPositions {
  std::optional<std::int64_t> start{};
  std::vector<double> list{};
};

GivenPositions given_positions(const DiagnoseArguments& arguments) {
  GivenPositions out;
  if (!arguments.positions) return out;
  const PositionWord word = read_positions(*arguments.positions, "--start");
  if (const auto* start = std::get_if<std::int64_t>(&word.values)) {
    out.start = *start;
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&word.values)) {
    out.list.assign(whole->begin(), whole->end());
  } else {
    out.list = std::get<std::vector<double>>(word.values);
  }
  return out;
}

// Axes that were taken for each other are no explanation while the other order was not tried.
bool explains(const Diagnosis& d) {
  const bool other_axes =
      std::ranges::any_of(d.findings, [](const PortFinding& f) { return f.fact == PortFact::layout; });
  return (d.verdict == PortVerdict::as_the_plan || d.verdict == PortVerdict::recovered) && !other_axes;
}

}  // namespace

int run_diagnose(const DiagnoseArguments& arguments) {
  const TensorWord before_word{"--before", arguments.before, arguments.bf16};
  const TensorWord after_word{"--after", arguments.after, arguments.bf16};
  check_standard_input(arguments.model ? arguments.model->name : "", {before_word, after_word});
  std::optional<Plan> plan;
  std::optional<LayerChoice> choice;
  if (arguments.model) {
    plan = plan_of(*arguments.model, arguments.length);
    choice = choose_layer(*plan, {arguments.stack, arguments.layer, arguments.rotation}, WhenLayersDiffer::ask);
  }
  const LayerChoice* chosen = choice ? &*choice : nullptr;
  const DiagnosedTensor before = read_diagnosed(before_word, arguments, chosen);
  const DiagnosedTensor after = read_diagnosed(after_word, arguments, chosen);
  const GivenPositions positions = given_positions(arguments);
  const auto diagnosed = [&](const ConstTensorView& x, const ConstTensorView& y) {
    return diagnose({.before = x,
                     .after = y,
                     .rotate = choice ? choice->rotate : nullptr,
                     .plan = plan ? &*plan : nullptr,
                     .length = arguments.length,
                     .start = positions.start,
                     .positions = positions.list});
  };
  Diagnosis diagnosis;
  try {
    diagnosis = diagnosed(before.heads, after.heads);
    // Both orders of tokens and heads fit, and nobody said which it is.
    if (!explains(diagnosis) && !before.exchanged.empty() && !after.exchanged.empty()) {
      Diagnosis other = diagnosed(before.exchanged, after.exchanged);
      if (explains(other)) diagnosis = std::move(other);
    }
  } catch (const Error& error) {  // shapes, positions and elements of the files
    throw failure(kMalformed, formatted("--before and --after: {}", error.what()));
  }
  const int written = write_output(arguments.json ? to_json(diagnosis) + "\n" : diagnosis_text(diagnosis));
  return written != kOk ? written : exit_code_of_verdict(diagnosis.verdict);
}

}  // namespace posenc::tool

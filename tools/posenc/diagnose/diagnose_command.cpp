// The library diagnoses and words the result (src/diagnose); here are the plan, the tensors and their axes, and the
// exit code.
#include "diagnose/diagnose_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "diagnose/diagnosed_attention.h"
#include "diagnose/diagnosed_tensors.h"
#include "diagnose/diagnosed_weights.h"
#include "diagnose/diagnosis_output.h"
#include "inspect/layer_choice.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "posenc/diagnose.h"
#include "posenc/error.h"
#include "tensors/row_positions.h"

namespace posenc::tool {
namespace {

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
  const auto word = [&](const char* flag, const std::optional<std::string>& text) {
    return TensorWord{flag, text.value_or(""), arguments.bf16};
  };
  const TensorWord before_k_word = word("--before-k", arguments.before_k);
  const TensorWord after_k_word = word("--after-k", arguments.after_k);
  check_standard_input(
      arguments.model ? arguments.model->name : "",
      {before_word, after_word, before_k_word, after_k_word, word("--q", arguments.q), word("--k", arguments.k),
       word("--v", arguments.v), word("--scores", arguments.scores), word("--out", arguments.out),
       word("--tables", arguments.tables), word("--weights", arguments.weights)});
  if (arguments.weights) return run_diagnose_weights(arguments);
  if (arguments.q) return run_diagnose_attention(arguments);
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
  const auto args_of = [&](const ConstTensorView& x, const ConstTensorView& y) {
    return DiagnoseArgs{.before = x,
                        .after = y,
                        .rotate = choice ? choice->rotate : nullptr,
                        .plan = plan ? &*plan : nullptr,
                        .length = arguments.length,
                        .start = positions.start,
                        .positions = positions.list};
  };
  const auto diagnosed = [&](const ConstTensorView& x, const ConstTensorView& y) { return diagnose(args_of(x, y)); };
  if (arguments.before_k) {
    const DiagnosedTensor before_k = read_diagnosed(before_k_word, arguments, chosen);
    const DiagnosedTensor after_k = read_diagnosed(after_k_word, arguments, chosen);
    BothDiagnosis both;
    try {
      both = diagnose_both(args_of(before.heads, after.heads), args_of(before_k.heads, after_k.heads));
    } catch (const Error& error) {
      throw failure(kMalformed, formatted("--before, --after, --before-k and --after-k: {}", error.what()));
    }
    return write_diagnosis(arguments.json, to_json(both), describe(both), both.verdict);
  }
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
  return write_diagnosis(arguments.json, to_json(diagnosis), describe(diagnosis), diagnosis.verdict);
}

}  // namespace posenc::tool

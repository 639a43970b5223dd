// What rotate and attend share: plan, early refusals, length before the work; --check's verdict and report after it.
#include "tensors/layer_job.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/text.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "tensors/tensor_output.h"

namespace posenc::tool {

Plan begin(const LayerJob& job) {
  (void)selected_isa();  // what the environment asks for and is not there is not the model's fault
  (void)default_threads();
  check_output(job.out, job.force);
  return plan_of(job.model, job.length);
}

std::optional<std::int64_t> length_of(const LayerJob& job, std::span<const Rotate> rotations, double last_position) {
  // Other rules give the same frequencies at every length, and the report says none for them.
  const bool is_asked = std::ranges::any_of(rotations, [](const Rotate& one) {
    const Scaling& rule = rope(one).scaling;
    return std::holds_alternative<DynamicScaling>(rule) || std::holds_alternative<QwenNtkScaling>(rule) ||
           std::holds_alternative<LongRopeScaling>(rule);
  });
  if (!is_asked) return {};
  if (job.length) return job.length;
  // Positions may be real numbers, and all below 0; a sequence has a token at least.
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(last_position)) + 1);
}

void check_bound(double over_bound, const JudgedPlace& place, std::string_view tensor) {
  if (over_bound <= 1.0) return;
  throw failure(kJudged, formatted("--check: {}sequence {}, token {}, head {}, channel {}: the error is {:.3g} times "
                                   "its bound; nothing was written",
                                   tensor, place.row.sequence, place.row.token, place.head, place.channel, over_bound));
}

std::string tensors_text(std::span<const NamedHeads> tensors) {
  std::vector<std::string> parts;
  for (const auto& [name, tensor] : tensors) {
    parts.push_back(formatted(
        "{} {} {}{}{}", name, shape_text(shape_of(tensor->stored)), posenc::name(tensor->stored.dtype),
        stored_type_text(*tensor).empty() ? "" : formatted(" ({})", stored_type_text(*tensor)),
        tensor->other_layout
            ? formatted(" as {} (--layout {} fits too)", tool::name(tensor->layout), tool::name(*tensor->other_layout))
            : ""));
  }
  return join(parts, ", ");
}

// The plan's own warnings are left to posenc inspect; here is only whether facts are missing.
std::vector<Warning> warnings_of(const Plan& plan, std::span<const NamedHeads> tensors) {
  std::vector<Warning> out;
  if (!plan.known) {
    out.push_back(
        {.code = "plan-not-known",
         .message = "some facts about this model's positions could not be decided; posenc inspect names them"});
  }
  for (const auto& [name, tensor] : tensors) {
    for (Warning warning : tensor->source.warnings) {
      warning.message = tensor->source.file + ": " + warning.message;
      // Two tensors of one file bring the same warnings.
      if (std::ranges::find(out, warning) == out.end()) out.push_back(std::move(warning));
    }
  }
  return out;
}

void add_warnings(Page& page, std::int64_t at, std::span<const Warning> warnings) {
  std::string_view label = "warning";
  for (const Warning& warning : warnings) {
    page.entry(2, label, at, printable(warning.message), Style::warning);
    label = "";
  }
}

JsonMembers job_members(const LayerJob& job, const Plan& plan, const Stack& stack, const LayerPlan& layer,
                        std::int64_t bytes_written) {
  // Of this report, not of the plan.
  return {{"schema_version", "1"},
          {"out", json_string(job.out)},
          {"bytes", std::to_string(bytes_written)},
          {"model", json_string(plan.source.name)},
          {"stack", json_string(stack.name)},
          {"layer", std::to_string(layer.index)}};
}

JsonMembers tensor_members(const NamedHeads& tensor) {
  const auto& [role, heads] = tensor;
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape_of(heads->stored)) sizes.push_back(std::to_string(size));
  return {{"name", json_string(role)},
          {"file", json_string(heads->source.file)},
          {"tensor", heads->source.name.empty() ? "null" : json_string(heads->source.name)},
          {"dtype", json_string(name(heads->stored.dtype))},
          {"file_dtype", json_string(name(heads->source.data.type()))},
          {"shape", json_array(sizes)},
          {"layout", json_string(name(heads->layout))},
          {"joined_heads", heads->split.rank != heads->stored.rank ? "true" : "false"},
          {"other_layout", heads->other_layout ? json_string(name(*heads->other_layout)) : "null"}};
}

std::string warnings_json(std::span<const Warning> warnings) {
  std::vector<std::string> out;
  for (const Warning& warning : warnings) {
    out.push_back(
        json_object({{"code", json_string(warning.code)}, {"message", json_string(printable(warning.message))}}));
  }
  return json_array(out);
}

}  // namespace posenc::tool

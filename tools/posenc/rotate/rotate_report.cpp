#include "rotate/rotate_report.h"

#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "tensors/layer_job.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kRotateColumn = 13;

std::string direction_text(Direction direction) { return direction == Direction::inverse ? "inverse" : "forward"; }

LayerWords words_of(const RotateArguments& arguments) {
  return {arguments.job.stack, arguments.job.layer, arguments.rotation};
}

std::vector<NamedHeads> tensors_of(const RotateReport& report) {
  std::vector<NamedHeads> out;
  for (const RotatedTensor& t : report.tensors) out.emplace_back(t.name, &t.tensor);
  return out;
}

// "0 to 5"; "given, -3 to 90"
std::string positions_text(const RotateReport& report) {
  const RowPositions& p = report.positions;
  if (report.rows == 0) return "none, no tokens";
  const std::string range = p.least() == p.most()
                                ? exact_number(p.least())
                                : formatted("{} to {}", exact_number(p.least()), exact_number(p.most()));
  return p.word().counted() ? range : formatted("given, {}", range);
}

std::string how_text(const RotateReport& report) {
  std::string out = formatted("{} angles, {}", name(report.rotation.angles), direction_text(report.rotation.direction));
  if (!report.rotation.length) return out;
  return out + formatted("; for a sequence of {}{}", count(*report.rotation.length, "token"),
                         report.arguments.job.length ? "" : " (the last position + 1; --length overrides)");
}

std::string layer_text(const RotateReport& report) {
  const std::string layer = layer_name(report.choice, words_of(report.arguments));
  if (report.choice.rotations == 1) return layer;
  return formatted("{}, rotation {} of {} ({})", layer, report.choice.rotation, report.choice.rotations,
                   name(report.choice.rotate->role));
}

}  // namespace

std::string name(Angles angles) {
  switch (angles) {
    case Angles::exact: return "exact";
    case Angles::float32: return "float32";
    case Angles::bfloat16: return "bfloat16";
  }
  return {};
}

std::string error_text(const RotationError& error, DType dtype) {
  return formatted("largest error {:.2f} ulp of {}, {:.3f} of its bound", error.ulp, name(dtype), error.over_bound);
}

std::string error_json(const RotationError& error) {
  return json_object({{"ulp", json_number(error.ulp)},
                      {"over_bound", json_number(error.over_bound)},
                      {"values", std::to_string(error.values)},
                      {"pairs_not_finite", std::to_string(error.not_finite)}});
}

std::string rotate_text(const RotateReport& report) {
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, printable(report.arguments.job.out)) +
            formatted(": {} bytes", report.bytes_written));
  page.entry(2, "rotated", kRotateColumn, tensors_text(tensors_of(report)));
  page.entry(2, "by", kRotateColumn, formatted("{}, {}", printable(report.plan.source.name), layer_text(report)));
  page.entry(2, "rotation", kRotateColumn, rotate_text(*report.choice.rotate, report.rotation.length));
  page.entry(2, "positions", kRotateColumn, formatted("{}; {}", positions_text(report), how_text(report)));
  std::string_view label = "check";
  for (const RotatedTensor& t : report.tensors) {
    if (!t.error) continue;
    const std::string unjudged =
        t.error->not_finite == 0 ? ""
                                 : formatted("; {} with NaN or Inf not checked", count(t.error->not_finite, "pair"));
    page.entry(2, label, kRotateColumn,
               formatted("{}: {}; {} of {}{}", t.name, error_text(*t.error, t.tensor.stored.dtype), report.checked_rows,
                         count(report.rows, "token"), unjudged));
    label = "";
  }
  add_warnings(page, kRotateColumn, warnings_of(report.plan, tensors_of(report)));
  return page.text();
}

std::string rotate_json(const RotateReport& report) {
  std::vector<std::string> tensors;
  for (const RotatedTensor& t : report.tensors) {
    JsonMembers members = tensor_members({t.name, &t.tensor});
    members.emplace_back("check", t.error ? error_json(*t.error) : "null");
    tensors.push_back(json_object(members));
  }
  JsonMembers all =
      job_members(report.arguments.job, report.plan, *report.choice.stack, *report.choice.layer, report.bytes_written);
  const JsonMembers own{{"rotation", std::to_string(report.choice.rotation)},
                        {"direction", json_string(direction_text(report.rotation.direction))},
                        {"angles", json_string(name(report.rotation.angles))},
                        {"length", report.rotation.length ? std::to_string(*report.rotation.length) : "null"},
                        {"positions", json_object({{"least", json_number(report.positions.least())},
                                                   {"most", json_number(report.positions.most())}})},
                        {"tokens", std::to_string(report.rows)},
                        {"checked_tokens", std::to_string(report.checked_rows)},
                        {"tensors", json_array(tensors)},
                        {"warnings", warnings_json(warnings_of(report.plan, tensors_of(report)))}};
  all.insert(all.end(), own.begin(), own.end());
  return json_object(all) + "\n";
}

}  // namespace posenc::tool

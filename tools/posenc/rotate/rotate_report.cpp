// docs/cli.md shows the text of posenc rotate. Its JSON has the members of job_members() first, then those of its own.
#include "rotate/rotate_report.h"

#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/version.h"
#include "tensors/layer_job.h"

namespace posenc::tool {
namespace {

// Indent 2, the longest label, "positions", 9, a gap of 2.
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

// "exact angles, forward; for a sequence of 6 tokens (the last position + 1; --length overrides)"
std::string how_text(const RotateReport& report) {
  std::string out = formatted("{} angles, {}", name(report.rotation.angles), direction_text(report.rotation.direction));
  if (!report.rotation.length) return out;
  return out + formatted("; for a sequence of {}{}", count(*report.rotation.length, "token"),
                         report.arguments.job.length ? "" : " (the last position + 1; --length overrides)");
}

// By which rows are rotated, apart from the direction: of a rotation and its inverse the same, to the letter.
JsonMembers how_members(const RotateReport& report) {
  return {{"rope", json_string(rotate_text(*report.choice.rotate, report.rotation.length))},
          {"angles", json_string(name(report.rotation.angles))},
          {"length", report.rotation.length ? std::to_string(*report.rotation.length) : "null"},
          {"positions", json_object({{"least", json_number(report.positions.least())},
                                     {"most", json_number(report.positions.most())}})}};
}

bool is_npy(const RotateReport& report) { return report.arguments.job.out.ends_with(".npy"); }

// "posenc.rotate.q, posenc.rotate.k in its metadata"
std::string record_text(const RotateReport& report) {
  if (is_npy(report)) return "none: .npy has no place for it; a .safetensors file says that it is rotated, and by what";
  std::vector<std::string> keys;
  for (const auto& [key, steps] : rotate_metadata(report)) keys.push_back(key);
  return join(keys, ", ") + " in its metadata";
}

std::vector<Warning> rotate_warnings(const RotateReport& report) {
  std::vector<Warning> out = warnings_of(report.plan, tensors_of(report));
  const std::string how = json_object(how_members(report));
  for (const RotatedTensor& t : report.tensors) {
    const std::string& before = t.tensor.source.rotations;
    const bool back = report.rotation.direction == Direction::inverse;
    if (!back || before.empty() || before.find(how.substr(1)) != std::string::npos) continue;
    out.push_back({.code = "rotated-otherwise",
                   .message = formatted("{}: rotated back in another way than {} says that it was rotated", t.name,
                                        t.tensor.source.file)});
  }
  return out;
}

// "decoder layer 5"; where a block has several rotations, "decoder layer 5, rotation 0 of 2 (main)".
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

// posenc demo prints it too, whatever it is: infinity, of a channel that should not have changed, is null.
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
  page.entry(2, "record", kRotateColumn, record_text(report));
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
  if (report.expected) {
    page.entry(2, "expect", kRotateColumn, expected_line(*report.arguments.expect, *report.expected));
  }
  add_warnings(page, kRotateColumn, rotate_warnings(report));
  return page.text() + (report.expected ? expected_diagnosis(*report.expected) : "");
}

// how_members() stand last: rotate_warnings() looks for them.
Metadata rotate_metadata(const RotateReport& report) {
  JsonMembers step{
      {"posenc", json_string(formatted("{}.{}.{}", POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH))},
      {"direction", json_string(direction_text(report.rotation.direction))},
      {"model", json_string(report.plan.source.name)},
      {"layer", json_string(layer_text(report))}};
  const JsonMembers how = how_members(report);
  step.insert(step.end(), how.begin(), how.end());
  Metadata out;
  for (const RotatedTensor& t : report.tensors) {
    add_rotation(out, t.name, t.tensor.source.rotations, json_object(step));
  }
  return out;
}

// `tokens` are those of all sequences; `checked_tokens` is 0 without --check.
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
                        {"recorded", is_npy(report) ? "false" : "true"},
                        {"tokens", std::to_string(report.rows)},
                        {"checked_tokens", std::to_string(report.checked_rows)},
                        {"tensors", json_array(tensors)},
                        {"expect", expected_json(report.arguments.expect, report.expected)},
                        {"warnings", warnings_json(rotate_warnings(report))}};
  all.insert(all.end(), own.begin(), own.end());
  return json_object(all) + "\n";
}

}  // namespace posenc::tool

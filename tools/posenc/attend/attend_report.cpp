// docs/cli.md shows the text of posenc attend. Its JSON has the members of job_members() first, then those of its own.
#include "attend/attend_report.h"

#include <array>
#include <utility>
#include <vector>

#include "attend/attend_linear.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "tensors/layer_job.h"

namespace posenc::tool {
namespace {

// Indent 2, the longest label, "positions", 9, a gap of 2.
constexpr std::int64_t kAttendColumn = 13;

std::array<NamedHeads, 3> tensors_of(const AttendReport& report) {
  return {{{"q", &report.q}, {"k", &report.k}, {"v", &report.v}}};
}

// "0 to 5"; without positions the order of tokens, from `first` on.
std::string range_text(const std::optional<RowPositions>& positions, std::int64_t first, std::int64_t count) {
  if (count == 0) return "none";
  const double least = positions ? positions->least() : static_cast<double>(first);
  const double most = positions ? positions->most() : static_cast<double>(first + count - 1);
  return least == most ? exact_number(least) : formatted("{} to {}", exact_number(least), exact_number(most));
}

std::string positions_text(const AttendReport& report) {
  const AttendCall& call = report.call;
  return formatted("queries {}; keys {}", range_text(call.q_positions, call.keys() - call.queries(), call.queries()),
                   range_text(call.k_positions, 0, call.keys()));
}

// What holds: the layer's own, or what --mask has put in its place.
std::string mask_line(const AttendReport& report) {
  if (!report.call.attn_mask.empty()) return "from file";
  const std::string own = mask_text(report.call.layer.mask);
  return report.arguments.mask ? own + " (--mask)" : own;
}

void add_layer(Page& page, const AttendReport& report) {
  const LayerPlan& layer = report.call.layer;
  for (const Rotate& one : layer.rotate) page.entry(2, "rotate", kAttendColumn, rotate_text(one, report.call.length));
  for (const ScoreTerm& term : layer.score) page.entry(2, "score", kAttendColumn, score_text(term));
  if (report.arguments.linear) {
    page.entry(2, "attention", kAttendColumn,
               linear_text(*report.arguments.linear) + "; no softmax scale, no attention factor");
  } else {
    page.entry(2, "scores", kAttendColumn, logits_text(layer));
  }
  page.entry(2, "mask", kAttendColumn, mask_line(report));
  // posenc attend starts with RoPE: q and k have to come normalised where a norm precedes it.
  if (layer.qk_norm && layer.qk_norm->order == QkNorm::Order::before) {
    page.entry(2, "norm", kAttendColumn, "not applied: q and k are expected after QK norm");
  }
}

// `bound`, a number of the output, is the one where the largest fraction of it was found.
std::string error_json(const AttendError& error) {
  return json_object({{"largest", json_number(error.largest)},
                      {"over_bound", json_number(error.over_bound)},
                      {"bound", json_number(error.bound)},
                      {"tokens", std::to_string(error.tokens)},
                      {"values_not_finite", std::to_string(error.not_finite)}});
}

}  // namespace

std::string error_text(const AttendError& error) {
  return formatted("largest error {}, at most {} of its bound", number(error.largest, 2), number(error.over_bound, 2));
}

// Entries for tables, products, the check and warnings are there only where there is something to say.
std::string attend_text(const AttendReport& report) {
  const AttendCall& call = report.call;
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, printable(report.arguments.job.out)) +
            formatted(": {} bytes", report.bytes_written));
  page.entry(2, "inputs", kAttendColumn, tensors_text(tensors_of(report)));
  page.entry(2, "by", kAttendColumn, formatted("{}, {}", printable(report.plan.source.name), report.choice.name));
  add_layer(page, report);
  if (!call.tables.names.empty()) page.entry(2, "tables", kAttendColumn, printable(join(call.tables.names, ", ")));
  page.entry(2, "positions", kAttendColumn, positions_text(report));
  if (!report.arguments.linear) {
    page.entry(
        2, "work", kAttendColumn,
        formatted("{} of scores; {} more skipped, all masked", count(report.work.tiles, "tile"), report.work.skipped));
  }
  if (report.arguments.products == Products::bf16) {
    page.entry(2, "products", kAttendColumn,
               call.products == Products::bf16 ? "bf16, where that is faster"
                                               : "f32: this instruction set has no bf16 products");
  }
  if (report.error) {
    const std::int64_t all = call.batch() * call.queries();
    page.entry(2, "check", kAttendColumn,
               formatted("{}; {} of {}{}", error_text(*report.error), report.error->tokens, count(all, "token"),
                         report.error->not_finite == 0
                             ? ""
                             : formatted("; {} non-finite", count(report.error->not_finite, "value"))));
  }
  if (report.expected) {
    page.entry(2, "expect", kAttendColumn, expected_line(*report.arguments.expect, *report.expected));
  }
  add_warnings(page, kAttendColumn, warnings_of(report.plan, tensors_of(report)));
  return page.text() + (report.expected ? expected_diagnosis(*report.expected) : "");
}

std::string attend_json(const AttendReport& report) {
  std::vector<std::string> tensors;
  for (const NamedHeads& tensor : tensors_of(report)) tensors.push_back(json_object(tensor_members(tensor)));
  std::vector<std::string> tables;
  for (const std::string& table : report.call.tables.names) tables.push_back(json_string(table));
  const std::optional<std::int64_t>& length = report.call.length;
  const std::optional<FeatureMap>& linear = report.arguments.linear;
  JsonMembers all =
      job_members(report.arguments.job, report.plan, *report.choice.stack, *report.choice.layer, report.bytes_written);
  const JsonMembers own{{"length", length ? std::to_string(*length) : "null"},
                        {"tensors", json_array(tensors)},
                        {"tables", json_array(tables)},
                        {"tiles", linear ? "null" : std::to_string(report.work.tiles)},
                        {"tiles_skipped", linear ? "null" : std::to_string(report.work.skipped)},
                        {"products", json_string(name(report.call.products))},
                        {"linear", linear ? json_string(name(*linear)) : "null"},
                        {"check", report.error ? error_json(*report.error) : "null"},
                        {"expect", expected_json(report.arguments.expect, report.expected)},
                        {"warnings", warnings_json(warnings_of(report.plan, tensors_of(report)))}};
  all.insert(all.end(), own.begin(), own.end());
  return json_object(all) + "\n";
}

}  // namespace posenc::tool

#include "attend_report.h"

#include <array>
#include <utility>
#include <vector>

#include "formatted.h"
#include "json_text.h"
#include "page.h"
#include "stage_text.h"
#include "text.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kAt = 13;

std::array<std::pair<std::string_view, const HeadsTensor*>, 3> tensors_of(const AttendReport& report) {
  return {{{"q", &report.q}, {"k", &report.k}, {"v", &report.v}}};
}

std::string tensors_text(const AttendReport& report) {
  std::vector<std::string> parts;
  for (const auto& [role, tensor] : tensors_of(report)) {
    parts.push_back(formatted("{} {} {}", role, shape_text(shape_of(tensor->stored)), name(tensor->stored.dtype)));
  }
  return join(parts, ", ");
}

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

std::string mask_line(const AttendReport& report) {
  if (!report.call.visible.empty()) return "of the file alone";
  const std::string own = mask_text(report.call.layer.mask);
  return report.arguments.mask ? own + ", as asked" : own;
}

void add_layer(Page& page, const AttendReport& report) {
  const LayerPlan& layer = report.call.layer;
  for (const Rotate& one : layer.rotate) page.entry(2, "rotate", kAt, rotate_text(one, report.call.length));
  for (const ScoreTerm& term : layer.score) page.entry(2, "score", kAt, score_text(term));
  page.entry(2, "scores", kAt, logits_text(layer));
  page.entry(2, "mask", kAt, mask_line(report));
  if (layer.qk_norm && layer.qk_norm->order == QkNorm::Order::before) {
    page.entry(2, "norm", kAt, "not applied here: queries and keys are taken as they are behind it");
  }
}

std::string tensor_json(std::string_view role, const HeadsTensor& t) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape_of(t.stored)) sizes.push_back(std::to_string(size));
  return json_object({{"name", json_string(role)},
                      {"file", json_string(t.source.file)},
                      {"tensor", t.source.name.empty() ? "null" : json_string(t.source.name)},
                      {"dtype", json_string(name(t.stored.dtype))},
                      {"shape", json_array(sizes)},
                      {"layout", json_string(name(t.layout))}});
}

std::string error_json(const AttendError& error) {
  return json_object({{"largest", json_number(error.largest)},
                      {"over_bound", json_number(error.over_bound)},
                      {"bound", json_number(error.bound)},
                      {"tokens", std::to_string(error.tokens)},
                      {"values_not_finite", std::to_string(error.not_finite)}});
}

std::vector<std::string> warnings_of(const AttendReport& report) {
  std::vector<std::string> out;
  if (!report.plan.known) {
    out.emplace_back("some facts about this model's positions could not be decided; posenc inspect names them");
  }
  for (const auto& [role, tensor] : tensors_of(report)) {
    for (const Warning& warning : tensor->source.warnings) {
      out.push_back(formatted("{}: {}", printable(tensor->source.file), printable(warning.message)));
    }
  }
  return out;
}

}  // namespace

std::string error_text(const AttendError& error) {
  return formatted("largest deviation {}, at most {} of its bound", number(error.largest, 2), number(error.over_bound, 2));
}

std::string attend_text(const AttendReport& report) {
  const AttendCall& call = report.call;
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, printable(report.arguments.out)) + formatted(": {} bytes", report.bytes_written));
  page.entry(2, "attended", kAt, tensors_text(report));
  page.entry(2, "by", kAt, formatted("{}, {}", printable(report.plan.source.name), report.choice.name));
  add_layer(page, report);
  if (!call.tables.names.empty()) page.entry(2, "tables", kAt, printable(join(call.tables.names, ", ")));
  page.entry(2, "positions", kAt, positions_text(report));
  page.entry(2, "work", kAt,
             formatted("{} of scores; {} more left out, which the mask hides", count(report.work.tiles, "tile"),
                       report.work.skipped));
  if (report.error) {
    const std::int64_t all = call.batch() * call.queries();
    page.entry(2, "check", kAt,
               formatted("{}; {} of {}{}", error_text(*report.error), report.error->tokens, count(all, "token"),
                         report.error->not_finite == 0
                             ? ""
                             : formatted("; {} not finite", count(report.error->not_finite, "value"))));
  }
  for (const std::string& warning : warnings_of(report)) page.entry(2, "warning", kAt, warning, Style::warning);
  return page.text();
}

std::string attend_json(const AttendReport& report) {
  std::vector<std::string> tensors;
  for (const auto& [role, tensor] : tensors_of(report)) tensors.push_back(tensor_json(role, *tensor));
  std::vector<std::string> tables;
  for (const std::string& table : report.call.tables.names) tables.push_back(json_string(table));
  std::vector<std::string> warnings;
  for (const std::string& warning : warnings_of(report)) warnings.push_back(json_string(warning));
  const std::optional<std::int64_t>& length = report.call.length;
  return json_object({{"schema_version", "1"},
                      {"out", json_string(report.arguments.out)},
                      {"bytes", std::to_string(report.bytes_written)},
                      {"model", json_string(report.plan.source.name)},
                      {"stack", json_string(report.choice.stack->name)},
                      {"layer", std::to_string(report.choice.layer->index)},
                      {"length", length ? std::to_string(*length) : "null"},
                      {"tensors", json_array(tensors)},
                      {"tables", json_array(tables)},
                      {"tiles", std::to_string(report.work.tiles)},
                      {"tiles_skipped", std::to_string(report.work.skipped)},
                      {"check", report.error ? error_json(*report.error) : "null"},
                      {"warnings", json_array(warnings)}}) +
         "\n";
}

}  // namespace posenc::tool

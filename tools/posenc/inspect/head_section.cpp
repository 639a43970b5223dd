// The head: what the model is, where its plan comes from, whether it is complete.

#include <algorithm>
#include <string>

#include "inspect/plan_sections.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

std::string source_text(const PlanSource& source) {
  switch (source.kind) {
    case SourceKind::config_json: return "config.json";
    case SourceKind::gguf: return "GGUF metadata";
    case SourceKind::params_json: return "params.json";
    case SourceKind::preset: return "built-in preset";
  }
  return "";
}

std::string counts(const Plan& plan) {
  const auto defaults = std::count_if(plan.sources.begin(), plan.sources.end(),
                                      [](const ValueSource& s) { return s.from.starts_with("default"); });
  std::string out = formatted("{}; {} from file, {}", source_text(plan.source),
                              count(std::ssize(plan.sources) - defaults, "value"), count(defaults, "default"));
  if (!plan.ignored_keys.empty()) out += formatted("; {} ignored", count(std::ssize(plan.ignored_keys), "key"));
  return out + "; " + (plan.warnings.empty() ? "no warnings" : count(std::ssize(plan.warnings), "warning"));
}

}  // namespace

void add_head(Page& page, const Plan& plan) {
  page.line(page.paint(Style::bold, shorten(printable(plan.source.name), kColumns, true)));
  const std::string type = plan.model_type.empty() || plan.model_type == plan.family
                               ? ""
                               : formatted(" (model_type {})", printable(plan.model_type));
  page.entry(2, "family", kTextAt, (plan.family.empty() ? "not named" : printable(plan.family)) + type);
  page.entry(2, "trained", kTextAt, plan.trained_length ? count(*plan.trained_length, "token") : "length not known");
  if (plan.length) page.entry(2, "length", kTextAt, count(*plan.length, "token") + " (--length)");
  page.entry(2, "source", kTextAt, counts(plan), plan.warnings.empty() ? Style::plain : Style::warning);
  if (!plan.known) {
    page.entry(2, "known", kTextAt, "no: a required fact could not be decided; see the warnings", Style::warning);
  }
}

}  // namespace posenc::tool

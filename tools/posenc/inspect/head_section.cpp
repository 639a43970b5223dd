// The head: what the model is, where its plan comes from, whether it is complete.

#include <algorithm>
#include <string>
#include <vector>

#include "inspect/plan_sections.h"
#include "inspect/rope_lengths.h"
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

// "config.json; 14 values from file, 7 defaults, 1 set; 3 keys ignored; no warnings". A source that starts with
// "default" is no key of the file (ValueSource), nor is what --set said.
std::string counts(const Plan& plan) {
  const auto defaults = std::count_if(plan.sources.begin(), plan.sources.end(),
                                      [](const ValueSource& s) { return s.from.starts_with("default"); });
  const auto set = std::count_if(plan.sources.begin(), plan.sources.end(),
                                 [](const ValueSource& s) { return s.from.starts_with("set: "); });
  std::string out = formatted("{}; {} from file, {}", source_text(plan.source),
                              count(std::ssize(plan.sources) - defaults - set, "value"), count(defaults, "default"));
  if (set > 0) out += formatted(", {} set", set);
  if (!plan.ignored_keys.empty()) out += formatted("; {} ignored", count(std::ssize(plan.ignored_keys), "key"));
  return out + "; " + (plan.warnings.empty() ? "no warnings" : count(std::ssize(plan.warnings), "warning"));
}

// "131072 tokens; 8192 before scaling"; "4096 tokens; scaled to 16384".
std::string trained_text(const Plan& plan) {
  if (!plan.trained_length) return "length not known";
  std::vector<std::string> parts{count(*plan.trained_length, "token")};
  const auto add = [&](const std::string& part) {
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  };
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        const std::optional<std::int64_t> original = original_length(rope(rotate));
        if (!original) continue;
        const std::int64_t served = *served_length(rope(rotate), plan.trained_length);
        if (*original < *plan.trained_length) add(formatted("{} before scaling", *original));
        if (served > *plan.trained_length) add(formatted("scaled to {}", served));
      }
    }
  }
  return join(parts, "; ");
}

}  // namespace

// A name that is too long, such as a path, keeps its end.
void add_head(Page& page, const Plan& plan) {
  page.line(page.paint(Style::bold, shorten(printable(plan.source.name), kColumns, true)));
  const std::string type = plan.model_type.empty() || plan.model_type == plan.family
                               ? ""
                               : formatted(" (model_type {})", printable(excerpt(plan.model_type)));
  page.entry(2, "family", kTextAt, (plan.family.empty() ? "not named" : printable(excerpt(plan.family))) + type);
  page.entry(2, "trained", kTextAt, trained_text(plan));
  if (plan.length) page.entry(2, "length", kTextAt, count(*plan.length, "token") + " (--length)");
  page.entry(2, "source", kTextAt, counts(plan), plan.warnings.empty() ? Style::plain : Style::warning);
  if (!plan.known) {
    page.entry(2, "known", kTextAt, "no: a required fact could not be decided; see the warnings", Style::warning);
  }
}

}  // namespace posenc::tool

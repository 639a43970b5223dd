// Which keys were not read, and warnings.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "plan_sections.h"
#include "text.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kMostIgnoredLines = 6;

void add_ignored(Page& page, const Plan& plan) {
  if (plan.ignored_keys.empty()) return;
  page.blank();
  page.line(page.paint(Style::bold, fmt::format("{} not read", count(std::ssize(plan.ignored_keys), "key"))));
  std::vector<std::string> keys;
  for (const std::string& key : plan.ignored_keys) {
    keys.push_back(printable(key.starts_with('/') ? key.substr(1) : key));
  }
  std::vector<std::string> lines = wrap(join(keys, " "), kColumns - 2);
  const bool cut = lines.size() > kMostIgnoredLines;
  if (cut) lines.resize(kMostIgnoredLines);
  for (const std::string& line : lines) page.line("  " + line);
  if (cut) page.line("  ... (--json has all)");
}

void add_warnings(Page& page, const Plan& plan) {
  if (plan.warnings.empty()) return;
  page.blank();
  page.line(page.paint(Style::warning, count(std::ssize(plan.warnings), "warning")));
  for (const Warning& warning : plan.warnings) {
    const std::string keys = warning.keys.empty() ? "" : fmt::format(" ({})", join(warning.keys, ", "));
    page.entry(2, "-", 4, printable(warning.code + ": " + warning.message + keys));
  }
}

}  // namespace

void add_remarks(Page& page, const Plan& plan) {
  add_ignored(page, plan);
  add_warnings(page, plan);
}

}  // namespace posenc::tool

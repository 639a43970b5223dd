// Absent keys, ignored keys, and warnings.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/plan_sections.h"
#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// A configuration can have hundreds of keys that say nothing about positions.
constexpr std::size_t kMostLines = 6;

// "2 absent keys, defaults used", and below it the keys, JSON pointers without their first slash. Nothing where there
// are none.
void add_keys(Page& page, const std::vector<std::string>& pointers, std::string_view what,
              std::string_view after = {}) {
  if (pointers.empty()) return;
  page.blank();
  page.line(page.paint(Style::bold, formatted("{}{}", count(std::ssize(pointers), what), after)));
  std::vector<std::string> keys;
  keys.reserve(pointers.size());
  for (const std::string& key : pointers) {
    keys.push_back(printable(excerpt(key.starts_with('/') ? key.substr(1) : key)));
  }
  std::vector<std::string> lines = wrap(join(keys, " "), kColumns - 2);
  const bool cut = lines.size() > kMostLines;
  if (cut) lines.resize(kMostLines);
  for (const std::string& line : lines) page.line("  " + line);
  if (cut) page.line("  ... (--json has all)");
}

// An entry for each: code, message and the keys that it is about.
void add_warnings(Page& page, const Plan& plan) {
  if (plan.warnings.empty()) return;
  page.blank();
  page.line(page.paint(Style::warning, count(std::ssize(plan.warnings), "warning")));
  for (const Warning& warning : plan.warnings) {
    const std::string keys = warning.keys.empty() ? "" : formatted(" ({})", join(warning.keys, ", "));
    page.entry(2, "-", 4, printable(warning.code + ": " + excerpt(warning.message) + excerpt(keys)));
  }
}

}  // namespace

void add_remarks(Page& page, const Plan& plan) {
  add_keys(page, plan.absent_keys, "absent key", ", defaults used");
  add_keys(page, plan.ignored_keys, "ignored key");
  add_warnings(page, plan);
}

}  // namespace posenc::tool

// Where a plan's values came from, which keys were not read, and warnings.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "plan_sections.h"
#include "text.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kMostIgnoredLines = 6;

// "/stacks/0/layers/0-31/rotate/0/base" -> "decoder layers 0-31 rotate base".
std::string place(const Plan& plan, std::string_view where) {
  std::vector<std::string> parts;
  while (!where.empty()) {
    where.remove_prefix(where.front() == '/' ? 1 : 0);
    const std::size_t end = std::min(where.find('/'), where.size());
    parts.emplace_back(where.substr(0, end));
    where.remove_prefix(end);
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_number = parts[i].find_first_not_of("0123456789") == std::string::npos;
    if (parts[i] == "stacks" && i + 1 < parts.size()) {
      const std::size_t at = std::strtoul(parts[++i].c_str(), nullptr, 10);
      if (plan.stacks.size() > 1 && at < plan.stacks.size()) out += plan.stacks[at].name + " ";
    } else if (!(is_number && parts[i] == "0")) {
      out += parts[i] + " ";
    }
  }
  if (!out.empty()) out.pop_back();
  return printable(out);
}

void add_sources(Page& page, const Plan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string>>> merged;  // from, places
  for (const ValueSource& source : plan.sources) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const auto& m) { return m.first == source.from; });
    auto& places =
        same == merged.end() ? merged.emplace_back(source.from, std::vector<std::string>{}).second : same->second;
    const std::string text = place(plan, source.where);
    if (std::find(places.begin(), places.end(), text) == places.end()) places.push_back(text);
  }
  if (merged.empty()) return;
  page.blank();
  page.line(page.paint(Style::bold, "where the values came from"));
  for (const auto& [from, places] : merged) {
    page.entry(2, printable(from), 4 + columns(printable(from)), join(places, ", "));
  }
}

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

void add_origins(Page& page, const Plan& plan) {
  add_sources(page, plan);
  add_ignored(page, plan);
  add_warnings(page, plan);
}

}  // namespace posenc::tool

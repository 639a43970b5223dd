// The --help pages: usage, description, arguments and options in columns, wrapped; the footer and exit codes.
#include "line/command_help.h"

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kExitCodes =
    "Exit codes: 0 success (warnings too), 1 a check or comparison found something,\n"
    "2 usage, 3 cannot read or write, 4 malformed or impossible input, 5 no memory.\n";

constexpr std::int64_t kDescriptionAt = 18;  // column

// Every command has it, so that usage need not say so.
bool is_everywhere(const std::string& name) { return name == "--help" || name == "--version" || name == "--color"; }

// Wrapped to the page, lines behind the first indented: `indent` columns are taken on the first one already.
std::string hung(const std::string& text, std::int64_t indent) {
  return join(wrap(text, kColumns - indent), "\n" + std::string(static_cast<std::size_t>(indent), ' '));
}

// One argument, option or command of a list. kDescriptionAt - 4: two spaces stand before a name, two behind it.
// A name too wide for its column has a line of its own.
std::string row(const std::string& name, const std::string& description) {
  const std::string gap(static_cast<std::size_t>(kDescriptionAt), ' ');
  const bool wide = columns(name) > kDescriptionAt - 4;
  const std::string head = wide ? "  " + name + "\n" + gap : "  " + padded(name, kDescriptionAt - 2);
  return head + hung(description, kDescriptionAt) + "\n";
}

// "-o OUT"
// The first of its names; in brackets unless it is required.
std::string in_usage(const CLI::Option& option, const std::string& value) {
  const std::string names = option.get_name(false, true);
  const std::string one = names.substr(0, names.find(',')) + value;
  return option.get_required() ? " " + one : " [" + one + "]";
}

// "-o, --output OUT"
std::string in_list(const CLI::Option& option, const std::string& value) {
  std::string names = option.get_name(false, true);
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  return names + value;
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string short_help_text(const CLI::App& app) {
  const bool is_posenc = app.get_parent() == nullptr;
  std::string out = formatted("Usage: {} {} ...\n", full_name(app), is_posenc ? "COMMAND" : "KIND");
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    out += "\n" + row(command->get_name(), command->get_description());
    out.pop_back();
  }
  return out;
}

std::string help_text(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string usage = full_name(app);
  if (!commands.empty()) usage += app.get_parent() == nullptr ? " COMMAND" : " KIND";
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name() + (option->get_expected_max() > 1 ? "..." : "");
      usage += option->get_required() ? " " + name : " [" + name + "]";
      arguments += row(option->get_name(), option->get_description());
    } else {
      const std::string value = option->get_type_name().empty() ? "" : " " + option->get_type_name();
      if (!is_everywhere(option->get_name())) usage += in_usage(*option, value);
      options += row(in_list(*option, value), option->get_description());
    }
  }
  // Of posenc its commands, of bench and plot their kinds.
  std::string list;
  for (const CLI::App* command : commands) list += row(command->get_name(), command->get_description());
  std::string out = "Usage: " + hung(usage, 7) + "\n\n" + hung(app.get_description() + ".", 0) + "\n";
  const auto section = [&](std::string_view title, const std::string& rows) {
    if (!rows.empty()) out += formatted("\n{}:\n{}", title, rows);
  };
  section(app.get_parent() == nullptr ? "Commands" : "Kinds", list);
  section("Arguments", arguments);
  section("Options", options);
  return out + "\n" + app.get_footer() + std::string(kExitCodes);
}

}  // namespace posenc::tool

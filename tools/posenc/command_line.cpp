#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "formatted.h"
#include "nearest.h"
#include "posenc/version.h"
#include "text.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestLength = 1LL << 53;  // positions are exact doubles up to here; see rotary_table.h

constexpr std::string_view kExitCodes =
    "Exit codes: 0 done (warnings too), 1 asked to judge and found something,\n"
    "2 usage, 3 cannot read or write, 4 malformed or impossible input.\n";

// Help in one shape for every command: usage, what it does, arguments, options, and the footer with examples.
class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    const std::vector<const CLI::App*> commands = app->get_subcommands([](const CLI::App*) { return true; });
    const bool top = app->get_parent() == nullptr;
    std::string usage = top ? "posenc COMMAND" : "posenc " + app->get_name();
    std::string arguments;
    std::string options;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) {
        usage += option->get_required() ? " " + option->get_name() : " [" + option->get_name() + "]";
        arguments += row(option->get_name(), option->get_description());
      } else {
        const std::string value = option->get_type_name().empty() ? "" : " " + option->get_type_name();
        if (option->get_name() != "--help") usage += formatted(" [{}{}]", option->get_name(), value);
        options += row(option->get_name() + value, option->get_description());
      }
    }
    std::string list;
    for (const CLI::App* command : commands) list += row(command->get_name(), command->get_description());
    std::string out = "Usage: " + hung(usage, 7) + "\n\n" + hung(app->get_description() + ".", 0) + "\n";
    const auto section = [&](std::string_view title, const std::string& rows) {
      if (!rows.empty()) out += formatted("\n{}:\n{}", title, rows);
    };
    section("Commands", list);
    section("Arguments", arguments);
    section("Options", options);
    return out + "\n" + app->get_footer() + std::string(kExitCodes);
  }

 private:
  static std::string hung(const std::string& text, std::int64_t indent) {
    return join(wrap(text, kColumns - indent), "\n" + std::string(static_cast<std::size_t>(indent), ' '));
  }
  static std::string row(const std::string& name, const std::string& description) {
    constexpr std::int64_t kAt = 18;
    return "  " + padded(name, kAt - 2) + hung(description, kAt) + "\n";
  }
};

// The whole of `text` as a number in [smallest, largest], or the reason why not.
std::int64_t whole_number(std::string_view flag, const std::string& text, std::int64_t smallest, std::int64_t largest) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  std::string_view reason;
  if (text.empty()) {
    reason = "empty";
  } else if (error == std::errc::result_out_of_range) {
    reason = "beyond 64 bits";
  } else if (error != std::errc{} || stopped != end) {
    reason = "digits only: no exponent, point, sign, space or unit";
  } else if (value < smallest) {
    reason = "too small";
  } else if (value > largest) {
    reason = "too large";
  } else {
    return value;
  }
  throw UsageError{formatted("{}: expected a whole number from {} to {}, got '{}' ({})", flag, smallest, largest,
                             printable(text), reason)};
}

// The whole of `text` as a finite number of at least 0.
double number_from_zero(std::string_view flag, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stopped == end && std::isfinite(value) && value >= 0) return value;
  throw UsageError{
      formatted("{}: expected a finite number of at least 0, such as 0.001, got '{}'", flag, printable(text))};
}

struct Parser {
  CLI::App app{"Says where a token is: what a model's own files do with positions, layer by layer"};
  InspectArguments inspect;
  CompareArguments compare;
  InfoArguments info;
  PresetsArguments presets;
  DemoArguments demo;
  std::string layer;
  std::string length;
  std::string stack;
  std::string compare_length;
  std::string tolerance;
  CLI::App* inspect_command = nullptr;
  CLI::App* compare_command = nullptr;
  CLI::App* info_command = nullptr;
  CLI::App* presets_command = nullptr;

  Parser() {
    app.name("posenc");
    app.formatter(std::make_shared<Help>());
    app.set_help_flag("--help", "This text; after a command, the command's own");
    app.set_version_flag("--version",
                         formatted("posenc {}.{}.{}", POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH),
                         "The version");
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  posenc inspect llama-3.1-8b         a built-in model\n"
        "  posenc inspect model/config.json    a model's own file\n"
        "  posenc compare base/ finetuned/     what differs between two models\n"
        "  posenc inspect --help               what else inspect does\n\n");
    add_inspect();
    add_compare();
    add_others();
  }

  void add_inspect() {
    inspect_command = app.add_subcommand("inspect", "What a model does with positions, layer by layer");
    CLI::App& c = *inspect_command;
    c.add_option("MODEL", inspect.model,
                 "A config.json, params.json or GGUF file, a directory that holds one of the first two, the name of a "
                 "preset, or - for standard input")
        ->required();
    c.add_option("--layer", layer, "Everything about one layer, all frequencies too")->type_name("N");
    c.add_option("--stack", stack, "Only this stack: decoder, encoder, vision, ...")->type_name("NAME");
    c.add_option("--length", length,
                 "The sequence's length in tokens, for rules that depend on it (dynamic NTK, LongRoPE)")
        ->type_name("N");
    c.add_flag("--json", inspect.json, "The whole plan as JSON (docs/plan.schema.json), nothing merged");
    c.add_flag("--strict", inspect.strict, "Exit 1 when there are warnings or facts that could not be decided");
    c.footer(
        "Examples:\n"
        "  posenc inspect llama-3.1-8b\n"
        "  posenc inspect model/ --layer 5\n"
        "  posenc inspect config.json --length 32768\n"
        "  posenc inspect --json - < config.json | jq .stacks[0].layers[0].rotate\n"
        "  posenc inspect --strict config.json > /dev/null && echo nothing odd\n\n");
  }

  void add_compare() {
    compare_command = app.add_subcommand("compare", "Which position facts of two models differ, and what follows");
    CLI::App& c = *compare_command;
    c.add_option("A", compare.a, "What inspect takes: a file, a directory, the name of a preset, or -")->required();
    c.add_option("B", compare.b, "The other one")->required();
    c.add_option("--length", compare_length,
                 "The sequence's length in tokens, for rules that depend on it, and up to which angles are judged")
        ->type_name("N");
    c.add_option("--tolerance", tolerance,
                 "Radians by which an angle may differ and count as the same; 0.001 if left out")
        ->type_name("R");
    c.add_flag("--json", compare.json, "As JSON (docs/compare.schema.json)");
    c.footer(
        "Exit code 0: the same in substance. 1: they differ in something that changes\n"
        "what the model computes, if only in the pairing.\n\n"
        "Examples:\n"
        "  posenc compare llama-3.1-8b llama-3.2-1b\n"
        "  posenc compare base/ finetuned/ --length 32768\n"
        "  posenc compare qwen3-8b - < config.json\n"
        "  posenc compare a/ b/ --json | jq .verdict\n\n");
  }

  void add_others() {
    info_command = app.add_subcommand("info", "This build, this machine, the kernels in use, and limits");
    info_command->add_flag("--json", info.json, "As JSON");
    info_command->footer(
        "Examples:\n"
        "  posenc info\n"
        "  POSENC_ISA=scalar posenc info       another kernel than the best one\n\n");
    presets_command = app.add_subcommand("presets", "The built-in models, one line of facts each");
    presets_command->add_flag("--json", presets.json, "As JSON");
    presets_command->footer("Examples:\n  posenc presets\n\n");
    CLI::App* c = app.add_subcommand("demo", "A built-in model, its angle tables' worst error, and their speed");
    c->add_option("PRESET", demo.preset, "One of `posenc presets`; " + demo.preset + " when left out");
    c->add_flag("--json", demo.json, "The measurements as JSON, without the model's description");
    c->footer(
        "Errors and speeds are measured when it runs. Exit code 1: an error above 1 ulp.\n\n"
        "Examples:\n"
        "  posenc demo\n"
        "  posenc demo gemma-3-4b --json\n\n");
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      command->set_help_flag("--help", "This text");
    }
  }

  Command command() {
    if (inspect_command->parsed()) return inspect_arguments();
    if (compare_command->parsed()) return compare_arguments();
    if (info_command->parsed()) return info;
    if (presets_command->parsed()) return presets;
    return demo;
  }

  InspectArguments inspect_arguments() {
    const auto given = [&](const char* flag) { return inspect_command->count(flag) > 0; };
    if (given("--layer")) inspect.layer = whole_number("--layer", layer, 0, INT64_MAX);
    if (given("--length")) inspect.length = whole_number("--length", length, 1, kLargestLength);
    if (given("--stack")) inspect.stack = stack;
    for (const char* flag : {"--layer", "--stack"}) {
      if (inspect.json && given(flag)) {
        throw UsageError{formatted("--json and {} exclude each other (JSON always holds the whole plan)", flag)};
      }
    }
    return inspect;
  }

  CompareArguments compare_arguments() {
    if (compare_command->count("--length") > 0) {
      compare.length = whole_number("--length", compare_length, 1, kLargestLength);
    }
    if (compare_command->count("--tolerance") > 0) compare.tolerance = number_from_zero("--tolerance", tolerance);
    if (compare.a == "-" && compare.b == "-") {
      throw UsageError{"A and B: only one of the two can be standard input (-)"};
    }
    return compare;
  }

  // The message for a word that is no command, flag or argument here.
  std::string unexpected(const std::string& word) const {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const CLI::App& here = chosen.empty() ? app : *chosen.front();
    const bool flag = word.size() > 1 && word.front() == '-';
    std::vector<std::string> names;
    for (const CLI::Option* option : here.get_options()) {
      if (flag && option->nonpositional()) names.push_back(option->get_name());
    }
    for (const CLI::App* command : here.get_subcommands([](const CLI::App*) { return true; })) {
      if (!flag) names.push_back(command->get_name());
    }
    const std::vector<std::string> near = nearest(word.substr(0, word.find('=')), names);
    const std::string_view what = flag ? "unknown flag" : chosen.empty() ? "unknown command" : "unexpected argument";
    return formatted("{} '{}'{}", what, printable(word),
                     near.empty() ? "" : formatted("; did you mean {}?", join(near, " or ")));
  }

  std::string complaint(const CLI::ParseError& error) const {
    const std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) return unexpected(extras.front());
    if (app.get_subcommands().empty()) return "a command is needed: inspect, compare, info, presets or demo";
    const std::string said = error.what();
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
      return said.substr(0, said.find(':')) + " takes one value, and is given once";
    }
    return said;
  }
};

}  // namespace

Command read_command_line(int argc, const char* const* argv) {
  Parser parser;
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Words{parser.app.help()};
  } catch (const CLI::CallForVersion& version) {
    return Words{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> chosen = parser.app.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    throw UsageError{formatted("{} (see posenc{} --help)", parser.complaint(error), command)};
  }
  return parser.command();
}

}  // namespace posenc::tool

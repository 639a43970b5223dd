// CLI11 parses, from the specs of command_spec.h. What cannot be parsed is told in words of ours, which name the
// nearest word that there is and the --help to read; it is exit code 2.
#include "line/command_line.h"

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>
#include <vector>

#include "line/command_help.h"
#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/nearest.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/version.h"

namespace posenc::tool {
namespace {

std::vector<std::string> names_of(const std::vector<CommandSpec>& commands) {
  std::vector<std::string> names;
  for (const CommandSpec& command : commands) names.push_back(command.name);
  return names;
}

// "a, b or c"
std::string one_of(std::vector<std::string> names) {
  const std::string last = std::move(names.back());
  names.pop_back();
  return names.empty() ? last : join(names, ", ") + " or " + last;
}

// To CLI11 an argument without dashes is an option too, so that only a name with dashes and without a value becomes a
// flag. `many`: all words that are left.
void add_option(CLI::App& app, const OptionSpec& spec) {
  const bool is_flag = spec.value.empty() && spec.names.starts_with('-');
  CLI::Option* const option =
      is_flag ? app.add_flag(spec.names, spec.description) : app.add_option(spec.names, spec.description);
  option->type_name(spec.value)->required(spec.required);
  if (spec.many) option->expected(CLI::detail::expected_max_vector_size);
  if (spec.repeats) option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

std::string version_text() {
  return formatted("posenc {}.{}.{}", POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH);
}

void add_command(CLI::App& parent, const CommandSpec& spec) {
  CLI::App& app = *parent.add_subcommand(spec.name, spec.description);
  app.set_help_flag();  // CLI11 has one of its own, and lists options in the order of their making
  for (const OptionSpec& option : spec.options) add_option(app, option);
  app.set_help_flag("-h,--help", "This text");
  app.set_version_flag("--version", version_text(), "The version of posenc");
  app.footer(spec.footer);
  for (const CommandSpec& subject : spec.subjects) add_command(app, subject);
  if (!spec.subjects.empty()) app.require_subcommand(1);
}

// The command, or the subject of a command, that was named last.
const CLI::App& chosen(const CLI::App& app) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  return named.empty() ? app : chosen(*named.front());
}

// What was not given is absent, so that each command has its own defaults. What takes many is in `lists` too, with all
// its words.
Given given_to(const CLI::App& app) {
  Given given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    given.texts[option->get_name()] = option->results().front();
    if (option->get_expected_max() > 1) given.lists[option->get_name()] = option->results();
  }
  return given;
}

// What every command takes.
void add_shared(CommandSpec& command) {
  command.options.push_back(
      {.names = "--color",
       .value = "WHEN",
       .description = "Colours of text: auto (on a terminal, without NO_COLOR), always or never (default: auto)"});
}

// Has the page coloured as --color says.
void heed_colour(const Given& given) {
  constexpr std::array kChoices{ColourChoice::automatic, ColourChoice::always, ColourChoice::never};
  if (const auto at = given.choice("--color", {"auto", "always", "never"})) choose_colour(kChoices[*at]);
}

// The arguments of the command, or of the subject of a command, that was named.
Command read(const CLI::App& app, const std::vector<CommandSpec>& commands) {
  const CLI::App& command = *app.get_subcommands().front();
  for (const CommandSpec& spec : commands) {
    if (spec.name != command.get_name()) continue;
    if (!spec.subjects.empty()) return read(command, spec.subjects);
    const Given given = given_to(command);
    heed_colour(given);
    return spec.read(given);
  }
  return Words{};  // not reached: what was chosen was made from `commands`
}

// CLI11's parser and the specs that it was made from.
struct Parser {
  CLI::App app{
      "Position encodings of transformers (RoPE, ALiBi, T5 bias, ...): reads a model's own files, layer by layer, and "
      "computes as they say"};
  std::vector<CommandSpec> commands = command_specs();

  Parser() {
    app.name("posenc");
    app.set_help_flag("-h,--help", "This text; after a command, the command's own");
    app.set_version_flag("--version", version_text(), "The version");
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  posenc inspect llama-3.1-8b         a built-in model\n"
        "  posenc inspect model/config.json    a model's own file\n"
        "  posenc compare base/ finetuned/     what differs between two models\n"
        "  posenc rotate --help                apply a model's RoPE to tensors\n"
        "  posenc inspect --help               what else inspect does\n\n");
    for (const CommandSpec& command : commands) add_command(app, command);
  }

  // The message for a word that is no command, flag or argument here.
  std::string unexpected(const std::string& word) const {
    const CLI::App& here = chosen(app);
    const bool flag = word.size() > 1 && word.front() == '-';
    std::vector<std::string> names;
    for (const CLI::Option* option : here.get_options()) {
      if (flag && option->nonpositional()) names.push_back(option->get_name());
    }
    const std::vector<const CLI::App*> under = here.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* command : under) {
      if (!flag) names.push_back(command->get_name());
    }
    const std::vector<std::string> near = nearest(word.substr(0, word.find('=')), names);
    const std::string_view what = flag            ? "unknown flag"
                                  : under.empty() ? "unexpected argument"
                                  : &here == &app ? "unknown command"
                                                  : "unknown kind";
    return formatted("{} '{}'{}", what, printable(word),
                     near.empty() ? "" : formatted("; did you mean {}?", join(near, " or ")));
  }

  // What CLI11 complains of, without "posenc: ". A word that nothing takes comes first: it may be a misspelling of what
  // is missing. CLI11's text for a wrong number of values starts with the option's name and a colon.
  std::string complaint(const CLI::ParseError& error) const {
    const std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) return unexpected(extras.front());
    if (app.get_subcommands().empty()) return "a command is needed: " + one_of(names_of(commands));
    if (const CLI::App& here = chosen(app); here.get_require_subcommand_min() > 0) {
      const std::vector<const CLI::App*> subjects = here.get_subcommands([](const CLI::App*) { return true; });
      std::vector<std::string> names;
      for (const CLI::App* subject : subjects) names.push_back(subject->get_name());
      return here.get_name() + ": a kind is needed: " + one_of(names);
    }
    const std::string said = error.what();
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
      return said.substr(0, said.find(':')) + " takes one value, and may be given once";
    }
    return said;
  }
};

// posenc help COMMAND is posenc COMMAND --help.
std::vector<const char*> without_help_word(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back("--help");
  return words;
}

}  // namespace

std::vector<CommandSpec> command_specs() {
  std::vector<CommandSpec> commands{inspect_spec(),    survey_spec(),  compare_spec(), rotate_spec(), attend_spec(),
                                    diagnose_spec(),   convert_spec(), vectors_spec(), check_spec(),  emit_spec(),
                                    report_spec(),     extend_spec(),  cache_spec(),   plot_spec(),   bench_spec(),
                                    properties_spec(), info_spec(),    presets_spec(), demo_spec(),   completion_spec(),
                                    man_spec()};
  for (CommandSpec& command : commands) {
    if (command.subjects.empty()) add_shared(command);
    for (CommandSpec& subject : command.subjects) add_shared(subject);
  }
  return commands;
}

Command read_command_line(int argc, const char* const* argv) {
  Parser parser;
  const std::vector<const char*> words = without_help_word(argc, argv);
  try {
    parser.app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp&) {
    // "posenc inspct --help": help for no command. The word is an error, as without --help.
    const std::vector<std::string> unknown = parser.app.remaining();
    if (!unknown.empty()) throw UsageError{parser.unexpected(unknown.front()) + " (see posenc --help)"};
    return Words{help_text(chosen(parser.app))};
  } catch (const CLI::CallForVersion& version) {
    return Words{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    const CLI::App& here = chosen(parser.app);
    // Who has not said what, and nothing wrong, is shown what there is.
    const bool is_bare = parser.app.remaining(true).empty() && here.get_require_subcommand_min() > 0;
    throw UsageError{formatted("{} (see {} --help){}", parser.complaint(error), full_name(here),
                               is_bare ? "\n\n" + short_help_text(here) : "")};
  }
  return read(parser.app, parser.commands);
}

}  // namespace posenc::tool

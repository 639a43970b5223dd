// What posenc completion and posenc man take. Both are made of the specs of all commands.
#include <algorithm>

#include "line/command_spec.h"
#include "shell/completion.h"

namespace posenc::tool {
namespace {

const std::vector<std::string>& shells() {
  static const std::vector<std::string> kShells{"bash", "zsh", "fish"};
  return kShells;
}

Command read_completion(const Given& given) {
  const std::vector<CommandSpec> commands = command_specs();
  switch (given.choice("SHELL", shells()).value_or(0)) {
    case 1: return Words{zsh_completion(commands)};
    case 2: return Words{fish_completion(commands)};
    default: return Words{bash_completion(commands)};
  }
}

Command read_man(const Given& given) {
  const std::vector<CommandSpec> commands = command_specs();
  const std::optional<std::string> name = given.text("COMMAND");
  if (!name) return Words{man_page(commands)};
  std::vector<std::string> names;
  for (const CommandSpec& command : commands) names.push_back(command.name);
  return Words{man_page(commands[given.choice("COMMAND", names).value_or(0)])};
}

}  // namespace

CommandSpec completion_spec() {
  return {.name = "completion",
          .description = "A script that completes posenc's words in a shell",
          .options = {{.names = "SHELL", .description = "bash, zsh or fish", .required = true}},
          .footer =
              "Examples:\n"
              "  source <(posenc completion bash)\n"
              "  posenc completion zsh > ~/.zfunc/_posenc      a folder of $fpath\n"
              "  posenc completion fish | source\n\n",
          .read = read_completion};
}

CommandSpec man_spec() {
  return {.name = "man",
          .description = "A page for man(1): of posenc, or of one of its commands",
          .options = {{.names = "COMMAND", .description = "Whose page; by default that of posenc"}},
          .footer =
              "Examples:\n"
              "  posenc man inspect | man -l -\n"
              "  posenc man > posenc.1\n\n",
          .read = read_man};
}

}  // namespace posenc::tool

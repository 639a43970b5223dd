// Scripts for bash, zsh and fish: commands, kinds, flags; of values the names of files.
#include "shell/completion.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "posenc/read_plan.h"

namespace posenc::tool {
namespace {

bool is_flag(const OptionSpec& option) { return option.names.starts_with('-'); }

// "-o", "--output" of "-o,--output".
std::vector<std::string> names_of(const OptionSpec& option) {
  const std::size_t comma = option.names.find(',');
  if (comma == std::string::npos) return {option.names};
  return {option.names.substr(0, comma), option.names.substr(comma + 1)};
}

std::string flags_of(const CommandSpec& command) {
  std::string out;
  for (const OptionSpec& option : command.options) {
    if (!is_flag(option)) continue;
    for (const std::string& name : names_of(option)) out += name + " ";
  }
  return out + "-h --help --version";
}

std::string words_of(const std::vector<CommandSpec>& commands) {
  std::vector<std::string> names;
  for (const CommandSpec& command : commands) names.push_back(command.name);
  return join(names, " ");
}

std::string preset_names() {
  std::string out;
  for (const Preset& preset : presets()) (out += preset.name) += ' ';
  return out;
}

// Commands, and kinds as "bench rotate", each with its spec.
void each(const std::vector<CommandSpec>& commands, const std::string& before,
          const std::function<void(const std::string&, const CommandSpec&)>& visit) {
  for (const CommandSpec& command : commands) {
    visit(before + command.name, command);
    each(command.subjects, before + command.name + " ", visit);
  }
}

// Of a text that stands in single quotes of a shell.
std::string in_single_quotes(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      out += letter;
    }
  }
  return out;
}

// Of zsh, in whose specs colons and brackets mean something.
std::string for_zsh(std::string_view text) {
  std::string out;
  for (const char letter : in_single_quotes(text)) {
    if (letter == ':' || letter == '[' || letter == ']') out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<CommandSpec>& commands) {
  std::string cases;
  each(commands, "", [&](const std::string& name, const CommandSpec& command) {
    cases += formatted("    '{}') words='{}'; kinds='{}' ;;\n", name, flags_of(command), words_of(command.subjects));
  });
  return formatted(
      "# posenc's words for bash: source <(posenc completion bash)\n"
      "_posenc() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words kinds\n"
      "  case ${{COMP_WORDS[1]}} in bench | plot) [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command ${{COMP_WORDS[2]}}\" "
      ";; esac\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{} help -h --help --version' -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n{}    *) return ;;\n  esac\n"
      "  if [ -n \"$kinds\" ] && [ \"$COMP_CWORD\" -eq 2 ] && [[ $current != -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$kinds\" -- \"$current\")\n"
      "  elif [[ $current == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\"; compgen -W '{}' -- \"$current\")\n"
      "    compopt -o filenames 2>/dev/null\n"
      "  fi\n"
      "}}\n"
      "complete -F _posenc posenc\n",
      words_of(commands), cases, preset_names());
}

std::string zsh_completion(const std::vector<CommandSpec>& commands) {
  std::string list;
  for (const CommandSpec& command : commands) {
    list += formatted("    '{}:{}'\n", command.name, for_zsh(command.description));
  }
  std::string cases;
  each(commands, "", [&](const std::string& name, const CommandSpec& command) {
    cases += formatted("    '{}')\n      _arguments -S \\\n", name);
    for (const OptionSpec& option : command.options) {
      if (!is_flag(option)) continue;
      for (const std::string& one : names_of(option)) {
        const std::string value = option.value.empty() ? "" : formatted(":{}:_files", for_zsh(option.value));
        cases +=
            formatted("        '{}{}[{}]{}' \\\n", option.repeats ? "*" : "", one, for_zsh(option.description), value);
      }
    }
    cases += command.subjects.empty()
                 ? std::string("        '*:file:_files'\n      ;;\n")
                 : formatted("        '1:kind:({})' '*:file:_files'\n      ;;\n", words_of(command.subjects));
  });
  return formatted(
      "#compdef posenc\n"
      "# posenc's words for zsh: posenc completion zsh > a folder of $fpath/_posenc\n"
      "_posenc() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  if [[ $command == (bench|plot) && CURRENT -gt 3 ]]; then\n"
      "    command=\"$command $words[3]\"\n"
      "    shift words\n"
      "    (( CURRENT-- ))\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n{}  esac\n"
      "}}\n"
      "_posenc \"$@\"\n",
      list, cases);
}

std::string fish_completion(const std::vector<CommandSpec>& commands) {
  std::string out = "# posenc's words for fish: posenc completion fish | source\n";
  for (const CommandSpec& command : commands) {
    out += formatted("complete -c posenc -n __fish_use_subcommand -a '{}' -d '{}'\n", command.name,
                     in_single_quotes(command.description));
  }
  each(commands, "", [&](const std::string& name, const CommandSpec& command) {
    std::string here;  // all words of the command have been given
    std::string_view rest = name;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      here += formatted("{}__fish_seen_subcommand_from {}", here.empty() ? "" : "; and ", word);
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
    for (const CommandSpec& subject : command.subjects) {
      out += formatted("complete -c posenc -n '{}' -a '{}' -d '{}'\n", here, subject.name,
                       in_single_quotes(subject.description));
    }
    for (const OptionSpec& option : command.options) {
      if (!is_flag(option)) continue;
      std::string flags;
      for (const std::string& one : names_of(option)) {
        flags += one.starts_with("--") ? " -l " + one.substr(2) : " -s " + one.substr(1);
      }
      out += formatted("complete -c posenc -n '{}'{}{} -d '{}'\n", here, flags, option.value.empty() ? "" : " -r",
                       in_single_quotes(option.description));
    }
  });
  return out;
}

}  // namespace posenc::tool

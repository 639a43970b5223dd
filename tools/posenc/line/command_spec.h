// One command as the command line has it: its words, its help, and how what was given becomes its arguments. Plain
// data: only command_line.cpp knows the parser, and a command's words stand in one file, NAME_options.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "line/command_line.h"

namespace posenc::tool {

// One flag or argument: a flag starts with a dash, and takes a value if that has a name.
struct OptionSpec {
  std::string names;  // "--layer"; "-o,--output"; of an argument without dashes "MODEL"
  std::string value;  // what its value is called, "N"; of a flag empty
  std::string description;
  bool required = false;
  bool many = false;     // of an argument: takes all words that are left
  bool repeats = false;  // of a flag: may be given several times, with one value each
};

// What was given, by the long names of options and arguments. Numbers throw UsageError for a text that is none.
struct Given {
  // By the long name: "--output" of "-o,--output". Of what takes many, the first; of a flag without a value, only that
  // it is there counts.
  std::map<std::string, std::string, std::less<>> texts{};
  std::map<std::string, std::vector<std::string>, std::less<>> lists{};  // of those that take many

  bool has(std::string_view name) const { return texts.find(name) != texts.end(); }
  // All of them give nothing, or no texts, for what was not given.
  std::optional<std::string> text(std::string_view name) const;
  std::string text_or(std::string_view name, std::string_view otherwise) const;
  // All words of an argument with `many`, all values of a flag that repeats.
  std::vector<std::string> list(std::string_view name) const;
  // The whole text as a whole number in [smallest, largest].
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t smallest, std::int64_t largest) const;
  // The whole text as a finite number of at least 0.
  std::optional<double> from_zero(std::string_view name) const;
  // The place in `choices` of the text.
  std::optional<std::size_t> choice(std::string_view name, const std::vector<std::string>& choices) const;
};

inline constexpr std::int64_t kLargestLength = 1LL << 53;  // positions are exact doubles up to here; rotary_table.h

// The footer is wrapped by hand, in lines of at most 80 columns, and ends in an empty line: --help prints the exit
// codes behind it. A command has `read` or subjects, not both.
struct CommandSpec {
  std::string name;
  std::string description;
  // In the order of --help.
  std::vector<OptionSpec> options{};
  std::string footer;
  Command (*read)(const Given& given) = nullptr;  // of a command without subjects
  std::vector<CommandSpec> subjects{};            // "rotate" of "bench rotate"
};

// Each is in its NAME_options.cpp; info, presets and demo share inspect/facts_options.cpp.
CommandSpec inspect_spec();
CommandSpec survey_spec();
CommandSpec compare_spec();
CommandSpec rotate_spec();
CommandSpec attend_spec();
CommandSpec diagnose_spec();
CommandSpec convert_spec();
CommandSpec vectors_spec();
CommandSpec check_spec();
CommandSpec emit_spec();
CommandSpec report_spec();
CommandSpec extend_spec();
CommandSpec cache_spec();
CommandSpec bench_spec();
CommandSpec plot_spec();
CommandSpec properties_spec();
CommandSpec info_spec();
CommandSpec presets_spec();
CommandSpec demo_spec();
CommandSpec completion_spec();
CommandSpec man_spec();

// All of them, in the order of posenc --help.
std::vector<CommandSpec> command_specs();

}  // namespace posenc::tool

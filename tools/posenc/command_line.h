// The command line: what was asked for, or what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace posenc::tool {

struct InspectArguments {
  std::string model;
  std::optional<std::int64_t> layer;
  std::optional<std::string> stack;
  std::optional<std::int64_t> length;
  bool json = false;
  bool strict = false;
};
struct CompareArguments {
  std::string a;
  std::string b;
  std::optional<std::int64_t> length;
  std::optional<double> tolerance;
  bool json = false;
};
struct InfoArguments {
  bool json = false;
};
struct PresetsArguments {
  bool json = false;
};
struct DemoArguments {
  std::string preset = "llama-3.1-8b";
  bool json = false;
};
// --help and --version: text for standard output.
struct Words {
  std::string text;
};

using Command = std::variant<InspectArguments, CompareArguments, InfoArguments, PresetsArguments, DemoArguments, Words>;

// A command line that cannot be followed. what() is the message, without "posenc: ".
struct UsageError {
  std::string message;
};

// Throws UsageError.
Command read_command_line(int argc, const char* const* argv);

}  // namespace posenc::tool

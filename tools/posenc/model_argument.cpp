#include "model_argument.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "exit_code.h"
#include "file_error_text.h"
#include "nearest.h"
#include "posenc/read_plan.h"
#include "text.h"

namespace posenc::tool {
namespace {

// Read at most this much of standard input: what the library accepts of a file (64 MiB), and one byte by which it
// sees that there was more.
constexpr std::size_t kMaxInputBytes = (std::size_t{64} << 20U) + 1;
constexpr std::size_t kInputBlock = std::size_t{1} << 16U;

Result<std::string> read_standard_input() {
  std::string bytes;
  while (bytes.size() < kMaxInputBytes) {
    const std::size_t had = bytes.size();
    bytes.resize(std::min(kMaxInputBytes, had + kInputBlock));
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + had, bytes.size() - had);
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    if (got < 0 && errno != EINTR) {
      FileError error;
      error.kind = ErrorKind::io_read;
      error.file = "<stdin>";
      error.expected = "to read standard input";
      error.got = std::strerror(errno);
      return error;
    }
  }
  return bytes;
}

// The errors that stand before any byte was judged.
bool is_unreadable(ErrorKind kind) {
  return kind == ErrorKind::io_open || kind == ErrorKind::io_read || kind == ErrorKind::not_regular_file ||
         kind == ErrorKind::bad_path;
}

std::variant<Plan, NoPlan> plan_or_message(Result<Plan> plan, std::string_view bytes = {}) {
  if (plan.ok()) return std::move(plan).value();
  const FileError& error = plan.error();
  return NoPlan{file_error_text(error, bytes), is_unreadable(error.kind) ? kFile : kMalformed};
}

}  // namespace

bool is_preset(std::string_view name) {
  return std::any_of(presets().begin(), presets().end(), [&](const Preset& p) { return p.name == name; });
}

std::string unknown_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  const std::vector<std::string> near = nearest(name, names);
  if (!near.empty()) return fmt::format("no preset of that name; did you mean {}?", join(near, " or "));
  return "no preset of that name (see posenc presets)";
}

std::variant<Plan, NoPlan> load_plan(const std::string& model, std::optional<std::int64_t> length) {
  const ReadOptions options{.length = length};
  if (model == "-") {
    const Result<std::string> bytes = read_standard_input();
    if (!bytes.ok()) return plan_or_message(bytes.error());
    return plan_or_message(read_plan(std::as_bytes(std::span(*bytes)), "<stdin>", options), *bytes);
  }
  // A file that is there wins over a preset of the same name. What cannot be asked (no permission, a name that is too
  // long) is the reader's to report.
  std::error_code failed;
  const bool missing = std::filesystem::symlink_status(model, failed).type() == std::filesystem::file_type::not_found;
  if (missing && is_preset(model)) return preset_plan(model, options);
  if (missing && model.find('/') == std::string::npos && !model.empty()) {
    return NoPlan{
        fmt::format("posenc: {}: no such file or directory, and {}\n", printable(model), unknown_preset(model)), kFile};
  }
  return plan_or_message(read_plan(std::filesystem::path(model), options));
}

}  // namespace posenc::tool

// MODEL on the command line: - for standard input, a path that is there, else a preset; the nearest where it is none.
#include "line/model_argument.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/text.h"
#include "line/whole_input.h"
#include "posenc/info.h"
#include "posenc/override_plan.h"
#include "posenc/parallel.h"
#include "posenc/read_plan.h"
#include "tensors/file_error_text.h"

namespace posenc::tool {
namespace {

// Of "GGUF", with which such a file starts. What follows is not kept: it has no line that an error could show.
constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kMostConfig = std::size_t{1} << 26;  // bytes: read_plan takes no more

// Standard input, and what was read of it where an error may want to show it: not of a GGUF model.
struct StandardInput {
  std::string seen;

  bool is_gguf() const { return seen.size() >= kMagicBytes && seen.starts_with("GGUF"); }
  std::ptrdiff_t read(std::byte* to, std::size_t count) {
    const ssize_t got = ::read(STDIN_FILENO, to, count);
    if (got > 0 && !is_gguf()) seen.append(reinterpret_cast<const char*>(to), static_cast<std::size_t>(got));
    return got;
  }
};

// `bytes`: what was read, where it cannot be read again to show the line of an error.
std::variant<Plan, NoPlan> plan_or_message(Result<Plan> plan, std::string_view bytes = {}) {
  if (plan.ok()) return std::move(plan).value();
  const FileError& error = plan.error();
  return NoPlan{file_error_text(error, bytes), exit_code_of(error)};
}

// A pipe by name, as a shell's <(...) is, may never be written to: it is not waited for.
Result<Plan> with_hint(Result<Plan> plan, const std::filesystem::path& path) {
  std::error_code failed;
  if (plan.ok() || !std::filesystem::is_fifo(path, failed)) return plan;
  FileError error = plan.error();
  error.detail = "to read from a pipe, give - as the model and redirect the pipe to standard input";
  return error;
}

}  // namespace

void require_other_file(std::string_view flag, const std::string& out, const std::string& read) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(out, read, ignored)) return;
  throw UsageError{
      formatted("{}: {} is what the command reads, {}: name another file", flag, printable(out), printable(read))};
}

bool is_preset(std::string_view name) {
  return std::any_of(presets().begin(), presets().end(), [&](const Preset& p) { return p.name == name; });
}

std::string unknown_preset(const std::string& name) {
  // The reader knows which presets are near.
  const Result<Plan> none = read_plan(std::filesystem::path(name));
  const std::string hint = none.ok() ? "" : none.error().detail;
  if (hint.empty() || hint.starts_with("nor ")) return "no preset of that name (see posenc presets)";
  return formatted("no preset of that name; {}", hint);
}

namespace {

// Of a model that is a path: what read_plan read, which is not what a saved plan names.
std::string text_of_path(const std::string& model) {
  std::error_code failed;
  const bool is_folder = std::filesystem::is_directory(model, failed);
  return whole_file(is_folder ? (std::filesystem::path(model) / "config.json").native() : model, kMostConfig);
}

bool is_of_config(const std::variant<Plan, NoPlan>& loaded) {
  const Plan* const plan = std::get_if<Plan>(&loaded);
  return plan != nullptr && plan->source.kind == SourceKind::config_json;
}

std::string text_of_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return std::string(preset.config_json);
  }
  return {};
}

// Without what --set changes. `config`: where to put the config.json that was read; or null.
std::variant<Plan, NoPlan> load_unchanged(const std::string& model, std::optional<std::int64_t> length,
                                          std::string* config) {
  const ReadOptions options{.length = length};
  if (model == "-") {
    StandardInput input;
    const ByteStream stream = [&](std::byte* to, std::size_t count) { return input.read(to, count); };
    Result<Plan> plan = read_plan(stream, "<stdin>", options);
    std::variant<Plan, NoPlan> loaded = plan_or_message(std::move(plan), input.seen);
    if (config != nullptr && is_of_config(loaded)) *config = std::move(input.seen);
    return loaded;
  }
  // A file that is there wins over a preset of the same name. What cannot be asked (no permission, a name that is too
  // long) is the reader's to report.
  std::error_code failed;
  const bool missing = std::filesystem::symlink_status(model, failed).type() == std::filesystem::file_type::not_found;
  if (missing && is_preset(model)) {
    if (config != nullptr) *config = text_of_preset(model);
    return preset_plan(model, options);
  }
  // A word without a slash may be a misspelled preset, and the message names the nearest; of a path, the reader says
  // what is wrong.
  if (missing && model.find('/') == std::string::npos && !model.empty()) {
    return NoPlan{formatted("posenc: {}: no such file or directory, and {}\n", printable(model), unknown_preset(model)),
                  kFile};
  }
  std::variant<Plan, NoPlan> loaded =
      plan_or_message(with_hint(read_plan(std::filesystem::path(model), options), model));
  if (config != nullptr && is_of_config(loaded)) *config = text_of_path(model);
  return loaded;
}

// What the library calls 'base=x' stands behind the flag that it was given to.
UsageError refused_setting(const ModelWord& model, const Error& error) {
  const Problem& problem = error.problem();
  return {formatted("{}: {} must {} but is {}", model.flag, problem.field, problem.must, problem.is)};
}

}  // namespace

Plan with_settings(Plan plan, const ModelWord& model) {
  if (model.set.empty()) return plan;
  try {
    return override_plan(plan, model.set);
  } catch (const Error& error) {
    throw refused_setting(model, error);
  }
}

std::variant<Plan, NoPlan> load_plan(const ModelWord& model, std::optional<std::int64_t> length) {
  std::variant<Plan, NoPlan> loaded = load_unchanged(model.name, length, nullptr);
  if (auto* plan = std::get_if<Plan>(&loaded)) *plan = with_settings(std::move(*plan), model);
  return loaded;
}

Plan plan_of(const ModelWord& model, std::optional<std::int64_t> length) {
  std::variant<Plan, NoPlan> loaded = load_plan(model, length);
  if (const auto* none = std::get_if<NoPlan>(&loaded)) throw Failure{none->message, none->exit_code};
  return std::get<Plan>(std::move(loaded));
}

PlanAndConfig plan_and_config(const ModelWord& model, std::optional<std::int64_t> length) {
  PlanAndConfig out;
  std::variant<Plan, NoPlan> loaded = load_unchanged(model.name, length, &out.config);
  if (const auto* none = std::get_if<NoPlan>(&loaded)) throw Failure{none->message, none->exit_code};
  out.plan = std::get<Plan>(std::move(loaded));
  return out;
}

Failure refused_of_model(std::string_view model, const Error& error) {
  (void)selected_isa();  // these throw for what the environment asks for and is not there
  (void)default_threads();
  return failure(kMalformed, formatted("{}: {}", printable(model), error.what()));
}

}  // namespace posenc::tool

// The library writes the code (src/emit); here are the model, and the folder that it goes to.
#include "emit/emit_command.h"

#include <filesystem>
#include <string>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/emit.h"
#include "posenc/error.h"
#include "posenc/write_file.h"
#include "tensors/file_error_text.h"
#include "tensors/held_signals.h"

namespace posenc::tool {
namespace {

// The folder is made where it is missing; its parent must be there.
void write_into(const std::string& folder, const EmittedCode& code, bool force) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    std::filesystem::create_directory(folder, error);
    if (error)
      throw failure(kFile, formatted("-o: {}: cannot make the folder: {}", printable(folder), error.message()));
  }
  const std::filesystem::path path = std::filesystem::path(folder) / code.file_name;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, error)) && !force) {
    throw failure(kFile, formatted("-o: {}: file exists; --force overwrites it", printable(path.string())));
  }
  // Ctrl-C while the file is written: write_file gives up and removes its part, then held lets the signal through.
  const HeldSignals held;
  const WriteOptions options{.replace = force, .keep_going = [](std::int64_t) { return !HeldSignals::came(); }};
  const Result<std::int64_t> written = write_file(path, code.text, options);
  if (!written) throw Failure{file_error_text(written.error()), exit_code_of(written.error())};
}

}  // namespace

int run_emit(const EmitArguments& arguments) {
  const Plan plan = plan_of(arguments.model, arguments.length);
  const EmitOptions options{
      .as = arguments.as, .stack = arguments.stack, .layer = arguments.layer, .cross = arguments.cross};
  const EmittedCode code = emit(plan, options);
  if (!arguments.out) return write_output(arguments.json ? to_json(code) + "\n" : code.text);
  write_into(*arguments.out, code, arguments.force);
  if (arguments.json) return write_output(to_json(code) + "\n");
  const std::string path = (std::filesystem::path(*arguments.out) / code.file_name).string();
  return write_output(formatted("{}: {} bytes\n", printable(path), code.text.size()));
}

}  // namespace posenc::tool

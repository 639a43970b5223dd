// The library writes the code (src/emit); here are the model, and the folder that it goes to, with golden vectors
// beside it.
#include "emit/emit_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/emit.h"
#include "posenc/error.h"
#include "posenc/vectors.h"
#include "posenc/write_file.h"
#include "tensors/file_error_text.h"
#include "tensors/held_signals.h"

namespace posenc::tool {
namespace {

// Checked before any work: the code is not written over without --force, golden vectors never are.
void check_code(const std::filesystem::path& folder, const EmittedCode& code, bool force) {
  std::error_code error;
  const auto is_there = [&](const std::filesystem::path& path) {
    const std::filesystem::file_type type = std::filesystem::symlink_status(path, error).type();
    return type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none;
  };
  if (const std::filesystem::path path = folder / code.file_name; is_there(path) && !force) {
    throw failure(kFile, formatted("-o: {}: file exists; --force overwrites it", printable(path.string())));
  }
}

// The folder and the golden vectors that this run made, which are removed again unless all was written; without an
// allocation, since memory may be what was short.
class Made {
 public:
  Made(const std::filesystem::path& folder, const std::filesystem::path& golden, const std::vector<VectorFile>& files)
      : folder_(folder), golden_(golden) {
    for (const VectorFile& file : files) files_.push_back(golden / file.name);
    std::error_code error;
    made_folder_ = std::filesystem::create_directory(folder, error);
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored)) {
      throw failure(kFile, formatted("-o: {}: cannot make the folder: {}", printable(folder.string()),
                                     error ? error.message() : "something else stands there"));
    }
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    if (made_vectors_) {
      for (const std::filesystem::path& file : files_) ::unlink(file.c_str());
      ::rmdir(golden_.c_str());
    }
    if (made_folder_) ::rmdir(folder_.c_str());  // with files of others in it, it stays
  }

  void have_vectors() { made_vectors_ = true; }
  void keep() { made_folder_ = made_vectors_ = false; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path golden_;
  std::vector<std::filesystem::path> files_;  // of the golden vectors
  bool made_folder_ = false;
  bool made_vectors_ = false;
};

// "vectors_numpy": a folder of the language's own, since its test is of that code.
std::string vectors_folder(const EmittedCode& code) { return "vectors_" + std::string(name(code.as)); }

// How the folder's test is run, where it has one.
std::string test_words(const EmittedCode& code) {
  if (code.port.empty()) return {};
  std::string_view command = "pytest";
  if (code.as == EmitTarget::c) command = "cc -std=c99 test_port.c port.c vectors.c -lm && ./a.out";
  if (code.as == EmitTarget::cpp) command = "c++ -std=c++20 test_port.c port.cc vectors.c && ./a.out";
  return formatted("; {} in that folder holds the code to them", command);
}

// As .npy files, and with the test of this very code. Of C and C++ the numbers are in vectors.c, too.
std::vector<VectorFile> golden_files(const Plan& plan, const EmitArguments& arguments, const EmittedCode& code) {
  const Vectors vectors = make_vectors(
      plan, {.stack = arguments.stack, .layer = arguments.layer, .length = arguments.length, .cross = arguments.cross});
  const bool is_c = code.as == EmitTarget::c || code.as == EmitTarget::cpp;
  const bool has_test = !code.port.empty();
  std::vector<VectorFile> files = vector_files(
      vectors, {.format = VectorFormat::npy, .test = has_test && !is_c ? VectorTest::pytest : VectorTest::none});
  if (has_test && is_c) {
    for (VectorFile& file : vector_files(vectors, {.format = VectorFormat::c, .test = VectorTest::c})) {
      const bool is_told = std::ranges::find(files, file.name, &VectorFile::name) != files.end();
      if (!is_told) files.push_back(std::move(file));
    }
  }
  for (VectorFile& file : files) {
    if (file.name != "port.py" && file.name != "port.c") continue;
    file.bytes = code.port;
    if (code.as == EmitTarget::cpp) file.name = "port.cc";
  }
  return files;
}

template <typename Written>
void require_written(const Written& written) {
  if (!written) throw Failure{file_error_text(written.error()), exit_code_of(written.error())};
}

// The vectors, then the code. What was written, in words.
std::string write_into(const std::filesystem::path& folder, const EmittedCode& code,
                       const std::vector<VectorFile>& files, bool force) {
  // Ctrl-C while a file is written: write_file gives up and removes its part, then held lets the signal through.
  const HeldSignals held;
  const std::filesystem::path golden = folder / vectors_folder(code);
  Made made(folder, golden, files);
  std::error_code error;
  const bool has_vectors = std::filesystem::exists(golden, error) && !std::filesystem::is_empty(golden, error) && force;
  if (!has_vectors) {
    require_written(write_vectors(golden, files));
    made.have_vectors();
  }
  const std::filesystem::path path = folder / code.file_name;
  const WriteOptions options{.replace = force, .keep_going = [](std::int64_t) { return !HeldSignals::came(); }};
  require_written(write_file(path, code.text, options));
  made.keep();
  std::string text = formatted("{}: {} bytes\n", printable(path.string()), code.text.size());
  text += formatted("{}: golden vectors{}\n", printable(golden.string()),
                    has_vectors ? ", kept as they were" : test_words(code));
  return text;
}

// What the command line chose, and the library refuses, is a usage error; anything else is in the model.
template <typename Work>
auto chosen_of(const EmitArguments& arguments, const Work& work) {
  constexpr std::array<std::string_view, 4> kChosen = {"as", "stack", "layer", "length"};
  try {
    return work();
  } catch (const Error& error) {
    const Problem& problem = error.problem();
    if (std::ranges::find(kChosen, problem.field) == kChosen.end()) throw refused_of_model(arguments.model.name, error);
    throw UsageError{printable(formatted("--{} must {} but is {}", problem.field, problem.must, problem.is))};
  }
}

}  // namespace

int run_emit(const EmitArguments& arguments) {
  const Plan plan = plan_of(arguments.model, arguments.length);
  const EmitOptions options{
      .as = arguments.as, .stack = arguments.stack, .layer = arguments.layer, .cross = arguments.cross};
  const EmittedCode code = chosen_of(arguments, [&] { return emit(plan, options); });
  if (!arguments.out) return write_output(arguments.json ? to_json(code) + "\n" : code.text);
  check_code(*arguments.out, code, arguments.force);
  const std::vector<VectorFile> files = chosen_of(arguments, [&] { return golden_files(plan, arguments, code); });
  const std::string written = write_into(*arguments.out, code, files, arguments.force);
  return write_output(arguments.json ? to_json(code) + "\n" : written);
}

}  // namespace posenc::tool

// The library makes the vectors and their files (src/vectors); here are the plan, the directory and the report.
#include "vectors/vectors_command.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/error.h"
#include "posenc/vectors.h"
#include "tensors/file_error_text.h"
#include "tensors/held_signals.h"

namespace posenc::tool {
namespace {

// What the command line chose, and the library found wrong, is a usage error; anything else is in the model.
Vectors made(const Plan& plan, const VectorsArguments& arguments) {
  constexpr std::array<std::string_view, 5> kChosen = {"stack", "layer", "tokens", "start", "length"};
  const VectorOptions options{.stack = arguments.stack,
                              .layer = arguments.layer,
                              .tokens = arguments.tokens,
                              .start = arguments.start,
                              .length = arguments.length,
                              .cross = arguments.cross};
  try {
    return make_vectors(plan, options);
  } catch (const Error& error) {
    const Problem& problem = error.problem();
    if (std::ranges::find(kChosen, problem.field) == kChosen.end()) throw refused_of_model(arguments.model.name, error);
    throw UsageError{printable(formatted("--{} must {} but is {}", problem.field, problem.must, problem.is))};
  }
}

std::string list_of(const std::vector<VectorFile>& files) {
  std::vector<std::string> names;
  for (const VectorFile& file : files) names.push_back(file.name);
  return join(names, ", ");
}

// How a test is run, in the directory.
std::string_view run_words(VectorTest test) {
  switch (test) {
    case VectorTest::none: return "";
    case VectorTest::pytest: return "fill in port.py, then: pytest";
    case VectorTest::googletest:
      return "fill in port.cc, then: c++ -std=c++17 test_port.cc port.cc vectors.c -lgtest -lgtest_main -pthread && "
             "./a.out";
    case VectorTest::c: return "fill in port.c, then: cc -std=c99 test_port.c port.c vectors.c -lm && ./a.out";
    case VectorTest::cargo: return "fill in port.rs, then: cargo test";
  }
  return "";
}

VectorTest test_given(const VectorsArguments& arguments) {
  if (arguments.test) return *arguments.test;
  if (arguments.format == VectorFormat::c) return VectorTest::c;
  return arguments.format == VectorFormat::rust ? VectorTest::cargo : VectorTest::pytest;
}

std::string vectors_text(const VectorsArguments& arguments, const Vectors& vectors,
                         const std::vector<VectorFile>& files, std::int64_t bytes) {
  Page page(output_wants_colour());
  std::string text = describe(vectors);
  const std::size_t first = text.find('\n');
  std::string out = page.paint(Style::bold, text.substr(0, first)) + text.substr(first);
  page.blank();
  constexpr std::int64_t kColumn = 10;
  page.entry(2, "written", kColumn, formatted("{}: {}, {} bytes", printable(arguments.out), list_of(files), bytes));
  const std::string_view run = run_words(test_given(arguments));
  if (!run.empty()) page.entry(2, "test", kColumn, run);
  return out + page.text();
}

std::string vectors_json(const VectorsArguments& arguments, const Vectors& vectors,
                         const std::vector<VectorFile>& files, std::int64_t bytes) {
  std::vector<std::string> names;
  for (const VectorFile& file : files) names.push_back(json_string(file.name));
  std::vector<std::string> left_out;
  for (const std::string& reason : vectors.left_out) left_out.push_back(json_string(reason));
  return json_object({{"schema_version", "1"},
                      {"out", json_string(arguments.out)},
                      {"bytes", formatted("{}", bytes)},
                      {"model", json_string(vectors.plan.source.name)},
                      {"stack", json_string(vectors.stack)},
                      {"layer", formatted("{}", vectors.layer.index)},
                      {"tokens", formatted("{}", vectors.options.tokens.value_or(0))},
                      {"format", json_string(name(arguments.format))},
                      {"test", json_string(name(test_given(arguments)))},
                      {"files", json_array(names)},
                      {"left_out", json_array(left_out)}}) +
         "\n";
}

}  // namespace

int run_vectors(const VectorsArguments& arguments) {
  const Plan plan = plan_of(arguments.model, arguments.length);
  const Vectors vectors = made(plan, arguments);
  const std::vector<VectorFile> files =
      vector_files(vectors, {.format = arguments.format, .test = test_given(arguments)});
  const Result<std::int64_t> written = [&] {
    const HeldSignals held;  // what is half written is removed before a signal ends the process
    return write_vectors(arguments.out, files);
  }();
  if (!written) throw Failure{file_error_text(written.error()), exit_code_of(written.error())};
  return write_output(arguments.json ? vectors_json(arguments, vectors, files, *written)
                                     : vectors_text(arguments, vectors, files, *written));
}

}  // namespace posenc::tool

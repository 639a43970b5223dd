// posenc check: the port's files are found and read here; the library holds them (src/vectors/check_port.cpp).
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/error.h"
#include "posenc/tensor_file.h"
#include "posenc/vectors.h"
#include "tensors/file_error_text.h"
#include "vectors/vectors_command.h"

namespace posenc::tool {
namespace {

namespace fs = std::filesystem;

template <typename T>
T or_failure(Result<T> result) {
  if (!result) throw Failure{file_error_text(result.error()), exit_code_of(result.error())};
  return std::move(result).value();
}

struct PortOutput {
  std::string name;
  std::string file;
  TensorData data;
};

class PortReader {
 public:
  PortReader(const Vectors& vectors, const CheckArguments& arguments)
      : arguments_(arguments), options_{.raw16_is_bf16 = arguments.bf16} {
    for (const VectorTensor& tensor : vectors.tensors) {
      if (!tensor.is_input && tensor.name != "mask") results_.push_back(tensor.name);
    }
  }

  std::vector<PortOutput> take() {
    std::error_code error;
    const fs::path given = arguments_.against;
    if (fs::is_directory(given, error)) {
      add_directory(given);
    } else {
      add_file(given, true);
    }
    if (out_.empty()) {
      throw failure(kMalformed, formatted("--against: {}: expected one of {} at least, got none",
                                          printable(arguments_.against), join(results_, ", ")));
    }
    return std::move(out_);
  }

 private:
  bool is_result(const std::string& name) const { return std::ranges::find(results_, name) != results_.end(); }

  // In the order of their names, so that errors are the same each time.
  void add_directory(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
      const std::string ending = it->path().extension().native();
      const bool is_array = ending == ".npy" && is_result(it->path().stem().native());
      if (is_array || ending == ".npz" || ending == ".safetensors") files.push_back(it->path());
    }
    if (error) throw failure(kFile, formatted("--against: {}: {}", printable(directory.native()), error.message()));
    std::ranges::sort(files);
    for (const fs::path& file : files) add_file(file, false);
  }

  void add_file(const fs::path& file, bool is_only) {
    const TensorFile opened = or_failure(open_tensor_file(file, options_));
    for (std::int64_t n = 0; n < std::ssize(opened.tensors()); ++n) {
      const TensorEntry& entry = opened.tensors()[static_cast<std::size_t>(n)];
      const bool is_array = opened.format() == TensorFormat::npy;
      std::string name = is_array ? file.stem().native() : entry.name;
      if (is_only && arguments_.as && std::ssize(opened.tensors()) == 1) name = *arguments_.as;
      if (!is_result(name)) {
        if (!is_array) continue;  // what else was dumped
        throw failure(kMalformed,
                      formatted("--against: {}: {} is no output of these vectors: {}; --as says which it is",
                                printable(file.native()), printable(excerpt(name)), join(results_, ", ")));
      }
      if (!dtype_of(entry.type)) {
        const bool raw = entry.type == ElementType::u16;
        throw failure(kMalformed,
                      formatted("--against: {}: {}: expected f32, f16, bf16 or f64, got {}{}", printable(file.native()),
                                name, posenc::name(entry.type), raw ? "; if these are bf16, give --bf16" : ""));
      }
      if (const auto twice = std::ranges::find(out_, name, &PortOutput::name); twice != out_.end()) {
        throw failure(kMalformed, formatted("--against: {} is in {} and in {}", name, printable(twice->file),
                                            printable(file.native())));
      }
      if (entry.shape.size() > static_cast<std::size_t>(kMaxRank)) {
        throw failure(kMalformed, formatted("--against: {}: {}: expected at most {} axes, got {}",
                                            printable(file.native()), name, kMaxRank, entry.shape.size()));
      }
      out_.push_back({name, file.native(), or_failure(opened.read(n))});
    }
  }

  const CheckArguments& arguments_;
  TensorFileOptions options_;
  std::vector<std::string> results_;
  std::vector<PortOutput> out_;
};

// The text with its first line in bold.
std::string check_text(const PortCheck& check) {
  const std::string text = describe(check);
  const std::size_t first = text.find('\n');
  const Page page(output_wants_colour());
  return page.paint(Style::bold, text.substr(0, first)) + text.substr(first);
}

}  // namespace

int run_check(const CheckArguments& arguments) {
  const Vectors vectors = or_failure(read_vectors(arguments.directory));
  const std::vector<PortOutput> outputs = PortReader(vectors, arguments).take();
  std::vector<NamedTensor> named;
  for (const PortOutput& output : outputs) named.push_back({output.name, output.data.view()});
  PortCheck check;
  try {
    check = check_port(vectors, named, {.dtype = arguments.dtype});
  } catch (const Error& error) {  // shapes of the files
    throw failure(kMalformed, formatted("--against: {}: {}", printable(arguments.against), error.what()));
  }
  const int written = write_output(arguments.json ? to_json(check) + "\n" : check_text(check));
  return written != kOk ? written : check.passes ? kOk : kJudged;
}

}  // namespace posenc::tool

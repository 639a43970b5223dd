// A tensor on the command line, FILE or FILE:NAME: finds and reads it, or says which names the file has instead.
#include "tensors/tensor_argument.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "line/command_line.h"
#include "line/exit_code.h"
#include "line/failure.h"
#include "line/formatted.h"
#include "line/nearest.h"
#include "line/text.h"
#include "line/whole_input.h"
#include "tensors/file_error_text.h"
#include "tensors/rotation_record.h"

namespace posenc::tool {
namespace {

constexpr std::size_t kMostStandardInput = std::size_t{1} << 32;  // held in memory; a file is read in parts

struct Place {
  std::string file;
  std::string name;
};

bool is_there(const std::string& path) {
  std::error_code failed;  // what cannot be asked is the reader's to report
  return std::filesystem::symlink_status(path, failed).type() != std::filesystem::file_type::not_found;
}

// Where there is no file at all, what stands before the first colon: the error names it.
Place place_of(const std::string& text) {
  if (is_standard_input(text)) return {"-", text.substr(std::min<std::size_t>(2, text.size()))};
  if (is_there(text)) return {text, {}};
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    if (is_there(text.substr(0, colon))) return {text.substr(0, colon), text.substr(colon + 1)};
  }
  const std::size_t colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
}

// "posenc: --q: q.npy: WHAT"
Failure about(const TensorWord& word, const std::string& file, int exit_code, const std::string& what) {
  return failure(exit_code, formatted("{}: {}: {}", word.flag, printable(file), what));
}

// The library's own message. NumPy writes bfloat16 arrays as "V2", two raw bytes, which are read only where --bf16 says
// what they are.
Failure about(const TensorWord& word, const FileError& error) {
  const bool raw = error.kind == ErrorKind::bad_type && error.got.ends_with("V2");
  return failure(exit_code_of(error), formatted("{}: {}{}", word.flag, error.message(),
                                                raw && !word.raw16_is_bf16 ? "; if these are bf16, give --bf16" : ""));
}

template <typename T>
T value_of(const TensorWord& word, Result<T> result) {
  if (!result) throw about(word, result.error());
  return std::move(result).value();
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// All of it: the formats need to know where their file ends. What is of no format, or goes on behind its last tensor,
// may never end.
std::string read_standard_input(const TensorWord& word) {
  return whole_standard_input(word.flag, kMostStandardInput, [&](std::string_view so_far) {
    const Result<TensorFile> file = open_tensor_file(bytes_of(so_far), "<stdin>");
    if (file) return;
    const ErrorKind kind = file.error().kind;
    if (kind == ErrorKind::wrong_format || kind == ErrorKind::trailing_bytes) throw about(word, file.error());
  });
}

// The tensor that is meant: by name; or the only one; or the one called like the flag, "q" for --q. What is not there,
// or not clear, is exit code 4.
const TensorEntry& entry_of(const TensorWord& word, const TensorFile& file, const Place& place) {
  std::vector<std::string> names;
  for (const TensorEntry& entry : file.tensors()) names.push_back(entry.name);
  if (!place.name.empty()) {
    if (const TensorEntry* const found = file.find(place.name)) return *found;
    if (file.format() == TensorFormat::npy) {
      throw about(word, place.file, kMalformed,
                  formatted("a .npy file holds one tensor without a name, got '{}'", printable(place.name)));
    }
    const std::vector<std::string> near = nearest(place.name, names);
    throw about(word, place.file, kMalformed,
                formatted("no tensor named '{}'; {}", printable(place.name),
                          near.empty() ? formatted("there are {}", names.size())
                                       : formatted("did you mean {}?", printable(join(near, " or ")))));
  }
  if (file.tensors().empty()) throw about(word, place.file, kMalformed, "no tensors in the file");
  if (file.tensors().size() == 1) return file.tensors()[0];
  if (const TensorEntry* const called = file.find(word.flag.substr(2))) return *called;
  throw about(word, place.file, kMalformed,
              formatted("{} tensors in the file; name one, as {}:{}", names.size(), printable(place.file),
                        printable(shorten(names.front(), 64))));
}

}  // namespace

bool is_standard_input(std::string_view text) { return text == "-" || text.starts_with("-:"); }

void check_standard_input(const std::string& model, const std::vector<TensorWord>& words) {
  std::vector<std::string> flags;
  if (model == "-") flags.emplace_back("--model");
  for (const TensorWord& word : words) {
    if (is_standard_input(word.text)) flags.push_back(word.flag);
  }
  if (flags.size() < 2) return;
  throw UsageError{formatted("{}: only one of them can be -, standard input", join(flags, " and "))};
}

TensorFile open_tensor_word(const TensorWord& word, const std::string& file, std::string& held) {
  const TensorFileOptions options{.raw16_is_bf16 = word.raw16_is_bf16};
  if (file != "-") return value_of(word, open_tensor_file(file, options));
  held = read_standard_input(word);
  return value_of(word, open_tensor_file(bytes_of(held), "<stdin>", options));
}

TensorArgument read_tensor_argument(const TensorWord& word) {
  const Place place = place_of(word.text);
  std::string held;
  const TensorFile file = open_tensor_word(word, place.file, held);
  const TensorEntry& entry = entry_of(word, file, place);
  // `entry` is one of file.tensors(), and read() takes its place there.
  TensorData data = value_of(word, file.read(&entry - file.tensors().data()));
  return {place.file, entry.name, std::move(data), file.warnings(), rotation_record(file.metadata(), entry.name)};
}

void refuse(const TensorWord& word, const TensorArgument& tensor, const std::string& what) {
  const std::string name = tensor.name.empty() ? "" : ":" + tensor.name;
  throw about(word, tensor.file + name, kMalformed, what);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ", ") + "]";
}

}  // namespace posenc::tool

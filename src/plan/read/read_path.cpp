// read_plan of a path: a file is GGUF (by its first bytes or its ending) or JSON; a directory stands for its
// config.json or params.json. For a missing path, what was probably meant: a preset, a name on a hub.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/formatted.h"
#include "io/files/byte_cursor.h"
#include "io/files/looks_like.h"
#include "io/files/text_file.h"
#include "io/gguf/gguf.h"
#include "io/json/json.h"
#include "plan/gguf/read_gguf.h"
#include "plan/read/config.h"
#include "plan/read/preset_names.h"
#include "plan/shapes/shapes.h"

namespace posenc::inline v0_2 {

namespace {

constexpr std::size_t kLongestName = 64;  // of a hub; presets' are shorter
// "meta-llama/Llama-3.1-8B", where no directory is called meta-llama.
bool is_name_of_hub(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::path owner = path.parent_path();
  return path.is_relative() && !owner.empty() && !owner.has_parent_path() && owner != "." && owner != ".." &&
         owner.native().front() != '~' && path.has_filename() && !std::filesystem::exists(owner, failure);
}

// What somebody may have meant by the path of a model that is not there: the nearest presets, or that a hub's name is
// no path here. Empty where there is nothing to say.
std::string missing_model_hint(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.empty() || name.size() > kLongestName || path.extension() == ".json" || path.extension() == ".gguf")
    return "";
  const std::string hint = plan::preset_hint(name);
  if (is_name_of_hub(path)) {
    const std::string preset = hint.empty() ? "" : "; " + hint;
    return "nothing is fetched from a hub: give the directory that the model's config.json is in" + preset;
  }
  if (path.has_parent_path()) return "";
  return hint.empty() ? "nor is there a preset of that name" : hint;
}

constexpr std::size_t kSniffed = 512;
constexpr std::string_view kGgufEnding = ".gguf";
constexpr int kMaxEntries = 10000;  // of a directory that are looked at

// "model-00002-of-00003.gguf", as llama.cpp names the parts of a model.
bool is_later_part(const std::string& file) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";
  if (file.size() < kPattern.size()) return false;
  const std::string_view end = std::string_view(file).substr(file.size() - kPattern.size());
  const auto fits = [](char c, char wanted) { return wanted == '0' ? c >= '0' && c <= '9' : c == wanted; };
  return std::equal(end.begin(), end.end(), kPattern.begin(), fits) && end.substr(1, 5) != "00001";
}

// The .gguf files of a directory, by name. Of a model in several parts, the first: it has the header. What is beside a
// model and none itself (mmproj: a projector, with the tower of its images) is left out where there is a model.
std::vector<std::string> ggufs_in(const std::filesystem::path& directory) {
  std::vector<std::string> all;
  std::error_code failure;
  int seen = 0;
  for (std::filesystem::directory_iterator entry(directory, failure), end;
       !failure && entry != end && seen < kMaxEntries; entry.increment(failure), ++seen) {
    if (entry->path().extension() == kGgufEnding) all.push_back(entry->path().native());
  }
  std::ranges::sort(all);
  std::erase_if(all, is_later_part);
  const auto is_projector = [](const std::string& file) { return file.find("mmproj") != std::string::npos; };
  if (!std::ranges::all_of(all, is_projector)) std::erase_if(all, is_projector);
  return all;
}

// A directory stands for the config.json in it, else for the params.json, else for its only GGUF model.
Result<std::filesystem::path> config_in(const std::filesystem::path& directory) {
  std::error_code failure;
  for (const char* name : {"config.json", "params.json"}) {
    std::filesystem::path inside = directory / name;
    if (std::filesystem::exists(inside, failure)) return inside;
  }
  FileError error;
  error.kind = ErrorKind::not_regular_file;
  error.file = directory.string();
  error.expected = "a config.json, params.json or GGUF model, or a directory that holds one";
  error.got = "a directory without a config.json, params.json or GGUF model";
  const std::vector<std::string> ggufs = ggufs_in(directory);
  if (ggufs.size() == 1) return std::filesystem::path(ggufs.front());
  if (ggufs.size() > 1) {
    error.got = formatted("a directory with {} GGUF models", ggufs.size());
    error.detail = formatted("give one of them, such as {}", ggufs.front());
  }
  return error;
}

Result<Plan> read_gguf_file(const io::RegularFile& file, const ReadOptions& options) {
  const auto read_at = [&](std::uint64_t offset, char* to, std::size_t count) {
    return file.read_at(offset, to, count);
  };
  io::ByteCursor cursor(io::ReadAt(read_at), static_cast<std::uint64_t>(file.size()), file.name());
  return plan::read_gguf(cursor, {SourceKind::gguf, file.name()}, options);
}

// A file that is named as a GGUF model and clearly is something else.
std::optional<FileError> misnamed(const std::string& file, std::string_view first_bytes) {
  const std::optional<std::string> format = io::looks_like(first_bytes);
  if (!format || io::is_gguf(first_bytes)) return {};
  return plan::wrong_format(file, "a GGUF model", *format);
}

FileError not_opened(const std::filesystem::path& path, FileError error) {
  std::error_code failure;
  if (std::filesystem::symlink_status(path, failure).type() == std::filesystem::file_type::not_found) {
    error.detail = missing_model_hint(path);
  }
  return error;
}

Result<Plan> read_file(const std::filesystem::path& path, const ReadOptions& options) {
  const Result<io::RegularFile> file = io::RegularFile::open(path);
  if (!file) return not_opened(path, file.error());
  std::array<char, kSniffed> buffer{};
  const std::ptrdiff_t got = file->read_at(0, buffer.data(), buffer.size());
  const std::string_view first_bytes(buffer.data(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0)));
  if (file->name().ends_with(kGgufEnding)) {
    if (auto error = misnamed(file->name(), first_bytes)) return *error;
    return read_gguf_file(*file, options);
  }
  if (io::is_gguf(first_bytes)) return read_gguf_file(*file, options);
  const Result<std::string> text = io::read_text_file(*file, io::kMaxJsonBytes);
  // Weights are larger than any config: that they are weights says more.
  if (!text) return plan::foreign_format(first_bytes, file->name()).value_or(text.error());
  return plan::read_config(*text, {SourceKind::config_json, file->name()}, options);
}

// Both files may be of one model, or of two: which of them was read is said.
void warn_of_gguf_beside(const std::filesystem::path& directory, Plan& plan) {
  const std::vector<std::string> ggufs = ggufs_in(directory);
  if (ggufs.empty()) return;
  plan.warnings.push_back({"gguf-beside", formatted("{} lies beside it and was not read.", ggufs.front()), {}});
}

// What the weights beside a config contradict.
void warn_of_shapes(const std::filesystem::path& directory, Plan& plan) {
  const std::vector<plan::NamedShape> tensors = plan::shapes_beside(directory, plan.warnings);
  std::ranges::move(plan::judge_shapes(plan, tensors), std::back_inserter(plan.warnings));
  std::ranges::move(plan::judge_layer_numbers(plan, tensors), std::back_inserter(plan.warnings));
}

}  // namespace

Result<Plan> read_plan(const std::filesystem::path& path, const ReadOptions& options) {
  plan::require_length(options);
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return read_file(path, options);
  const Result<std::filesystem::path> inside = config_in(path);
  if (!inside) return inside.error();
  Result<Plan> plan = read_file(*inside, options);
  if (plan.ok() && inside->extension() != kGgufEnding) warn_of_gguf_beside(path, *plan);
  if (plan.ok()) warn_of_shapes(path, *plan);
  return plan;
}

}  // namespace posenc::inline v0_2

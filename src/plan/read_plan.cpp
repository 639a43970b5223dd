#include "posenc/read_plan.h"

#include <string>
#include <system_error>
#include <utility>

#include "io/json.h"
#include "io/text_file.h"
#include "plan/config_plan.h"

namespace posenc {

namespace {

// A directory stands for the config.json in it, else for the params.json.
Result<std::filesystem::path> config_file(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return path;
  for (const char* name : {"config.json", "params.json"}) {
    std::filesystem::path inside = path / name;
    if (std::filesystem::exists(inside, failure)) return inside;
  }
  FileError error;
  error.kind = ErrorKind::not_regular_file;
  error.file = path.string();
  error.expected = "a config.json or params.json, or a directory that holds one";
  error.got = "a directory without a config.json or params.json";
  return error;
}

}  // namespace

Result<Plan> read_plan(const std::filesystem::path& path, const ReadOptions& options) {
  plan::require_length(options);
  const Result<std::filesystem::path> file = config_file(path);
  if (!file) return file.error();
  const Result<std::string> text = io::read_text_file(*file, io::kMaxJsonBytes);
  if (!text) return text.error();
  return plan::read_config(*text, {SourceKind::config_json, file->string()}, options);
}

Result<Plan> read_plan(std::span<const std::byte> config_json, std::string_view name, const ReadOptions& options) {
  plan::require_length(options);
  const std::string_view text(reinterpret_cast<const char*>(config_json.data()), config_json.size());
  return plan::read_config(text, {SourceKind::config_json, std::string(name)}, options);
}

}  // namespace posenc

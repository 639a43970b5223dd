#include "inspect/conversion_marks.h"

#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "line/formatted.h"
#include "line/model_argument.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kMark = "posenc.pairing.";
constexpr std::array<const char*, 3> kWeights{"model.safetensors.index.json", "model.safetensors",
                                              "adapter_model.safetensors"};

}  // namespace

std::vector<Warning> conversion_marks(const TensorFile& file) {
  std::vector<Warning> out;
  for (const auto& [key, pairing] : file.metadata()) {
    if (!key.starts_with(kMark) || (pairing != name(Pairing::half) && pairing != name(Pairing::interleaved))) continue;
    const std::string stack = key.substr(kMark.size());
    out.push_back({std::string(kConvertedRows),
                   formatted("posenc convert has moved the rows of q and k of the {}: they pair as {} now.", stack,
                             pairing),
                   {key}});
  }
  return out;
}

std::vector<Warning> conversion_marks(const ModelWord& model) {
  std::error_code ignored;
  if (model.name == "-" || is_preset(model.name)) return {};
  const std::filesystem::path path(model.name);
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (!is_folder && path.filename() != "config.json") return {};
  const std::filesystem::path folder = is_folder ? path : path.parent_path();
  for (const char* name : kWeights) {
    if (!std::filesystem::is_regular_file(folder / name, ignored)) continue;
    const Result<TensorFile> file = open_tensor_file(folder / name);
    return file ? conversion_marks(*file) : std::vector<Warning>{};
  }
  return {};
}

}  // namespace posenc::tool

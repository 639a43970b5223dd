#include <algorithm>
#include <system_error>
#include <utility>

#include "base/formatted.h"
#include "plan/shapes/shapes.h"
#include "posenc/tensor_file.h"

namespace posenc::plan {
namespace {

// A type whose elements stand for those of the model one by one: packed weights have other shapes.
bool is_plain(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::f32:
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::f8_e4m3:
    case ElementType::f8_e5m2: return true;
    default: return false;
  }
}

}  // namespace

std::vector<NamedShape> shapes_beside(const std::filesystem::path& folder, std::vector<Warning>& warnings) {
  std::error_code failure;
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"}) {
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::exists(path, failure)) continue;
    const Result<TensorFile> file = open_tensor_file(path);
    if (!file.ok()) {
      if (file.error().kind == ErrorKind::io_open) return {};  // a shard that was not fetched
      warnings.push_back(
          {"weights-not-read", formatted("The weights beside it were not looked at: {}", file.error().message()), {}});
      return {};
    }
    std::vector<NamedShape> shapes;
    for (const TensorEntry& entry : file->tensors()) {
      shapes.push_back({entry.name, entry.shape, is_plain(entry.type)});
    }
    return shapes;
  }
  return {};
}

}  // namespace posenc::plan

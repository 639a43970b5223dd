#include "plan/read/missing_model.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/formatted.h"
#include "plan/keys/nearest_names.h"
#include "posenc/read_plan.h"

namespace posenc::plan {
namespace {

constexpr std::size_t kLongestName = 64;  // of a hub; presets' are shorter, and edits are counted in the first 64 bytes
constexpr std::size_t kShortestPart = 3;  // "llama" is half a name, "a" is in all of them

std::string in_small_letters(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// At most two: those that `name` is a part of, else those within a third of their length of edits.
std::vector<std::string_view> near_presets(const std::string& name) {
  std::vector<std::string_view> parts;
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) {
    if (name.size() >= kShortestPart && preset.name.find(name) != std::string_view::npos) parts.push_back(preset.name);
    names.push_back(preset.name);
  }
  std::vector<std::string_view> near = nearest_names(name, parts.empty() ? names : parts, 2);
  if (!parts.empty()) return near;
  const std::size_t least = edits(name, near.front());
  std::erase_if(near, [&](std::string_view of) { return edits(name, of) > std::min(of.size() / 3, least + 1); });
  return near;
}

std::string either(const std::vector<std::string_view>& names) {
  return names.size() == 1 ? std::string(names[0]) : formatted("{} or {}", names[0], names[1]);
}

// "meta-llama/Llama-3.1-8B", where no directory is called meta-llama.
bool is_name_of_hub(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::path owner = path.parent_path();
  return path.is_relative() && !owner.empty() && !owner.has_parent_path() && owner != "." && owner != ".." &&
         owner.native().front() != '~' && path.has_filename() && !std::filesystem::exists(owner, failure);
}

}  // namespace

std::string missing_model_hint(const std::filesystem::path& path) {
  const std::string name = in_small_letters(path.filename().string());
  if (name.empty() || name.size() > kLongestName || path.extension() == ".json" || path.extension() == ".gguf")
    return "";
  const std::vector<std::string_view> near = near_presets(name);
  if (is_name_of_hub(path)) {
    const std::string preset = near.empty() ? "" : formatted("; there is a preset {}", either(near));
    return "nothing is fetched from a hub: give the directory that the model's config.json is in" + preset;
  }
  if (path.has_parent_path()) return "";
  return near.empty() ? "nor is there a preset of that name" : formatted("did you mean the preset {}?", either(near));
}

}  // namespace posenc::plan

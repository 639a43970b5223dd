// What somebody may have meant by the path of a model that is not there.
#pragma once

#include <filesystem>
#include <string>

namespace posenc::plan {

// A hint for an error's detail: the nearest presets, or that a hub's name is no path here. Empty where there is none.
std::string missing_model_hint(const std::filesystem::path& path);

}  // namespace posenc::plan

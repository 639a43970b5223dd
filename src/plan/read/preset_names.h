// What is said to somebody who names no preset: a misspelled one, or those of the family that is meant. Another model
// is never proposed: where a number differs (llama-2-70b, mistral-7b-v0.3, phi-4), so may all that a plan says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace posenc::plan {

struct NearPresets {
  std::vector<std::string_view> meant;      // the name but for typing errors, at most two
  std::string_view family;                  // "llama"; empty where there is none
  std::vector<std::string_view> of_family;  // all its presets
};
NearPresets near_presets(std::string_view name);

// "did you mean the preset llama-3.1-8b?", "presets of the llama family: llama-2-7b, ..."; nothing where none is near.
std::string preset_hint(std::string_view name);

}  // namespace posenc::plan

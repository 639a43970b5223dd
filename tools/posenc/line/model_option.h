// --set, which every command has that takes a MODEL, and MODEL with it from what was given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "line/command_spec.h"

namespace posenc::tool {

// "--set"; of compare "--set-a" and "--set-b".
OptionSpec set_option(std::string flag = "--set");

// The word that `name` ("MODEL", "--model") was given, or `otherwise`, with what `flag` sets.
ModelWord model_given(const Given& given, std::string_view name, std::string_view otherwise = "",
                      std::string flag = "--set");

// All words of an argument with `many`, each with what --set says.
std::vector<ModelWord> models_given(const Given& given, std::string_view name);

// Throws UsageError for a --set where the command has no model to set anything of.
void no_set_without_model(const Given& given);

}  // namespace posenc::tool

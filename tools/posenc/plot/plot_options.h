// What the kinds of posenc plot share on the command line, and the words of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "line/command_spec.h"

namespace posenc::tool {

// A kind's own options, in lists, and those that all of them have: where to, and JSON.
std::vector<OptionSpec> with_output(std::vector<std::vector<OptionSpec>> own);
PlotArguments with_output(const Given& given, decltype(PlotArguments::plot) plot);

// `whose` says what of a model is drawn.
std::vector<OptionSpec> model_options(const std::string& whose);  // --model, --stack
std::vector<OptionSpec> layer_options(const std::string& whose);  // and --layer
std::optional<ModelWords> model_words(const Given& given);

// Throws UsageError where more than one of them is given.
void only_one_of(const Given& given, const std::vector<std::string>& flags);

std::vector<OptionSpec> joined(const std::vector<std::vector<OptionSpec>>& lists);

// ---- a function for each kind ----

CommandSpec encoding_spec();
CommandSpec bias_spec();
CommandSpec distance_spec();
CommandSpec attention_spec();
CommandSpec decay_spec();
CommandSpec coordinates_spec();
CommandSpec query_scale_spec();
CommandSpec wavelengths_spec();
CommandSpec scaling_spec();
CommandSpec rotation_spec();

}  // namespace posenc::tool

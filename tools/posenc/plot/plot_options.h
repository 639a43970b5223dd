// What the kinds of posenc plot share on the command line, and the words of each.
//
// A kind has a reader, from Given (line/command_spec.h) to PlotArguments, and a CommandSpec with its options, its help
// and that reader. plot_options.cpp makes `posenc plot` of all of them: plot_spec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "line/command_spec.h"

namespace posenc::tool {

// A kind's own options, in lists, and those that all of them have: where to, and JSON.
std::vector<OptionSpec> with_output(std::vector<std::vector<OptionSpec>> own);
// Throws UsageError for --force without -o.
PlotArguments with_output(const Given& given, decltype(PlotArguments::plot) plot);

// `whose` says what of a model is drawn.
std::vector<OptionSpec> model_options(const std::string& whose);  // --model, --stack
std::vector<OptionSpec> layer_options(const std::string& whose);  // and --layer
// What was given of these and of --rotation. Throws UsageError for one of the others without --model.
std::optional<ModelWords> model_words(const Given& given);

// Throws UsageError where more than one of them is given.
void only_one_of(const Given& given, const std::vector<std::string>& flags);

std::vector<OptionSpec> joined(const std::vector<std::vector<OptionSpec>>& lists);

// ---- a function for each kind ----
// heat_options.cpp: encoding, bias, distance. attention_options.cpp: attention. curve_options.cpp: decay, coordinates,
// query-scale. rope_options.cpp: wavelengths, scaling, rotation.

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

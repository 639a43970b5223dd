// posenc plot KIND: a picture as SVG, or its numbers as JSON.
//
// From the command line to a file in three steps, of which run_plot makes the last two:
//
//   *_options.cpp                the words given -> PlotArguments (plot_arguments.h), by line/command_line.cpp
//   figures/KIND_figure.cpp      PlotArguments -> Figure (figure.h): numbers, units and words
//   draw.h or figure_json.h      Figure -> SVG or JSON
//
// docs/cli.md has the kinds; scripts/draw_docs.py draws docs/pictures with this command.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// Writes to arguments.out, or to standard output where there is none, and returns the exit code. Throws UsageError,
// Failure, and the library's Error for numbers that it refuses; main.cpp turns them into messages.
int run_plot(const PlotArguments& arguments);

}  // namespace posenc::tool

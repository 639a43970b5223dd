// The text is complete before a file is opened: what cannot be drawn leaves no file, and an old one as it was.
#include "plot/plot_command.h"

#include <string_view>

#include "line/exit_code.h"
#include "line/failure.h"
#include "line/page.h"
#include "plot/draw.h"
#include "plot/figure_json.h"
#include "plot/figures.h"
#include "posenc/write_file.h"
#include "tensors/file_error_text.h"
#include "tensors/held_signals.h"

namespace posenc::tool {
namespace {

// "kind" in the JSON: the word that stands after `posenc plot`.
std::string_view kind_of(const EncodingPlot&) { return "encoding"; }
std::string_view kind_of(const BiasPlot&) { return "bias"; }
std::string_view kind_of(const DistancePlot&) { return "distance"; }
std::string_view kind_of(const AttentionPlot&) { return "attention"; }
std::string_view kind_of(const DecayPlot&) { return "decay"; }
std::string_view kind_of(const CoordinatesPlot&) { return "coordinates"; }
std::string_view kind_of(const QueryScalePlot&) { return "query-scale"; }
std::string_view kind_of(const WavelengthsPlot&) { return "wavelengths"; }
std::string_view kind_of(const ScalingPlot&) { return "scaling"; }
std::string_view kind_of(const RotationPlot&) { return "rotation"; }

}  // namespace

int run_plot(const PlotArguments& arguments) {
  const Figure figure = std::visit([](const auto& plot) { return figure_of(plot); }, arguments.plot);
  const std::string_view kind = std::visit([](const auto& plot) { return kind_of(plot); }, arguments.plot);
  const std::string text = arguments.json ? json_of(figure, kind) : svg_of(figure);
  if (!arguments.out) return write_output(text);
  // Ctrl-C while the file is written: write_file gives up and removes its part, then held lets the signal through.
  const HeldSignals held;
  const WriteOptions options{.replace = arguments.force,
                             .keep_going = [](std::int64_t) { return !HeldSignals::came(); }};
  const Result<std::int64_t> written = write_file(*arguments.out, text, options);
  if (!written) throw Failure{file_error_text(written.error()), exit_code_of(written.error())};
  return kOk;
}

}  // namespace posenc::tool

// The kinds of pictures: from what was asked for to the figure. A file each, KIND_figure.cpp. They throw UsageError for
// what cannot be drawn, Failure for a file that cannot be read.
#pragma once

#include "plot/figure.h"
#include "plot/plot_arguments.h"

namespace posenc::tool {

// More cells than this along one side are smaller than a pixel.
inline constexpr std::int64_t kMostCells = 512;

// Eight for each pixel of the width that curves have.
inline constexpr std::int64_t kMostPoints = 4096;  // of a curve

Figure figure_of(const EncodingPlot& plot);
Figure figure_of(const BiasPlot& plot);
Figure figure_of(const DistancePlot& plot);
Figure figure_of(const AttentionPlot& plot);
Figure figure_of(const DecayPlot& plot);
Figure figure_of(const CoordinatesPlot& plot);
Figure figure_of(const QueryScalePlot& plot);
Figure figure_of(const WavelengthsPlot& plot);
Figure figure_of(const ScalingPlot& plot);
Figure figure_of(const RotationPlot& plot);

}  // namespace posenc::tool

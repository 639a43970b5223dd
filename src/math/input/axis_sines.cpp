// Sines of each coordinate side by side. DETR, arXiv 2005.12872.
//
//   v = scale (c + offset) / (length + 1e-6), or scale (c + offset);  w_k = base^(-2k/m), m = channels / axes
//   interleaved: sin(v w_0), cos(v w_0), sin(v w_1), ...; else all sines, then all cosines, of each axis
//
// In the wild:
//   who                     axes                 channels             v
//   DETR, its kin, SAM 2    h, then w            interleaved          2 pi (c + 1) / (length + 1e-6)
//   Deformable DETR         h, then w            interleaved          2 pi (c + 1/2) / (length + 1e-6)
//   RT-DETR's encoder       h, then w            sines, then cosines  c
//   Conditional, DAB-DETR   h, w, width, height  interleaved          2 pi c, c of a predicted box, 0 to 1
// The 1e-6 is there for axes without any cell; it is the models', and kept.
#include <cmath>
#include <cstddef>
#include <string>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/input.h"

namespace posenc::inline v0_2 {
namespace {

constexpr double kAside = 1e-6;

void require_sines(bool holds, std::string field, std::string must, std::string is) {
  if (!holds) throw Error("input_row", {std::move(field), std::move(must), std::move(is)});
}

void require_axes(const AxisSinesInput& scheme, std::int64_t channels) {
  require_sines(!scheme.axes.empty(), "scheme.axes", "name an axis", "empty");
  const std::int64_t step = 2 * std::ssize(scheme.axes);
  require_sines(channels >= step && channels % step == 0, "channels", formatted("be a multiple of {}", step),
                formatted("{}", channels));
  require_sines(std::isfinite(scheme.base) && scheme.base > 0, "scheme.base", "be finite and above 0",
                formatted("{}", scheme.base));
}

void require_place(const AxisSinesInput& scheme, std::span<const double> coordinates, std::span<const double> lengths) {
  const std::size_t axes = scheme.axes.size();
  require_sines(coordinates.size() == axes, "coordinates", formatted("have one for each of {} axes", axes),
                formatted("{} long", coordinates.size()));
  const std::size_t needed = scheme.normalised ? axes : 0;
  require_sines(lengths.size() == needed, "lengths", formatted("have {} entries for this scheme", needed),
                formatted("{} long", lengths.size()));
  for (std::size_t a = 0; a < axes; ++a) {
    require_sines(std::isfinite(coordinates[a]), formatted("coordinates[{}]", a), "be finite",
                  formatted("{}", coordinates[a]));
  }
  for (std::size_t a = 0; a < needed; ++a) {
    require_sines(std::isfinite(lengths[a]) && lengths[a] > 0, formatted("lengths[{}]", a), "be finite and above 0",
                  formatted("{}", lengths[a]));
  }
}

}  // namespace

std::vector<double> input_row(const AxisSinesInput& scheme, std::int64_t channels, std::span<const double> coordinates,
                              std::span<const double> lengths) {
  require_axes(scheme, channels);
  require_place(scheme, coordinates, lengths);
  const std::int64_t of_axis = channels / std::ssize(scheme.axes);
  const std::int64_t pairs = of_axis / 2;
  std::vector<double> row(static_cast<std::size_t>(channels));
  for (std::size_t a = 0; a < scheme.axes.size(); ++a) {
    const double length = scheme.normalised ? lengths[a] + kAside : 1.0;
    const double v = scheme.scale * (coordinates[a] + scheme.offset) / length;
    double* const out = row.data() + static_cast<std::ptrdiff_t>(a) * of_axis;
    for (std::int64_t k = 0; k < pairs; ++k) {
      const double angle = v * std::pow(scheme.base, -2.0 * static_cast<double>(k) / static_cast<double>(of_axis));
      out[scheme.interleaved ? 2 * k : k] = std::sin(angle);
      out[scheme.interleaved ? 2 * k + 1 : pairs + k] = std::cos(angle);
    }
  }
  return row;
}

}  // namespace posenc::inline v0_2

// Learned tables stretched to another number of rows, or another grid, as torch's interpolate does it. A model that is
// fine-tuned on longer sequences or larger images starts from these; ViT, arXiv 2010.11929, 3.2, interpolates its grid.
//
// Every axis by itself: new = sum of w[k] old[first + k]. Cell n of N new ones has its centre at
//   x = (n + 1/2) step - 1/2     in old rows, step = rows/(N + scale_offset): both ends move inwards or outwards
//   x = n step                   with align_corners, step = (rows - 1)/(N - 1), or 0 for N = 1
//
//   linear      w = 1 - |x - k| for the two neighbours, x cut off below 0 and the last row repeated
//   cubic(a)    W(s) = (a+2)s^3 - (a+3)s^2 + 1 for s <= 1, a s^3 - 5a s^2 + 8a s - 4a for s < 2     Keys, 1981
//   plain       a = -0.75, W(|x - k|) for the four neighbours, rows beyond the border are the border's
//   antialias   a = -0.5; where the grid shrinks, W is widened by the step; what lies beyond the border is omitted and
//               the weights are divided by their sum
//
// In the wild: ViT, DeiT and DINOv2 are bicubic without antialias in Hugging Face; DINOv2 with registers and timm use
// antialias. Meta's DINOv2 passes the scale (N + 0.1)/rows instead of a size: torch then samples by that scale's
// inverse. Qwen3-VL is bilinear with align_corners=True: the linear form, once along each axis. SigLIP 2 is bilinear
// with antialias, which is not here.
#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "posenc/input.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;  // of a table: 16 GiB of doubles

// The old rows that one new row is made of; an old row may stand twice.
struct Share {
  std::int64_t row;
  double weight;
};
using RowShares = std::vector<Share>;

double cubic(double s, double a) {
  s = std::abs(s);
  if (s <= 1) return ((a + 2) * s - (a + 3)) * s * s + 1;
  if (s < 2) return ((s - 5) * s + 8) * s * a - 4 * a;
  return 0;
}

// How new rows lie in the old ones.
struct Spacing {
  double step;
  bool is_aligned;

  double centre(std::int64_t n) const {
    const auto place = static_cast<double>(n);
    return is_aligned ? place * step : (place + 0.5) * step - 0.5;
  }
};

Spacing spacing(const RowPlaces& places, std::int64_t rows, std::int64_t new_rows) {
  const auto old_rows = static_cast<double>(rows);
  const auto count = static_cast<double>(new_rows);
  if (!places.align_corners) return {old_rows / (count + places.scale_offset), false};
  return {new_rows == 1 ? 0.0 : (old_rows - 1) / (count - 1), true};
}

RowShares linear_shares(std::int64_t n, std::int64_t rows, const Spacing& spacing) {
  const double x = std::max(spacing.centre(n), 0.0);
  const auto low = std::min(static_cast<std::int64_t>(x), rows - 1);
  const double t = x - static_cast<double>(low);
  return {{low, 1 - t}, {std::min(low + 1, rows - 1), t}};
}

RowShares plain_shares(std::int64_t n, std::int64_t rows, const Spacing& spacing) {
  const double x = spacing.centre(n);
  const auto before = static_cast<std::int64_t>(std::floor(x));
  RowShares out;
  for (std::int64_t k = before - 1; k <= before + 2; ++k) {
    out.push_back({std::clamp<std::int64_t>(k, 0, rows - 1), cubic(x - static_cast<double>(k), -0.75)});
  }
  return out;
}

RowShares antialias_shares(std::int64_t n, std::int64_t rows, const Spacing& spacing) {
  const double x = spacing.centre(n);
  const double width = std::max(spacing.step, 1.0);
  // torch takes the rows whose centres, rounded, lie within two widths: those beyond weigh 0.
  const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(x - 2 * width)), 0);
  const auto last = std::min<std::int64_t>(static_cast<std::int64_t>(std::floor(x + 2 * width)), rows - 1);
  RowShares out;
  double sum = 0.0;
  for (std::int64_t k = first; k <= last; ++k) {
    out.push_back({k, cubic((x - static_cast<double>(k)) / width, -0.5)});
    sum += out.back().weight;
  }
  for (Share& share : out) share.weight /= sum;
  return out;
}

// Of a table [outer, rows, inner], the middle axis stretched.
template <typename MakeShares>
std::vector<double> stretched(std::span<const double> table, std::int64_t outer, std::int64_t rows, std::int64_t inner,
                              std::int64_t new_rows, const RowPlaces& places, MakeShares&& shares_of) {
  const Spacing own = spacing(places, rows, new_rows);
  std::vector<double> out(static_cast<std::size_t>(outer * new_rows * inner), 0.0);
  for (std::int64_t n = 0; n < new_rows; ++n) {
    for (const auto& [row, weight] : shares_of(n, rows, own)) {
      for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
          out[static_cast<std::size_t>((o * new_rows + n) * inner + i)] +=
              weight * table[static_cast<std::size_t>((o * rows + row) * inner + i)];
        }
      }
    }
  }
  return out;
}

void require_size(std::string_view field, std::int64_t size) {
  if (auto problem = math::check_at_least(field, size, 1)) throw Error("grow_table", *problem);
}

// height * width * channels elements, of which there are not too many.
std::int64_t elements(std::string_view field, TableGrid grid, std::int64_t channels) {
  if (grid.height > kMaxElements || grid.width > kMaxElements / grid.height ||
      channels > kMaxElements / (grid.height * grid.width)) {
    throw Error("grow_table", {std::string(field), "make a table of at most 2^31 numbers",
                               formatted("{} x {} rows of {}", grid.height, grid.width, channels)});
  }
  return grid.height * grid.width * channels;
}

void require_table(std::span<const double> table, std::int64_t count) {
  if (std::ssize(table) == count) return;
  throw Error("grow_table", {"table", formatted("have {} numbers", count), formatted("{} long", table.size())});
}

void require_places(const RowPlaces& places) {
  if (auto problem = math::check_not_negative("scale_offset", places.scale_offset)) throw Error("grow_table", *problem);
  if (!places.align_corners || places.scale_offset == 0) return;
  throw Error("grow_table", {"scale_offset", "be 0 with align_corners", formatted("{}", places.scale_offset)});
}

}  // namespace

std::vector<double> grow_table(std::span<const double> table, std::int64_t rows, std::int64_t channels,
                               std::int64_t new_rows, const RowPlaces& places) {
  require_size("rows", rows);
  require_size("channels", channels);
  require_size("new_rows", new_rows);
  require_table(table, elements("rows", {rows, 1}, channels));
  (void)elements("new_rows", {new_rows, 1}, channels);
  require_places(places);
  return stretched(table, 1, rows, channels, new_rows, places, linear_shares);
}

std::vector<double> grow_table(std::span<const double> table, TableGrid from, std::int64_t channels, TableGrid to,
                               Bicubic kernel, const RowPlaces& places) {
  require_size("from.height", from.height);
  require_size("from.width", from.width);
  require_size("channels", channels);
  require_size("to.height", to.height);
  require_size("to.width", to.width);
  require_table(table, elements("from", from, channels));
  (void)elements("to", to, channels);
  (void)elements("to", {from.height, to.width}, channels);
  require_places(places);
  if (places.align_corners && kernel == Bicubic::antialias) {
    throw Error("grow_table", {"align_corners", "be no with antialias", "yes"});
  }
  const auto shares = kernel == Bicubic::plain ? plain_shares : antialias_shares;
  const std::vector<double> wide = stretched(table, from.height, from.width, channels, to.width, places, shares);
  return stretched(wide, 1, from.height, to.width * channels, to.height, places, shares);
}

}  // namespace posenc::inline v0_2

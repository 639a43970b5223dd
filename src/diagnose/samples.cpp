#include "diagnose/samples.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/formatted.h"
#include "diagnose/precision/formats.h"
#include "posenc/error.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr const char* kDiagnose = "diagnose";

std::string shape_words(const ConstTensorView& view) {
  std::vector<std::int64_t> sizes(view.shape.begin(), view.shape.begin() + std::clamp(view.rank, 0, kMaxRank));
  return formatted("[{}]", joined(sizes, ", "));
}

void check_view(const ConstTensorView& view, const char* field) {
  if (view.rank != 3 && view.rank != 4) {
    throw Error(kDiagnose, {formatted("{}.rank", field), "be 3 or 4", formatted("{}", view.rank)});
  }
  double count = 1.0;
  for (int axis = 0; axis < view.rank; ++axis) {
    const std::int64_t size = view.shape[static_cast<std::size_t>(axis)];
    if (size < 0) throw Error(kDiagnose, {formatted("{}.shape", field), "have no negative size", shape_words(view)});
    count *= static_cast<double>(size);
  }
  if (count > 0x1p62) throw Error(kDiagnose, {formatted("{}.shape", field), "fit into memory", shape_words(view)});
  if (count > 0 && view.data == nullptr) throw Error(kDiagnose, {formatted("{}.data", field), "point to them", "null"});
}

std::vector<double> taken(const ConstTensorView& view, const Samples& sizes, const char* field) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(sizes.rows() * sizes.heads * sizes.channels));
  const std::int64_t step = view.strides[static_cast<std::size_t>(view.rank - 1)];
  for (std::int64_t b = 0; b < sizes.sequences; ++b) {
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      for (std::int64_t h = 0; h < sizes.heads; ++h) {
        const std::int64_t from = reference::offset_of(view, b, t, h);
        for (std::int64_t c = 0; c < sizes.channels; ++c) {
          const double x = reference::read(view, from + c * step);
          if (!std::isfinite(x)) {
            throw Error(kDiagnose, {field, "be finite",
                                    formatted("{} at sequence {}, token {}, head {}, channel {}", x, b, t, h, c)});
          }
          out.push_back(x);
        }
      }
    }
  }
  return out;
}

// Far from 1, both times one power of two, so that neither squares nor their squares over- or underflow: what is
// measured are ratios, and those stay. Exact, but for what is below 2^-1000 of the largest element.
void bring_near_one(std::vector<double>& before, std::vector<double>& after) {
  constexpr int kNear = 64;
  double largest = 0.0;
  for (const auto* values : {&before, &after}) {
    for (const double x : *values) largest = std::max(largest, std::fabs(x));
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  if (largest == 0.0 || std::abs(exponent) <= kNear) return;
  for (auto* values : {&before, &after}) {
    for (double& x : *values) x = std::ldexp(x, -exponent);
  }
}

}  // namespace

Samples samples_of(const ConstTensorView& before, const ConstTensorView& after) {
  check_view(before, "before");
  check_view(after, "after");
  if (before.rank != after.rank || before.shape != after.shape) {
    throw Error(kDiagnose,
                {"after.shape", formatted("be that of before, {},", shape_words(before)), shape_words(after)});
  }
  const reference::Sizes sizes = reference::sizes_of(before);
  Samples out{.sequences = sizes.batch,
              .tokens = sizes.tokens,
              .heads = sizes.heads,
              .channels = before.shape[static_cast<std::size_t>(before.rank - 1)]};
  if (out.rows() == 0 || out.heads == 0 || out.channels == 0) return out;
  // Whole heads first, since tokens say more of positions; and of a head too many sequences, then tokens.
  const std::int64_t rows_at_most = std::max<std::int64_t>(1, kMostElements / out.channels);
  if (out.channels > kMostElements) {
    throw Error(kDiagnose, {"before.shape", formatted("have at most {} channels", kMostElements), shape_words(before)});
  }
  out.tokens = std::min(out.tokens, rows_at_most);
  out.sequences = std::min(out.sequences, std::max<std::int64_t>(1, rows_at_most / out.tokens));
  out.heads = std::min(out.heads, std::max<std::int64_t>(1, rows_at_most / out.rows()));
  out.before = taken(before, out, "before");
  out.after = taken(after, out, "after");
  out.before_unit = unit_of(out.before);
  out.after_unit = unit_of(out.after);
  bring_near_one(out.before, out.after);
  return out;
}

}  // namespace posenc::inline v0_2::port

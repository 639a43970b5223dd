// How much of the token is left in LayerNorm(M x + p), the first norm's view of an embedding x with a position p added,
// for embedding multipliers M such as sqrt(d_model) (arXiv 1706.03762, 3.4).
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/properties.h"
#include "posenc/reference.h"
#include "properties/input_rows.h"
#include "properties/numbers.h"

namespace posenc::inline v0_2 {
namespace {

using properties::Numbers;
using properties::Rows;

constexpr std::uint64_t kNoiseSeed = 2002;  // any

// What the norm keeps of each row before it divides: all of it, or less the mean.
Rows kept(Rows rows, QkNorm::Kind norm) {
  if (norm != QkNorm::Kind::layer) return rows;
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const double mean = std::accumulate(rows[row].begin(), rows[row].end(), 0.0) / static_cast<double>(rows.width);
    for (std::int64_t c = 0; c < rows.width; ++c) rows.values[static_cast<std::size_t>(row * rows.width + c)] -= mean;
  }
  return rows;
}

// The sum of squares, of a row or of all rows.
double power(std::span<const double> x) { return std::inner_product(x.begin(), x.end(), x.begin(), 0.0); }

// The norm itself, so that nobody need believe that it changes neither ratio nor angle.
Rows normalised(const Rows& x, QkNorm::Kind norm) {
  Rows out = x;
  reference::normalise(tensor(out.values.data(), {x.count(), 1, x.width}),
                       tensor(x.values.data(), {x.count(), 1, x.width}),
                       {.scheme = {.kind = norm, .weighted = false}, .epsilon = 0.0});
  return out;
}

// The norm divides token and position by one number, so their ratio is that of what it keeps of each before.
SignalToNoise measured(double multiplier, const Rows& x, const Rows& p, QkNorm::Kind norm) {
  Rows sum = x;
  for (std::size_t n = 0; n < sum.values.size(); ++n) sum.values[n] = multiplier * x.values[n] + p.values[n];
  const Rows mixed = normalised(sum, norm);
  const Rows alone = normalised(x, norm);
  double cosines = 0.0;
  for (std::int64_t row = 0; row < x.count(); ++row) {
    if (power(sum[row]) == 0.0) continue;  // points nowhere
    cosines += std::inner_product(mixed[row].begin(), mixed[row].end(), alone[row].begin(), 0.0) /
               std::sqrt(power(mixed[row]) * power(alone[row]));
  }
  const double signal = multiplier * multiplier * power(kept(x, norm).values);
  const double noise = power(kept(p, norm).values);
  return {.multiplier = multiplier,
          .ratio = noise == 0.0 ? std::numeric_limits<double>::infinity() : signal / noise,
          .cosine = cosines / static_cast<double>(x.count())};
}

}  // namespace

std::vector<SignalToNoise> signal_to_noise(std::string_view scheme, std::span<const double> multipliers,
                                           QkNorm::Kind norm) {
  const properties::Made made(properties::entry("signal_to_noise", scheme), {});
  if (!made->input) throw Error("signal_to_noise", {"scheme", "be of the input stage", formatted("'{}'", scheme)});
  const Rows p = position_rows(*made, kMeasuredPlaces);
  Numbers numbers(kNoiseSeed);
  const Rows x = normal_rows(numbers, p.count(), p.width);
  std::vector<SignalToNoise> out;
  for (const double multiplier : multipliers) out.push_back(measured(multiplier, x, p, norm));
  return out;
}

}  // namespace posenc::inline v0_2

#include "diagnose/channel_pairs.h"

#include <algorithm>
#include <cmath>

#include "diagnose/noise.h"

namespace posenc::inline v0_2::port {
namespace {

// Values of each tensor that candidates are judged on: 200 candidates then take a fifth of a second.
constexpr std::int64_t kJudgedValues = std::int64_t{1} << 17;
// Widths that are tried of the half-split pairing; every even one of heads up to 128 channels.
constexpr std::int64_t kWidths = 64;

// Rows and heads of a few tokens: [rows * heads, channels], squares beside them.
struct PairSample {
  std::int64_t channels = 0;
  std::int64_t vectors = 0;
  std::vector<double> x, y;
  double energy = 0.0;  // of y
  double scale = 1.0;   // rms of y over that of x
  double floor = 0.0;   // variance of its rounding, per element
};

PairSample pair_sample(const Samples& samples) {
  const std::int64_t vectors = std::max<std::int64_t>(1, kJudgedValues / samples.channels);
  const std::int64_t heads = std::min(samples.heads, std::max<std::int64_t>(1, vectors / 64));
  const std::int64_t rows = std::min(samples.rows(), std::max<std::int64_t>(1, vectors / heads));
  PairSample out{.channels = samples.channels, .vectors = rows * heads};
  for (std::int64_t i = 0; i < rows; ++i) {
    // Evenly, the last one among them: positions of 0 say nothing.
    const std::int64_t row = samples.rows() - 1 - i * samples.rows() / rows;
    for (std::int64_t h = 0; h < heads; ++h) {
      out.x.insert(out.x.end(), samples.x(row, h), samples.x(row, h) + samples.channels);
      out.y.insert(out.y.end(), samples.y(row, h), samples.y(row, h) + samples.channels);
    }
  }
  double before = 0.0;
  for (const double x : out.x) before += x * x;
  for (const double y : out.y) out.energy += y * y;
  if (before > 0) out.scale = std::sqrt(out.energy / before);
  out.floor = rounding_variance(samples.after_unit, out.energy / static_cast<double>(out.y.size()));
  return out;
}

// Sums over lengths: `from` before, scaled as all are so that what is left is no difference of large sums, and `more`
// after it.
struct LengthSums {
  double aa = 0.0, ab = 0.0, bb = 0.0;

  void add(double from, double more) {
    aa += from * from;
    ab += from * more;
    bb += more * more;
  }
  // sum (|y| - s |x|)^2 at its least.
  double rest() const { return aa > 0 ? std::max(0.0, bb - ab * ab / aa) : bb; }
};

// Interleaved pairs beyond the plan's rotation keep a scale of their own: a factor on cos and sin is not theirs.
FittedPairs fitted(const PairSample& sample, ChannelPairs pairs, const Rope* expected) {
  std::vector<char> inside(static_cast<std::size_t>(sample.channels), 0);
  for (const auto& [a, b] : pairs.from) inside[static_cast<std::size_t>(a)] = inside[static_cast<std::size_t>(b)] = 1;
  FittedPairs out{.pairs = std::move(pairs)};
  LengthSums rotated;
  LengthSums beyond;
  const bool has_beyond = expected != nullptr && expected->pairing == Pairing::interleaved &&
                          out.pairs.in == Pairing::interleaved && expected->dim < out.pairs.dim;
  const auto is_beyond = [&](std::int64_t channel) {
    return has_beyond && (channel < expected->first_channel || channel >= expected->first_channel + expected->dim);
  };
  for (std::int64_t v = 0; v < sample.vectors; ++v) {
    const double* x = sample.x.data() + v * sample.channels;
    const double* y = sample.y.data() + v * sample.channels;
    for (std::size_t p = 0; p < out.pairs.pairs(); ++p) {
      const auto [a, b] = out.pairs.from[p];
      const auto [c, d] = out.pairs.to[p];
      const double from = sample.scale * std::sqrt(x[a] * x[a] + x[b] * x[b]);
      (is_beyond(a) ? beyond : rotated).add(from, std::sqrt(y[c] * y[c] + y[d] * y[d]) - from);
    }
    for (std::int64_t c = 0; c < sample.channels; ++c) {
      if (inside[static_cast<std::size_t>(c)] == 0) out.rest += (y[c] - x[c]) * (y[c] - x[c]);
    }
  }
  const auto vectors = static_cast<double>(sample.vectors);
  const auto count = static_cast<double>(out.pairs.pairs());
  out.rest += rotated.rest() + beyond.rest();
  const double scales = has_beyond ? 2 : 1;
  out.freedom = std::max(1.0, vectors * (count + static_cast<double>(sample.channels) - 2 * count) - scales);
  out.share = sample.energy > 0 ? out.rest / sample.energy : 0.0;
  return out;
}

std::vector<std::int64_t> widths(std::int64_t channels, const Rope* expected) {
  std::vector<std::int64_t> out;
  const std::int64_t step = std::max<std::int64_t>(2, (channels / kWidths + 1) / 2 * 2);
  for (std::int64_t w = channels / 2 * 2; w >= 2; w -= step) out.push_back(w);
  if (expected != nullptr && std::ranges::find(out, expected->dim) == out.end()) out.push_back(expected->dim);
  return out;
}

std::vector<ChannelPairs> candidates(std::int64_t channels, const Rope* expected) {
  std::vector<ChannelPairs> out;
  const auto add = [&](Pairing in, Pairing to, std::int64_t first, std::int64_t dim) {
    if (first < 0 || dim < 2 || first + dim > channels) return;
    const bool there = std::ranges::any_of(out, [&](const ChannelPairs& known) {
      return known.in == in && known.out == to && known.first == first && known.dim == dim;
    });
    if (!there) out.push_back(channel_pairs(in, to, first, dim));
  };
  if (expected != nullptr) {
    const ChannelPairs plan = expected_pairs(*expected, channels);
    add(plan.in, plan.out, plan.first, plan.dim);
  }
  add(Pairing::interleaved, Pairing::interleaved, 0, channels / 2 * 2);
  add(Pairing::interleaved, Pairing::interleaved, 1, (channels - 1) / 2 * 2);
  for (const std::int64_t w : widths(channels, expected)) {
    add(Pairing::half, Pairing::half, 0, w);
    add(Pairing::half, Pairing::half, channels - w, w);
    if (expected != nullptr) add(Pairing::half, Pairing::half, expected->first_channel, w);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> permuted{{0, channels / 2 * 2}, {0, channels / 4 * 2}};
  if (expected != nullptr) permuted.insert(permuted.begin(), {expected->first_channel, expected->dim});
  for (const auto& [first, dim] : permuted) {
    add(Pairing::half, Pairing::interleaved, first, dim);
    add(Pairing::interleaved, Pairing::half, first, dim);
  }
  return out;
}

}  // namespace

ChannelPairs channel_pairs(Pairing in, Pairing out, std::int64_t first, std::int64_t dim) {
  ChannelPairs pairs{.in = in, .out = out, .first = first, .dim = dim};
  for (std::int64_t p = 0; p < dim / 2; ++p) {
    pairs.from.push_back(math::channels_of_pair(in, first, dim, p));
    pairs.to.push_back(math::channels_of_pair(out, first, dim, p));
  }
  return pairs;
}

ChannelPairs expected_pairs(const Rope& rope, std::int64_t channels) {
  if (rope.pairing == Pairing::half) {
    return channel_pairs(Pairing::half, Pairing::half, rope.first_channel, rope.dim);
  }
  const std::int64_t odd = rope.first_channel % 2;
  return channel_pairs(Pairing::interleaved, Pairing::interleaved, odd, (channels - odd) / 2 * 2);
}

PairSearch search_pairs(const Samples& samples, const Rope* expected) {
  const PairSample sample = pair_sample(samples);
  std::vector<FittedPairs> tried;
  for (ChannelPairs& pairs : candidates(samples.channels, expected)) {
    tried.push_back(fitted(sample, std::move(pairs), expected));
  }
  PairSearch out;
  if (tried.empty()) return out;
  const auto spread = [](const FittedPairs& fit) { return fit.rest / fit.freedom; };
  // The first of equals, and the plan's stands first.
  const auto best = std::ranges::min_element(tried, {}, spread);
  // Noise goes with the energy of a vector: the most of a vector over the mean.
  double most = 0.0;
  for (std::int64_t v = 0; v < sample.vectors; ++v) {
    double energy = 0.0;
    for (std::int64_t c = 0; c < sample.channels; ++c) {
      const double y = sample.y[static_cast<std::size_t>(v * sample.channels + c)];
      energy += y * y;
    }
    most = std::max(most, energy);
  }
  const double heavy = sample.energy > 0 ? most * static_cast<double>(sample.vectors) / sample.energy : 1.0;
  const double variance = std::max(spread(*best), sample.floor);
  const double t = level_of(static_cast<double>(tried.size()));
  out.best = *best;
  out.variance = variance;
  out.freedom = best->freedom;
  out.found = best->share <= kUnrelated / 4;  // explains half of the amplitude that chance leaves
  for (auto fit = tried.begin(); fit != tried.end(); ++fit) {
    if (fit == best) continue;
    const double bound = variance * (fit->freedom + 2 * std::sqrt(t * fit->freedom * heavy) + 2 * t * heavy);
    if (fit->rest <= bound) out.as_good.push_back(*fit);
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

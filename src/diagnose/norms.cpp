#include "diagnose/norms.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "diagnose/noise.h"
#include "diagnose/planned_rotation.h"

namespace posenc::inline v0_2::port {
namespace {

// What models add to the mean square, at most, which is left out here.
constexpr double kEpsilon = 1e-5;
// The mean, its root, the quotient and the weight, each in float32.
constexpr double kNormRoundings = 4 * 0x1p-24;
constexpr double kCoarsest = 0x1p-8;

// x / rms(x) of each head of each token. What eps and float32 make of it is as rounding of `after`.
Samples normalised(const Samples& samples) {
  Samples out = samples;
  double off = 0.0;
  const auto width = static_cast<std::size_t>(samples.channels);
  for (std::size_t from = 0; from + width <= out.before.size(); from += width) {
    double square = 0.0;
    for (std::size_t c = 0; c < width; ++c) square += out.before[from + c] * out.before[from + c];
    const double rms = std::sqrt(square / static_cast<double>(width));
    for (std::size_t c = 0; c < width && rms > 0; ++c) out.before[from + c] /= rms;
    const double by_epsilon = rms > 0 ? kEpsilon / (2 * rms * rms) : 0.0;
    off += by_epsilon * by_epsilon;
  }
  const double vectors = std::max(1.0, static_cast<double>(out.before.size()) / static_cast<double>(width));
  out.after_unit = std::max(out.after_unit, std::min(kCoarsest, std::sqrt(off / vectors) + kNormRoundings));
  return out;
}

// u, v of least squares t = u p + v q.
struct TwoSums {
  double pp = 0.0, qq = 0.0, pq = 0.0, tp = 0.0, tq = 0.0;

  void add(double p, double q, double t) {
    pp += p * p;
    qq += q * q;
    pq += p * q;
    tp += t * p;
    tq += t * q;
  }
  std::optional<std::pair<double, double>> solved() const {
    const double determinant = pp * qq - pq * pq;
    if (!(determinant > 1e-9 * pp * qq)) return {};
    const double u = (tp * qq - tq * pq) / determinant;
    const double v = (tq * pp - tp * pq) / determinant;
    if (!(u > 0) || !(v > 0)) return {};
    return std::pair{u, v};
  }
};

// [channels]: weights of x where `before`, inverse weights of y otherwise; 1 outside the pairs, but for an own square.
std::optional<std::vector<double>> weights(const Samples& samples, const ChannelPairs& pairs, bool before) {
  std::vector<double> out(static_cast<std::size_t>(samples.channels), 1.0);
  std::vector<TwoSums> sums(pairs.pairs());
  std::vector<TwoSums> alone(out.size());
  std::vector<char> inside(out.size(), 0);
  for (const auto& [a, b] : pairs.from) inside[static_cast<std::size_t>(a)] = inside[static_cast<std::size_t>(b)] = 1;
  for (std::int64_t r = 0; r < samples.rows(); ++r) {
    for (std::int64_t h = 0; h < samples.heads; ++h) {
      const double* x = samples.x(r, h);
      const double* y = samples.y(r, h);
      for (std::size_t p = 0; p < pairs.pairs(); ++p) {
        const auto [a, b] = pairs.from[p];
        const auto [c, d] = pairs.to[p];
        if (before) {
          sums[p].add(x[a] * x[a], x[b] * x[b], y[c] * y[c] + y[d] * y[d]);
        } else {
          sums[p].add(y[c] * y[c], y[d] * y[d], x[a] * x[a] + x[b] * x[b]);
        }
      }
      for (std::size_t c = 0; c < out.size(); ++c) {
        if (inside[c] == 0) alone[c].add(x[c] * x[c], 0.0, y[c] * y[c]);
      }
    }
  }
  for (std::size_t p = 0; p < pairs.pairs(); ++p) {
    const auto found = sums[p].solved();
    if (!found) return {};
    const math::PairChannels& of = before ? pairs.from[p] : pairs.to[p];
    out[static_cast<std::size_t>(of.a)] = std::sqrt(found->first);
    out[static_cast<std::size_t>(of.b)] = std::sqrt(found->second);
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (inside[c] != 0 || !(alone[c].pp > 0)) continue;
    const double square = alone[c].tp / alone[c].pp;
    if (square > 0) out[c] = before ? std::sqrt(square) : 1 / std::sqrt(square);
  }
  return out;
}

// The same by the plan's angles.
std::optional<std::vector<double>> weights_by_plan(const Samples& samples, const Expectation& expected, bool before) {
  const auto width = static_cast<std::size_t>(samples.channels);
  const std::vector<double> rotated =
      rotated_as_planned(samples, before ? samples.after : samples.before, expected, before ? Way::back : Way::forth);
  // y = w x of each channel.
  const std::vector<double>& x = before ? samples.before : rotated;
  const std::vector<double>& y = before ? rotated : samples.after;
  std::vector<double> xx(width, 0.0);
  std::vector<double> xy(width, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx[i % width] += x[i] * x[i];
    xy[i % width] += x[i] * y[i];
  }
  std::vector<double> out(width, 1.0);
  for (std::size_t c = 0; c < width; ++c) {
    if (!(xx[c] > 0) || !(xy[c] > 0)) return {};
    out[c] = before ? xy[c] / xx[c] : xx[c] / xy[c];
  }
  return out;
}

// Of channels that the plan rotates, so that the factor on cos and sin is the plan's.
void hold_factor(std::vector<double>& weights, const Expectation& expected, bool before) {
  if (!expected.rope) return;
  const Rope& rope = *expected.rope;
  const double factor = frequencies(rope, expected.length).attention_factor;
  for (std::int64_t c = rope.first_channel; c < rope.first_channel + rope.dim; ++c) {
    weights[static_cast<std::size_t>(c)] *= before ? 1 / factor : factor;
  }
}

void multiply(std::vector<double>& values, const std::vector<double>& by) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= by[i % by.size()];
}

}  // namespace

std::optional<FoundNorm> found_norm(const Samples& samples, const Expectation& expected, const PairSearch& without) {
  // Lengths that are kept but for the rounding of a few steps leave nothing for a norm to explain.
  constexpr double kRoundings = 16.0;
  const Rope* rope = expected.rope ? &*expected.rope : nullptr;
  const double rounding = rounding_variance(samples.after_unit, 1.0) * static_cast<double>(samples.channels);
  if (without.best.share * static_cast<double>(samples.channels) <= kRoundings * rounding) return {};
  double least = std::min(kUnrelated, without.best.share) / 4;
  const Samples plain = normalised(samples);
  PairSearch search = search_pairs(plain, rope);
  std::optional<FoundNorm> best;
  if (search.found && search.best.share < least) {
    least = search.best.share;
    best = FoundNorm{"RMS norm without weights, before or after the rotation", search, plain};
  }
  const auto words = [](bool before) {
    return before ? "RMS norm before the rotation, with weights" : "RMS norm after the rotation, with weights";
  };
  const auto weighted_by = [&](const std::vector<double>& weights, bool before) {
    Samples weighted = plain;
    multiply(before ? weighted.before : weighted.after, weights);
    PairSearch of = search_pairs(weighted, rope);
    return FoundNorm{words(before), std::move(of), std::move(weighted)};
  };
  bool has_weights = false;
  const std::int64_t even = samples.channels / 2 * 2;
  std::vector<ChannelPairs> candidates{channel_pairs(Pairing::half, Pairing::half, 0, even),
                                       channel_pairs(Pairing::interleaved, Pairing::interleaved, 0, even)};
  if (rope != nullptr) candidates.insert(candidates.begin(), expected_pairs(*rope, samples.channels));
  for (const ChannelPairs& pairs : candidates) {
    for (const bool before : {true, false}) {
      auto found = weights(plain, pairs, before);
      if (!found) continue;
      hold_factor(*found, expected, before);
      FoundNorm norm = weighted_by(*found, before);
      // Weights are two numbers a pair more: they have to leave half of what is left without them.
      if (!norm.search.found || norm.search.best.share > least / (best ? 2 : 1)) continue;
      least = norm.search.best.share;
      best = std::move(norm);
      has_weights = true;
    }
  }
  // Those by squares are fitted to what is judged here, two numbers to as many lengths.
  const auto lengths = static_cast<double>(samples.rows() * samples.heads);
  const double fitted = has_weights ? lengths / std::max(1.0, lengths - 2) : best ? 0.5 : 1.0;
  for (const bool before : {true, false}) {
    if (rope == nullptr || samples.channels != rope->head_dim) break;
    const auto found = weights_by_plan(plain, expected, before);
    if (!found) continue;
    FoundNorm norm = weighted_by(*found, before);
    if (!norm.search.found || norm.search.best.share > least * fitted) continue;
    least = std::min(least, norm.search.best.share);
    best = std::move(norm);
  }
  return best;
}

bool norm_competes(const Samples& samples, const Rope* expected, const PairSearch& without) {
  const PairSearch with = search_pairs(normalised(samples), expected);
  return with.found && with.best.rest <= without.best.rest + 2 * level_of(2) * without.variance;
}

}  // namespace posenc::inline v0_2::port

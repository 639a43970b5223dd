#include "diagnose/norms.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "diagnose/noise.h"

namespace posenc::inline v0_2::port {
namespace {

// x / rms(x) of each head of each token. eps, 1e-6 in most models, is nothing beside activations.
Samples normalised(const Samples& samples) {
  Samples out = samples;
  const auto width = static_cast<std::size_t>(samples.channels);
  for (std::size_t from = 0; from + width <= out.before.size(); from += width) {
    double square = 0.0;
    for (std::size_t c = 0; c < width; ++c) square += out.before[from + c] * out.before[from + c];
    const double rms = std::sqrt(square / static_cast<double>(width));
    for (std::size_t c = 0; c < width && rms > 0; ++c) out.before[from + c] /= rms;
  }
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

void multiply(std::vector<double>& values, const std::vector<double>& by) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= by[i % by.size()];
}

}  // namespace

std::optional<FoundNorm> found_norm(const Samples& samples, const Rope* expected, const PairSearch& without) {
  // Lengths that are kept but for the rounding of a few steps leave nothing for a norm to explain.
  constexpr double kRoundings = 16.0;
  const double rounding = rounding_variance(samples.after_unit, 1.0) * static_cast<double>(samples.channels);
  if (without.best.share * static_cast<double>(samples.channels) <= kRoundings * rounding) return {};
  double least = std::min(kUnrelated, without.best.share) / 4;
  const Samples plain = normalised(samples);
  PairSearch search = search_pairs(plain, expected);
  std::optional<FoundNorm> best;
  if (search.found && search.best.share < least) {
    least = search.best.share;
    best = FoundNorm{"RMS norm without weights, before or after the rotation", search, plain};
  }
  const std::int64_t even = samples.channels / 2 * 2;
  std::vector<ChannelPairs> candidates{channel_pairs(Pairing::half, Pairing::half, 0, even),
                                       channel_pairs(Pairing::interleaved, Pairing::interleaved, 0, even)};
  if (expected != nullptr) candidates.insert(candidates.begin(), expected_pairs(*expected, samples.channels));
  for (const ChannelPairs& pairs : candidates) {
    for (const bool before : {true, false}) {
      const auto found = weights(plain, pairs, before);
      if (!found) continue;
      Samples weighted = plain;
      multiply(before ? weighted.before : weighted.after, *found);
      search = search_pairs(weighted, expected);
      // Weights are two numbers a pair more: they have to leave half of what is left without them.
      if (!search.found || search.best.share > least / (best ? 2 : 1)) continue;
      least = search.best.share;
      best =
          FoundNorm{before ? "RMS norm before the rotation, with weights" : "RMS norm after the rotation, with weights",
                    std::move(search), std::move(weighted)};
    }
  }
  return best;
}

bool norm_competes(const Samples& samples, const Rope* expected, const PairSearch& without) {
  const PairSearch with = search_pairs(normalised(samples), expected);
  return with.found && with.best.rest <= without.best.rest + 2 * level_of(2) * without.variance;
}

}  // namespace posenc::inline v0_2::port

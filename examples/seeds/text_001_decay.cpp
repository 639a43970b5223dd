// Text 001, the figure "remote attenuation" for d = 128: does RoPE's score decay with distance?
#include <posenc/properties.h>

#include <complex>

#include "attention.h"
#include "texts.h"

namespace seeds {
namespace {

constexpr std::int64_t kDim = 128;

// RoFormer's bound, arXiv 2104.09864, (37): the mean of |S_i|, S_i the sum of e^(i r theta_p) of the first i pairs.
double bound(double r) {
  std::complex<double> sum = 0.0;
  double total = 0.0;
  for (int p = 0; p < kDim / 2; ++p) total += std::abs(sum += std::polar(1.0, r * std::pow(10000.0, -2.0 * p / kDim)));
  return total / (kDim / 2);
}

// q = k = (1, ..., 1): the score over that at distance 0.
double equal(double r) {
  double sum = 0.0;
  for (int p = 0; p < kDim / 2; ++p) sum += std::cos(r * std::pow(10000.0, -2.0 * p / kDim));
  return sum / (kDim / 2);
}

double rises(const std::vector<double>& curve) {
  double count = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) count += curve[i] > curve[i - 1] ? 1 : 0;
  return count;
}

}  // namespace

void decay(Report& report) {
  const auto curves = [](std::int64_t longest, std::int64_t step) {
    return posenc::decay_curves({.dim = kDim, .longest = longest, .step = step, .samples = 1});
  };
  const posenc::DecayCurves far = curves(5000, 10);
  const auto at = [](const std::vector<double>& curve, std::size_t r) { return curve[r / 10] / curve[0]; };
  report.add({.item = "figure of decay",
              .what = "RoFormer's bound over that at 0, d = 128, at distances 10, 100, 1000, 5000",
              .text = {bound(10) / bound(0), bound(100) / bound(0), bound(1000) / bound(0), bound(5000) / bound(0)},
              .posenc = {at(far.bound, 10), at(far.bound, 100), at(far.bound, 1000), at(far.bound, 5000)},
              .by = "decay_curves({.dim = 128}).bound",
              .condition = "it is a bound for q and k that are alike in all pairs, not the score of given ones",
              .without = Numbers{at(far.equal, 10), at(far.equal, 100), at(far.equal, 1000), at(far.equal, 5000)}});
  report.add({.item = "q = k = (1, ..., 1)",
              .what = "the score over that at 0, at distances 10, 100, 4060",
              .text = {equal(10), equal(100), equal(4060)},
              .posenc = {at(far.equal, 10), at(far.equal, 100), at(far.equal, 4060)},
              .by = "decay_curves({.dim = 128}).equal"});
  report.add({.item = "it falls",
              .what = "steps of the bound that rise, of the first 512",
              .text = {0},
              .posenc = {rises(curves(512, 1).bound)},
              .by = "decay_curves({.dim = 128, .longest = 512, .step = 1}).bound",
              .errs = "it falls on the whole and rises on the way",
              .corrected = Numbers{[] {
                std::vector<double> curve;
                for (int r = 0; r <= 512; ++r) curve.push_back(bound(r));
                return rises(curve);
              }()}});

  // A key that is the query rotated to position 1000: the score has its maximum there.
  const posenc::Rope rope = rope_of(Pairing::half, kDim);
  const Numbers q = sample(kDim, 41);
  const Numbers k = rotated(rope, q, 1000);
  double best = 0;
  for (double distance = 0; distance <= 2000; ++distance) {
    const auto score = [&](double r) { return dot(rotated(rope, q, r), k); };
    if (score(distance) > score(best)) best = distance;
  }
  report.add({.item = "any distance",
              .what = "the distance at which the score of q and k is largest",
              .text = {0},
              .posenc = {best},
              .by = "reference::rotate_half, k = q rotated by 1000",
              .errs = "for given q and k the maximum may lie at any distance"});
}

}  // namespace seeds

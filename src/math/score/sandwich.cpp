// Sandwich, arXiv 2212.10356: the product of two sinusoids of `channels` channels is a sum of cosines of the distance.
//
//   sum_{p=0}^{channels/2 - 1} cos(d / 10000^(2p / channels)) / (8 (head + 1) / heads)
//
// which flattens like a logarithm. That is the product of the rows of the sinusoids and the program in the paper's
// appendix E; its text counts p from 1 to channels/2, which has the slowest cosine for the fastest. NeMo's code follows
// the text, and takes channels / 2 from the sum; its first version, of which there are copies, forgot the cosine, which
// leaves a straight line.
#include "math/score/sandwich.h"

#include <cmath>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::math {

std::vector<double> sandwich_inv_freq(const Sandwich& scheme) {
  const auto channels = static_cast<double>(scheme.channels);
  std::vector<double> out;
  for (std::int64_t p = 0; p < scheme.channels / 2; ++p) {
    out.push_back(std::pow(10000.0, -2.0 * static_cast<double>(p) / channels));
  }
  return out;
}

double sandwich_sum(std::span<const double> inv_freq, double distance) {
  double sum = 0.0;
  for (const double f : inv_freq) sum += std::cos(distance * f);
  return sum;
}

double sandwich_factor(const Sandwich& scheme, std::int64_t head) {
  return static_cast<double>(scheme.heads) / (8.0 * static_cast<double>(head + 1));
}

}  // namespace posenc::math

namespace posenc::inline v0_2 {
double sandwich_bias(const Sandwich& scheme, std::int64_t head, double distance) {
  if (head < 0 || head >= scheme.heads) {
    throw Error("sandwich_bias", {"head", formatted("lie from 0 to below {}", scheme.heads), formatted("{}", head)});
  }
  return math::sandwich_sum(math::sandwich_inv_freq(scheme), distance) * math::sandwich_factor(scheme, head);
}

}  // namespace posenc::inline v0_2

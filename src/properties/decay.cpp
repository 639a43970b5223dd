// The curves that RoPE's long-range decay is argued with: RoFormer's bound, q = k = 1, and random q and k; and those of
// a learned table beside them.
//
//   (2/d) sum_{i=1}^{d/2} |S_i|,  S_i = sum_{j<i} e^(i r theta_j)      RoFormer, arXiv 2104.09864, (36) and (37)
#include <cmath>
#include <complex>
#include <span>
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/properties.h"
#include "posenc/reference.h"
#include "properties/numbers.h"

namespace posenc::inline v0_2 {
namespace {

using properties::Numbers;
using properties::Rows;

constexpr std::uint64_t kDecaySeed = 37;  // any; the number of the bound's equation

void require_at_least(const char* field, std::int64_t least, std::int64_t is) {
  if (is < least) throw Error("decay_curves", {field, formatted("be at least {}", least), formatted("{}", is)});
}

void check(const DecayOptions& options) {
  require_at_least("dim", 2, options.dim);
  if (options.dim % 2 != 0) throw Error("decay_curves", {"dim", "be even", formatted("{}", options.dim)});
  require_at_least("longest", 1, options.longest);
  require_at_least("step", 1, options.step);
  require_at_least("samples", 1, options.samples);
}

// Rows of x, each a head, rotated by `distance`.
// The rows pass as the heads of one token that stands at `distance`.
Rows rotated(const Rope& rope, const Rows& x, std::int64_t distance) {
  Rows out{x.width, std::vector<double>(x.values.size())};
  (void)reference::rotate(rope, {.out = tensor(out.values.data(), {1, x.count(), x.width}),
                                 .x = tensor(x.values.data(), {1, x.count(), x.width}),
                                 .positions = PositionRange{.start = distance}});
  return out;
}

// a . b, without a scale.
double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

// Mean and standard deviation of scores.
struct Moments {
  double mean;
  double spread;
};

// Of the products of rows of a with rows of b, from the `b_first` of b, over sqrt(width).
Moments moments_of_scores(const Rows& a, const Rows& b, std::int64_t b_first, std::int64_t count) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t n = 0; n < count; ++n) {
    const double score = product(a[n], b[b_first + n]) / std::sqrt(static_cast<double>(a.width));
    sum += score;
    squares += score * score;
  }
  const double mean = sum / static_cast<double>(count);
  return {mean, std::sqrt(std::max(squares / static_cast<double>(count) - mean * mean, 0.0))};
}

// e^(i r theta_p) is what R(r) makes of 1. arXiv 2104.09864, (36) and (37): summed by parts, the score is at most the
// sum of |S_i| times the largest difference of neighbouring pairs' products.
double bound_at(const Rope& rope, std::int64_t distance) {
  Rows ones{rope.dim, std::vector<double>(static_cast<std::size_t>(rope.dim))};
  for (std::int64_t p = 0; p < rope.pairs(); ++p) ones.values[static_cast<std::size_t>(2 * p)] = 1.0;
  const Rows powers = rotated(rope, ones, distance);
  std::complex<double> sum;
  double lengths = 0.0;
  for (std::size_t p = 0; p < powers.values.size() / 2; ++p) {
    sum += std::complex<double>(powers.values[2 * p], powers.values[2 * p + 1]);
    lengths += std::abs(sum);
  }
  return lengths / static_cast<double>(rope.pairs());
}

}  // namespace

// `table` is one random table: row n against row n + r stands for a learned absolute encoding, in which distance means
// nothing.
DecayCurves decay_curves(const DecayOptions& options) {
  check(options);
  // Interleaved, so that the two channels of a pair are neighbours; the scores do not depend on it.
  const Rope rope{.pairing = Pairing::interleaved, .head_dim = options.dim, .dim = options.dim, .base = options.base};
  Numbers numbers(kDecaySeed);
  const Rows q = normal_rows(numbers, options.samples, options.dim);
  const Rows k = normal_rows(numbers, options.samples, options.dim);
  const Rows table = normal_rows(numbers, options.samples + options.longest, options.dim);
  const Rows ones{options.dim, std::vector<double>(static_cast<std::size_t>(options.dim), 1.0)};
  DecayCurves out;
  for (std::int64_t distance = 0; distance <= options.longest; distance += options.step) {
    out.distances.push_back(distance);
    out.bound.push_back(bound_at(rope, distance));
    out.equal.push_back(product(rotated(rope, ones, distance)[0], ones[0]) / static_cast<double>(options.dim));
    const Moments random = moments_of_scores(rotated(rope, q, distance), k, 0, options.samples);
    out.random_mean.push_back(random.mean);
    out.random_spread.push_back(random.spread);
    const Moments of_table = moments_of_scores(table, table, distance, options.samples);
    out.table_mean.push_back(of_table.mean);
    out.table_spread.push_back(of_table.spread);
  }
  return out;
}

}  // namespace posenc::inline v0_2

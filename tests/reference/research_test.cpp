// Research schemes against numbers worked by hand, and against what their papers prove of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "posenc/reference.h"
#include "posenc/reference_research.h"
#include "posenc/scores.h"
#include "support/random_tensor.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::research_test {
namespace {

using reference::Fope;
using reference::GrapeBias;
using reference::GrapePlane;
using reference::Pope;
using reference::RelativeLogits;
using testing::ElementsAre;
using Numbers = std::vector<double>;

const double kPi = std::numbers::pi;

Numbers random_numbers(Random& random, std::int64_t count) { return random_tensor(random, {count}).values; }

double dot(const Numbers& x, const Numbers& y) {
  double sum = 0.0;
  for (std::size_t c = 0; c < x.size(); ++c) sum += x[c] * y[c];
  return sum;
}

double length(const Numbers& x) { return std::sqrt(dot(x, x)); }

void expect_near(const Numbers& got, const Numbers& expected, double bound) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], expected[c], bound) << c;
}

// Row-major, [n, n].
Numbers product(const Numbers& x, const Numbers& y, std::size_t n) {
  Numbers out(n * n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t m = 0; m < n; ++m) out[r * n + c] += x[r * n + m] * y[m * n + c];
    }
  }
  return out;
}

Numbers identity(std::size_t n) {
  Numbers out(n * n);
  for (std::size_t c = 0; c < n; ++c) out[c * n + c] = 1.0;
  return out;
}

Numbers unit(std::size_t channels, std::size_t channel) {
  Numbers out(channels);
  out[channel] = 1.0;
  return out;
}

// x rotated by RoPE, halves paired.
Numbers rope(const Numbers& x, const Numbers& inv_freq, double n) {
  const auto dim = static_cast<std::int64_t>(x.size());
  Numbers angles = inv_freq;
  for (double& angle : angles) angle *= n;
  return reference::rotate_half({.pairing = Pairing::half, .head_dim = dim, .dim = dim}, x, angles);
}

// ---- PoPE ----

TEST(Pope, WorkedByHand) {
  // softplus(0) = ln 2, softplus(ln(e - 1)) = 1; w = 1 and 1/100.
  const Numbers x{std::log(std::numbers::e - 1), 0.0};
  EXPECT_NEAR(reference::pope_score({}, x, x, 7, 6), 1.0207312973358333205, 4 * kFewSteps);  // cos 1 + ln^2 2 cos 0.01
  const Numbers quarter{-kPi / 2, 0.0};                                                      // cos(-1 - pi/2) = -sin 1
  EXPECT_NEAR(reference::pope_score({.delta = quarter}, x, x, 7, 6),
              -std::sin(1.0) + 1.0207312973358333205 - std::cos(1.0), 4 * kFewSteps);
}

TEST(Pope, IsTheProductOfCartesianVectorsOfTwiceTheWidth) {
  Random random(10534);
  const Numbers q = random_numbers(random, 6);
  const Numbers k = random_numbers(random, 6);
  const Numbers delta{0.0, -1.0, -2.0, -3.0, -4.0, -6.0};
  const double i = 5;
  const double j = 2;
  double sum = 0.0;
  double size = 0.0;
  for (std::size_t c = 0; c < q.size(); ++c) {
    const double w = std::pow(1e4, -static_cast<double>(c) / 6);
    const double of_q = std::log1p(std::exp(q[c]));
    const double of_k = std::log1p(std::exp(k[c]));
    const double key_phase = j * w + delta[c];
    sum += of_q * std::cos(i * w) * of_k * std::cos(key_phase) + of_q * std::sin(i * w) * of_k * std::sin(key_phase);
    size += of_q * of_k;
  }
  // Angles 4 roundings of up to j + 2 pi; softplus 4 for each side, cosines 2 for each side, products 3, sums.
  const double roundings = 4 * (j + 2 * kPi) + 8 + 4 + 3 + 12;
  const double score = reference::pope_score({.delta = delta}, q, k, i, j);
  EXPECT_NEAR(score, sum, same_score(size, roundings));
  EXPECT_EQ(score, reference::pope_score({.delta = delta}, q, k, i + 1000, j + 1000));
}

TEST(Pope, PhasesAreHeldToATurn) {
  const Numbers x{0.5, -0.25};
  const Numbers beyond{1.0, -7.0};
  const Numbers held{0.0, -2 * kPi};
  EXPECT_EQ(reference::pope_score({.delta = beyond}, x, x, 3, 1), reference::pope_score({.delta = held}, x, x, 3, 1));
  EXPECT_GT(reference::pope_score({}, Numbers{-800.0, 800.0}, x, 0, 0), 0.0);  // e^800 overflows, softplus does not
}

// ---- FoPE ----

TEST(Fope, WithTrivialMixesIsRope) {
  Random random(17739);
  const Numbers x = random_numbers(random, 6);
  const Numbers inv_freq{1.0, 0.25, 0.0625};
  const Numbers trivial = identity(3);
  const Fope scheme{.inv_freq = inv_freq, .cos_mix = trivial, .sin_mix = trivial};
  expect_near(reference::fope(scheme, x, 11), rope(x, inv_freq, 11), rotation_bound(6.0));
}

TEST(Fope, WorkedByHand) {
  const Numbers x{1, 2, 3, 4};
  const Numbers ladder{1.0, 0.5};
  const Numbers mix{1, 10, 100, 1000};  // at position 0 cosines are 1: columns' sums
  EXPECT_THAT(reference::fope({.inv_freq = ladder, .cos_mix = mix, .sin_mix = mix}, x, 0),
              ElementsAre(101, 2020, 303, 4040));
  const Numbers third{kPi / 3};  // cos 1/2, sin sqrt(3)/2; with mixes 2 and 4: C = 1, S = 2 sqrt 3
  const Numbers two{2};
  const Numbers four{4};
  const Fope scheme{.inv_freq = third, .cos_mix = two, .sin_mix = four};
  const double s = 2 * std::sqrt(3.0);
  expect_near(reference::fope(scheme, x, 1), {1 - 3 * s, 2 - 4, 3 + s, 4 + 2}, 12 * kFewSteps);
}

TEST(Fope, DroppedPairsCountTwiceOrNotAtAll) {
  const Numbers q{1, 2, 3, 4};
  const Numbers k{5, -6, 7, 8};
  EXPECT_EQ(reference::fope_score({}, q, k, 9, 4), 2 * 46);
  EXPECT_EQ(reference::fope_score({.dropped_sin = 0.0}, q, k, 9, 4), 46);
}

TEST(Fope, IsNotRelative) {
  const Numbers ladder{1.0};
  const Numbers one{1.0};
  const Numbers half{0.5};
  const Numbers x{1.0, 0.0};
  const Fope scheme{.inv_freq = ladder, .cos_mix = one, .sin_mix = half};
  // cos i cos j + sin i sin j / 4
  EXPECT_NEAR(reference::fope_score(scheme, x, x, 1, 0), std::cos(1.0), kFewSteps);
  EXPECT_NEAR(reference::fope_score(scheme, x, x, 2, 1),
              std::cos(2.0) * std::cos(1.0) + std::sin(2.0) * std::sin(1.0) / 4, 2 * kFewSteps);  // below 0
}

// ---- GRAPE ----

// A channel of a head that was rotated by t radians in a plane with |a| |b| / s = gain, against the same made
// otherwise: (sin t / s) L x is of up to gain of its length, ((1 - cos t) / s^2) L^2 x of 2 gain^2. t = n w s is off by
// 3 roundings of it, and those of w; sine or cosine and the rest of the factor 5; L^2 takes the products and sums of L
// twice, and 2; 2 sums.
double rotation_bound(const Numbers& x, double t, double gain = 1.0) {
  const double steps = 4 * t + 5 + 2 * (static_cast<double>(x.size()) + 2) + 2;
  return same_score(length(x) * (1 + gain + 2 * gain * gain), steps);
}

TEST(Grape, WorkedByHand) {
  const Numbers a{2, 0, 0};
  const Numbers b{0, 3, 0};  // s = 6: a quarter turn at n w = pi / 12, clockwise, and what is beside stays
  const GrapePlane plane{.a = a, .b = b, .frequency = kPi / 12};
  const Numbers x{1, 0, 5};
  const Numbers y{0, 1, 5};
  expect_near(reference::grape({&plane, 1}, x, 1), {0, -1, 5}, rotation_bound(x, kPi / 2));
  expect_near(reference::grape({&plane, 1}, y, 1), {1, 0, 5}, rotation_bound(y, kPi / 2));
}

TEST(Grape, OfPairsOfChannelsExchangedIsRope) {
  Random random(7805);
  const Numbers q = random_numbers(random, 4);
  const Numbers k = random_numbers(random, 4);
  const Numbers inv_freq{1.0, 0.125};
  const Numbers e0 = unit(4, 0);
  const Numbers e1 = unit(4, 1);
  const Numbers e2 = unit(4, 2);
  const Numbers e3 = unit(4, 3);
  const GrapePlane exchanged[] = {{.a = e2, .b = e0, .frequency = 1.0}, {.a = e3, .b = e1, .frequency = 0.125}};
  const GrapePlane in_order[] = {{.a = e0, .b = e2, .frequency = 1.0}, {.a = e1, .b = e3, .frequency = 0.125}};
  const double of_q = 2 * rotation_bound(q, 9);  // two planes
  const double of_k = 2 * rotation_bound(k, 4);
  expect_near(reference::grape(exchanged, q, 9), rope(q, inv_freq, 9), of_q);
  expect_near(reference::grape(in_order, q, 9), rope(q, inv_freq, -9), of_q);
  // Of 4 channels' errors the length is twice one's at most.
  const double bound = 2 * (of_q * length(k) + of_k * length(q)) + same_score(length(q) * length(k), 4);
  EXPECT_NEAR(reference::grape_score(exchanged, q, k, 9, 4), dot(rope(q, inv_freq, 9), rope(k, inv_freq, 4)), bound);
}

TEST(Grape, IsRelativeComposesAndKeepsLengths) {
  Random random(512);
  const Numbers q = random_numbers(random, 4);
  const Numbers k = random_numbers(random, 4);
  // Vectors that are not orthogonal within their plane: s = 1, |a| |b| = sqrt 2.
  const Numbers a{1, 1, 0, 0};
  const Numbers b{0, 1, 0, 0};
  const Numbers c{0, 0, 1, 1};
  const Numbers d{0, 0, 0, 1};
  const GrapePlane planes[] = {{.a = a, .b = b, .frequency = 0.5}, {.a = c, .b = d, .frequency = 0.25}};
  const double of_q = 2 * rotation_bound(q, 5, std::numbers::sqrt2);  // two planes, up to 10 positions of half a radian
  const double of_k = 2 * rotation_bound(k, 5, std::numbers::sqrt2);
  const Numbers once = reference::grape(planes, q, 10);
  expect_near(reference::grape(planes, reference::grape(planes, q, 7), 3), once, 3 * of_q);
  // Of 4 channels' errors the length is twice one's at most.
  EXPECT_NEAR(length(once), length(q), 2 * of_q + same_score(length(q), 4));
  const double score = reference::grape_score(planes, q, k, 10, 7);
  const double bound = 2 * (of_q * length(k) + of_k * length(q)) + same_score(length(q) * length(k), 4);
  EXPECT_NEAR(score, dot(q, reference::grape(planes, k, -3)), bound);
  EXPECT_NEAR(score, reference::grape_score(planes, q, k, 3, 0), bound);
}

TEST(GrapeBias, WithoutGatesIsAlibi) {
  const Numbers q{1, 2};
  const Alibi alibi{.heads = 8};
  for (const double slope : alibi_slopes(alibi)) {
    EXPECT_EQ(reference::grape_bias({.rate = slope}, q, q, 9, 4), alibi_bias(alibi, slope, 9, 4));
  }
}

TEST(GrapeBias, WorkedByHand) {
  const Numbers q{4, 0};
  const Numbers k{0, 8};
  const Numbers v{0, 1};                        // v . q = 0: ln 2
  const Numbers u{0, -std::sqrt(2.0) / 8 * 3};  // u . k / sqrt 2 = -3
  const double of_key = std::log1p(std::exp(-3.0));
  EXPECT_NEAR(reference::grape_bias({.rate = 0.5, .query_gate = v}, q, k, 5, 1), -2 * std::numbers::ln2, kFewSteps);
  EXPECT_NEAR(reference::grape_bias({.rate = 0.5, .query_gate = v, .key_gate = u}, q, k, 5, 1),
              -2 * (std::numbers::ln2 + of_key), 4 * kFewSteps);
}

// The paper's lift: q and k get two entries, (1, 0) and (0, 1), G(n) = I + n A with A = -rate e4 e3^T; the query is
// multiplied by G(i), the key by the transposed inverse of G(j), which is I + j rate e3 e4^T.
TEST(GrapeBias, IsAUnipotentActionOnLongerVectors) {
  const double i = 9;
  const double j = 4;
  const double rate = 0.25;
  const Numbers q{3, -2, 1, -rate * i};  // G(i) (q, 1, 0)
  const Numbers k{5, 7, rate * j, 1};    // G(j)^-T (k, 0, 1)
  const Numbers head_q{3, -2};
  const Numbers head_k{5, 7};
  EXPECT_EQ(dot(q, k), dot(head_q, head_k) + reference::grape_bias({.rate = rate}, head_q, head_k, i, j));
}

// ---- PaTH ----

TEST(Path, WorkedByHand) {
  const Numbers q{1, 0};
  const Numbers k{0, 1};
  const Numbers w{0.6, 0.8};  // H q = (1 - 2 * 0.36, -2 * 0.48)
  EXPECT_NEAR(reference::path_score(q, k, w, Numbers{2}), -0.96, kFewSteps);
  EXPECT_NEAR(reference::path_score(q, q, w, Numbers{0.5}), 1 - 0.5 * 0.36, kFewSteps);
}

TEST(Path, WithZeroBetasHasNoPosition) {
  const Numbers q{3, -2, 5};
  const Numbers k{4, 1, 7};
  const Numbers w(9, 0.3);
  EXPECT_EQ(reference::path_score(q, k, w, Numbers(3, 0.0)), dot(q, k));
  EXPECT_EQ(reference::path_score(q, k, {}, {}), dot(q, k));
}

TEST(Path, IsTheProductOfMatricesInTheOrderOfTokens) {
  Random random(16381);
  constexpr std::size_t kDim = 3;
  const Numbers q = random_numbers(random, kDim);
  const Numbers k = random_numbers(random, kDim);
  const Numbers betas{0.5, 1.75, 1.0, 1.25};
  Numbers w;
  Numbers all = identity(kDim);  // H_(j+1) ... H_i
  for (const double beta : betas) {
    Numbers direction = random_numbers(random, kDim);
    const double size = length(direction);
    for (double& channel : direction) channel /= size;
    w.insert(w.end(), direction.begin(), direction.end());
    Numbers householder = identity(kDim);
    for (std::size_t r = 0; r < kDim; ++r) {
      for (std::size_t c = 0; c < kDim; ++c) householder[r * kDim + c] -= beta * direction[r] * direction[c];
    }
    all = product(all, householder, kDim);
  }
  Numbers rotated(kDim);
  for (std::size_t r = 0; r < kDim; ++r) {
    for (std::size_t c = 0; c < kDim; ++c) rotated[r] += all[r * kDim + c] * q[c];
  }
  // By magnitudes, I + beta |w| |w|^T makes a vector 1 + beta <= 3 times as long: four steps of 3 + kDim roundings
  // each, and a product with k.
  const double bound = same_score(std::pow(3.0, 4) * length(q) * length(k), 4 * (3 + kDim) + kDim);
  EXPECT_NEAR(reference::path_score(q, k, w, betas), dot(k, rotated), bound);
}

// ---- Relative logits ----

TEST(RelativeLogit, WorkedByHand) {
  const Numbers q{1, 3};
  const Numbers k{5, 1};  // q . k / 2 = 4
  const Numbers r{1, 2};
  const Numbers profiles{10, 20, 30, 1, 2, 3};
  const RelativeLogits scheme{.profiles = profiles};
  EXPECT_EQ(reference::relative_logit(scheme, q, k, r, 7, 7), 4 + 12);
  EXPECT_EQ(reference::relative_logit(scheme, q, k, r, 7, 5), 4 + 36);
  EXPECT_EQ(reference::relative_logit(scheme, q, k, r, 7, 4), 4);  // as far back as the extent
  EXPECT_EQ(reference::relative_logit(scheme, q, k, r, 7, 8), 4);  // ahead
  const RelativeLogits scaled{.profiles = profiles, .n_floor = 4, .alpha = 0.5};
  EXPECT_EQ(reference::relative_logit(scaled, q, k, r, 3, 3), 16);
  EXPECT_NEAR(reference::relative_logit(scaled, q, k, r, 7, 7), 16 * (1 + std::numbers::ln2 / 2), 16 * kFewSteps);
}

// ---- What they refuse ----

TEST(Research, RefusesWhatDoesNotFit) {
  const Numbers x{1, 2};
  const Numbers longer{1, 2, 3};
  const Numbers odd{1, std::nan("")};
  EXPECT_ERROR(reference::pope_score({}, x, longer, 0, 0), "[pope_score] k must have 2 numbers but is 3 long");
  EXPECT_ERROR(reference::pope_score({}, {}, {}, 0, 0), "[pope_score] q must have at least one channel but is empty");
  EXPECT_ERROR(reference::pope_score({.base = 0}, x, x, 0, 0),
               "[pope_score] base must be a finite number above 0 but is 0");
  EXPECT_ERROR(reference::pope_score({.delta = longer}, x, x, 0, 0),
               "[pope_score] delta must have 2 numbers but is 3 long");
  EXPECT_ERROR(reference::fope({}, longer, 0),
               "[fope] x must have an even number of channels, at least 2, but is 3 long");
  EXPECT_ERROR(reference::fope({.inv_freq = x}, x, 0),
               "[fope] inv_freq must have at most one number for each pair, 1, but is 2 long");
  EXPECT_ERROR(reference::path_score(x, x, x, Numbers{2.5}), "[path_score] betas must lie from 0 to 2 but is 2.5");
  EXPECT_ERROR(reference::path_score(x, odd, {}, {}), "[path_score] k must be finite but is nan");
  EXPECT_ERROR(reference::path_score(x, x, x, Numbers{1, 1}), "[path_score] w must have 4 numbers but is 2 long");
  EXPECT_ERROR(reference::grape_bias({.rate = -1}, x, x, 0, 0),
               "[grape_bias] rate must be a finite number of at least 0 but is -1");
  EXPECT_ERROR(reference::relative_logit({.profiles = longer}, x, x, x, 0, 0),
               "[relative_logit] profiles must have a row for each number of r, 2, but is 3 long");
  EXPECT_ERROR(reference::relative_logit({.profiles = x}, x, x, x, 0, -1),
               "[relative_logit] j must be at least 0 but is -1");
}

TEST(Research, RefusesPlanesThatAreNone) {
  const Numbers a{1, 0, 0};
  const Numbers b{0, 1, 0};
  const Numbers c{0, 1, 1};
  const GrapePlane flat{.a = c, .b = c};
  const GrapePlane planes[] = {{.a = a, .b = b}, {.a = b, .b = c}};
  EXPECT_ERROR(reference::grape({&flat, 1}, a, 0),
               "[grape] planes[0] must have two directions but is a and b in one, or 0");
  EXPECT_ERROR(reference::grape(planes, a, 0),
               "[grape] planes[1] must be orthogonal to the planes before it but is not so to planes[0]");
}

}  // namespace
}  // namespace posenc::test::research_test

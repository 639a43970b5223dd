// Every tolerance of the tests: a formula with its derivation, never a number found by trying.
//
// A bound far above what is observed hides mistakes, so a suite that measures rounding collects observed / bound in an
// ErrorRatio, prints the largest, and fails where it leaves [0.01, 1].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/plan.h"
#include "posenc/rope.h"
#include "posenc/tensor.h"
#include "support/error_ratio.h"
#include "support/ulp.h"

namespace posenc::test {

// ---- Rounding ----

// The largest relative error of one correctly rounded operation.
inline constexpr double kDoubleRounding = 0x1p-53;
inline constexpr double kFloatRounding = 0x1p-24;

// Numbers printed with that many decimals, or significant digits, are off by half a unit of the last.
inline double printed_decimals(int decimals) { return 0.5 * std::pow(10.0, -decimals); }
inline double printed_digits(double value, int digits) {
  if (value == 0) return 0;
  return 0.5 * std::pow(10.0, std::floor(std::log10(std::abs(value))) + 1 - digits);
}

// ---- Frequencies ----

// By how much a change of a blend weight changes the blended frequency, relatively.
// f = (1 - t)/s + t, t in [0, 1]: |f'|/f <= |1 - 1/s| / min(1, 1/s).
inline double blend_gain(double s) { return std::abs(1 - 1 / s) / std::min(1.0, 1 / s); }

// How wrong the blend weight t of a rule's ramp may be, when each rounding is `rounding` and inv_freq is off by
// `ladder`, relatively.
inline double ramp_error(const Rope& rope, double rounding, double ladder) {
  if (const auto* llama3 = std::get_if<Llama3Scaling>(&rope.scaling)) {
    // t = (L/w - low)/(high - low) with L/w <= high: L/w is off by `ladder` and two roundings, the difference by one.
    const double span = llama3->high_freq_factor - llama3->low_freq_factor;
    return span > 0 ? (ladder + 3 * rounding) * llama3->high_freq_factor / span : 0.0;
  }
  if (const auto* yarn = std::get_if<YarnScaling>(&rope.scaling)) {
    // Truncated, the range is whole and only the quotient and 1 - t round. Else c(r) = dim ln(x) / (2 ln base) carries
    // about 10 roundings (3 in x, which count in full when ln x is near 1; 2 for each logarithm; 3 to combine), at each
    // end of a range whose ends are below dim, divided by its width.
    if (yarn->truncate) return 3 * rounding;
    const auto turns = [&](double r) {
      const double x = static_cast<double>(yarn->original_max_position_embeddings) / (r * 2 * std::numbers::pi);
      return static_cast<double>(rope.dim) * std::log(x) / (2 * std::log(rope.base));
    };
    const double fast = turns(yarn->beta_fast.value_or(32));
    const double slow = turns(yarn->beta_slow.value_or(1));
    return 3 * rounding + 2 * 10 * kDoubleRounding * std::max(fast, slow) / std::max(slow - fast, 0.001);
  }
  return 0;
}

inline double scaling_factor(const Rope& rope) {
  if (const auto* yarn = std::get_if<YarnScaling>(&rope.scaling)) return yarn->factor;
  if (const auto* llama3 = std::get_if<Llama3Scaling>(&rope.scaling)) return llama3->factor;
  return 1;
}

// frequencies() in double against the real number, relatively. `base` is the base after the rule.
//   exponent 2p/dim rounded: e ln(base) roundings in the power, e < 1; an NTK base has its own exponent rounded, which
//   adds as much again, and 3 for its power and product; pow 2 (glibc: below 1 ulp), reciprocal 1, the rule's steps 4.
inline double exact_frequency_bound(const Rope& rope, double base) {
  const double ladder = (2 * std::log(base) + 3 + 2 + 1 + 4) * kDoubleRounding;
  return ladder + blend_gain(scaling_factor(rope)) * ramp_error(rope, kDoubleRounding, ladder);
}

// frequencies() in float against torch's float, relatively. Both run the same rounded steps on the same numbers but
// for the power: SLEEF's is within 1 ulp, ours within half: the floats differ by at most 1 ulp, 2^-23. Each step after
// it rounds on both sides: reciprocal, product, product, sum.
inline double float_frequency_bound(const Rope& rope) {
  const double ladder = 2 * kFloatRounding + 2 * 4 * kFloatRounding;
  const bool from_ladder = std::holds_alternative<Llama3Scaling>(rope.scaling);  // YaRN's ramp does not depend on it
  return ladder + (from_ladder ? blend_gain(scaling_factor(rope)) * ramp_error(rope, 2 * kFloatRounding, ladder) : 0.0);
}

// frequencies() in float against the same in double, without a rule. Exponent and power: ln(base) + 1 roundings to
// float; reciprocal: 1.
inline double float_ladder_bound(double base) { return (std::log(base) + 2) * kFloatRounding; }

// A dump of torch's float frequencies against frequencies() in double, relatively. Power 2 roundings to float,
// reciprocal 1, a rule's steps 3: 3.6e-7, as long as the exponent is a float, which it is for dims that are powers of
// two. For others its rounding counts ln(base) times in the power: 9e-7 at worst for dim 96 and base 1e4; the dump's
// readers observed 3.3e-7 there, and its acceptance is set at this.
inline constexpr double kDumpedFrequency = 4e-7;

// torch.testing.assert_close, as transformers' own tests call it.
inline constexpr double kTransformersTests = 1e-5;

// One frequency by two ways that differ in at most two divisions each: 4 roundings.
inline constexpr double kSameFrequency = 4 * kDoubleRounding;

// Attention factors, relatively: two logarithms at 1 ulp (4), a quotient, a root or a product, a sum and a quotient.
inline constexpr double kAttentionFactor = 8 * kDoubleRounding;

// ---- Rotations ----

// A channel of a head rotated once by the reference, |x| <= largest: cos and sin within 1 ulp (2 roundings), a product
// (1), times |cos| + |sin| <= sqrt 2, and a sum (1) of at most sqrt 2 largest.
inline double rotation_bound(double largest) { return 4 * std::sqrt(2.0) * largest * kDoubleRounding; }

// Rotated by a, then by b, against once by a + b, the angles being exact: the first rotation's error is rotated too and
// so at most sqrt 2 as large, the second rotates numbers up to sqrt 2 largest.
inline double composition_bound(double largest) { return (1 + 2 * std::sqrt(2.0)) * rotation_bound(largest); }

// A dot product of two heads that were rotated `rotations` times altogether, the sum being compensated: by
// Cauchy-Schwarz each rotation adds 4 sqrt 2 roundings of the length of each pair, and each product and the result 1.
inline double rotated_dot_bound(double norm_q, double norm_k, double rotations) {
  return norm_q * norm_k * (4 * std::sqrt(2.0) * rotations + 2) * kDoubleRounding;
}

// ---- The input stage ----

// A sine or cosine of position t, within 1 ulp, made in steps of that rounding: the frequency w = 10000^-e is off by
// e ln(1e4) and 2 roundings, the product by one more, each times the angle. w = 1 is made without any.
inline double sinusoid_error(double t, double w, double rounding) {
  const double e = -std::log(w) / std::log(1e4);
  return (w == 1.0 ? 0.0 : t * w * (e * std::log(1e4) + 3) * rounding) + 2 * rounding;
}

// One that somebody made in float, against ours.
inline double float_sinusoid_bound(double t, double w) { return sinusoid_error(t, w, kFloatRounding); }

// The row of t + k against that of t, rotated by k w: three angles rounded once each, those of t and k counting with
// |cos| + |sin| <= sqrt 2 of the other; six sines and cosines within 1 ulp (2 roundings each, products of two below
// sqrt 2 of them), two products and a sum.
inline double shifted_sinusoid_bound(double t, double k, double w) {
  const double angles = (std::abs(t + k) + std::sqrt(2.0) * (std::abs(t) + std::abs(k))) * w;
  return (angles + 2 + 2 * 2 * std::sqrt(2.0) + 3) * kDoubleRounding;
}

// A table stretched in double against the same in float by another, numbers up to `largest`: along each of two axes
// `taps` products and sums of weights whose magnitudes add up to at most 1.5, each weight off by 4 roundings.
inline double float_stretch_bound(double largest, double taps) {
  return 2 * 1.5 * 1.5 * largest * (taps + 4) * kFloatRounding;
}

// One formula of a few steps against the number worked out by hand: 4 roundings.
inline constexpr double kFewSteps = 4 * kDoubleRounding;

// ---- The angle kernel (docs/angles.md) ----

// The promise.
inline constexpr double kAngleUlp = 1.0;

// What the method gives, in ulps of float: the one rounding 1/2; the cosine's polynomial 5.4e-11 where an ulp is
// 2^-24, so 0.0009; the reduced angle and the polynomials' roundings, some 2^-51 of the value, below 1e-7.
inline constexpr double kAngleMethodUlp = 0.501;

// inv_freq / 2 pi in three parts: the last is rounded, 2^-53 of a part of at most 2^-106 of the whole.
inline constexpr double kTurnsRelative = 0x1p-158;

// Up to 2^53: half an ulp below 1 is 2^-25 = 3.0e-8; the reduction's 2^-53 of a quarter turn adds nothing.
inline constexpr double kAngleAbsolute = 6e-8;

// Two correct f32 roundings of one real number by different routes: the kernel within kAngleMethodUlp, the model within
// 1/2. They are neighbours at most.
inline constexpr double kFloat32ModelUlp = 1.0;

// A channel rotated in float by somebody else, from x, cos and sin that are themselves `printed` away from what he had,
// against ours: |d(x c - y s)| <= printed (|c| + |s| + |x| + |y|), and what came out is printed too. Two products and a
// sum of at most twice a product are rounded there, and here again: 2 (1 + 1 + 2).
inline double published_rotation_bound(double largest_x, double largest_cos_sin, double printed) {
  return printed * (2 * largest_cos_sin + 2 * largest_x + 1) + 8 * largest_x * largest_cos_sin * kFloatRounding;
}

// cos and sin that torch made in float of position * inv_freq, against ours, by the same steps: the frequencies differ
// by float_frequency_bound, the product is rounded on both sides, and cos or sin within 1 ulp there, half here.
inline double float_cos_sin_bound(const Rope& rope, double angle) {
  return angle * (float_frequency_bound(rope) + 2 * kFloatRounding) + 1.5 * 2 * kFloatRounding;
}

// torch's sum of a table of cos and sin [n, pairs] in float, by halves, against the sum of ours in double: log2 of the
// count roundings, each of at most the sum of magnitudes; and what the frequencies' relative error e does. Over
// t < n, |sum of t exp(i f t)| <= n / sin(f/2) by partial summation, so that a pair's cos and sin move by at most
// sqrt 2 (e f) n / sin(f/2) <= sqrt 2 pi n e, for f <= pi. The products' roundings go both ways and are left out.
inline double table_sum_bound(const Rope& rope, double n, double sum_of_magnitudes) {
  const double values = n * static_cast<double>(rope.dim);
  return std::ceil(std::log2(values)) * sum_of_magnitudes * kFloatRounding +
         static_cast<double>(rope.dim / 2) * std::sqrt(2.0) * std::numbers::pi * n * float_frequency_bound(rope);
}

// ---- The rotation of tensors (docs/rotation.md) ----

// The error of rounding a number of magnitude `y` to the nearest of a dtype: half the spacing there, or half of the
// smallest subnormal.
inline double rounding_error(DType dtype, double y) {
  const auto [digits, lowest] = dtype == DType::f32   ? std::pair(24, -149)
                                : dtype == DType::f16 ? std::pair(11, -24)
                                                      : std::pair(8, -133);
  int exponent = 0;
  std::frexp(y, &exponent);
  return std::ldexp(0.5, y == 0.0 ? lowest : std::max(exponent - digits, lowest));
}

// How far a c and a s of a table's row are from the truth, or with kFloat32ModelUlp from the model: the ulp is that of
// floats below a.
inline double table_error(double a, double ulps = kAngleMethodUlp) { return ulps * float_ulp(std::nextafter(a, 0.0)); }

// The same times the float 1 / a^2: it is rounded, and so is the product.
inline double inverse_table_error(double a) {
  return a == 1.0 ? table_error(a) : table_error(a) / (a * a) + 2 * kFloatRounding / a;
}

// c and s that rerotate combines in double from two rows: those of the difference of the angles, times a_to / a_from.
//   |dc| <= |C_to dC_from| + |C_from dC_to| + ... over a_from^2, |C| + |S| <= sqrt 2 a; and one rounding to float
inline double combined_error(double a_from, double a_to, double ulps = kAngleMethodUlp) {
  return std::sqrt(2.0) * (a_to * table_error(a_from, ulps) + a_from * table_error(a_to, ulps)) / (a_from * a_from) +
         0.5 * float_ulp(a_to / a_from);
}

// The reference's angles are below this from the truth, in radians.
inline constexpr double kReferenceAngle = 1e-15;

// One channel, x c - partner s, of |c|, |s| <= size that are off by `angle_error`: those errors, the rounded product,
// the rounded sum, and the rounding to a shorter dtype. Products of two errors are below 2^-20 of them.
inline double rotated_bound(DType dtype, double x, double partner, double result, double size, double angle_error) {
  const double angles = (std::abs(x) + std::abs(partner)) * (angle_error + size * kReferenceAngle);
  const double product = rounding_error(DType::f32, std::abs(partner) * size * (1 + 0x1p-20));
  const double before = (angles + product) * (1 + 0x1p-20);
  const double sum = before + rounding_error(DType::f32, std::abs(result) + before);
  return dtype == DType::f32 ? sum : sum + rounding_error(dtype, std::abs(result) + sum);
}

// ---- Keys into a cache (src/kernels/norm_loop.h) ----

// Numbers, and how far those that the kernels have in their place may be from them.
struct Row {
  std::vector<double> values;
  std::vector<double> errors;
};

// The errors of f = x' * weight + bias, x' the normalised x. `lanes`: floats in a register.
//   A sum of n takes ceil(n / (4 lanes)) roundings of each of four sums, and two to add them; then all is double.
//   x - mean: two subtractions, and the second mean, whose sum is of numbers that are about |x - mean|.
//   The factor: half of what the sum of squares is off, and its own rounding. By Cauchy-Schwarz, errors e of the x -
//   mean change that sum by 2 |e| |x - mean|. Products with the factor and with weight + 1, the latter rounded before,
//   and the sum with the bias: one each.
// Products of two errors are below 2^-10 of them.
inline std::vector<double> normalised_errors(const Row& x, const QkNorm& norm, double epsilon,
                                             const std::vector<double>& weight, const std::vector<double>& result,
                                             double lanes) {
  const auto n = static_cast<double>(x.values.size());
  const double roundings = std::ceil(n / (4 * lanes)) + 2;
  const bool centred = norm.kind == QkNorm::Kind::layer;
  double mean = 0.0;
  double mean_error = 0.0;
  for (std::size_t i = 0; centred && i < x.values.size(); ++i) {
    mean += x.values[i] / n;
    mean_error += x.errors[i] / n;
  }
  double squares = 0.0;
  for (const double y : x.values) squares += (y - mean) * (y - mean);
  const double size = norm.kind == QkNorm::Kind::l2 ? squares : squares / n;
  const double factor = 1 / std::sqrt(size + epsilon);

  std::vector<double> off;
  double squared_errors = 0.0;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    double e = x.errors[i];
    if (centred) {
      e += mean_error + (2 * std::abs(x.values[i] - mean) + roundings * std::sqrt(squares / n)) * kFloatRounding;
    }
    off.push_back(e);
    squared_errors += e * e;
  }
  const double factor_error = (roundings / 2 + 1) * kFloatRounding + std::sqrt(squared_errors / squares);
  for (std::size_t i = 0; i < off.size(); ++i) {
    const double y = std::abs(x.values[i] - mean) * factor;
    const double product = off[i] * factor + y * (factor_error + kFloatRounding);
    off[i] = (std::abs(weight[i]) * (product + 2 * y * kFloatRounding) + std::abs(result[i]) * kFloatRounding) *
             (1 + 0x1p-10);
  }
  return off;
}

// The error of one channel of a pair that was off by x_error and partner_error and is rotated in f32.
inline double rotated_error(double x, double x_error, double partner, double partner_error, double result, double size,
                            double angle_error) {
  return size * std::hypot(x_error, partner_error) +
         rotated_bound(DType::f32, x, partner, std::abs(result) + size * std::hypot(x_error, partner_error), size,
                       angle_error);
}

// A score of two heads, `lengths` the product of theirs, both made twice, by sums of n squares whose terms came in
// another order. By Cauchy-Schwarz each of the four heads counts what its channels are off, relatively: the factor of
// its norm, two products, and the product and the sum of the rotation, at most sqrt 2 as large.
inline double reordered_score_bound(double lengths, double n, double lanes) {
  const double roundings = std::ceil(n / (4 * lanes)) + 2;
  return lengths * 4 * (roundings / 2 + 1 + 2 + 2 * std::sqrt(2.0)) * kFloatRounding;
}

// A float near `value`, as it is stored.
inline double stored_error(DType dtype, double value, double error) {
  return dtype == DType::f32 ? error : error + rounding_error(dtype, std::abs(value) + error);
}

// ---- Attention by formulas and by primitives, both in double (src/cpu/lower/lower.h) ----

// The same score made two ways. `size`: the sum of the magnitudes it is made of; each way loses at most `roundings`
// roundings of that.
inline double same_score(double size, double roundings) { return 2 * roundings * kDoubleRounding * size; }

// cos and sin of both sides, made in two ways, one within kReferenceAngle and one within 1.5e-15 (math/primitives.h),
// in roundings of either way: 2 (1e-15 + 1.5e-15) = 2 n 2^-53.
inline constexpr double kRotatedTwice = (1e-15 + 1.5e-15) / kDoubleRounding;

// A decay exp(e) made of one power, or of two exponentials whose exponents add up to e: 2 roundings of each exponent
// and 1 of each result, where the largest exponent is `e`.
inline double decayed_twice(double e) { return 2 * e + 2 * (2 * e + 1) + 1; }

// Of a score whose query and key rotate by real places up to `largest`, made in three steps each (leaky ReRoPE): no
// pair rotates faster than a radian a place.
inline double real_place_roundings(double largest) { return 2 * 3 * largest; }

// The logarithm of a sum of exponentials moves no more than the score that moves most. Both ways sum `keys` of them, in
// the same order: each 1 rounding for its exponential and 1 for each sum; the logarithm adds 1 of itself.
inline double same_lse(double score, double keys, double lse) {
  return score + 2 * ((keys + 2) + std::abs(lse)) * kDoubleRounding;
}

// o = sum_j p_j v_j, scores off by at most `score`: to first order it moves by sum_j p_j e_j (v_j - o), by
// Cauchy-Schwarz at most by score sqrt(sum_j p_j v_j^2 - o^2), and that root is at most half of what lies between the
// least and the largest v_j, `half_range` (Popoviciu); the rest is below 5 % of it for any score below 0.02. Each way
// rounds every weight twice beside its sum, and the sum of products `keys` times. Values, of that size, are off by
// `value_error`.
inline double same_output(double score, double half_range, double keys, double values, double value_error) {
  return 1.05 * score * half_range + 2 * (2 * keys + 4) * kDoubleRounding * values + value_error;
}

// The sum of four outputs of the same weights, of which two are of values of magnitudes up to `values` and the others
// of less: each as same_output() has it, both ways being these.
inline double linear_outputs_bound(double keys, double values, double value_error) {
  return 2 * same_output(0.0, 0.0, keys, values, value_error);
}

// An output beside a sink, and its share 1 / (1 + exp(sink - lse)) of the same without one. Weights' sums take `keys`
// roundings and lse as many, and itself once; the exponent one more, the share 4 of exp (2), sum and quotient; and each
// way has the roundings of an output.
inline double sink_share_bound(double keys, double lse, double sink, double values, double value_error) {
  if (std::isinf(lse)) return 0.0;
  const double share = (keys + 2 + 2 * std::abs(lse) + std::abs(sink) + 4) * kDoubleRounding;
  return share * values + same_output(0.0, 0.0, keys, values, value_error);
}

// ---- attend, in floats, against the reference ----

// A product of two vectors that are rotated in floats, in roundings of their lengths: of each, cos and sin are within
// an ulp, 2, of which a product takes one each, and its 2 products and their sum are rounded once.
inline const double kRotatedInFloats = 2 * (2 + 2) * std::sqrt(2.0);

// The roundings of a sum of `terms` in floats, one after another: at most one of each partial sum. Of many they do not
// all point one way: with independent ones of mean zero, 6 sqrt(n) are exceeded with a probability below
// 2 exp(-6^2 / 2) = 3e-8 (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, theorem 2.4).
inline double summed_in_floats(double terms) { return std::min(terms, 6 * std::sqrt(terms)); }

// A sum of `depth` products of floats with keys that are rotated in floats, whose products with queries, cos and sin
// have magnitudes that add up to `size`: a channel has one of its two products rounded, and itself.
inline double rotated_dot_in_floats(double size, double depth) {
  return (summed_in_floats(depth) + 2) * size * kFloatRounding;
}

// A score made of numbers whose magnitudes add up to `size`, and the exponent that its weight has: less the maximum,
// times log2(e), 2 roundings of at most twice the size. The exponential of that is within 3 roundings (exponential.h).
inline double fused_score(double size, double roundings) { return ((roundings + 2 * 2) * size + 3) * kFloatRounding; }

// As same_lse, of one way, whose sums are of floats: each weight's rounding is in the score already.
inline double fused_lse(double score, double keys, double lse) {
  return score + (summed_in_floats(keys) + 1 + std::abs(lse)) * kFloatRounding;
}

// As same_output, of one way: of both sums, that of weights and that of products, what is summed of a tile of 64 keys
// is rescaled when the next comes; the quotient is rounded once and so is the product with it.
inline double fused_output(double score, double half_range, double keys, double values, double value_roundings) {
  const double sums = 2 * summed_in_floats(keys + keys / 64) + 3;
  return 1.05 * score * half_range + (sums + value_roundings) * kFloatRounding * values;
}

// An output that was merged of parts, each with fewer keys than all and so within `output` of what it should be. Shares
// move as their lse do, which are off by `lse` (fused_lse), and outputs with them as with scores (same_output); a share
// is rounded with its product and sum, once a part.
inline double merged_output(double output, double lse, double half_range, double parts, double values) {
  return output + 1.05 * lse * half_range + 2 * parts * kFloatRounding * values;
}

// An output of values that are 0 or 1, so that nothing in its sum cancels, where keys of less than 2^-25 of all weight
// may be left out: a weight of a score up to `score` is off by fused_score of that, relatively, and both sums are
// rounded.
inline double share_bound(double output, double score, double keys) {
  return 0x1p-25 + output * (fused_score(score, 0.0) + (2 * summed_in_floats(keys) + 3) * kFloatRounding);
}

// What a layer's primitives may differ from its formulas in, of the size of its values, for scores of some 10.
inline constexpr double kLoweredLayer = 1e-12;

// A distance below `steps` tokens, read from the cosine and the sine of its angle, `steps` tokens a radian: both are
// dot products of unit heads rotated once each, so the angle is off by sqrt 2 of what they are; its arc tangent 2
// roundings.
inline double angle_distance_bound(double steps) {
  return steps * (std::sqrt(2.0) * (rotated_dot_bound(1, 1, 2) + 2 * kReferenceAngle) + 2 * kDoubleRounding);
}

// ---- Attention against other people's numbers ----

// The spacing's half, relatively.
inline double unit_roundoff(DType dtype) {
  return dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f32 ? 0x1p-24 : 0x1p-53;
}

// The numbers of a call of attention that its roundings hang on.
struct AttentionSizes {
  double head_dim;
  double keys;
  double score;   // scale times the longest query times the longest key
  double bias;    // the largest that is added to a score
  double value;   // the largest, |v|
  double spread;  // the largest v less the least
};

// An output of attention that somebody made in `dtype` step by step, as ONNX's FlexAttention does; in f64 ours rounds
// as often again.
//   Score: q and k times the rounded root of the scale (2 each), a product: 5, of at most `score` by Cauchy-Schwarz;
//   and
//     the sum of head_dim. A cap (quotient, tanh within 1 ulp, product) or a bias 4, the difference from the largest 2.
//     Only the first 5 are in f16, which the sum and the softmax take in f32.
//   Weights: errors e of the scores and of exp, within 2.5 ulp (5), change the output by sum p e (v - output), and v is
//     on average within half the spread of the output; second orders are below 2^-5 of that.
//   The sum of the weights, the quotient, the products and their sum: 2 keys + 2, and the output's own.
inline double rounded_attention_bound(DType dtype, const AttentionSizes& sizes) {
  const double given = unit_roundoff(dtype) * (dtype == DType::f64 ? 2 : 1);
  const double u = std::min(given, kFloatRounding);
  const double score = 5 * sizes.score * given + (sizes.head_dim + 6) * (sizes.score + sizes.bias) * u;
  return sizes.spread / 2 * (score + 5 * u) * (1 + 0x1p-5) + sizes.value * ((2 * sizes.keys + 2) * u + given);
}

// A gate a (b e - 1) + 2, |e| <= 1, of two sigmoids, that somebody made in float: each of a sum whose terms were added
// up in so many steps, of magnitudes that sum to `size`. A sigmoid's slope is at most 1/4, its own steps are 4
// roundings (exp 2); then four steps of numbers up to 2.
inline double float_gate_error(double additions, double size) {
  const double sigmoid = (size * additions / 4 + 4) * kFloatRounding;
  return 2 * sigmoid + 4 * 2 * kFloatRounding;
}

// ---- Attention against the same in other words ----

// The product of two rows of sines of `pairs` pairs at places up to `place`: each angle rounded in two steps of up to
// `place`, the slower ones less, each pair's product sqrt 2 for it, 4 values within 1 ulp and 3 roundings; and the sums
// of both ways.
inline double sinusoid_product_bound(double pairs, double place) {
  double angles = 0.0;
  for (double p = 0; p < pairs; ++p) angles += std::pow(10000.0, -p / pairs) * place;
  return (2 * 3 * std::sqrt(2.0) * angles + (8 + 3) * pairs + 2 * pairs * pairs) * kDoubleRounding;
}

// A weighted mean of numbers up to `largest` that were rotated by angles up to t, w = 10000^-e, two ways: as sine and
// cosine of position t, and by the reference; rotated back by such angles where `rotations` is 2. The mean is of
// `count`.
inline double rotated_mean_bound(double largest, double t, double w, double rotations, double count) {
  const double angles = std::sqrt(2.0) * largest * (sinusoid_error(t, w, kDoubleRounding) + kReferenceAngle);
  return rotations * std::sqrt(2.0) * (angles + 2 * rotation_bound(largest)) +
         same_score(std::sqrt(2.0) * largest, count + 1);
}

// The product of row t of a table of sines with other numbers, made two ways: by rungs of the ladder 10000^(-p/rungs),
// each with the magnitudes that its sine and its cosine meet, added up. `largest`: at most the sum of all magnitudes
// that are added up on the way.
inline double sines_score_bound(std::span<const double> gains, double t, double largest, double roundings) {
  double out = same_score(largest, roundings);
  for (std::size_t p = 0; p < gains.size(); ++p) {
    const double w = std::pow(1e4, -static_cast<double>(p) / static_cast<double>(gains.size()));
    out += 2 * gains[p] * sinusoid_error(std::abs(t), w, kDoubleRounding);
  }
  return out;
}

// ---- Linear attention ----

// Two ways to sum the same n d products of a query, a key and a value. Each way, a product carries 3 roundings of its
// own, 1 of each feature's exponential, rotation_bound(1) of q and of k and n d of the sum; the quotient 1. `products`:
// |q| times the sum of |k_j| (|v_j| + |o|), over the denominator, whose own error counts |o| times.
inline double linear_attention_bound(double products, std::int64_t n, std::int64_t d) {
  const double roundings = static_cast<double>(n * d) + 3 + 2 + 2 * 4 * std::sqrt(2.0) + 1;
  return 2 * roundings * kDoubleRounding * products;
}

// The roundings of a feature of attend_linear whose exponent is -`below`: 2 of its size, and the exponential's 3
// (exponential.h).
inline double feature_in_floats(double below) { return 2 * below + 3; }

// Additions that a sum over n keys has one after another: those of its chunk, of 48 keys at most, and of chunks; then
// those of the row's own chunk. Or, of keys that are added to a state one by one, all.
inline double linear_additions(std::int64_t n, bool one_by_one) {
  const auto keys = static_cast<double>(n);
  const double of_chunks = 2 * std::min(keys, 48.0) + keys / 48;
  return one_by_one ? std::max(of_chunks, keys) : of_chunks;
}

// attend_linear against that in double, of d channels. Features have `features` roundings; q and k are rotated in
// floats; a product goes through `additions` and the sum over the channels; the quotient is rounded once, and so is
// what it is made of. `of_total`: as `products`, of the denominator alone: where its roundings may leave less than 98
// hundredths of it, anything may come out; else they weigh 1.05 at most.
inline double linear_in_floats(double products, double of_total, double additions, std::int64_t d, double features) {
  const double sums = summed_in_floats(additions + static_cast<double>(d));
  const double roundings = 2 * features + kRotatedInFloats + sums + 2;
  if (roundings * kFloatRounding * of_total > 0.02) return std::numeric_limits<double>::infinity();
  return 1.05 * roundings * kFloatRounding * products;
}

// ---- Properties, measured (posenc/properties.h) ----

// RoFormer's bound at distance r by two ways, (2/d) sum of |S_i|, S_i a sum of i powers e^(i r theta_j). Each way:
// theta_j = base^-e has e ln(base) roundings of the exponent and 3 of the power and its reciprocal, r theta_j one more;
// cos and sin are within 1 ulp (2); the k-th partial sum, at most k long, rounds once; a length rounds thrice.
inline double roformer_bound_error(const Rope& rope, double r) {
  double powers = 0.0;
  double lengths = 0.0;
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const double e = 2.0 * static_cast<double>(p) / static_cast<double>(rope.dim);
    const double theta = std::pow(rope.base, -e);
    powers +=
        r * theta * (p == 0 ? 0.0 : e * std::log(rope.base) + 4) + 2 * std::sqrt(2.0) + static_cast<double>(p + 1);
    lengths += powers + 3 * static_cast<double>(p + 1);
  }
  return 2 * kDoubleRounding * lengths / static_cast<double>(rope.pairs());
}

// How far the mean of n numbers of variance 1 may stray, for hundreds of such means: five of its standard deviations,
// which one in two million passes. Their standard deviation strays sqrt 2 less, where their kurtosis is 3.
inline double strayed_mean(double n) { return 5 / std::sqrt(n); }
inline double strayed_spread(double n) { return strayed_mean(n) / std::sqrt(2.0); }

// The cosine between a vector of n channels and itself, after a number of size `added` was added to each channel and
// the mean taken off again: the sum rounds to u * added, its mean n times that at most; the cosine falls by half of the
// square of the angle.
inline double centred_cosine_error(double added, double n) {
  const double angle = (n + 2) * added * kDoubleRounding;
  return angle * angle / 2 + (2 * n + 4) * kDoubleRounding;
}

// What is left of columns of that length by making them orthogonal to `columns` unit vectors of `rows` numbers, each
// made orthogonal to the others twice: for each, a product of rows + 1 roundings, and one more to multiply and
// subtract.
inline double least_squares_error(double rows, double columns, double length) {
  return columns * (rows + 3) * 2 * kDoubleRounding * length;
}

// The distance between two rows of numbers up to `largest`, each rounded to `dtype` (the f64 before it is exact beside
// that): every channel of either row moves by unit_roundoff of its size.
inline double stored_distance_error(DType dtype, double channels, double largest) {
  return std::sqrt(channels) * 2 * largest * unit_roundoff(dtype);
}

// The root of a mean of that many squares of distances between rows of `channels`, of size `value`: the sum of all
// rounds once for each, those within a row too, and a root halves what there is.
inline double root_mean_square_error(double terms, double channels, double value) {
  return value * (terms + channels + 6) * kDoubleRounding;
}

// How far the length of a vector of d channels changes, over that length, when basis vectors as queries see it rotated.
// A channel is a product of d terms, of vectors rotated with rotation_bound(1) each, over the scale: d + 12 roundings
// of the whole length, on every channel; a factor up to 1.5 multiplies it.
inline double rotated_length_error(double d) { return 1.5 * std::sqrt(d) * (d + 12) * kDoubleRounding; }

// An output of attention over `keys` keys whose order changed, for values of a few: weights round as their sum and
// their products do, in either order, and each of the `keys` terms twice more.
inline double permuted_output_error(double keys) {
  constexpr double kValue = 8;  // above any of a sum of 32 products of variance 1/32, drawn some hundred times
  return 2 * kValue * (2 * keys + 4) * kDoubleRounding;
}

// Between two ways to add n values of at most `largest`, weighted by what adds up to 1: each sum is within n roundings
// of its terms, twice that where values are rotated, which mixes two. Where one way has weights and values in bfloat16,
// each of the two is off by 2^-9 of itself, and so are the weights that the sum is divided by; with the second order,
// 2^-7.
inline double reordered_mean_bound(double n, double largest, bool one_in_bfloat16) {
  return (4 * n * kFloatRounding + (one_in_bfloat16 ? 0x1p-7 : 0)) * largest;
}

}  // namespace posenc::test

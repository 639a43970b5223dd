// Properties of encodings, one vector for each place: whether places are told apart, whether one affine map leads from
// each to the next, whether neighbours are near, whether length is kept. Definitions: docs/properties.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/formatted.h"
#include "math/bfloat16.h"
#include "properties/encodings.h"
#include "properties/measures.h"
#include "properties/span.h"

namespace posenc::properties {
namespace {

double distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) squares += (a[c] - b[c]) * (a[c] - b[c]);
  return std::sqrt(squares);
}

// To what a tensor of that dtype would hold, as a double again.
double rounded(double x, Rounding rounding) {
  return rounding == Rounding::f32 ? static_cast<double>(static_cast<float>(x)) : math::rounded_to_bfloat16(x);
}

// The two places whose encodings are nearest. Every pair is asked, n^2 / 2 of 512 places; two that are equal end it.
Measured nearest_two(Rows rows, Rounding rounding) {
  for (double& x : rows.values) x = rounded(x, rounding);
  Measured out{std::numeric_limits<double>::infinity()};
  for (std::int64_t p = 0; p < rows.count(); ++p) {
    for (std::int64_t q = 0; q < p; ++q) {
      const double apart = distance(rows[p], rows[q]);
      if (apart < out.number) out = {apart, formatted("places {} and {}", q, p)};
      if (apart == 0.0) return out;
    }
  }
  return out;
}

// Root mean square of the distance between two places, each with each other.
double usual_distance(const Rows& rows) {
  double squares = 0.0;
  for (std::int64_t p = 0; p < rows.count(); ++p) {
    for (std::int64_t q = 0; q < p; ++q) squares += std::pow(distance(rows[p], rows[q]), 2);
  }
  return std::sqrt(squares / (static_cast<double>(rows.count()) * static_cast<double>(rows.count() - 1) / 2.0));
}

double length(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

}  // namespace

Measured smallest_distance(const Rows& encodings, Rounding rounding) { return nearest_two(encodings, rounding); }

// The steps p -> p + 1 of a long sequence and of one of the trained length together, so that a scheme whose step
// depends on the length has two steps from one place. What (e_p, 1) does not explain of e_(p+1) - e_p is what it does
// not explain of e_(p+1).
std::optional<Measured> affine_residual(const Specimen& specimen, const Rows& encodings) {
  Rows known{encodings.width + 1, {}};
  Rows steps{encodings.width, {}};
  const auto take = [&](const Rows& rows) {
    for (std::int64_t p = 0; p + 1 < rows.count(); ++p) {
      known.values.insert(known.values.end(), rows[p].begin(), rows[p].end());
      known.values.push_back(1.0);
      for (std::size_t c = 0; c < rows[p].size(); ++c) steps.values.push_back(rows[p + 1][c] - rows[p][c]);
    }
  };
  take(encodings);
  take(properties::encodings(specimen, kTrainedPlaces));
  const double step = length(steps.values);
  if (step == 0.0) return std::nullopt;
  return Measured{least_squares_residual(known, steps) / step};
}

// Neither this nor affine_residual applies to a scheme whose encodings are all the same: both divide by a distance.
std::optional<Measured> largest_step(const Rows& encodings) {
  const double usual = usual_distance(encodings);
  if (usual == 0.0) return std::nullopt;
  Measured out;
  for (std::int64_t p = 0; p + 1 < encodings.count(); ++p) {
    const double step = distance(encodings[p], encodings[p + 1]) / usual;
    if (step > out.number) out = {step, formatted("from place {} to {}", p, p + 1)};
  }
  return out;
}

// Score terms add numbers to scores and change no vector.
std::optional<Measured> change_of_length(const Specimen& specimen, const Rows& encodings) {
  if (!specimen.layer.score.empty()) return std::nullopt;
  const auto [before, after, width] = changed(specimen, encodings);
  const auto part = static_cast<std::size_t>(width);
  Measured out;
  for (std::size_t at = 0; at < before.values.size(); at += part) {
    const double was = length(std::span(before.values).subspan(at, part));
    const double change = std::abs(length(std::span(after.values).subspan(at, part)) / was - 1.0);
    if (change > out.number) out = {change, formatted("at place {}", static_cast<std::int64_t>(at) / before.width)};
  }
  return out;
}

// Rotations get an axis for each coordinate, rows of the input stage lie side by side in the channels (as AxialInput's
// concatenation has them), and other schemes are given what coordinates they read.
Measured smallest_distance_on_square(const Entry& entry) {
  constexpr std::int64_t kSide = 8;
  const Made made(entry, {.places = kSide * kSide, .on_square = true});
  if (!made->input) {
    Measured out = nearest_two(encodings(*made, kSide * kSide), Rounding::f32);
    return {out.number, out.number == 0.0 ? out.where + formatted(" of {} x {}", kSide, kSide) : ""};
  }
  const Size half{.places = kSide, .head_dim = Size{}.head_dim / 2};
  const Rows one_axis = encodings(*Made(entry, half), kSide);
  Rows both{2 * one_axis.width, {}};
  for (std::int64_t place = 0; place < kSide * kSide; ++place) {
    for (const std::int64_t coordinate : {place / kSide, place % kSide}) {
      both.values.insert(both.values.end(), one_axis[coordinate].begin(), one_axis[coordinate].end());
    }
  }
  return {nearest_two(both, Rounding::f32).number, "rows side by side"};
}

Measured parameters_per_place(const Entry& entry) {
  const std::int64_t few = Made(entry, {.places = kTrainedPlaces}).parameters();
  const std::int64_t many = Made(entry, {.places = 2 * kTrainedPlaces}).parameters();
  return {static_cast<double>(many - few) / static_cast<double>(kTrainedPlaces)};
}

}  // namespace posenc::properties

// Positions that depend on how far apart query and key are, for models that read beyond their trained length:
//
//   SelfExtend            arXiv 2401.01325    near exact, far floor-divided by a group
//   ReRoPE, leaky         kexue.fm/archives/9708    far clipped to the window, or growing by 1/step
//   dual chunk attention  arXiv 2402.17463    keys at j mod chunk, queries by chunk distance
//
// Declared in regions.h and posenc/scores.h; lowered by src/cpu/lower/lower_rotation.cpp.
#include "math/score/regions.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace posenc::math {
namespace {

// i mod n, from 0 up for negative i too.
double modulo(double i, double n) { return i - n * std::floor(i / n); }

}  // namespace

Standing standing(std::monostate, double i, double j) { return {i, j}; }

// arXiv 2401.01325, (3). The largest distance is (n - w)/G + w where n without it. Distances w - 1 and w can be the
// same one, since both floors lose up to G - 1.
Standing standing(const SelfExtend& regions, double i, double j) {
  const auto window = static_cast<double>(regions.window);
  const auto group = static_cast<double>(regions.group);
  if (i - j < window) return {i, j};
  return {std::floor(i / group) + window - std::floor(window / group), std::floor(j / group)};
}

// The step divides real numbers: floored positions would make neighbours one.
Standing standing(const ReRope& regions, double i, double j) {
  const auto window = static_cast<double>(regions.window);
  if (i - j < window) return {i, j};
  if (!regions.step) return {window, 0.0};
  return {i / *regions.step + window - window / *regions.step, j / *regions.step};
}

// arXiv 2402.17463, section 3. c: the trained length, s: the chunk, w = c - s.
Standing standing(const DualChunk& regions, double i, double j) {
  const auto chunk = static_cast<double>(regions.chunk);
  const auto last = static_cast<double>(regions.trained - 1);
  const double chunks_between = std::floor(i / chunk) - std::floor(j / chunk);
  const double in_chunk = modulo(i, chunk);
  const double key = modulo(j, chunk);
  if (chunks_between == 0) return {in_chunk, key};
  if (chunks_between < 0) return {i, j};  // the future
  if (chunks_between == 1 && in_chunk < static_cast<double>(regions.local)) return {chunk + in_chunk, key};
  return {last, key};
}

}  // namespace posenc::math

namespace posenc::inline v0_2 {

Standing standing(const Regions& regions, double i, double j) {
  return std::visit([&](const auto& scheme) { return math::standing(scheme, i, j); }, regions);
}

}  // namespace posenc::inline v0_2

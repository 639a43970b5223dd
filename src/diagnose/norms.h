// Norms beside the rotation: y = R (w * x / rms(x)), or w * R x / rms(x), with a weight per channel that heads share.
//
// Squares are linear in w^2, whatever the angles are. With x' = x / rms(x), of each pair and over all tokens and heads
//
//   before   y_a^2 + y_b^2 = w_a^2 x'_a^2 + w_b^2 x'_b^2
//   after    y_a^2 / w_a^2 + y_b^2 / w_b^2 = x'_a^2 + x'_b^2
//
// each two unknowns, by least squares. By the plan's angles each weight is one unknown, of x' and y rotated back, or of
// x' rotated and y; where the port has these angles, noise spoils that less. Weights times a number are the factor on
// cos and sin over it: they are taken so that it is the plan's.
// RMSNorm: arXiv 1910.07467; QK norm: arXiv 2302.05442.
#pragma once

#include <optional>
#include <string>

#include "diagnose/channel_pairs.h"
#include "diagnose/expectation.h"
#include "diagnose/measured_table.h"

namespace posenc::inline v0_2::port {

struct FoundNorm {
  std::string words;  // "RMS norm before the rotation, with weights"
  PairSearch search;  // of the samples without the norm
  Samples samples;    // with the norm taken out
};

// `without`: what was found where no norm is assumed. A norm has to leave a quarter of that at most.
std::optional<FoundNorm> found_norm(const Samples& samples, const Expectation& expected, const PairSearch& without);

// Whether a norm without weights would leave no more than noise beside what was found, `without`: what looks like a
// factor may be one then.
bool norm_competes(const Samples& samples, const Rope* expected, const PairSearch& without);

}  // namespace posenc::inline v0_2::port

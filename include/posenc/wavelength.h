// What a rotation's wavelengths say about length.
//
//   wavelength[p] = 2 pi / |inv_freq[p]|     positions per turn; infinite for a pair that does not rotate
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "posenc/export.h"
#include "posenc/rope.h"
#include "posenc/rotary_table.h"

namespace posenc::inline v0_2 {

struct Wavelengths {
  std::vector<double> wavelength;     // [dim/2]
  std::int64_t incomplete_pairs = 0;  // pairs whose wavelength exceeds the trained length: they never complete a turn
  std::int64_t critical_dim = 0;      // 2 * the number of pairs that do (arXiv 2310.05209)
};

// `length`: of the sequence, in tokens, for rules that depend on it; when omitted the trained one, and none where the
// rule breaks down there. Throws Error when check(rope) finds a problem or trained_length < 1.
POSENC_API Wavelengths wavelengths(const Rope& rope, std::int64_t trained_length,
                                   std::optional<std::int64_t> length = {});

// The largest |difference| between tables in `angles` and the exact ones, over cos and sin of all pairs and the last
// `count` positions before `end`.
struct AngleError {
  double largest = 0.0;
  std::int64_t position = 0;
  std::int64_t pair = 0;
};
POSENC_API AngleError angle_error(const Rope& rope, Angles angles, std::int64_t end, std::int64_t count = 64,
                                  std::optional<std::int64_t> length = {});

}  // namespace posenc::inline v0_2

// The quotient of linear attention, o = S^T q~ / z^T q, with 0 for a query that sees no key.
#pragma once

#include <algorithm>
#include <cstdint>

namespace posenc::cpu {

// out[c] = sums[c] / total, or 0 where the total is, whatever the sums are. In double: of a small total the inverse may
// be more than a float holds.
inline void divide(const float* sums, std::int64_t count, float total, float* out) {
  if (total == 0.0F) {
    std::fill_n(out, count, 0.0F);
    return;
  }
  const double by = 1.0 / static_cast<double>(total);
  for (std::int64_t c = 0; c < count; ++c) out[c] = static_cast<float>(static_cast<double>(sums[c]) * by);
}

}  // namespace posenc::cpu

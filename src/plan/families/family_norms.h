// The norms of q and k that classes have.
#pragma once

#include "posenc/plan.h"

namespace posenc::plan {

inline constexpr QkNorm kRmsPerHead{.kind = QkNorm::Kind::rms};
inline constexpr QkNorm kRmsAcrossHeads{.kind = QkNorm::Kind::rms, .over = QkNorm::Over::all_heads};
inline constexpr QkNorm kLayerNormPerHead{.kind = QkNorm::Kind::layer};
inline constexpr QkNorm kLayerNormAcrossHeads{.kind = QkNorm::Kind::layer, .over = QkNorm::Over::all_heads};
// Llama 4 calls it an L2 norm; it divides by the root of the mean square, and has no weight.
inline constexpr QkNorm kRmsAfterRotation{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false};

}  // namespace posenc::plan

// The attention factor, from the lengths of rotated pairs: s_p of the table against what the plan multiplies by.
#pragma once

#include <optional>

#include "diagnose/words/explain.h"

namespace posenc::inline v0_2::port {

// A change where the tensors show another factor than the explanation's frequencies have, and than the plan's,
// `planned`: beyond the error of the measurement and what the dtype's rounding of cos and sin makes.
std::optional<Change> factor_change(const MeasuredTable& table, const Explanation& explanation, double planned);

}  // namespace posenc::inline v0_2::port

// What the functions of reference_research.h ask of their arguments. All throw Error.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace posenc::inline v0_2::reference {

void require_finite(std::string_view where, std::string_view field, double x);

// So many numbers, all finite.
void require_numbers(std::string_view where, std::string_view field, std::span<const double> x, std::size_t count);

// At least one channel, as many in both.
void require_heads(std::string_view where, std::span<const double> q, std::span<const double> k);

}  // namespace posenc::inline v0_2::reference

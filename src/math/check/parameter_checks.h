// The conditions that parameters of several rules must fulfil: finite, above 0, whole. Each returns the Problem, or
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/error.h"
#include "posenc/rope.h"

namespace posenc::math {

// Finite in both; an omitted value is not checked, its default being the rule's own.
std::optional<Problem> check_above_zero(std::string_view field, double value);
// Whether float holds the number: finite, and not 0 unless it is 0. Tables, scores and outputs are computed in float.
bool fits_float(double value) noexcept;
// In words, after "be" or "expected".
inline constexpr std::string_view kFitsFloat = "a number that float holds (0, or 1.4e-45 to 3.4e38 either way)";
std::optional<Problem> check_float(std::string_view field, double value);
std::optional<Problem> check_not_negative(std::string_view field, double value);
std::optional<Problem> check_not_negative(std::string_view field, const std::optional<double>& value);
std::optional<Problem> check_at_least(std::string_view field, std::int64_t value, std::int64_t least);

// Of an encoding's row: at least 1. No model comes near the most, 2^24; it keeps a wrong number from asking for
// gigabytes.
std::optional<Problem> check_channels(std::int64_t channels);

// A divisor for each pair of `rope`: dim/2 finite numbers above 0.
std::optional<Problem> check_divisors(const Rope& rope, std::string_view field, const std::vector<double>& divisors);

// For rules whose formula speaks of all dim/2 pairs at once.
std::optional<Problem> check_shared_frequencies(const Rope& rope, std::string_view rule);

}  // namespace posenc::math

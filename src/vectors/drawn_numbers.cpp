#include "vectors/drawn_numbers.h"

#include <cmath>

namespace posenc::inline v0_2::golden {
namespace {

// FNV-1a of 64 bits (Fowler, Noll and Vo): where a name's numbers start.
std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

std::vector<double> drawn(std::string_view name, std::int64_t count, const Spread& spread) {
  std::uint64_t state = seed_of(name);
  const auto choices = static_cast<std::uint64_t>(spread.high - spread.low + 1);
  std::vector<double> out(static_cast<std::size_t>(count));
  for (double& x : out) {
    // The highest bits; choices are few, so that the remainder's bias (2^-56) is nothing.
    const auto n = spread.low + static_cast<std::int64_t>((next(state) >> 1U) % choices);
    x = std::ldexp(static_cast<double>(n), -spread.bits);
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden

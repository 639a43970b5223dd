// The tables of families, one per file, and all of them.
#pragma once

#include <array>
#include <span>

#include "plan/family.h"

namespace posenc::plan {

std::span<const Family> rotary_families() noexcept;  // families_rotary.cpp
std::span<const Family> latent_families() noexcept;  // families_latent.cpp

inline std::array<std::span<const Family>, 2> family_tables() noexcept {
  return {rotary_families(), latent_families()};
}

}  // namespace posenc::plan

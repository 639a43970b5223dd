// The tables of families, one per file, and all of them.
#pragma once

#include <array>
#include <span>

#include "plan/families/family.h"

namespace posenc::plan {

std::span<const Family> rotary_families() noexcept;     // families_rotary.cpp
std::span<const Family> uniform_families() noexcept;    // families_uniform.cpp
std::span<const Family> varied_families() noexcept;     // families_varied.cpp
std::span<const Family> latent_families() noexcept;     // families_latent.cpp
std::span<const Family> encoder_families() noexcept;    // families_encoder.cpp
std::span<const Family> learned_families() noexcept;    // families_learned.cpp
std::span<const Family> sparse_families() noexcept;     // families_sparse.cpp
std::span<const Family> native_families() noexcept;     // families_native.cpp
std::span<const Family> published_families() noexcept;  // families_published.cpp
std::span<const Family> speech_families() noexcept;     // families_speech.cpp
std::span<const Family> spoken_families() noexcept;     // families_spoken.cpp
std::span<const Family> audio_families() noexcept;      // families_audio.cpp

inline std::array<std::span<const Family>, 12> family_tables() noexcept {
  return {rotary_families(),  uniform_families(), varied_families(),    latent_families(),
          encoder_families(), learned_families(), sparse_families(),    speech_families(),
          spoken_families(),  audio_families(),   published_families(), native_families()};
}

}  // namespace posenc::plan

// The tables of families, a file for each maker or lineage, and all of them.
#pragma once

#include <array>
#include <span>

#include "plan/families/family.h"

namespace posenc::plan {

// Each in the file of its name: llama.cpp.
std::span<const Family> llama_families() noexcept;
std::span<const Family> mistral_families() noexcept;
std::span<const Family> qwen_families() noexcept;
std::span<const Family> gemma_families() noexcept;
std::span<const Family> deepseek_families() noexcept;
std::span<const Family> glm_families() noexcept;
std::span<const Family> phi_families() noexcept;
std::span<const Family> olmo_families() noexcept;
std::span<const Family> granite_families() noexcept;
std::span<const Family> falcon_families() noexcept;
std::span<const Family> gpt_families() noexcept;
std::span<const Family> mpt_families() noexcept;
std::span<const Family> hybrids_families() noexcept;
std::span<const Family> decoders_families() noexcept;
std::span<const Family> bert_families() noexcept;
std::span<const Family> long_encoders_families() noexcept;
std::span<const Family> page_encoders_families() noexcept;
std::span<const Family> t5_families() noexcept;
std::span<const Family> bart_families() noexcept;
std::span<const Family> whisper_families() noexcept;
std::span<const Family> wav2vec2_families() noexcept;
std::span<const Family> seamless_families() noexcept;
std::span<const Family> speecht5_families() noexcept;
std::span<const Family> audio_decoders_families() noexcept;
std::span<const Family> audio_encoders_families() noexcept;
std::span<const Family> time_series_families() noexcept;

inline std::array<std::span<const Family>, 26> family_tables() noexcept {
  return {llama_families(),          mistral_families(),    qwen_families(),     gemma_families(),
          deepseek_families(),       glm_families(),        phi_families(),      olmo_families(),
          granite_families(),        falcon_families(),     gpt_families(),      mpt_families(),
          hybrids_families(),        decoders_families(),   bert_families(),     long_encoders_families(),
          page_encoders_families(),  t5_families(),         bart_families(),     whisper_families(),
          wav2vec2_families(),       seamless_families(),   speecht5_families(), audio_decoders_families(),
          audio_encoders_families(), time_series_families()};
}

}  // namespace posenc::plan

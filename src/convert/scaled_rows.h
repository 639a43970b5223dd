// The tensors beside a projection's weight: which have a number for each row, which none, and which formats pack rows
// so that they cannot be moved whole.
#pragma once

#include <cstdint>
#include <string_view>

#include "convert/head_rows.h"

namespace posenc::conversion {

enum class EndingUse : std::uint8_t {
  rows,    // one row a channel: weight, bias, LoRA's B, DoRA's magnitudes
  scales,  // one a channel, or one for a block of channels, or one for all
  stays,   // LoRA's A
  packed,  // `reason` says why its rows cannot be moved
  unknown,
};

struct EndingMeaning {
  EndingUse use = EndingUse::unknown;
  bool multiplies = false;
  std::string_view reason{};
};

EndingMeaning meaning_of(std::string_view ending);

// Scales of blocks of rows: how many rows a block has, of so many rows with so many scales; 0 where no block fits.
std::int64_t rows_of_block(std::int64_t rows, std::int64_t scales) noexcept;
// Whether rows change places within blocks only.
bool stays_in_blocks(const HeadRows& heads, std::int64_t block) noexcept;

}  // namespace posenc::conversion

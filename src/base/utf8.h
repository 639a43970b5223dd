// UTF-8, one code point at a time (Unicode 15, table 3-7), for readers and writers of text that may be hostile: names
// of tensors and keys in model files go into messages and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace posenc::inline v0_2 {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // bytes it takes; 0 when the text does not begin with a well-formed sequence, or is empty
};
CodePoint first_code_point(std::string_view text) noexcept;

// C0, DEL, C1, and the characters that reorder or hide what a terminal shows (U+202E and its kin).
bool steers_a_terminal(std::uint32_t code_point) noexcept;

}  // namespace posenc::inline v0_2

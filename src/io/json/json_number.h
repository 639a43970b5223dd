// The text of a JSON number (RFC 8259, section 6): where it ends, and what it is worth, exactly. RapidJSON is not
// asked: json_stream.h says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace posenc::io {

// A number at the head of a text: RFC 8259's grammar, and NaN, Infinity and -Infinity.
struct NumberScan {
  std::size_t length = 0;     // bytes of the number; where it is broken, bytes up to the place
  std::string_view expected;  // empty: a number. Else what should stand at that place
};
// JsonStream asks it at every place where a value begins like a number.
NumberScan scan_number(std::string_view text) noexcept;

// The functions below take what scan_number accepts.

// The nearest double; beyond the range an infinity, below it a zero.
double to_double(std::string_view number) noexcept;

// The integer that the text means, by decimal arithmetic: 4096.0 and 1e3 are integers, 9007199254740993 is itself.
enum class WholeState : std::uint8_t { whole, fraction, too_large, not_a_number };
struct Whole {
  WholeState state = WholeState::not_a_number;
  std::int64_t value = 0;
};
Whole to_whole(std::string_view number) noexcept;

}  // namespace posenc::io

// A scheme as one word of the command line: its name and, after commas, its numbers under the names that schemes.h has
// for them. "alibi,heads=8", "sinusoidal,convention=marian", "binary". What is left out has the scheme's default.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "line/command_spec.h"

namespace posenc::tool {

// The flag and its value: "--scheme", "alibi,heads=8".
struct SchemeText {
  std::string flag;
  std::string text;
};

struct SchemeWord {
  std::string name;
  Given numbers;
};

// Throws UsageError for text of another form, and for a number that stands twice.
SchemeWord split_scheme(const std::string& text);

// What `read` makes of the word; its UsageError with the flag before it.
template <typename Read>
auto read_scheme(const SchemeText& scheme, Read read) {
  try {
    return read(split_scheme(scheme.text));
  } catch (const UsageError& error) {
    throw UsageError{scheme.flag + ": " + error.message};
  }
}

// Throws UsageError for a number that the scheme does not have, naming the nearest.
void check_numbers(const SchemeWord& word, std::initializer_list<std::string_view> known);
// Throws UsageError: there is no scheme of that name.
[[noreturn]] void unknown_scheme(const SchemeWord& word, const std::vector<std::string>& known);

}  // namespace posenc::tool

// Which names and numbers there are is known to those who read the word: input_word.cpp, term_word.cpp,
// rope_choice.cpp, attended_words.cpp and figures/distance_figure.cpp.
#include "plot/scheme_word.h"

#include <algorithm>

#include "line/formatted.h"
#include "line/nearest.h"
#include "line/text.h"

namespace posenc::tool {

SchemeWord split_scheme(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  SchemeWord word{.name = parts.front(), .numbers = {}};
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
    // A number without = is empty: it is on by being named (Numbers::yes).
    const std::size_t sign = part->find('=');
    const std::string key = part->substr(0, sign);
    const std::string value = sign == std::string::npos ? "" : part->substr(sign + 1);
    if (key.empty()) {
      throw UsageError{
          formatted("expected a scheme's name and its numbers, as alibi,heads=8, got '{}'", printable(text))};
    }
    if (!word.numbers.texts.emplace(key, value).second) {
      throw UsageError{formatted("{} stands twice in '{}'", printable(key), printable(text))};
    }
  }
  return word;
}

// Where several are unknown, the message is about the first in alphabetical order.
void check_numbers(const SchemeWord& word, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : word.numbers.texts) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    const std::vector<std::string> near = nearest(key, names);
    throw UsageError{formatted("{} has no '{}'{}", word.name, printable(key),
                               !near.empty()   ? formatted("; did you mean {}?", join(near, " or "))
                               : names.empty() ? ""
                                               : "; it has " + join(names, ", "))};
  }
}

void unknown_scheme(const SchemeWord& word, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest(word.name, known);
  throw UsageError{formatted("expected one of {}, got '{}'{}", join(known, ", "), printable(word.name),
                             near.empty() ? "" : formatted("; did you mean {}?", join(near, " or ")))};
}

}  // namespace posenc::tool

// From the text of an option to a number or a choice. A text that is none throws UsageError (exit code 2) with the
// option, what was expected and what came.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/nearest.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// from_chars knows no locale, no leading space and no plus sign, and has to take the whole text. The reason in brackets
// tells 1e5 and 128k from a number that is merely too large.
std::int64_t whole_number(std::string_view flag, const std::string& text, std::int64_t smallest, std::int64_t largest) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  std::string_view reason;
  if (text.empty()) {
    reason = "empty";
  } else if (error == std::errc::result_out_of_range) {
    reason = "beyond 64 bits";
  } else if (error != std::errc{} || stopped != end) {
    reason = "digits only: no exponent, point, sign, space or unit";
  } else if (value < smallest) {
    reason = "too small";
  } else if (value > largest) {
    reason = "too large";
  } else {
    return value;
  }
  throw UsageError{formatted("{}: expected a whole number from {} to {}, got '{}' ({})", flag, smallest, largest,
                             printable(text), reason)};
}

// A decimal number, with or without an exponent. from_chars takes "inf" and "nan" too, so finiteness is asked for.
double number_from_zero(std::string_view flag, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stopped == end && std::isfinite(value) && value >= 0) return value;
  throw UsageError{
      formatted("{}: expected a finite number of at least 0, such as 0.001, got '{}'", flag, printable(text))};
}

}  // namespace

std::optional<std::string> Given::text(std::string_view name) const {
  const auto found = texts.find(name);
  return found == texts.end() ? std::nullopt : std::optional(found->second);
}

std::string Given::text_or(std::string_view name, std::string_view otherwise) const {
  return text(name).value_or(std::string(otherwise));
}

std::vector<std::string> Given::list(std::string_view name) const {
  const auto found = lists.find(name);
  return found == lists.end() ? std::vector<std::string>{} : found->second;
}

std::optional<std::int64_t> Given::whole(std::string_view name, std::int64_t smallest, std::int64_t largest) const {
  const std::optional<std::string> given = text(name);
  if (!given) return {};
  return whole_number(name, *given, smallest, largest);
}

std::optional<double> Given::from_zero(std::string_view name) const {
  const std::optional<std::string> given = text(name);
  if (!given) return {};
  return number_from_zero(name, *given);
}

// The whole name, no abbreviation. Where the text is near one of the names, that one is proposed.
std::optional<std::size_t> Given::choice(std::string_view name, const std::vector<std::string>& choices) const {
  const std::optional<std::string> given = text(name);
  if (!given) return {};
  const auto found = std::find(choices.begin(), choices.end(), *given);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  const std::vector<std::string> near = nearest(*given, choices);
  throw UsageError{formatted("{}: expected one of {}, got '{}'{}", name, join(choices, ", "), printable(*given),
                             near.empty() ? "" : formatted("; did you mean {}?", near.front()))};
}

}  // namespace posenc::tool

// [WHICH:]WORD=VALUE[,WORD=VALUE...], and the values: numbers, lists in brackets, names.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/escape.h"
#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/keys/nearest_names.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

constexpr std::size_t kLongestSetting = std::size_t{1} << 18;  // two lists of 4096 divisors, written in full
constexpr std::size_t kLongestShown = 60;

// Cut in the middle of nothing: whole bytes of the head, and an ellipsis.
std::string shortened(std::string_view text) {
  const std::string safe = escape(text.substr(0, 4 * kLongestShown));
  return safe.size() <= kLongestShown ? safe : safe.substr(0, kLongestShown) + "...";
}

[[noreturn]] void refuse_text(std::string_view text, std::string must, std::string is) {
  throw Error("override_plan", {formatted("setting '{}'", shortened(text)), std::move(must), std::move(is)});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> block_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stopped != text.data() + text.size() || value < 0) return {};
  return value;
}

// "0-5,7"
std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> block_ranges(std::string_view text) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto first = block_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : block_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    ranges.emplace_back(*first, *last);
    if (comma == std::string_view::npos) return ranges;
    text.remove_prefix(comma + 1);
  }
}

bool set_layers(std::string_view text, Which& which) {
  constexpr std::pair<std::string_view, LayerChoice> kNamed[] = {{"all", LayerChoice::all},
                                                                 {"full", LayerChoice::full},
                                                                 {"sliding", LayerChoice::sliding},
                                                                 {"cross", LayerChoice::cross}};
  for (const auto& [name, layers] : kNamed) {
    if (text != name) continue;
    which.layers = layers;
    return true;
  }
  if (auto ranges = block_ranges(text)) {
    which.layers = LayerChoice::numbers;
    which.ranges = *std::move(ranges);
    return true;
  }
  return false;
}

// "vision", "full", "0-5,7", "vision/0-5". What is no choice of layers is the name of a stack.
Which parse_which(std::string_view text, std::string_view whole) {
  Which which{.stack = {}, .text = std::string(text)};
  if (text.empty()) refuse_text(whole, "name layers or a stack before its colon", "nothing before it");
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    if (!set_layers(text, which)) which.stack = text;
    return which;
  }
  which.stack = text.substr(0, slash);
  if (which.stack.empty() || !set_layers(text.substr(slash + 1), which)) {
    refuse_text(whole,
                "have STACK/LAYERS before its colon, where LAYERS is all, full, sliding, cross or numbers (0-5,7)",
                shortened(text));
  }
  return which;
}

// Up to the next comma that is not within brackets.
std::string_view take_part(std::string_view& rest) {
  std::size_t depth = 0;
  std::size_t end = 0;
  for (; end < rest.size(); ++end) {
    if (rest[end] == '[') ++depth;
    if (rest[end] == ']' && depth > 0) --depth;
    if (rest[end] == ',' && depth == 0) break;
  }
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || stopped != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

}  // namespace

std::string Assignment::shown() const { return shortened(formatted("{}={}", word, value)); }

std::string Assignment::shown_with_layers() const {
  return which.empty() ? shown() : formatted("{}:{}", shortened(which), shown());
}

Override parse_override(const std::string& text) {
  constexpr std::string_view kGrammar = "be WORD=VALUE, such as base=1e6 or full:window=none";
  if (text.size() > kLongestSetting) {
    refuse_text(text, formatted("have at most {} bytes", kLongestSetting), formatted("{} bytes", text.size()));
  }
  // A quarter of the bytes in a text may be what nobody can see.
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; })) {
    refuse_text(text, "have no control characters", "a text with one");
  }
  std::string_view rest = trimmed(text);
  Override setting;
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos && colon < rest.find('=')) {
    setting.which = parse_which(trimmed(rest.substr(0, colon)), text);
    rest.remove_prefix(colon + 1);
  }
  if (trimmed(rest).empty()) refuse_text(text, std::string(kGrammar), "without a word");
  const bool ends_in_comma = trimmed(rest).ends_with(',');
  while (!rest.empty()) {
    const std::string_view part = trimmed(take_part(rest));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      refuse_text(text, std::string(kGrammar), part.empty() ? "an empty part" : shortened(part));
    }
    const std::string_view word = trimmed(part.substr(0, equals));
    const std::string_view value = trimmed(part.substr(equals + 1));
    if (word.empty()) refuse_text(text, std::string(kGrammar), "without a word before =");
    if (value.empty()) refuse_text(text, formatted("have a value after {}=", shortened(word)), "without one");
    setting.assignments.push_back({std::string(word), std::string(value), setting.which.text});
  }
  if (ends_in_comma) refuse_text(text, std::string(kGrammar), "with nothing behind its last comma");
  return setting;
}

void refuse(const Assignment& assignment, std::string must, std::string is) {
  throw Error("override_plan", {formatted("'{}'", assignment.shown()), std::move(must), std::move(is)});
}

void refuse_value(const Assignment& assignment, std::string must) {
  refuse(assignment, std::move(must), shortened(assignment.value));
}

bool is_none(const Assignment& assignment) {
  return assignment.value == "none" || assignment.value == "off" || assignment.value == "null";
}

double finite_number(const Assignment& assignment) {
  const auto value = as_number(assignment.value);
  if (!value) refuse_value(assignment, "have a finite number, such as 1e6,");
  return *value;
}

// 1e6 is as whole as 1000000.
std::int64_t whole_number(const Assignment& assignment, std::int64_t smallest, std::int64_t largest) {
  const std::string_view text = assignment.value;
  std::int64_t whole = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  const bool is_whole = error == std::errc{} && stopped == text.data() + text.size();
  const auto value = is_whole ? std::optional<double>() : as_number(text);
  constexpr auto kExact = static_cast<double>(kMaxPosition);
  const bool fits = value && std::trunc(*value) == *value && std::abs(*value) <= kExact;
  if (fits) whole = static_cast<std::int64_t>(*value);
  if ((!is_whole && !fits) || whole < smallest || whole > largest) {
    refuse_value(assignment, formatted("have a whole number from {} to {}", smallest, largest));
  }
  return whole;
}

bool truth(const Assignment& assignment) {
  const std::string_view value = assignment.value;
  if (value == "yes" || value == "true" || value == "1" || value == "on") return true;
  if (value == "no" || value == "false" || value == "0" || value == "off") return false;
  refuse_value(assignment, "be yes or no");
}

std::vector<double> number_list(const Assignment& assignment) {
  std::string_view rest = assignment.value;
  if (!rest.starts_with('[') || !rest.ends_with(']')) {
    refuse_value(assignment, "have a list of numbers in brackets, such as [1,1.5,2],");
  }
  rest = rest.substr(1, rest.size() - 2);
  std::vector<double> numbers;
  while (!trimmed(rest).empty()) {
    const std::string_view part = trimmed(take_part(rest));
    const auto value = as_number(part);
    if (!value) {
      refuse(assignment, "have finite numbers in its brackets", formatted("one with '{}'", shortened(part)));
    }
    numbers.push_back(*value);
  }
  return numbers;
}

std::size_t choice(const Assignment& assignment, std::span<const std::string_view> choices) {
  const auto found = std::ranges::find(choices, assignment.value);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  refuse(assignment, formatted("have one of {}", joined(choices, ", ")),
         shortened(assignment.value) + did_you_mean(assignment.value, choices));
}

std::string did_you_mean(std::string_view given, std::span<const std::string_view> names) {
  const std::vector<std::string_view> near = nearest_names(given, names, 1);
  if (near.empty()) return {};
  const bool is_near = edits(given, near.front()) <= std::max<std::size_t>(2, near.front().size() / 3);
  return is_near ? formatted("; did you mean {}?", near.front()) : std::string();
}

}  // namespace posenc::plan

// What a rotation's wavelengths and its rounded tables do at the model's lengths.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "inspect/plan_sections.h"
#include "inspect/rope_lengths.h"
#include "line/formatted.h"
#include "line/text.h"
#include "posenc/wavelength.h"

namespace posenc::tool {
namespace {

// A mark for each pair of a head of 128 channels; with kTextAt columns before them they fit the page.
constexpr std::size_t kMostMarks = 64;
constexpr std::int64_t kJudgedPositions = 64;  // tables are judged on that many positions before the end

// The length at which tables are judged: the one asked for, else that which the rotation serves.
std::optional<std::int64_t> longest(const Plan& plan, const Rope& rope) {
  return plan.length ? plan.length : served_length(rope, plan.trained_length);
}

// Whether positions in a sequence rotate it, and not coordinates in a picture.
bool is_rotated_by_time(const Rope& rope) {
  const auto& names = rope.axes.names;
  return std::find(names.begin(), names.end(), "t") != names.end();
}

// One mark a pair, or a few pairs: # all complete a period, 0 none rotates, . else.
std::string marks(const std::vector<double>& wavelength, double length) {
  const std::size_t each = (wavelength.size() + kMostMarks - 1) / kMostMarks;
  std::string out;
  for (std::size_t p = 0; p < wavelength.size(); p += each) {
    const auto first = wavelength.begin() + static_cast<std::ptrdiff_t>(p);
    const auto last = wavelength.begin() + static_cast<std::ptrdiff_t>(std::min(p + each, wavelength.size()));
    const bool complete = std::all_of(first, last, [&](double w) { return w <= length; });
    const bool still = std::all_of(first, last, [](double w) { return std::isinf(w); });
    out += complete ? '#' : still ? '0' : '.';
  }
  return out;
}

// "wavelengths 6.283 to 2.06e+07", in positions per turn; pairs that do not rotate are counted besides.
std::string range_text(const std::vector<double>& wavelength) {
  std::vector<double> finite;
  std::copy_if(wavelength.begin(), wavelength.end(), std::back_inserter(finite),
               [](double w) { return !std::isinf(w); });
  if (finite.empty()) return "no pair rotates";
  const auto [shortest, last] = std::minmax_element(finite.begin(), finite.end());
  const auto still = std::ssize(wavelength) - std::ssize(finite);
  const std::string rest = still == 0 ? "" : formatted("; {} not rotate (0)", count(still, "pair does", "pairs do"));
  return formatted("wavelengths {} to {}{}", number(*shortest, 4), number(*last, 4), rest);
}

// "29 of 64 pairs (.) do not complete a period within 8192 tokens; critical dimension 70; wavelengths ..."
std::string turns_text(const Wavelengths& w, std::int64_t length) {
  const auto pairs = std::ssize(w.wavelength);
  const std::string turns =
      w.incomplete_pairs == 0
          ? formatted("all {} complete a period within {}", count(pairs, "pair"), count(length, "token"))
          : formatted("{} of {} (.) do not complete a period within {}", w.incomplete_pairs, count(pairs, "pair"),
                      count(length, "token"));
  return formatted("{}; critical dimension {}; {}", turns, w.critical_dim, range_text(w.wavelength));
}

// What keeps models from computing these frequencies as they do; nothing where they can.
std::optional<std::string> lost_in_float32(const Rope& rope, std::optional<std::int64_t> length) {
  try {
    (void)frequencies(rope, length, Arithmetic::float32);
  } catch (const Error& error) {
    return formatted("{} is {}", error.problem().field, error.problem().is);
  }
  return {};
}

}  // namespace

// Of each rotation by time the marks, and below them what they count; of one in a picture its wavelengths alone.
void add_turns(Page& page, const Plan& plan, const std::vector<RopeOf>& ropes) {
  std::string_view name = "periods";
  for (const auto& [rope, who] : ropes) {
    // 1 where no length is known: then only the wavelengths are printed.
    const std::int64_t length = served_length(*rope, plan.trained_length).value_or(plan.length.value_or(1));
    const std::optional<std::int64_t> shown = shown_length(*rope, plan.length, plan.trained_length);
    const Wavelengths w = wavelengths(*rope, length, shown);
    const std::string holds = length_text(*rope, shown);
    if (!is_rotated_by_time(*rope)) {
      add_statement(page, name, who, range_text(w.wavelength) + " steps of the grid");
    } else if (!longest(plan, *rope)) {
      add_statement(page, name, who, range_text(w.wavelength) + " tokens" + (holds.empty() ? "" : "; " + holds));
    } else {
      add_statement(page, name, who, marks(w.wavelength, static_cast<double>(length)));
      add_statement(page, "", who.empty() ? "" : " ", turns_text(w, length) + (holds.empty() ? "" : "; " + holds));
    }
    name = "";
  }
}

void add_table_errors(Page& page, const Plan& plan, const std::vector<RopeOf>& ropes) {
  std::string_view name = "tables";
  for (const auto& [rope, who] : ropes) {
    const std::optional<std::int64_t> end = longest(plan, *rope);
    if (!end || !is_rotated_by_time(*rope)) continue;
    const std::optional<std::int64_t> shown = shown_length(*rope, plan.length, plan.trained_length);
    const std::int64_t judged = std::min(kJudgedPositions, *end);
    if (const auto lost = lost_in_float32(*rope, shown)) {
      add_statement(page, name, who, formatted("none in float32 or bfloat16: {}", *lost));
      name = "";
      continue;
    }
    // Absolute: cos and sin lie in [-a, a], a the attention factor.
    const auto largest = [&, &rotated = *rope](Angles angles) {
      return number(angle_error(rotated, angles, *end, judged, shown).largest, 2);
    };
    add_statement(page, name, who,
                  formatted("cos/sin off by up to {} in float32 and {} in bfloat16, in the last {} before {}",
                            largest(Angles::float32), largest(Angles::bfloat16), count(judged, "position"), *end));
    name = "";
  }
}

}  // namespace posenc::tool

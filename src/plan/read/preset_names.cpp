// Names are compared by their parts, runs of letters and of digits: "llama3.1-8b" is llama 3 1 8 b, as "llama-3.1-8b"
// is.
#include "plan/read/preset_names.h"

#include <algorithm>
#include <cstddef>

#include "base/formatted.h"
#include "plan/keys/nearest_names.h"
#include "posenc/read_plan.h"

namespace posenc::plan {
namespace {

constexpr std::size_t kLongestName = 64;  // presets' are shorter
constexpr std::size_t kMostMeant = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  char before = '\0';
  for (const char c : name) {
    if (!is_digit(c) && !is_letter(c)) {
      before = '\0';
      continue;
    }
    if (before == '\0' || is_digit(before) != is_digit(c)) parts.emplace_back();
    parts.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return parts;
}

// A word of four letters may have one typing error, of six two: in shorter ones (v, r, moe) a letter is the meaning.
// Digits must be equal.
bool is_misspelled(std::string_view given, std::string_view known) {
  if (given == known) return true;
  if (is_digit(given.front()) || is_digit(known.front()) || known.size() < 4) return false;
  return edits(given, known) <= (known.size() < 6 ? 1U : 2U);
}

// The last part may be missing where it is one letter: the b of 8b.
bool is_meant(const std::vector<std::string>& given, const std::vector<std::string>& known) {
  const bool cut = given.size() + 1 == known.size() && known.back().size() == 1 && !is_digit(known.back().front());
  if (given.empty() || (given.size() != known.size() && !cut)) return false;
  return std::equal(given.begin(), given.end(), known.begin(),
                    [](const std::string& a, const std::string& b) { return is_misspelled(a, b); });
}

std::string listed(const std::vector<std::string_view>& names, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += i == 0 ? std::string_view() : i + 1 == names.size() ? last : std::string_view(", ");
    out += names[i];
  }
  return out;
}

}  // namespace

NearPresets near_presets(std::string_view name) {
  NearPresets out;
  if (name.size() > kLongestName) return out;
  const std::vector<std::string> given = parts_of(name);
  for (const Preset& preset : presets()) {
    if (out.meant.size() < kMostMeant && is_meant(given, parts_of(preset.name))) out.meant.push_back(preset.name);
  }
  // The family is what presets' names start with; a name may have its owner before it.
  for (const std::string& part : given) {
    if (!out.of_family.empty()) break;
    for (const Preset& preset : presets()) {
      const std::string_view family = preset.name.substr(0, parts_of(preset.name).front().size());
      if (!is_misspelled(part, family) || (!out.family.empty() && family != out.family)) continue;
      out.family = family;
      out.of_family.push_back(preset.name);
    }
  }
  return out;
}

std::string preset_hint(std::string_view name) {
  const NearPresets near = near_presets(name);
  if (!near.meant.empty()) return formatted("did you mean the preset {}?", listed(near.meant, " or "));
  if (near.of_family.empty()) return {};
  return formatted("presets of the {} family: {}", near.family, listed(near.of_family, ", "));
}

}  // namespace posenc::plan

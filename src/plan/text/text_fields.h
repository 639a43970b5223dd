// A visitor of plan_json_fields.h that makes "factor 40, truncate yes" of a scheme's numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "plan/json/fields.h"
#include "plan/json/optional_fields.h"
#include "plan/json/plan_names.h"

namespace posenc::plan {

class TextFields : public OptionalFields<TextFields> {
 public:
  template <typename T>
  void field(std::string_view key, const T& what, Range = {}) {
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      if (what.empty()) return;
    }
    if (!out_.empty()) out_ += ", ";
    out_.append(key).append(" ").append(text(what));
  }
  template <typename T>
  void nullable(std::string_view key, const std::optional<T>& what, Range = {}) {
    if (what) field(key, *what);
  }
  void text(std::string_view key, const std::string& what) {
    if (!what.empty()) field(key, what);
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string text(const std::string& what) { return what; }
  static std::string text(const Distances& what) { return formatted("{} to {}", what.low, what.high); }
  static std::string text(bool what) { return what ? "yes" : "no"; }
  static std::string text(std::int64_t what) { return formatted("{}", what); }
  static std::string text(double what) { return formatted("{}", what); }
  template <typename E>
  requires std::is_enum_v<E>
  static std::string text(E what) { return std::string(enum_name(what)); }
  template <typename T>
  static std::string text(const std::vector<T>& what) {
    if (what.empty()) return "of 0 numbers";
    const auto [low, high] = std::minmax_element(what.begin(), what.end());
    return formatted("of {} numbers {} to {}", what.size(), *low, *high);
  }
  static std::string text(const std::vector<std::int64_t>& what) { return joined(what, " x "); }

  std::string out_;
};

// "yarn, factor 40, truncate yes", or "none".
template <typename... T>
std::string kind_and_fields(const std::variant<T...>& scheme) {
  return std::visit(
      [&](const auto& alternative) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(alternative)>, std::monostate>) {
          return "none";
        } else {
          TextFields visitor;
          fields(visitor, alternative);
          const std::string numbers = visitor.take();
          return formatted("{}{}{}", kind_name(scheme), numbers.empty() ? "" : ", ", numbers);
        }
      },
      scheme);
}

}  // namespace posenc::plan

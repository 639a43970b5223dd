// What the visitors of plan_json_fields.h that show a plan have in common: which fields they are not shown.
#pragma once

#include <optional>
#include <string_view>

#include "plan/json/fields.h"

namespace posenc::plan {

// `Visitor` has field(key, what).
template <typename Visitor>
class OptionalFields {
 public:
  template <typename T>
  void given(std::string_view key, const std::optional<T>& what, Range = {}) {
    if (what) static_cast<Visitor&>(*this).field(key, *what);
  }
  template <typename T>
  void unless(std::string_view key, const T& what, const T& usual) {
    if (what != usual) static_cast<Visitor&>(*this).field(key, what);
  }
};

}  // namespace posenc::plan

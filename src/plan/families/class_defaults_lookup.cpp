#include <algorithm>

#include "plan/families/class_defaults.h"

namespace posenc::plan {

const ClassDefault* find_class_default(std::string_view model_type, std::string_view key) noexcept {
  const std::span<const ClassDefault> rows = class_defaults();
  const auto found = std::partition_point(rows.begin(), rows.end(),
                                          [&](const ClassDefault& row) { return comes_before(row, model_type, key); });
  if (found == rows.end() || found->model_type != model_type || found->key != key) return nullptr;
  return &*found;
}

}  // namespace posenc::plan

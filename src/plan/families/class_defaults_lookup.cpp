// A class's default for a key: the row by binary search for the model type, then the key in its "key=JSON; ..." text.
#include <algorithm>

#include "plan/families/class_defaults.h"

namespace posenc::plan {

std::optional<ClassDefault> find_class_default(std::string_view model_type, std::string_view key) noexcept {
  constexpr std::string_view kBetween = "; ";
  const std::span<const ClassDefaults> rows = class_defaults();
  const auto row = std::ranges::lower_bound(rows, model_type, {}, &ClassDefaults::model_type);
  if (row == rows.end() || row->model_type != model_type) return {};
  for (std::string_view rest = row->values; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(kBetween));
    rest.remove_prefix(std::min(rest.size(), entry.size() + kBetween.size()));
    if (entry.starts_with(key) && entry.substr(key.size()).starts_with('=')) {
      return ClassDefault{row->class_name, entry.substr(key.size() + 1)};
    }
  }
  return {};
}

}  // namespace posenc::plan

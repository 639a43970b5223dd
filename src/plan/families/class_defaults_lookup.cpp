// What a class's row says of a key: the row by binary search for the model type, then the key in its "key=JSON; ..."
// text, among its other names, or its aliases.
#include <algorithm>

#include "plan/families/class_defaults.h"

namespace posenc::plan {

namespace {

// The JSON of a key in a row's values; null where it is not there.
std::optional<std::string_view> value_of(const ClassDefaults& row, std::string_view key) noexcept {
  constexpr std::string_view kBetween = "; ";
  for (std::string_view rest = row.values; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(kBetween));
    rest.remove_prefix(std::min(rest.size(), entry.size() + kBetween.size()));
    if (entry.starts_with(key) && entry.substr(key.size()).starts_with('=')) return entry.substr(key.size() + 1);
  }
  return {};
}

}  // namespace

const WrapperText* find_wrapper_text(std::string_view model_type) noexcept {
  const auto row = std::ranges::find(wrapper_texts(), model_type, &WrapperText::model_type);
  return row == wrapper_texts().end() ? nullptr : &*row;
}

const ClassDefaults* find_class_defaults(std::string_view model_type) noexcept {
  const std::span<const ClassDefaults> rows = class_defaults();
  const auto row = std::ranges::lower_bound(rows, model_type, {}, &ClassDefaults::model_type);
  return row == rows.end() || row->model_type != model_type ? nullptr : &*row;
}

std::optional<ClassDefault> find_class_default(std::string_view model_type, std::string_view key) noexcept {
  const ClassDefaults* row = find_class_defaults(model_type);
  const auto json = row != nullptr ? value_of(*row, key) : std::nullopt;
  if (!json) return {};
  return ClassDefault{row->class_name, *json};
}

bool class_reads(const ClassDefaults& row, std::string_view name, bool in_attn_config) noexcept {
  constexpr std::string_view kMoved[] = {"rope_theta", "partial_rotary_factor", "rope_scaling"};
  if (in_attn_config) return row.in_attn_config.contains(name);
  if (name == "per_layer_config" || row.others.contains(name)) return true;
  // A row has a base, whether its class rotates or not.
  if (std::ranges::find(kMoved, name) != std::ranges::end(kMoved)) return row.others.contains("rope_parameters");
  return value_of(row, name).has_value();
}

bool class_takes(const ClassDefaults& row, std::string_view name) noexcept {
  if (class_reads(row, name)) return true;
  return std::ranges::any_of(row.aliases,
                             [&](std::string_view entry) { return entry.substr(0, entry.find('=')) == name; });
}

void add_aliases(const ClassDefaults& row, std::string_view name, std::vector<std::string_view>& names) {
  for (std::string_view entry : row.aliases) {
    const std::size_t border = entry.find('=');
    const std::string_view alias = entry.substr(0, border);
    if (entry.substr(border + 1) == name && std::ranges::find(names, alias) == names.end()) names.push_back(alias);
  }
}

}  // namespace posenc::plan

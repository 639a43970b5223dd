#include "plan/layers/sparse_config.h"

namespace posenc::plan {

std::optional<Place> find_sparse(ConfigScope& scope, const Key& key) {
  const auto object = scope.peek(keys::kSparseAttention);
  if (!object || object->value.kind() != io::JsonKind::object) return scope.find(key);
  scope.reader().enter(object->value);
  for (std::string_view name : key.names) {
    auto place = scope.reader().look(object->value, name);
    if (!place || place->value.is_null()) continue;
    scope.reader().mark_read(*place);
    return place;
  }
  return scope.find(key);
}

Sourced<std::int64_t> required_sparse(ConfigScope& scope, const Key& key, Bounds bounds) {
  const auto place = find_sparse(scope, key);
  if (!place) return scope.required_integer(key, bounds);  // which says what is missing
  return {scope.reader().integer(*place, bounds).value_or(bounds.low), place->from};
}

}  // namespace posenc::plan

// A Key in a stack's object by all its names (some at the file's top, or in Family::nested), else the class's default.
#include "plan/scope/config_scope.h"

#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "plan/families/class_defaults.h"

namespace posenc::plan {

ConfigScope::ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family,
                         std::string_view model_type)
    : ConfigScope(reader, object, family, model_type, family.main) {}

ConfigScope::ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family,
                         std::string_view model_type, const StackRule& stack)
    : reader_(reader), object_(object), family_(family), stack_(stack), model_type_(model_type) {
  reader.enter(object);
  if (family.nested.empty()) return;
  const auto nested = reader.look(object, family.nested);
  if (!nested || nested->value.kind() != io::JsonKind::object) return;
  nested_ = nested->value;
  reader.enter(*nested_);
}

std::array<Names, 2> ConfigScope::names_of(const Key& key) const {
  const auto own = std::ranges::find(stack_.own_keys, key.name(), [](const OwnKey& row) { return row.key->name(); });
  if (own == stack_.own_keys.end()) return {key.names, Names{}};
  return {own->names, own->otherwise};
}

std::vector<Place> ConfigScope::places(const Key& key, Names listed) {
  std::vector<std::string_view> names(listed.begin(), listed.end());
  std::stable_partition(names.begin(), names.end(), [&](std::string_view name) {
    return std::ranges::find(family_.own_names, name) != family_.own_names.end();
  });
  std::vector<Place> found;
  const auto look = [&](const io::JsonValue& object, std::string_view name) {
    auto place = reader_.look(object, name);
    if (place && (!place->value.is_null() || key.null_is_a_value)) found.push_back(std::move(*place));
  };
  for (std::string_view name : names) {
    if (std::ranges::find(top_names_, name) != top_names_.end()) look(reader_.root(), name);
  }
  if (nested_) {
    for (std::string_view name : names) look(*nested_, name);
  }
  for (std::string_view name : names) look(object_, name);
  return found;
}

std::vector<Place> ConfigScope::candidates(const Key& key) {
  const auto [names, otherwise] = names_of(key);
  std::vector<Place> found = places(key, names);
  return found.empty() && !default_of(names) ? places(key, otherwise) : found;
}

std::optional<Place> ConfigScope::default_at(std::string_view json, std::string_view source, std::string from) {
  auto document = io::JsonDocument::parse(json, source);
  if (!document) {
    reader_.fail(document.error());
    return {};
  }
  defaults_.push_back(std::make_unique<io::JsonDocument>(std::move(document).value()));
  return Place{defaults_.back()->root(), std::move(from), false};
}

std::optional<Place> ConfigScope::class_default(const Key& key) {
  const auto [names, otherwise] = names_of(key);
  auto place = default_of(names);
  return place ? place : default_of(otherwise);
}

std::optional<Place> ConfigScope::default_of(Names names) {
  if (reader_.failed()) return {};
  for (std::string_view name : names) {
    if (const auto row = find_class_default(model_type_, name)) {
      return default_at(row->json, row->class_name,
                        formatted("default: {}, transformers {}", row->class_name, class_defaults_version()));
    }
    if (const PublishedDefault* row = find_published_default(model_type_, name)) {
      return default_at(row->json, row->source, formatted("default: {}", row->source));
    }
  }
  return {};
}

std::optional<Place> ConfigScope::look(std::string_view name) {
  auto place = nested_ ? reader_.look(*nested_, name) : std::nullopt;
  return place ? place : reader_.look(object_, name);
}

std::optional<Place> ConfigScope::peek(const Key& key) {
  std::vector<Place> found = candidates(key);
  if (!found.empty()) return std::move(found.front());
  return class_default(key);
}

std::optional<Place> ConfigScope::find(const Key& key) {
  const std::vector<Place> found = candidates(key);
  if (found.empty()) return class_default(key);
  for (std::size_t i = 1; i < found.size(); ++i) reader_.settle(found.front(), found[i]);
  reader_.mark_read(found.front());
  return found.front();
}

Setting<std::int64_t> ConfigScope::integer(const Key& key, Bounds bounds) {
  const auto place = find(key);
  if (!place) return {};
  if (place->value.is_null()) return {{}, place->from};
  return {reader_.integer(*place, bounds), place->from};
}

Setting<std::int64_t> ConfigScope::size(const Key& key, Bounds bounds) {
  const auto place = peek(key);
  if (place && place->value.kind() == io::JsonKind::number) {
    const auto value = place->value.as_int();
    if (value.ok() && *value == 0) {
      reader_.fail_stack(*place, ErrorKind::out_of_range,
                         formatted("an integer from {} to {}", bounds.low, bounds.high));
    }
  }
  return integer(key, bounds);
}

Setting<double> ConfigScope::number(const Key& key) {
  const auto place = find(key);
  if (!place) return {};
  if (place->value.is_null()) return {{}, place->from};
  return {reader_.number(*place), place->from};
}

Setting<bool> ConfigScope::flag(const Key& key) {
  const auto place = find(key);
  if (!place) return {};
  return {reader_.boolean(*place), place->from};
}

void ConfigScope::fail_missing(const Key& key) {
  if (reader_.failed()) return;
  FileError error = object_.error(ErrorKind::missing_key, formatted("one of {}", joined(names_of(key)[0], ", ")),
                                  formatted("a {} model needs it", family_.name));
  error.got = "none of them";
  reader_.fail_stack(std::move(error));
}

void ConfigScope::fail(const Key& key, ErrorKind kind, std::string expected, std::string detail) {
  if (const auto place = peek(key)) reader_.fail(*place, kind, std::move(expected), std::move(detail));
}

void ConfigScope::require(const Key& key) {
  if (!peek(key)) fail_missing(key);
}

Sourced<std::int64_t> ConfigScope::required_integer(const Key& key, Bounds bounds) {
  Setting<std::int64_t> setting = integer(key, bounds);
  if (!setting.value) fail_missing(key);
  return {setting.value.value_or(bounds.low), std::move(setting.from)};
}

Sourced<std::int64_t> ConfigScope::required_size(const Key& key, Bounds bounds) {
  const Setting<std::int64_t> setting = size(key, bounds);
  if (!setting.value) fail_missing(key);
  return {setting.value.value_or(bounds.low), setting.from};
}

Sourced<double> ConfigScope::required_number(const Key& key) {
  Setting<double> setting = number(key);
  if (!setting.value) fail_missing(key);
  return {setting.value.value_or(1.0), std::move(setting.from)};
}

Sourced<double> ConfigScope::required_positive(const Key& key) {
  const Sourced<double> value = required_number(key);
  if (value.value <= 0) fail(key, ErrorKind::out_of_range, "a number above 0");
  return value;
}

}  // namespace posenc::plan

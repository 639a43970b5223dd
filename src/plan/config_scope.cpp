#include "plan/config_scope.h"

#include <fmt/compile.h>

#include <algorithm>
#include <utility>

#include "plan/class_defaults.h"
#include "plan/published_defaults.h"

namespace posenc::plan {

ConfigScope::ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family,
                         std::string_view model_type)
    : reader_(reader), object_(object), family_(family), model_type_(model_type) {
  reader.enter(object);
  if (family.nested.empty()) return;
  const auto nested = reader.look(object, family.nested);
  if (!nested || nested->value.kind() != io::JsonKind::object) return;
  nested_ = nested->value;
  reader.enter(*nested_);
}

std::vector<Place> ConfigScope::candidates(const Key& key) {
  std::vector<std::string_view> names(key.names.begin(), key.names.end());
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
  if (reader_.failed()) return {};
  for (std::string_view name : key.names) {
    if (const ClassDefault* row = find_class_default(model_type_, name)) {
      return default_at(
          row->json, row->class_name,
          fmt::format(FMT_COMPILE("default: {}, transformers {}"), row->class_name, class_defaults_version()));
    }
    if (const PublishedDefault* row = find_published_default(model_type_, name)) {
      return default_at(row->json, row->source, fmt::format(FMT_COMPILE("default: {}"), row->source));
    }
  }
  return {};
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
  FileError error =
      object_.error(ErrorKind::missing_key, fmt::format(FMT_COMPILE("one of {}"), fmt::join(key.names, ", ")),
                    fmt::format(FMT_COMPILE("a {} model needs it"), family_.name));
  error.got = "none of them";
  reader_.fail(std::move(error));
}

Sourced<std::int64_t> ConfigScope::required_integer(const Key& key, Bounds bounds) {
  Setting<std::int64_t> setting = integer(key, bounds);
  if (!setting.value) fail_missing(key);
  return {setting.value.value_or(bounds.low), std::move(setting.from)};
}

Sourced<double> ConfigScope::required_number(const Key& key) {
  Setting<double> setting = number(key);
  if (!setting.value) fail_missing(key);
  return {setting.value.value_or(1.0), std::move(setting.from)};
}

}  // namespace posenc::plan

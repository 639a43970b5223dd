// A Key in a stack's object by all its names (some at the file's top, or in Family::nested), else the class's default.
#include "plan/scope/config_scope.h"

#include <algorithm>
#include <utility>

#include "base/formatted.h"

namespace posenc::plan {

namespace {

// A file whose model is code beside it (auto_map) may be read by any of a key's names.
bool brings_code(ConfigReader& reader, const io::JsonValue& object) {
  const auto place = reader.look(object, "auto_map");
  return place && place->value.kind() == io::JsonKind::object;
}

}  // namespace

ConfigScope::ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family,
                         std::string_view model_type)
    : ConfigScope(reader, object, family, model_type, family.main) {}

ConfigScope::ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family,
                         std::string_view model_type, const StackRule& stack)
    : reader_(reader),
      object_(object),
      family_(family),
      stack_(stack),
      model_type_(model_type),
      class_(find_class_defaults(model_type)) {
  reader.enter(object);
  if (brings_code(reader, reader.root()) || brings_code(reader, object)) class_ = nullptr;
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

bool ConfigScope::is_read(const io::JsonValue& object, std::string_view name) const {
  const bool is_nested = nested_ && object.offset() == nested_->offset();
  // What all classes share, and none says: whoever has a dictionary is asked for the length beside it.
  const auto has = [&](std::string_view dictionary) { return class_reads(*class_, dictionary, is_nested); };
  const bool is_shared = name == keys::kOriginalLength.name() && (has("rope_parameters") || has("rope_scaling"));
  return is_shared || class_reads(*class_, name, is_nested) || family_.own_names.contains(name) ||
         family_.names_beside_class.contains(name) || std::ranges::any_of(stack_.own_keys, [&](const OwnKey& row) {
           return row.names.contains(name) || row.otherwise.contains(name);
         });
}

bool ConfigScope::is_read(const Key& key, const io::JsonValue& object, std::string_view name) const {
  if (class_ == nullptr || is_read(object, name)) return true;
  // The trained length says what a model is for, whether a class needs it or not.
  return &key == &keys::kLength &&
         std::ranges::none_of(key.names, [&](std::string_view other) { return is_read(object, other); });
}

ConfigScope::Candidates ConfigScope::places(const Key& key, Names listed) {
  std::vector<std::string_view> names;
  for (std::string_view name : listed) {
    if (class_ != nullptr) add_aliases(*class_, name, names);
    names.push_back(name);
  }
  // transformers takes what its own names say, whatever stands under the older ones of the class.
  if (class_ == nullptr) {
    std::stable_partition(names.begin(), names.end(),
                          [&](std::string_view name) { return family_.own_names.contains(name); });
  }
  Candidates found;
  const auto look = [&](const io::JsonValue& object, std::string_view name) {
    auto place = reader_.look(object, name);
    if (!place || (place->value.is_null() && !key.null_is_a_value)) return;
    (is_read(key, object, name) ? found.read : found.passed_over).push_back(std::move(*place));
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

ConfigScope::Candidates ConfigScope::candidates(const Key& key) {
  const auto [names, otherwise] = names_of(key);
  Candidates found = places(key, names);
  return found.read.empty() && !default_of(names) && !otherwise.empty() ? places(key, otherwise) : found;
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

void ConfigScope::pass_over(const std::vector<Place>& others, const std::optional<Place>& place) {
  for (const Place& other : others) {
    const bool names_the_table = stack_.input.kind == InputKind::learned &&
                                 other.value.kind() == io::JsonKind::string && other.value.text() == "absolute";
    if (names_the_table || (place && same_value(place->value, other.value))) {
      reader_.mark_lost(other);
    } else {
      reader_.pass_over(other, class_->class_name);
    }
  }
}

std::optional<Place> ConfigScope::peek(const Key& key) {
  const auto [found, passed_over] = candidates(key);
  std::optional<Place> place = found.empty() ? class_default(key) : found.front();
  pass_over(passed_over, place);
  return place;
}

std::optional<Place> ConfigScope::find(const Key& key) {
  const auto [found, passed_over] = candidates(key);
  std::optional<Place> place = found.empty() ? class_default(key) : found.front();
  pass_over(passed_over, place);
  for (std::size_t i = 1; i < found.size(); ++i) reader_.settle(found.front(), found[i]);
  if (!found.empty()) reader_.mark_read(found.front());
  return place;
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
  if (place->value.is_null()) return {false, place->from};  // where null is a value, it is what Python makes of it
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

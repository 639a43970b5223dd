// A config's JSON, typed; records keys read (the rest: ignored_keys), absent_keys, warnings and the first error.
#include "plan/scope/config_reader.h"

#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "io/json/json_tree.h"
#include "math/check/parameter_checks.h"
#include "plan/keys/key_notes.h"

namespace posenc::plan {

using io::JsonKind;
using io::JsonValue;

namespace {

constexpr std::size_t kLongestClassName = 256;

template <typename T>
std::optional<T> value_or_error(ConfigReader& reader, Result<T> result) {
  if (result.ok()) return std::move(result).value();
  reader.fail(result.error());
  return {};
}

// A name of a class. It is kept, compared and told in many places: of one that is longer than any, its beginning.
std::string read_class_name(ConfigReader& reader, const Place& place) {
  reader.mark_read(place);
  return io::shorten(reader.string(place).value_or(std::string_view{}), kLongestClassName);
}

bool is_written_as_integer(std::string_view number) { return number.find_first_of(".eE") == std::string_view::npos; }

bool same_items(const JsonValue& a, const JsonValue& b) {
  if (a.size() != b.size()) return false;
  const std::vector<JsonValue> left = a.items();
  const std::vector<JsonValue> right = b.items();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].key() != right[i].key() || !same_value(left[i], right[i])) return false;
  }
  return true;
}

}  // namespace

bool says_nothing(const JsonValue& value) {
  switch (value.kind()) {
    case JsonKind::null: return true;
    case JsonKind::boolean: return value.as_bool().ok() && !*value.as_bool();
    case JsonKind::number: return value.as_double().ok() && *value.as_double() == 1;
    default: return false;
  }
}

bool same_value(const JsonValue& a, const JsonValue& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case JsonKind::null: return true;
    case JsonKind::boolean: return a.as_bool().value() == b.as_bool().value();
    case JsonKind::string: return a.text() == b.text();
    case JsonKind::array:
    case JsonKind::object: return same_items(a, b);
    case JsonKind::number: break;
  }
  const std::optional<double> left = a.finite();
  const std::optional<double> right = b.finite();
  return left && right ? *left == *right : a.text() == b.text();
}

std::string shown(const JsonValue& value) { return value.description(); }

ConfigReader::ConfigReader(const io::JsonDocument& document) : document_(document), root_(document.root()) {
  if (document.had_byte_order_mark()) {
    warn("byte-order-mark", "The file starts with a UTF-8 byte order mark, which JSON does not have; it is skipped.",
         {});
  }
}

std::optional<Place> ConfigReader::look(const JsonValue& object, std::string_view key) {
  if (failed()) return {};
  const auto found = value_or_error(*this, object.find(key));
  if (found && !*found && entered_.contains(object.offset())) absent_.emplace(object.offset(), key);
  if (!found || !*found) return {};
  return Place{**found, (*found)->pointer()};
}

void ConfigReader::mark_read(const Place& place) {
  if (place.in_file) read_.insert(place.value.offset());
}

void ConfigReader::enter(const JsonValue& object) {
  if (entered_.insert(object.offset()).second) entered_objects_.push_back(object);
}

std::optional<bool> ConfigReader::boolean(const Place& place) {
  if (failed()) return {};
  return value_or_error(*this, place.value.as_bool());
}

std::optional<double> ConfigReader::number(const Place& place) {
  if (failed()) return {};
  const auto value = value_or_error(*this, place.value.as_double());
  if (!value || math::fits_float(*value)) return value;
  fail(place, ErrorKind::out_of_range, std::string(math::kFitsFloat));
  return {};
}

std::optional<std::int64_t> ConfigReader::integer(const Place& place, Bounds bounds) {
  if (failed()) return {};
  const auto value = value_or_error(*this, place.value.as_int());
  if (!value) return {};
  if (*value < bounds.low || *value > bounds.high) {
    fail(place, ErrorKind::out_of_range, formatted("an integer from {} to {}", bounds.low, bounds.high));
    return {};
  }
  if (place.in_file && !is_written_as_integer(place.value.text())) {
    warn("integral-float", formatted("{} is written as {}; read as {}.", place.from, place.value.text(), *value),
         {place.from});
  }
  return value;
}

std::optional<std::string_view> ConfigReader::string(const Place& place) {
  if (failed()) return {};
  return value_or_error(*this, place.value.as_string());
}

std::optional<std::vector<JsonValue>> ConfigReader::list(const Place& place) {
  if (failed()) return {};
  if (place.value.kind() == JsonKind::array) return place.value.items();
  fail(place, ErrorKind::type, "a list");
  return {};
}

void ConfigReader::fail(FileError error) {
  if (error_) return;
  FileError here = root_.error(error.kind, error.expected, error.detail);
  if (error.file != here.file) {
    // An entry of a class default, which is a document of its own: the file is what it does not go with.
    here.got = formatted("{} in the default of {}", error.got, error.file);
    error = std::move(here);
  }
  error_ = std::move(error);
}

void ConfigReader::fail(const Place& place, ErrorKind kind, std::string expected, std::string detail) {
  // A class default is no place in the file: the file's own value that does not go with it is beside it.
  if (place.in_file) return fail(place.value.error(kind, std::move(expected), std::move(detail)));
  FileError error = root_.error(kind, std::move(expected), std::move(detail));
  error.got = formatted("{} ({})", shown(place.value), place.from);
  fail(std::move(error));
}

void ConfigReader::fail_stack(FileError error) {
  if (failed()) return;
  fail(std::move(error));
  is_of_stack_ = true;
}

void ConfigReader::fail_stack(const Place& place, ErrorKind kind, std::string expected, std::string detail) {
  if (failed()) return;
  fail(place, kind, std::move(expected), std::move(detail));
  is_of_stack_ = true;
}

std::optional<FileError> ConfigReader::forgive() {
  if (!is_of_stack_) return {};
  is_of_stack_ = false;
  return std::exchange(error_, {});
}

void ConfigReader::leave_open(std::string fact) {
  if (!failed()) undecided_.push_back(std::move(fact));
}

void ConfigReader::undecided(std::string message, std::vector<std::string> keys) {
  leave_open(message);
  warn("undecided", std::move(message), std::move(keys));
}

void ConfigReader::warn(std::string_view code, std::string message, std::vector<std::string> keys) {
  if (failed()) return;  // an error takes the place of the warnings, or what led to it was not read to its end
  warnings_.add(code, std::move(message), std::move(keys));
}

void ConfigReader::mark_lost(const Place& place) {
  if (place.in_file) lost_.insert(place.value.offset());
}

void ConfigReader::settle(const Place& winner, const Place& loser) {
  mark_lost(loser);
  if (!loser.in_file || same_value(winner.value, loser.value)) return;
  warn("precedence",
       formatted("{} is {} and {} is {}; the first wins.", winner.from, shown(winner.value), loser.from,
                 shown(loser.value)),
       {winner.from, loser.from});
}

void ConfigReader::list_unread(const JsonValue& object, const Offsets& besides,
                               std::vector<std::string>& pointers) const {
  for (const JsonValue& member : object.items()) {
    if (read_.contains(member.offset()) || besides.contains(member.offset())) continue;
    if (entered_.contains(member.offset())) {
      list_unread(member, besides, pointers);
    } else {
      pointers.push_back(member.pointer());
    }
  }
}

std::vector<std::string> ConfigReader::unknown_members(const JsonValue& object) const {
  std::vector<std::string> pointers;
  list_unread(object, lost_, pointers);
  return pointers;
}

std::vector<std::string> ConfigReader::ignored_keys() const {
  std::vector<std::string> pointers;
  list_unread(root_, {}, pointers);
  if (document_.duplicates().empty()) return pointers;
  // A key that stands twice has one pointer: keep its first place.
  std::set<std::string_view> seen;
  for (const io::JsonDuplicate& duplicate : document_.duplicates()) {
    auto first = std::ranges::find(pointers, duplicate.pointer);
    if (first == pointers.end() || !seen.insert(duplicate.pointer).second) continue;
    pointers.erase(std::remove(first + 1, pointers.end(), duplicate.pointer), pointers.end());
  }
  return pointers;
}

std::vector<std::string> ConfigReader::absent_keys() const {
  std::vector<std::string> pointers;
  for (const JsonValue& object : entered_objects_) {
    const auto is_absent = [&](std::string_view name) { return absent_.contains({object.offset(), name}); };
    const auto is_there = [&](std::string_view name) {
      const auto member = object.find(name);
      return member.ok() && member->has_value();
    };
    const std::string prefix = object.pointer();
    for (auto at = absent_.lower_bound({object.offset(), {}}); at != absent_.end() && at->first == object.offset();
         ++at) {
      const Names names = names_of_key(at->second);
      const auto first = std::ranges::find_if(names, is_absent);  // one row for all names of a key
      if (first == names.end() || *first != at->second || std::ranges::any_of(names, is_there)) continue;
      pointers.push_back(formatted("{}/{}", prefix, at->second));
    }
  }
  return pointers;
}

void ConfigReader::pass_over(const Place& place, std::string_view who) {
  passed_over_.try_emplace(place.value.offset(), PassedOver{place, std::string(who)});
}

void ConfigReader::warn_of_passed_over() {
  for (const auto& [offset, one] : passed_over_) {
    if (read_.contains(offset) || says_nothing(one.place.value)) continue;
    warn("misleading-key", formatted("{} has no effect: {} does not read it.", one.place.from, one.who),
         {one.place.from});
  }
}

std::vector<Warning> ConfigReader::take_warnings() {
  warn_of_passed_over();
  if (!document_.duplicates().empty()) {
    std::vector<std::string> keys;
    for (const io::JsonDuplicate& duplicate : document_.duplicates()) keys.push_back(duplicate.pointer);
    const io::JsonDuplicate& first = document_.duplicates().front();
    warn("duplicate-key",
         formatted("{} stands on lines {} and {}; no position key is affected.", first.pointer, first.first_line,
                   first.second_line),
         std::move(keys));
  }
  return warnings_.take();
}

ClassNames read_class_names(ConfigReader& reader, const JsonValue& object) {
  ClassNames names;
  const auto model_type = reader.look(object, "model_type");
  if (model_type && !model_type->value.is_null()) names.model_type = read_class_name(reader, *model_type);
  const auto architectures = reader.look(object, "architectures");
  if (!architectures || architectures->value.is_null()) return names;
  const auto list = reader.list(*architectures);
  if (!list || list->empty()) return names;
  reader.mark_read(*architectures);
  names.architecture = read_class_name(reader, Place{list->front(), list->front().pointer()});
  return names;
}

}  // namespace posenc::plan

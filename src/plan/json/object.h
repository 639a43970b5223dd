// Strict reading of a plan's JSON: an ObjectReader is a visitor of fields.h over one object. Each key is
// asked for once; a key that nothing asks for is an error. The first error stands; after it, nothing more is read.
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

#include "io/json/json.h"
#include "plan/json/fields.h"
#include "plan/json/plan_json.h"
#include "plan/json/plan_names.h"
#include "plan/json/version_1.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::plan {

// What all readers of one document share.
struct Reading {
  std::optional<FileError> error;
  std::int64_t version = kSchemaVersion;  // of the document, which decides its names
  std::optional<std::int64_t> length;     // Plan::length, which frequencies depend on
  bool known = false;                     // Plan::known
  std::int64_t layers = 0;                // read so far

  void fail(FileError first) {
    if (!error) error = std::move(first);
  }
  void fail(const io::JsonValue& value, ErrorKind kind, std::string expected, std::string detail = {}) {
    fail(value.error(kind, std::move(expected), std::move(detail)));
  }
};

class ObjectReader {
 public:
  ObjectReader(const io::JsonValue& object, Reading& reading) : object_(object), reading_(reading) {
    if (!reading_.error && object_.kind() != io::JsonKind::object) {
      reading_.fail(object_, ErrorKind::type, "an object");
    }
  }

  template <typename T>
  void field(std::string_view key, T& to, Range range = {}) {
    if (const auto value = required(key)) read(*value, to, range);
  }
  template <typename T>
  void nullable(std::string_view key, std::optional<T>& to, Range range = {}) {
    const auto value = required(key);
    to.reset();  // whatever it is by default
    if (value && !value->is_null()) read(*value, to.emplace(), range);
  }
  template <typename T>
  void given(std::string_view key, std::optional<T>& to, Range range = {}) {
    if (const auto value = member(key)) read(*value, to.emplace(), range);
  }
  template <typename T>
  void unless(std::string_view key, T& to, const T& usual) {
    const auto value = member(key);
    to = usual;
    if (value) read(*value, to, {});
  }
  void text(std::string_view key, std::string& to) {
    const auto value = required(key);
    if (!value || value->is_null()) return;
    read(*value, to, {});
    if (!reading_.error && to.empty()) reading_.fail(*value, ErrorKind::out_of_range, "null or a text");
  }

  // The member, or nothing when it is absent.
  std::optional<io::JsonValue> member(std::string_view key);
  // The member; its absence is an error.
  std::optional<io::JsonValue> required(std::string_view key);
  // Fails for a member that was not asked for, and for names of another schema_version than the document's. Call it
  // last.
  void finish();

  bool failed() const { return reading_.error.has_value(); }
  Reading& reading() { return reading_; }

 private:
  void read(const io::JsonValue& value, bool& to, Range range);
  void read(const io::JsonValue& value, std::int32_t& to, Range range);
  void read(const io::JsonValue& value, std::int64_t& to, Range range);
  void read(const io::JsonValue& value, double& to, Range range);
  void read(const io::JsonValue& value, std::string& to, Range range);
  void read(const io::JsonValue& value, std::vector<ValueSource>& to, Range range);
  void read(const io::JsonValue& value, std::vector<Rotate>& to, Range range);
  void read(const io::JsonValue& value, LayerPlan& to, Range range);

  template <typename E>
  requires std::is_enum_v<E>
  void read(const io::JsonValue& value, E& to, Range) {
    if (const auto index = read_name(value, kEnumNames<E>)) to = static_cast<E>(*index);
  }
  void read(const io::JsonValue& value, Required<Pairing>& to, Range range) {
    Pairing pairing = to;
    read(value, pairing, range);
    to = pairing;
  }

  template <typename T>
  requires std::is_class_v<T>
  void read(const io::JsonValue& value, T& to, Range) {
    ObjectReader object(value, reading_);
    fields(object, to);
    object.finish();
  }

  template <typename T>
  void read(const io::JsonValue& value, std::vector<T>& to, Range range) {
    to.clear();  // a scheme's list may not be empty by default
    for (const io::JsonValue& element : elements(value)) {
      if (failed()) return;
      read(element, to.emplace_back(), range);
    }
  }

  template <typename... T>
  void read(const io::JsonValue& value, std::variant<T...>& to, Range) {
    using Variant = std::variant<T...>;
    if constexpr (std::is_same_v<std::variant_alternative_t<0, Variant>, std::monostate>) {
      if (value.is_null()) return;
    }
    ObjectReader object(value, reading_);
    const auto kind = object.required(kKindKey<Variant>);
    const auto index = kind ? read_name(*kind, kKindNames<Variant>) : std::nullopt;
    if (!index) return;
    object.alternative(*index, to, std::index_sequence_for<T...>{});
    object.finish();
  }
  template <typename Variant, std::size_t... I>
  void alternative(std::size_t index, Variant& to, std::index_sequence<I...>) {
    (void)((I == index && (read_fields(to.template emplace<I>()), true)) || ...);
  }
  void read_fields(std::monostate) {}
  template <typename T>
  void read_fields(T& to) {
    fields(*this, to);
  }

  std::optional<Rotate> read_rotate();

  void refuse_mixture();
  void fail_mixed(const io::JsonValue& at, std::string_view written, std::string_view meant);

  // The elements of an array; none, and an error, for anything else.
  std::vector<io::JsonValue> elements(const io::JsonValue& value);

  template <std::size_t N>
  std::optional<std::size_t> read_name(const io::JsonValue& value, const NameArray<N>& names) {
    std::string name;
    read(value, name, {});
    if (failed()) return std::nullopt;
    const auto index = std::ranges::find_if(
        names, [&](std::string_view one) { return !one.empty() && name_in(reading_.version, one) == name; });
    if (index == names.end()) {
      if (const auto meant = mixed_in(reading_.version, name)) fail_mixed(value, name, *meant);
    }
    if (index == names.end()) reading_.fail(value, ErrorKind::out_of_range, "one of " + listed(names));
    if (failed()) return std::nullopt;
    return static_cast<std::size_t>(index - names.begin());
  }

  io::JsonValue object_;
  Reading& reading_;
  std::vector<std::string_view> asked_;
};

}  // namespace posenc::plan

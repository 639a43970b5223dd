// One object of a config.json in which the keys of one stack stand, and the class that fills in what is absent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/facts/plan_limits.h"
#include "plan/facts/sourced.h"
#include "plan/families/family.h"
#include "plan/keys/config_keys.h"
#include "plan/scope/config_reader.h"

namespace posenc::plan {

class ConfigScope {
 public:
  // Class defaults are looked up under `model_type`.
  ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family, std::string_view model_type);
  // The same for another of the family's stacks than its main one.
  ConfigScope(ConfigReader& reader, const io::JsonValue& object, const Family& family, std::string_view model_type,
              const StackRule& stack);

  // Keys that stand at the top of the file where the top has them, and not in the object.
  void read_at_top(Names names) { top_names_ = names; }

  ConfigReader& reader() const noexcept { return reader_; }
  const Family& family() const noexcept { return family_; }
  const StackRule& stack() const noexcept { return stack_; }
  Windows windows() const noexcept { return stack_.sees_no_window ? Windows::none : family_.windows; }
  const io::JsonValue& object() const noexcept { return object_; }

  // The key under the best of its names, else the class default. A null counts only where it is a value.
  // peek() only looks; find() marks what it returns as read and warns of other names that disagree.
  std::optional<Place> look(std::string_view name);  // the first that stands there, nested or not; no default
  std::optional<Place> peek(const Key& key);
  std::optional<Place> find(const Key& key);
  std::optional<Place> class_default(const Key& key);

  Setting<std::int64_t> integer(const Key& key, Bounds bounds);
  Setting<double> number(const Key& key);
  Setting<bool> flag(const Key& key);

  // The same, and an error where there is no value.
  void require(const Key& key);
  Sourced<std::int64_t> required_integer(const Key& key, Bounds bounds);
  Sourced<double> required_number(const Key& key);
  Sourced<double> required_positive(const Key& key);  // above 0
  void fail_missing(const Key& key);

 private:
  std::vector<Place> candidates(const Key& key);
  std::vector<Place> places(const Key& key, Names names);
  std::optional<Place> default_of(Names names);
  std::optional<Place> default_at(std::string_view json, std::string_view source, std::string from);
  // The names under which this stack's class reads a key, the better ones first.
  std::array<Names, 2> names_of(const Key& key) const;

  ConfigReader& reader_;
  io::JsonValue object_;
  std::optional<io::JsonValue> nested_;  // Family::nested
  const Family& family_;
  const StackRule& stack_;
  std::string_view model_type_;
  Names top_names_;
  std::vector<std::unique_ptr<io::JsonDocument>> defaults_;  // keep the values of class defaults alive
};

}  // namespace posenc::plan

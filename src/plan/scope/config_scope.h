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
#include "plan/facts/stack_facts.h"
#include "plan/families/class_defaults.h"
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

  // Whether a file's key of that name reaches the stack's class; true where there is no class that says.
  bool reads(std::string_view name) const { return class_ == nullptr || is_read(object_, name); }
  bool has_class() const noexcept { return class_ != nullptr; }
  // The class does not read what stands there.
  void pass_over(const Place& place) {
    reader_.pass_over(place, class_ == nullptr ? family_.name : class_->class_name);
  }

  // Keys that stand at the top of the file where the top has them, and not in the object.
  void read_at_top(Names names) { top_names_ = names; }

  ConfigReader& reader() const noexcept { return reader_; }
  const Family& family() const noexcept { return family_; }
  const StackRule& stack() const noexcept { return stack_; }
  std::string_view model_type() const noexcept { return model_type_; }
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

  // A count of which 0 makes an odd stack, not a bad file (ConfigReader::fail_stack).
  Setting<std::int64_t> size(const Key& key, Bounds bounds);

  // The same, and an error of the stack where there is no value.
  void require(const Key& key);
  Sourced<std::int64_t> required_integer(const Key& key, Bounds bounds);
  Sourced<std::int64_t> required_size(const Key& key, Bounds bounds);
  Sourced<double> required_number(const Key& key);
  Sourced<double> required_positive(const Key& key);  // above 0
  void fail_missing(const Key& key);
  // An error at the key's value; nothing happens where there is none.
  void fail(const Key& key, ErrorKind kind, std::string expected, std::string detail = {});

 private:
  // Where a key stands in the file, the better places first, and where it stands by names that the class does not read.
  struct Candidates {
    std::vector<Place> read;
    std::vector<Place> passed_over;
  };
  Candidates candidates(const Key& key);
  Candidates places(const Key& key, Names listed);
  // What stands by names that are not read; `place` is what is.
  void pass_over(const std::vector<Place>& others, const std::optional<Place>& place);
  // Whether the stack's class reads a key by that name, or another code of the family does (its row says so).
  bool is_read(const io::JsonValue& object, std::string_view name) const;
  bool is_read(const Key& key, const io::JsonValue& object, std::string_view name) const;
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
  const ClassDefaults* class_;  // that decides which names are read; null: all are
  Names top_names_;
  std::vector<std::unique_ptr<io::JsonDocument>> defaults_;  // keep the values of class defaults alive
};

// ---- what a stack that was read leaves open (unread_stack.cpp) ----

// Gives the stack what was undecided while it was read. One that could not be read, by an error of the stack, has a
// name, no layers, and that error as what is not known, and the warning `undecided`.
void settle_stack(ConfigReader& reader, std::string_view name, StackFacts& stack);

// ---- lists with one entry for each layer, counted from 0 (layer_lists.cpp) ----

struct LayerList {
  Place place;
  std::vector<io::JsonValue> entries;  // one a layer
};

// Nothing when it is absent or empty. What stands beyond the layers is dropped: one entry more is allowed, or as many
// as num_nextn_predict_layers says (multi-token prediction modules follow the layers in such lists).
std::optional<LayerList> read_layer_list(ConfigScope& scope, const Key& key, std::int64_t layers);
std::optional<LayerList> read_layer_list(ConfigScope& scope, const Place& place, std::int64_t layers);

// What per_layer_config says of single layers (transformers 5): objects whose keys come before those of the stack.
struct LayerEntry {
  std::size_t layer = 0;
  io::JsonValue object;
};
std::vector<LayerEntry> read_layer_entries(ConfigScope& scope, std::int64_t layers);

// A whole number or a truth value of 0 or 1.
bool is_marked(ConfigReader& reader, const io::JsonValue& entry);

}  // namespace posenc::plan

// Walks a config.json and remembers what happened: which keys were read, what was odd, and the first error.
//
// Nothing is thrown. After the first error every getter returns nothing, so that a caller may go on to its end and ask
// once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json/json.h"
#include "plan/facts/plan_limits.h"
#include "plan/facts/sourced.h"
#include "plan/facts/warning_list.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::plan {

class ConfigReader {
 public:
  explicit ConfigReader(const io::JsonDocument& document);

  const io::JsonValue& root() const noexcept { return root_; }

  // The member of that name, which is not thereby read. A key that stands twice is an error.
  std::optional<Place> look(const io::JsonValue& object, std::string_view key);
  // This value bears on the plan.
  void mark_read(const Place& place);
  bool was_read(const io::JsonValue& value) const { return read_.contains(value.offset()); }
  bool was_entered(const io::JsonValue& value) const { return entered_.contains(value.offset()); }
  // The members of this object are judged one by one.
  void enter(const io::JsonValue& object);

  std::optional<bool> boolean(const Place& place);
  std::optional<double> number(const Place& place);
  std::optional<std::int64_t> integer(const Place& place, Bounds bounds);
  std::optional<std::string_view> string(const Place& place);
  std::optional<std::vector<io::JsonValue>> list(const Place& place);

  void fail(FileError error);  // the first one stays
  void fail(const Place& place, ErrorKind kind, std::string expected, std::string detail = {});
  // The same of what makes one stack impossible to read, and leaves the rest of the file what it is: forgive() takes
  // such an error back, so that reading goes on. Nothing where there is no error, or one of the file.
  void fail_stack(FileError error);
  void fail_stack(const Place& place, ErrorKind kind, std::string expected, std::string detail = {});
  std::optional<FileError> forgive();
  bool failed() const noexcept { return error_.has_value(); }
  const std::optional<FileError>& error() const noexcept { return error_; }

  void warn(std::string_view code, std::string message, std::vector<std::string> keys);
  // A fact of the stack that is being read could not be decided: the warning `undecided`, and an entry of what
  // take_undecided() answers.
  void undecided(std::string message, std::vector<std::string> keys);
  void leave_open(std::string fact);  // where another warning says it
  std::vector<std::string> take_undecided() { return std::exchange(undecided_, {}); }
  // `winner` is used; a warning where `loser` says something else.
  void settle(const Place& winner, const Place& loser);
  // `who`, a class or a family, does not read what stands there: a warning, unless somebody else does, or it
  // says nothing.
  void pass_over(const Place& place, std::string_view who);
  // This value says what another one says already.
  void mark_lost(const Place& place);

  // Members of an entered object that were not read, in file order; of an object that was not entered, only the object.
  // unknown_members() leaves out those that lost to another.
  std::vector<std::string> unknown_members(const io::JsonValue& object) const;
  std::vector<std::string> ignored_keys() const;  // of the whole file
  // Pointers to what was looked for in entered objects and is not there, under any of its names: the first of them.
  std::vector<std::string> absent_keys() const;
  std::vector<Warning> take_warnings();

 private:
  struct PassedOver {
    Place place;
    std::string who;
  };
  void warn_of_passed_over();

  using Offsets = std::set<std::int64_t>;
  void list_unread(const io::JsonValue& object, const Offsets& besides, std::vector<std::string>& pointers) const;

  const io::JsonDocument& document_;
  io::JsonValue root_;
  Offsets read_;
  Offsets lost_;
  Offsets entered_;  // of objects
  std::vector<io::JsonValue> entered_objects_;
  std::set<std::pair<std::int64_t, std::string_view>> absent_;  // offset of an entered object, name
  std::map<std::int64_t, PassedOver> passed_over_;              // by offset
  std::optional<FileError> error_;
  bool is_of_stack_ = false;  // the error
  std::vector<std::string> undecided_;
  WarningList warnings_;
};

// What an object says that it is.
struct ClassNames {
  std::string model_type;
  std::string architecture;  // the first of architectures
};

ClassNames read_class_names(ConfigReader& reader, const io::JsonValue& object);

// Null, false and 1, by which most keys mean "not that".
bool says_nothing(const io::JsonValue& value);
bool same_value(const io::JsonValue& a, const io::JsonValue& b);
// A value as messages show it: "4", "\"yarn\"", "a list of 3".
std::string shown(const io::JsonValue& value);

}  // namespace posenc::plan

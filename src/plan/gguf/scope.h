// Asks a GGUF header for the keys of its architecture, typed and bounded, and remembers what was read, what was odd and
// the first error. Keys are named without their prefix: "rope.freq_base" for llama.rope.freq_base.
//
// Nothing is thrown. After the first error every getter returns nothing. A value's source is its whole key.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf/gguf.h"
#include "plan/facts/plan_limits.h"
#include "plan/facts/sourced.h"
#include "plan/facts/warning_list.h"
#include "plan/gguf/architecture.h"
#include "posenc/plan.h"

namespace posenc::plan {

class GgufScope {
 public:
  // Both must outlive the scope.
  GgufScope(const io::GgufHeader& header, const GgufArchitecture& architecture, std::string file);

  const io::GgufHeader& header() const noexcept { return header_; }
  const GgufArchitecture& architecture() const noexcept { return architecture_; }
  std::string key(std::string_view name) const;
  const io::GgufValue* peek(std::string_view name) const;  // not marked as read

  Setting<std::int64_t> integer(std::string_view name, Bounds bounds);
  Setting<double> number(std::string_view name);
  Setting<double> positive(std::string_view name);      // above 0
  Setting<double> not_negative(std::string_view name);  // at least 0
  Setting<bool> flag(std::string_view name);
  Setting<std::string> text(std::string_view name);
  // A list of integers of any length; a number alone is not one.
  Setting<std::vector<std::int64_t>> list(std::string_view name, Bounds bounds);
  // One number for each of `layers`: a list of so many, or one number for all.
  Setting<std::vector<std::int64_t>> per_layer(std::string_view name, Bounds bounds, std::int64_t layers);
  // Absent: an error.
  Sourced<std::int64_t> required_integer(std::string_view name, Bounds bounds);

  // Whether the model has the tensor; nothing where the file has no tensors at all (a vocabulary), or where it may be
  // in another part of the model.
  std::optional<bool> has_tensor(std::string_view name) const;

  void fail(std::string_view name, ErrorKind kind, std::string expected, std::string detail = {});
  void fail_missing(std::string_view name, std::string why = {});
  void fail(FileError error);
  bool failed() const noexcept { return error_.has_value(); }
  const FileError& error() const { return *error_; }

  void warn(std::string_view code, std::string message, std::vector<std::string> keys);
  // A fact that could not be decided: the stacks are not known.
  void undecided(std::string_view code, std::string message, std::vector<std::string> keys);
  const std::vector<std::string>& undecided() const noexcept { return undecided_; }
  std::vector<std::string> ignored_keys() const;  // of the architecture, in file order
  std::vector<Warning> take_warnings();

 private:
  const io::GgufValue* read(std::string_view name);
  std::optional<std::int64_t> as_integer(const io::GgufValue& value, const io::GgufNumber& number, Bounds bounds);
  void fail_at(const io::GgufValue& value, ErrorKind kind, std::string expected, std::string got,
               std::string detail = {});
  void fail_absent(std::string_view name, ErrorKind kind, std::string expected, std::string got, std::string detail);

  const io::GgufHeader& header_;
  const GgufArchitecture& architecture_;
  std::string file_;
  std::set<const io::GgufValue*> read_;
  std::optional<FileError> error_;
  WarningList warnings_;
  std::vector<std::string> undecided_;
};

// A value as messages show it: "10000", "\"yarn\"", "an array of 3".
std::string shown(const io::GgufValue& value);

}  // namespace posenc::plan

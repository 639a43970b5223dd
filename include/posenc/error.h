// Errors, of the two kinds that a user can meet.
//
// The world is wrong (a file, a config, the environment): functions return a Result<T>, which holds a value or a
// FileError that says where, what was expected and what came. Nothing is thrown.
// The caller is wrong (a shape, a dtype, a parameter): functions throw posenc::Error before any work is done, with
// outputs untouched: "[make_table] count must be at least 0 but is -3".
//
// Thread safety: values; share them as any other value.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "posenc/export.h"

namespace posenc::inline v0_2 {

// A rule that a parameter breaks: "field must MUST but is IS".
struct Problem {
  std::string field;
  std::string must;
  std::string is;

  bool operator==(const Problem&) const = default;
};

// Thrown when the caller is wrong. what() is "[where] field must MUST but is IS".
class POSENC_API Error : public std::invalid_argument {
 public:
  Error(std::string_view where, const Problem& problem);
  const Problem& problem() const noexcept { return problem_; }

 private:
  Problem problem_;
};

// What is wrong with a file or with bytes. The names are stable; the command line prints them with '-' for '_'.
enum class ErrorKind : std::uint8_t {
  io_open,              // cannot be opened: missing, no permission, a loop of links
  io_read,              // opened, but reading failed
  not_regular_file,     // a pipe, a device, a socket, a directory without a config.json
  bad_path,             // a path with a NUL byte, or an empty one
  limit,                // larger or deeper than a stated limit
  empty,                // no bytes
  wrong_format,         // recognisably something else (gzip, zip, HTML, a Git LFS pointer)
  json_encoding,        // UTF-16 or UTF-32
  json_utf8,            // not UTF-8, or a lone surrogate
  json_syntax,          // not JSON
  json_depth,           // nested too deeply
  json_duplicate_key,   // a key that is used stands twice
  json_trailing,        // something follows the document
  type,                 // a value of another type
  not_finite,           // NaN, an infinity, or a number too large for a double
  out_of_range,         // a number outside the range in which it means something
  not_divisible,        // a size that must divide another and does not
  length_mismatch,      // a list of the wrong length
  missing_key,          // a key without which the rest has no meaning
  missing_layer_type,   // a layer type without parameters of its own
  unknown_rope_type,    // a scaling rule that is not known
  not_a_model_config,   // JSON, but not a model's configuration
  truncated,            // ends before what it announces
  unsupported_version,  // of a known format, one that is not read
  count_too_large,      // announces more than could be there, or than a stated limit
  bad_key,              // a key that is empty, too long, or not clean text
  duplicate_key,        // a key stands twice
  bad_type,             // a number or a name that stands for no type, or for one that is not read
  nested_array,         // an array of arrays
  bad_alignment,        // not a power of two, or too large
  bad_tensor,           // a tensor with too many dimensions, a bad name, or twice
  overflow,             // sizes whose product or sum does not fit 64 bits
  block_size,           // a row that its type's blocks do not divide
  bad_offset,           // a tensor that is not where it must be
  bad_value,            // a text that means nothing here
  bad_sections,         // sections of a rotation that do not fit it
  split,                // one part of several files, and not the one to read
  bad_plan,             // a plan's own JSON that contradicts itself
  header_syntax,        // a header that is not of its format's grammar
  trailing_bytes,       // something behind the last tensor
  io_write,             // writing failed: no space, no permission
  output_exists,        // something stands where a file is to be written
};

POSENC_API std::string_view name(ErrorKind kind) noexcept;

// One error about a file. Everything that is not known is empty, or -1.
struct POSENC_API FileError {
  ErrorKind kind = ErrorKind::io_read;
  std::string file;          // the path, or the name given for bytes
  std::int64_t offset = -1;  // byte offset from the start of the file
  std::int64_t line = -1;    // from 1
  std::int64_t column = -1;  // from 1, in bytes
  std::string path;          // JSON pointer: "/rope_scaling/factor"; a key or a tensor of GGUF
  std::string expected;      // "a number above 0"
  std::string got;           // "-2"
  std::string detail;        // the arithmetic that failed, or a hint

  bool operator==(const FileError&) const = default;
  // One line: "FILE:LINE:COLUMN: PATH: expected EXPECTED, got GOT (DETAIL)"; in a file without lines "FILE: byte
  // OFFSET: PATH: ..."; of ErrorKind::io_open "FILE: cannot open: GOT". Control characters are escaped.
  std::string message() const;
};

// A value, or the FileError that stood in its way.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}          // NOLINT: a value is a result
  Result(FileError error) : state_(std::move(error)) {}  // NOLINT: so is an error

  bool ok() const noexcept { return std::holds_alternative<T>(state_); }
  explicit operator bool() const noexcept { return ok(); }

  // Throws Error when there is no value: a caller who did not ask first is wrong.
  const T& value() const& {
    require();
    return *std::get_if<T>(&state_);
  }
  T& value() & {
    require();
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    require();
    return std::move(*std::get_if<T>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  // Throws Error when there is a value.
  const FileError& error() const {
    if (ok()) throw Error("Result", {"error()", "be asked of a failed result", "asked of a value"});
    return *std::get_if<FileError>(&state_);
  }

 private:
  void require() const {
    if (!ok()) throw Error("Result", {"value()", "be asked of a successful result", error().message()});
  }
  std::variant<T, FileError> state_;
};

}  // namespace posenc::inline v0_2

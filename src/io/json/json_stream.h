// The text as RapidJSON reads it: byte by byte, with a plain 0 in the place of every number.
//
// RapidJSON 1.1.0 computes a number's value even where it is asked for the text only, and refuses 1e400 and integers of
// 400 digits while it reads, in fields that nobody uses; it also takes "Inf" and "-NaN". So the stream reads numbers
// itself, by scan_number, and remembers where the last one stood. It follows strings to know what is a number and what
// is text. A NUL byte ends the reading, as in RapidJSON; the caller sees that text is left.
#pragma once

#include <cstddef>
#include <string_view>

#include "io/json/json_number.h"

namespace posenc::io {

// RapidJSON's input stream: Peek, Take and Tell. At the end of the text it reads '\0', as RapidJSON expects.
class JsonStream {
 public:
  using Ch = char;
  JsonStream(std::string_view text, std::size_t begin) : text_(text), at_(begin) {}

  char Peek() const {
    if (at_ == text_.size()) return '\0';
    return !in_string_ && begins_number(text_[at_]) ? '0' : text_[at_];
  }

  char Take() {
    if (at_ == text_.size()) return '\0';
    const char c = text_[at_];
    if (in_string_) {
      const bool escaped = after_backslash_;
      after_backslash_ = c == '\\' && !escaped;
      in_string_ = c != '"' || escaped;
    } else if (begins_number(c)) {
      number_ = scan_number(text_.substr(at_));
      token_ = at_;
      // Nothing is left to read behind a broken number: the rest could pass for an exponent of that 0.
      at_ = number_.expected.empty() ? at_ + number_.length : text_.size();
      return '0';
    } else if (c == '"') {
      in_string_ = true;
      token_ = at_;
    }
    ++at_;
    return c;
  }

  std::size_t Tell() const { return at_; }

  // Where the last string or number begins, and the last number.
  std::size_t token() const { return token_; }
  const NumberScan& number() const { return number_; }

  // For parsing in place, which is not done, but which RapidJSON compiles.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  std::size_t PutEnd(char*) { return 0; }

 private:
  static bool begins_number(char c) { return (c >= '0' && c <= '9') || c == '-' || c == 'N' || c == 'I'; }

  std::string_view text_;
  std::size_t at_;
  std::size_t token_ = 0;
  NumberScan number_;
  bool in_string_ = false;
  bool after_backslash_ = false;
};

}  // namespace posenc::io

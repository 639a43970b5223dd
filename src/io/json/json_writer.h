// Writes JSON (RFC 8259), for our own output: push values in order, then take the text.
//
//   JsonWriter json;
//   json.begin_object();
//   json.member("base", 500000.0);
//   json.key("inv_freq");
//   json.numbers(std::span<const double>(inv_freq));
//   json.end_object();
//   std::string text = json.take();
//
// Indents by two spaces. Doubles are the shortest decimals that read back to the same double; NaN and the infinities
// are null. Strings are arbitrary bytes: what is not UTF-8 becomes U+FFFD, and what could steer a terminal is escaped.
// Calls that no JSON text fits (a value without a key, an end that closes nothing) throw Error.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::io {

// How the members of an array or an object stand: one below the other, all on one line, or without any spaces. What is
// nested inside a line, or inside compact text, stands there too.
enum class JsonLayout : std::uint8_t { lines, line, compact };

class JsonWriter {
 public:
  explicit JsonWriter(JsonLayout layout = JsonLayout::lines) : root_layout_(layout) {}

  void begin_object(JsonLayout layout = JsonLayout::lines) { open('{', layout); }
  void end_object() { close('{'); }
  void begin_array(JsonLayout layout = JsonLayout::lines) { open('[', layout); }
  void end_array() { close('['); }
  void key(std::string_view name);

  void null() { scalar("null"); }
  void value(double number);
  void value(std::string_view text);
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  // A value that is JSON already, on one line.
  void verbatim(std::string_view json) { scalar(json); }
  // A template, so that a pointer never turns into a bool and an int is never ambiguous.
  template <std::integral T>
  void value(T number) {
    if constexpr (std::same_as<T, bool>) {
      scalar(number ? "true" : "false");
    } else if constexpr (std::signed_integral<T>) {
      whole(std::int64_t{number});
    } else {
      whole(std::uint64_t{number});
    }
  }

  template <typename T>
  void member(std::string_view name, const T& what) {
    key(name);
    value(what);
  }
  void null_member(std::string_view name) {
    key(name);
    null();
  }
  // An array of numbers on one line.
  template <typename T>
  void numbers(std::span<const T> list) {
    begin_array(JsonLayout::line);
    for (const T number : list) value(number);
    end_array();
  }

  // The text of the one value that was written, without a newline at its end. Leaves the writer empty.
  std::string take();

 private:
  // An array or an object that is not ended yet.
  struct Open {
    char bracket;  // '{' or '['
    JsonLayout layout;
    bool empty;
  };
  void open(char bracket, JsonLayout layout);
  void close(char bracket);
  void whole(std::int64_t number);
  void whole(std::uint64_t number);
  // A token as it is; whole() and value() make theirs of numbers. before_value() checks that a value may stand here,
  // and separate() writes the comma and the line break that its layout wants.
  void scalar(std::string_view token);
  void quote(std::string_view text);
  void before_value();
  void separate(Open& inside);
  void new_line();

  std::string out_;
  std::vector<Open> open_;
  JsonLayout root_layout_;
  // A key waits for its value; one whole value was written at the top.
  bool after_key_ = false;
  bool done_ = false;
};

}  // namespace posenc::io

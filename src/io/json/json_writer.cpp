// JSON output (RFC 8259): commas, indentation, escapes, and doubles as the shortest decimals that read back to the same
// bits. What is not UTF-8 becomes U+FFFD, so the output is always valid.
#include "io/json/json_writer.h"

#include <cmath>
#include <utility>

#include "base/formatted.h"
#include "base/utf8.h"
#include "posenc/error.h"

namespace posenc::io {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void append_code_unit(std::string& out, std::uint32_t unit) { out += formatted("\\u{:04x}", unit); }

void append_character(std::string& out, std::uint32_t code, std::string_view bytes) {
  switch (code) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  // Every such character is below U+10000: no surrogate pair is needed.
  if (steers_a_terminal(code)) {
    append_code_unit(out, code);
  } else {
    out += bytes;
  }
}

void require(bool rule, const char* field, const char* must, const char* is) {
  if (!rule) throw Error("JsonWriter", {field, must, is});
}

}  // namespace

// fmt's default form of a double has the shortest digits that read back, as std::to_chars does, and switches to an
// exponent only below 1e-4 and from 1e16 on: 500000, where to_chars says 5e+05.
void JsonWriter::value(double number) {
  if (std::isfinite(number)) {
    scalar(formatted("{}", number));
  } else {
    null();
  }
}

void JsonWriter::value(std::string_view text) {
  before_value();
  quote(text);
  done_ = open_.empty();
}

void JsonWriter::whole(std::int64_t number) { scalar(formatted("{}", number)); }
void JsonWriter::whole(std::uint64_t number) { scalar(formatted("{}", number)); }

void JsonWriter::key(std::string_view name) {
  require(!open_.empty() && open_.back().bracket == '{', "key", "stand in an object", "outside of one");
  require(!after_key_, "key", "follow a value", "after another key");
  separate(open_.back());
  quote(name);
  out_ += open_.back().layout == JsonLayout::compact ? ":" : ": ";
  after_key_ = true;
}

std::string JsonWriter::take() {
  require(done_, "take", "follow a whole value", "called before its end");
  done_ = false;
  return std::exchange(out_, {});
}

void JsonWriter::scalar(std::string_view token) {
  before_value();
  out_ += token;
  done_ = open_.empty();
}

// Within a line or compact text, all that is nested takes that layout.
void JsonWriter::open(char bracket, JsonLayout layout) {
  before_value();
  const JsonLayout outer = open_.empty() ? root_layout_ : open_.back().layout;
  out_ += bracket;
  open_.push_back({bracket, outer == JsonLayout::lines ? layout : outer, true});
}

void JsonWriter::close(char bracket) {
  require(!open_.empty() && open_.back().bracket == bracket, "end", "close what is open", "of another kind");
  require(!after_key_, "end", "follow a value", "after a key");
  const Open closed = open_.back();
  open_.pop_back();
  if (!closed.empty && closed.layout == JsonLayout::lines) new_line();
  out_ += bracket == '{' ? '}' : ']';
  done_ = open_.empty();
}

void JsonWriter::before_value() {
  require(!done_, "value", "be the only one", "a second one");
  if (open_.empty()) return;
  if (open_.back().bracket == '{') {
    require(after_key_, "value", "follow a key", "without one");
    after_key_ = false;
  } else {
    separate(open_.back());
  }
}

void JsonWriter::separate(Open& inside) {
  if (!inside.empty) out_ += inside.layout == JsonLayout::line ? ", " : ",";
  inside.empty = false;
  if (inside.layout == JsonLayout::lines) new_line();
}

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(2 * open_.size(), ' ');
}

// Byte by byte where the text is no UTF-8, so that one bad byte costs one U+FFFD and not the rest of the text.
void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.length == 0) {
      out_ += kReplacement;
    } else {
      append_character(out_, point.value, text.substr(0, point.length));
    }
    text.remove_prefix(point.length == 0 ? 1 : point.length);
  }
  out_ += '"';
}

}  // namespace posenc::io

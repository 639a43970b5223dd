// The header of a .npy file, NumPy's format versions 1 to 3 (numpy.lib.format): a Python dict literal with descr,
// fortran_order and shape. It is parsed by a grammar of its own and never evaluated.
#include "io/tensors/npy_header.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kShown = 24;  // bytes of the header in an error

class DictReader {
 public:
  // `begin` is the text's first byte in the file; with python2 a size may end in L.
  DictReader(ByteCursor& cursor, std::string_view text, std::uint64_t begin, bool python2)
      : cursor_(cursor), text_(text), begin_(begin), python2_(python2) {}

  NpyHeader read() {
    expect('{');
    for (skip_space(); !failed() && !take('}'); skip_space()) {
      read_entry();
      skip_space();
      if (!take(',') && !failed() && peek() != '}') fail("a comma or the end of the dict");
    }
    skip_space();
    if (!failed() && at_ < text_.size()) fail("nothing behind the dict");
    for (const std::string_view key : {"descr"sv, "fortran_order"sv, "shape"sv}) {
      if (!failed() && !seen(key)) {
        cursor_.fail(ErrorKind::missing_key, begin_, std::string(key), "the keys descr, fortran_order and shape",
                     "a dict without it");
      }
    }
    return std::move(header_);
  }

 private:
  bool failed() const { return cursor_.failed(); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  void expect(char c) {
    skip_space();
    if (!take(c)) fail(formatted("'{}'", c));
  }
  std::uint64_t offset() const { return begin_ + at_; }

  void fail(std::string expected) {
    cursor_.fail(ErrorKind::header_syntax, offset(), key_, std::move(expected),
                 at_ < text_.size() ? std::string(text_.substr(at_, kShown)) : "the end of the header");
  }

  bool seen(std::string_view key) const { return std::ranges::find(seen_, key) != seen_.end(); }

  void read_entry() {
    key_.clear();
    const std::uint64_t at = offset();
    const std::string key = read_string();
    if (failed()) return;
    if (seen(key)) return cursor_.fail(ErrorKind::duplicate_key, at, key, "each key once", "a key that stands twice");
    seen_.push_back(key);
    expect(':');
    skip_space();
    key_ = key;
    if (key == "descr") {
      read_descr();
    } else if (key == "fortran_order") {
      read_order();
    } else if (key == "shape") {
      read_shape();
    } else {
      cursor_.fail(ErrorKind::bad_key, at, {}, "the keys descr, fortran_order and shape", key.substr(0, kShown));
    }
  }

  std::string read_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      fail("a string in quotes");
      return {};
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
    if (end == std::string_view::npos || !std::ranges::all_of(text, plain)) {
      fail("a string of plain ASCII without escapes");
      return {};
    }
    at_ = end + 1;
    return std::string(text);
  }

  void read_descr() {
    header_.descr_at = offset();
    if (peek() != '[') {
      header_.descr = read_string();
      return;
    }
    cursor_.fail(ErrorKind::bad_type, offset(), key_, "one type for all elements", "a structure of several");
  }

  // Only the literals True and False; 0, 1 and expressions are refused.
  void read_order() {
    header_.fortran_order = take("True");
    if (!header_.fortran_order && !take("False")) fail("True or False");
  }

  void read_shape() {
    header_.shape_at = offset();
    expect('(');
    bool comma = true;  // a lone size without one is no tuple
    for (skip_space(); !failed() && !take(')'); skip_space()) {
      if (!comma) return fail("a comma");
      header_.shape.push_back(read_size());
      skip_space();
      comma = take(',');
      if (!comma && header_.shape.size() == 1 && !failed()) return fail("a comma: (3) is no tuple");
      if (header_.shape.size() > kMaxAxes) {
        return cursor_.fail(ErrorKind::limit, header_.shape_at, key_, formatted("at most {} axes", kMaxAxes), "more");
      }
    }
  }

  // Decimal digits without a sign or a leading zero, as Python 3 writes an int. On a failure the number is of no use,
  // and the cursor says why.
  std::int64_t read_size() {
    const std::size_t from = at_;
    std::optional<std::uint64_t> value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = checked_multiply(value.value_or(UINT64_MAX), 10);
      if (value) value = checked_add(*value, static_cast<std::uint64_t>(peek() - '0'));
      ++at_;
    }
    const std::string_view digits = text_.substr(from, at_ - from);
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) {
      at_ = from;
      fail("a size: decimal digits");
    } else if (!value || *value > INT64_MAX) {
      cursor_.fail(ErrorKind::overflow, begin_ + from, key_, "a size below 2^63",
                   std::string(digits.substr(0, kShown)));
    }
    if (python2_) take('L');  // a long of Python 2
    return static_cast<std::int64_t>(value.value_or(0) & INT64_MAX);
  }

  ByteCursor& cursor_;
  std::string_view text_;
  std::uint64_t begin_;
  bool python2_;
  std::size_t at_ = 0;
  std::string key_;  // whose value is being read
  std::vector<std::string> seen_;
  NpyHeader header_;
};

}  // namespace

NpyHeader read_npy_header(ByteCursor& cursor) {
  const std::uint64_t at = cursor.position();
  const std::string magic = cursor.text(kNpyMagic.size(), "the magic of a .npy file");
  if (cursor.failed()) return {};
  if (magic != kNpyMagic) {
    cursor.fail(ErrorKind::wrong_format, at, {}, "\\x93NUMPY, the magic of a .npy file", magic);
    return {};
  }
  const std::uint8_t major = cursor.u8("the version");
  const std::uint8_t minor = cursor.u8("the version");
  if (!cursor.failed() && (major < 1 || major > 3 || minor != 0)) {
    cursor.fail(ErrorKind::unsupported_version, at + kNpyMagic.size(), {}, ".npy version 1.0, 2.0 or 3.0",
                formatted("{}.{}", major, minor));
  }
  const std::uint64_t length_at = cursor.position();
  const std::uint64_t length = major == 1 ? cursor.u16("the header's length") : cursor.u32("the header's length");
  if (!cursor.failed() && length > kMaxNpyHeaderBytes) {
    cursor.fail(ErrorKind::limit, length_at, {}, formatted("a header of at most {} bytes", kMaxNpyHeaderBytes),
                formatted("{}", length));
  }
  const std::uint64_t begin = cursor.position();
  if (cursor.failed()) return {};
  const std::string text = cursor.text(static_cast<std::size_t>(length), "the header");
  if (cursor.failed()) return {};
  return DictReader(cursor, text, begin, major < 3).read();
}

}  // namespace posenc::io

// Messages for text that is not JSON: what was expected at which place, what is there, and what people most often meant
// (a trailing comma, single quotes, Python's True and None, a comment).
#include "io/json/json_syntax.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/formatted.h"
#include "base/utf8.h"

namespace posenc::io {
namespace {

constexpr std::size_t kMaxShownToken = 40;
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kDelimiters = " \t\r\n,:{}[]\"";

// What stands at the offset: a word up to the next delimiter, or one delimiter in quotes.
std::string token_at(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the end of the text";
  const std::string_view rest = text.substr(offset);
  if (kDelimiters.find(rest.front()) != std::string_view::npos) return formatted("'{}'", rest.front());
  return shorten(rest.substr(0, rest.find_first_of(kDelimiters)), kMaxShownToken);
}

// ASCII alone, whatever the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The last character before the offset that is no space; '\0' where there is none.
char last_before(std::string_view text, std::size_t offset) {
  const std::size_t at = text.substr(0, offset).find_last_not_of(kSpace);
  return at == std::string_view::npos ? '\0' : text[at];
}

// What people who write JSON by hand, or print it from Python, most often meant.
std::string_view hint(std::string_view text, std::size_t offset) {
  struct Slip {
    std::string_view begin;
    std::string_view says;
  };
  static constexpr std::array<Slip, 12> kSlips = {{
      {"//", "JSON has no comments"},
      {"/*", "JSON has no comments"},
      {"#", "JSON has no comments"},
      {"'", "JSON takes double quotes"},
      {"+", "a JSON number takes no plus sign"},
      {".", "a JSON number begins with a digit"},
      {"True", "JSON writes true"},
      {"False", "JSON writes false"},
      {"None", "JSON writes null"},
      {"nan", "JSON has no NaN; NaN is accepted"},
      {"inf", "JSON has no infinity; Infinity is accepted"},
      {"Inf", "JSON has no infinity; Infinity is accepted"},
  }};
  if (offset >= text.size()) return {};
  if ((text[offset] == ']' || text[offset] == '}') && last_before(text, offset) == ',') {
    return "JSON takes no comma before a closing bracket";
  }
  const auto meant = [rest = text.substr(offset)](const Slip& slip) { return rest.starts_with(slip.begin); };
  const auto slip = std::find_if(kSlips.begin(), kSlips.end(), meant);
  return slip == kSlips.end() ? std::string_view{} : slip->says;
}

std::string_view expectation(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentRootNotSingular: return "the end of the text";
    case rapidjson::kParseErrorObjectMissName: return "a key in double quotes";
    case rapidjson::kParseErrorObjectMissColon: return "':' after the key";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: return "',' or '}' after the member";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: return "',' or ']' after the value";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex: return "four hexadecimal digits after \\u";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: return "a low surrogate after the high one";
    case rapidjson::kParseErrorStringMissQuotationMark: return "a closing double quote";
    case rapidjson::kParseErrorStringInvalidEncoding: return "UTF-8";
    default: return "a value";
  }
}

ErrorKind kind_of(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentRootNotSingular: return ErrorKind::json_trailing;
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:
    case rapidjson::kParseErrorStringInvalidEncoding: return ErrorKind::json_utf8;
    default: return ErrorKind::json_syntax;
  }
}

std::string hexadecimal(std::string_view bytes) {
  std::string out = bytes.size() == 1 ? "byte" : "bytes";
  for (const char c : bytes) {
    out += formatted(" {:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

FileError unexpected(const JsonTree& tree, std::size_t offset, std::string_view expected) {
  FileError error = tree.error_at(ErrorKind::json_syntax, offset);
  error.expected = expected;
  error.got = token_at(tree.text, offset);
  error.detail = hint(tree.text, offset);
  return error;
}

// Bytes that are not UTF-8 come before what the grammar expected: a file in Latin-1 should hear of its encoding. In a
// string, a raw control character (a line break, most often) and an unknown escape get words of their own.
FileError syntax_error(const JsonTree& tree, rapidjson::ParseErrorCode code, std::size_t offset) {
  if (code == rapidjson::kParseErrorValueInvalid) {
    // RapidJSON stops within a word that begins as null, true or false do.
    while (offset > tree.text_begin && is_letter(tree.text[offset - 1])) --offset;
  }
  const std::string_view rest = std::string_view(tree.text).substr(std::min(offset, tree.text.size()));
  if (code == rapidjson::kParseErrorStringInvalidEncoding || (!rest.empty() && first_code_point(rest).length == 0)) {
    FileError error = tree.error_at(ErrorKind::json_utf8, offset);
    error.expected = "UTF-8";
    error.got = hexadecimal(rest.substr(0, 4));
    return error;
  }
  const bool in_string =
      code == rapidjson::kParseErrorStringEscapeInvalid || code == rapidjson::kParseErrorStringMissQuotationMark;
  const bool control = in_string && !rest.empty() && static_cast<unsigned char>(rest.front()) < 0x20;
  FileError error = unexpected(tree, offset, control ? "a control character as an escape" : expectation(code));
  error.kind = kind_of(code);
  if (control) {
    error.got = hexadecimal(rest.substr(0, 1));
  } else if (code == rapidjson::kParseErrorStringEscapeInvalid) {
    error.expected = "an escape that JSON has";
    error.got = rest.substr(0, 1 + first_code_point(rest.substr(1)).length);
  }
  return error;
}

std::optional<std::string_view> wide_encoding(std::string_view text) noexcept {
  using namespace std::string_view_literals;
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "UTF-16";
  if (text.size() < 4) return std::nullopt;
  // JSON begins with an ASCII character: the zeros beside it give the width away (RFC 4627, section 3).
  const int zeros = (text[0] == 0 ? 8 : 0) + (text[1] == 0 ? 4 : 0) + (text[2] == 0 ? 2 : 0) + (text[3] == 0 ? 1 : 0);
  if (zeros == 0b1110 || zeros == 0b0111) return "UTF-32";
  if (zeros == 0b1010 || zeros == 0b0101) return "UTF-16";
  return std::nullopt;
}

}  // namespace posenc::io

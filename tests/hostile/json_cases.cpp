#include "hostile/json_cases.h"

#include <cmath>
#include <string_view>
#include <utility>

namespace posenc::test {
namespace {

using namespace std::string_literals;
using io::JsonDocument;
using io::JsonValue;

std::string repeated(std::string_view part, std::size_t count) {
  std::string out;
  out.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += part;
  return out;
}

constexpr auto kMaxBytes = static_cast<std::size_t>(io::kMaxJsonBytes);

// Long texts, named after their ids.
std::string b1_arrays_128() { return repeated("[", 128) + repeated("]", 128); }
std::string b1_arrays_129() { return repeated("[", 129) + repeated("]", 129); }
std::string b1_objects_129() { return repeated("{\"a\":", 129) + "1" + repeated("}", 129); }
std::string b1_ignored_field() { return "{\n\"ignored\": " + repeated("[", 128) + repeated("]", 128) + "}"; }
std::string b1_arrays_million() { return repeated("[", 1000000) + repeated("]", 1000000); }
std::string b1_objects_million() { return repeated("{\"a\":", 1000000) + "1" + repeated("}", 1000000); }
std::string b2_only_brackets() { return std::string(kMaxBytes, '['); }
std::string b2_hundred_megabytes() { return std::string(100'000'000, '['); }
std::string b11_digits_400() { return "{\"a\": " + std::string(400, '9') + "}"; }
std::string b11_digits_64_mib() { return std::string(kMaxBytes, '7'); }
std::string b16_million_keys() {
  std::string out = "{";
  for (int i = 0; i < 1000000; ++i) out += "\"" + std::to_string(i) + "\":0,";
  out.back() = '}';
  return out;
}
std::string b16_million_same_keys() {
  std::string out = "{" + repeated("\"same\":0,\n", 1000000);
  out[out.size() - 2] = '}';
  return out;
}
std::string b16_string_64_mib() { return "\"" + std::string(kMaxBytes - 2, 's') + "\""; }
std::string b16_escapes_64_mib() { return "\"" + repeated("\\n", kMaxBytes / 2 - 1) + "\""; }
std::string b16_one_byte_too_many() { return "\"" + std::string(kMaxBytes - 1, 's') + "\""; }
std::string b16_unclosed_64_mib() { return "\"" + std::string(kMaxBytes - 1, 's'); }
// "Aa" and "BB" have the same hash where a hash is h * 31 + c: 2^16 keys, one bucket.
std::string b17_same_hash() {
  std::string out = "{";
  for (unsigned bits = 0; bits < 1u << 16; ++bits) {
    out += '"';
    for (unsigned i = 0; i < 16; ++i) out += (bits >> i & 1u) != 0 ? "Aa" : "BB";
    out += "\":" + std::to_string(bits) + ",";
  }
  out.back() = '}';
  return out;
}
// Keys that differ in their last bytes only: what a comparison of strings likes least.
std::string b17_long_common_prefix() {
  std::string out = "{";
  for (int i = 0; i < 4096; ++i) out += "\"" + std::string(4096, 'p') + std::to_string(10000 + i) + "\":0,";
  out.back() = '}';
  return out;
}

std::function<std::string()> text(std::string bytes) {
  return [bytes = std::move(bytes)] { return bytes; };
}

Place at(std::int64_t line, std::int64_t column, std::int64_t offset, std::string pointer = "") {
  return {line, column, offset, std::move(pointer)};
}

FileError wrong(const JsonValue& value, std::string_view what) {
  return value.error(ErrorKind::bad_plan, "the test's answer", std::string(what));
}

// Asks for a member of the root, then something of it.
template <typename Check>
Ask member(std::string key, Check check) {
  return [key = std::move(key), check](const JsonDocument& document) -> std::optional<FileError> {
    const Result<std::optional<JsonValue>> found = document.root().find(key);
    if (!found.ok()) return found.error();
    if (!found->has_value()) return wrong(document.root(), "has no " + key);
    return check(**found);
  };
}

Ask as_int(std::string key, std::int64_t expected = 0) {
  return member(std::move(key), [expected](const JsonValue& value) -> std::optional<FileError> {
    const Result<std::int64_t> got = value.as_int();
    if (!got.ok()) return got.error();
    return *got == expected ? std::nullopt : std::optional(wrong(value, "as an integer"));
  });
}

Ask as_double(std::string key, double expected = 0) {
  return member(std::move(key), [expected](const JsonValue& value) -> std::optional<FileError> {
    const Result<double> got = value.as_double();
    if (!got.ok()) return got.error();
    const bool same = *got == expected && std::signbit(*got) == std::signbit(expected);
    return same ? std::nullopt : std::optional(wrong(value, "as a double"));
  });
}

Ask duplicates(std::size_t expected) {
  return [expected](const JsonDocument& document) -> std::optional<FileError> {
    if (document.duplicates().size() == expected) return std::nullopt;
    return wrong(document.root(), std::to_string(document.duplicates().size()) + " duplicates");
  };
}

Ask root_is_no_number() {
  return [](const JsonDocument& document) { return std::optional(document.root().as_double().error()); };
}

constexpr std::nullopt_t kAccepted = std::nullopt;
using Cases = std::vector<JsonCase>;

Cases depth() {
  return {
      {"B1_arrays_128", b1_arrays_128, kAccepted, {}, "", {}},
      {"B1_arrays_129", b1_arrays_129, ErrorKind::json_depth, at(1, 129, 128, repeated("/0", 127)), "at most 128", {}},
      {"B1_objects_129",
       b1_objects_129,
       ErrorKind::json_depth,
       at(1, 641, 640, repeated("/a", 127)),
       "at most 128",
       {}},
      {"B1_ignored_field",
       b1_ignored_field,
       ErrorKind::json_depth,
       at(2, 139, 140, "/ignored" + repeated("/0", 126)),
       "at most 128",
       {}},
      {"B1_arrays_million",
       b1_arrays_million,
       ErrorKind::json_depth,
       at(1, 129, 128, repeated("/0", 127)),
       "at most 128",
       {}},
      {"B1_objects_million",
       b1_objects_million,
       ErrorKind::json_depth,
       at(1, 641, 640, repeated("/a", 127)),
       "at most 128",
       {}},
      {"B2_only_brackets",
       b2_only_brackets,
       ErrorKind::json_depth,
       at(1, 129, 128, repeated("/0", 127)),
       "at most 128",
       {}},
      {"B2_hundred_megabytes", b2_hundred_megabytes, ErrorKind::limit, {}, "at most 67108864 bytes, got 100000000", {}},
  };
}

Cases duplicate_keys() {
  return {
      {"B3_used_key", text("{\"rope_theta\": 1,\n\"x\": 2,\n  \"rope_theta\": 3}"), ErrorKind::json_duplicate_key,
       at(3, 3, 28, "/rope_theta"), "lines 1 and 3", as_double("rope_theta")},
      {"B3_used_key_same_value", text("{\"a\": 1, \"a\": 1}"), ErrorKind::json_duplicate_key, at(1, 10, 9, "/a"),
       "lines 1 and 1", as_double("a")},
      {"B3_used_key_escaped", text("{\"a\": 1, \"\\u0061\": 1}"), ErrorKind::json_duplicate_key, at(1, 10, 9, "/a"),
       "lines 1 and 1", as_double("a")},
      {"B4_elsewhere", text("{\"x\": {\"y\": 1, \"y\": 2}, \"a\": 3}"), kAccepted, {}, "", as_double("a", 3)},
      {"B4_elsewhere_listed", text("{\"x\": {\"y\": 1, \"y\": 2}, \"a\": 3}"), kAccepted, {}, "", duplicates(1)},
      {"B4_same_key_in_two_objects", text("[{\"y\": 1}, {\"y\": 2}]"), kAccepted, {}, "", duplicates(0)},
  };
}

Cases encoding() {
  const ErrorKind utf8 = ErrorKind::json_utf8;
  return {
      {"B5_byte_ff", text("{\"a\": \"x\xFF\"}"), utf8, at(1, 9, 8), "got bytes ff 22", {}},
      {"B5_overlong_2", text("\"\xC0\x80\""), utf8, at(1, 2, 1), "got bytes c0 80", {}},
      {"B5_overlong_3", text("\"\xE0\x9F\xBF\""), utf8, at(1, 2, 1), "expected UTF-8", {}},
      {"B5_overlong_4", text("\"\xF0\x8F\xBF\xBF\""), utf8, at(1, 2, 1), "got bytes f0 8f bf bf", {}},
      {"B5_surrogate_bytes", text("\"\xED\xA0\x80\""), utf8, at(1, 2, 1), "got bytes ed a0 80", {}},
      {"B5_above_10ffff", text("\"\xF4\x90\x80\x80\""), utf8, at(1, 2, 1), "expected UTF-8", {}},
      {"B5_cut_short", text("[\"\xE4\xBD\"]"), utf8, at(1, 3, 2), "got bytes e4 bd 22", {}},
      {"B5_cut_by_the_end", text("\"\xE4\xBD"), utf8, at(1, 2, 1), "got bytes e4 bd", {}},
      {"B5_continuation_alone", text("\"\x80\""), utf8, at(1, 2, 1), "got bytes 80", {}},
      {"B5_in_a_key", text("{\n\"a\xC3\": 1}"), utf8, at(2, 3, 4), "got bytes c3 22", {}},
      {"B5_outside_of_strings", text("{\"a\": \xFF}"), utf8, at(1, 7, 6), "got bytes ff 7d", {}},
      {"B5_behind_the_document", text("{} \xFF"), utf8, at(1, 4, 3), "got byte ff", {}},
      {"B6_high_alone", text("[\"a\\ud800\"]"), utf8, at(1, 4, 3), "low surrogate", {}},
      {"B6_high_and_text", text("\"\\uD800x\""), utf8, at(1, 2, 1), "low surrogate", {}},
      {"B6_high_and_no_surrogate", text("\"\\ud800\\u0041\""), utf8, at(1, 2, 1), "low surrogate", {}},
      {"B6_high_high", text("\"\\ud800\\ud800\""), utf8, at(1, 2, 1), "low surrogate", {}},
      {"B6_low_alone", text("[\"abc\\udc00\"]"), utf8, at(1, 6, 5), "high surrogate before", {}},
      {"B6_low_upper_case", text("\"\\uDFFF\""), utf8, at(1, 2, 1), "high surrogate before", {}},
      {"B6_low_behind_a_pair", text("\"\\ud83e\\udded\\udded\""), utf8, at(1, 14, 13), "high surrogate before", {}},
      {"B6_low_behind_a_backslash", text("\"\\\\\\udc00\""), utf8, at(1, 4, 3), "high surrogate before", {}},
      {"B6_low_in_a_key", text("{\"\\udc00\": 1}"), utf8, at(1, 3, 2), "high surrogate before", {}},
      {"B6_pair", text("{\"a\\ud83e\\udded\": 1}"), kAccepted, {}, "", as_int("a\xF0\x9F\xA7\xAD", 1)},
      {"B6_no_escape_at_all", text("{\"\\\\udc00\": 1}"), kAccepted, {}, "", as_int("\\udc00", 1)},
      {"B7_utf8_mark", text("\xEF\xBB\xBF{\"a\": 1}"), kAccepted, {}, "", as_int("a", 1)},
      {"B7_utf8_mark_and_error", text("\xEF\xBB\xBF{\"a\" 1}"), ErrorKind::json_syntax, at(1, 6, 8), "':' after", {}},
      {"B7_utf8_mark_alone", text("\xEF\xBB\xBF"), ErrorKind::json_syntax, at(1, 1, 3), "the end of the text", {}},
      {"B7_utf8_mark_twice", text("\xEF\xBB\xBF\xEF\xBB\xBF{}"), ErrorKind::json_syntax, at(1, 1, 3), "a value", {}},
      {"B7_utf16_le_mark", text("\xFF\xFE{\0}\0"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-16", {}},
      {"B7_utf16_be_mark", text("\xFE\xFF\0{\0}"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-16", {}},
      {"B7_utf32_le_mark", text("\xFF\xFE\0\0{\0\0\0"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-32", {}},
      {"B7_utf32_be_mark", text("\0\0\xFE\xFF\0\0\0{"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-32", {}},
      {"B7_utf16_le_plain", text("{\0}\0"s), ErrorKind::json_encoding, at(-1, -1, 0), "expected UTF-8, got UTF-16", {}},
      {"B7_utf16_be_plain", text("\0{\0}"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-16", {}},
      {"B7_utf32_le_plain", text("{\0\0\0}\0\0\0"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-32", {}},
      {"B7_utf32_be_plain", text("\0\0\0{\0\0\0}"s), ErrorKind::json_encoding, at(-1, -1, 0), "got UTF-32", {}},
  };
}

Cases numbers() {
  const std::string odd = "{\"a\": NaN, \"b\": Infinity, \"c\": [0.0, -Infinity], \"d\": 1}";
  return {
      {"B8_unused", text(odd), kAccepted, {}, "", as_int("d", 1)},
      {"B9_nan", text(odd), ErrorKind::not_finite, at(1, 7, 6, "/a"), "got NaN", as_double("a")},
      {"B9_infinity", text(odd), ErrorKind::not_finite, at(1, 17, 16, "/b"), "got Infinity", as_double("b")},
      {"B9_minus_infinity", text("{\"a\": -Infinity}"), ErrorKind::not_finite, at(1, 7, 6, "/a"), "got -Infinity",
       as_double("a")},
      {"B9_nan_as_an_integer", text(odd), ErrorKind::not_finite, at(1, 7, 6, "/a"), "expected an integer, got NaN",
       as_int("a")},
      {"B10_too_large", text("{\"a\": 1e400}"), ErrorKind::not_finite, at(1, 7, 6, "/a"), "got 1e400", as_double("a")},
      {"B10_too_large_negative", text("{\"a\": -1e400}"), ErrorKind::not_finite, at(1, 7, 6, "/a"), "largest double",
       as_double("a")},
      {"B10_too_large_unused", text("{\"a\": 1e400, \"b\": 2}"), kAccepted, {}, "", as_double("b", 2)},
      {"B10_too_small", text("{\"a\": 1e-400}"), kAccepted, {}, "", as_double("a", 0.0)},
      {"B10_too_small_negative", text("{\"a\": -1e-400}"), kAccepted, {}, "", as_double("a", -0.0)},
      {"B11_2_to_63", text("{\"a\": 9223372036854775808}"), ErrorKind::out_of_range, at(1, 7, 6, "/a"),
       "got 9223372036854775808", as_int("a")},
      {"B11_2_to_64", text("{\"a\": 18446744073709551616}"), ErrorKind::out_of_range, at(1, 7, 6, "/a"),
       "got 18446744073709551616", as_int("a")},
      {"B11_minus_2_to_63", text("{\"a\": -9223372036854775808}"), kAccepted, {}, "", as_int("a", INT64_MIN)},
      {"B11_digits_400", b11_digits_400, ErrorKind::out_of_range, at(1, 7, 6, "/a"), "9999... (400 bytes)",
       as_int("a")},
      {"B11_digits_400_double", b11_digits_400, ErrorKind::not_finite, at(1, 7, 6, "/a"), "9999... (400 bytes)",
       as_double("a")},
      {"B11_digits_64_mib", b11_digits_64_mib, ErrorKind::not_finite, at(1, 1, 0), "7777... (67108864 bytes)",
       root_is_no_number()},
      {"B12_integral_float", text("{\"a\": 4096.0}"), kAccepted, {}, "", as_int("a", 4096)},
      {"B12_exponent", text("{\"a\": 1e3}"), kAccepted, {}, "", as_int("a", 1000)},
      {"B12_fraction", text("{\"a\": 4096.5}"), ErrorKind::out_of_range, at(1, 7, 6, "/a"), "got 4096.5", as_int("a")},
      {"B12_string", text("{\"a\": \"4096\"}"), ErrorKind::type, at(1, 7, 6, "/a"),
       "got \"4096\" (a number takes no quotes)", as_int("a")},
      {"B12_true", text("{\"a\": true}"), ErrorKind::type, at(1, 7, 6, "/a"), "expected an integer, got true",
       as_int("a")},
      {"B12_null", text("{\"a\": null}"), ErrorKind::type, at(1, 7, 6, "/a"), "expected a number, got null",
       as_double("a")},
  };
}

Cases number_syntax() {
  const ErrorKind syntax = ErrorKind::json_syntax;
  return {
      {"B13_leading_zero",
       text("{\"a\":\n 0123}"),
       syntax,
       at(2, 3, 8),
       "expected a number without a leading zero, got 0123",
       {}},
      {"B13_plus", text("[+1]"), syntax, at(1, 2, 1), "got +1 (a JSON number takes no plus sign)", {}},
      {"B13_no_integer_part", text("[.5]"), syntax, at(1, 2, 1), "got .5 (a JSON number begins with a digit)", {}},
      {"B13_no_fraction", text("[1.]"), syntax, at(1, 4, 3), "a digit after the decimal point, got 1.", {}},
      {"B13_no_fraction_but_exponent", text("[1.e5]"), syntax, at(1, 4, 3), "a digit after the decimal point", {}},
      {"B13_two_points", text("[1.5.5]"), syntax, at(1, 5, 4), "expected the end of the number, got 1.5.5", {}},
      {"B13_two_exponents", text("[1e5e5]"), syntax, at(1, 5, 4), "expected the end of the number", {}},
      {"B13_no_exponent", text("[1e]"), syntax, at(1, 4, 3), "a digit in the exponent", {}},
      {"B13_minus_alone", text("[-]"), syntax, at(1, 3, 2), "a digit after the minus sign", {}},
      {"B13_minus_text", text("[-x]"), syntax, at(1, 3, 2), "got -x", {}},
      {"B13_hexadecimal", text("[0x10]"), syntax, at(1, 3, 2), "expected the end of the number, got 0x10", {}},
      {"B13_underscore", text("[1_000]"), syntax, at(1, 3, 2), "got 1_000", {}},
      {"B13_inf",
       text("[Inf]"),
       syntax,
       at(1, 2, 1),
       "expected a value, got Inf (JSON has no infinity; Infinity is accepted)",
       {}},
      {"B13_minus_inf", text("[-Inf]"), syntax, at(1, 3, 2), "expected Infinity, got -Inf", {}},
      {"B13_minus_nan", text("[-NaN]"), syntax, at(1, 3, 2), "got -NaN", {}},
      {"B13_nan_lower_case", text("[nan]"), syntax, at(1, 2, 1), "got nan (JSON has no NaN; NaN is accepted)", {}},
      {"B13_infinity_and_more", text("[Infinity1]"), syntax, at(1, 10, 9), "the end of the number", {}},
      {"B13_number_as_a_key", text("{1: 2}"), syntax, at(1, 2, 1), "expected a key in double quotes, got 1", {}},
      {"B13_number_broken_as_a_key",
       text("{1.: 2}"),
       syntax,
       at(1, 2, 1),
       "expected a key in double quotes, got 1.",
       {}},
      {"B13_two_numbers", text("[1 2]"), syntax, at(1, 4, 3), "',' or ']' after the value, got 2", {}},
  };
}

Cases other_syntax() {
  const ErrorKind syntax = ErrorKind::json_syntax;
  return {
      {"B13_comma_before_brace", text("{\"a\": 1,}"), syntax, at(1, 9, 8), "no comma before a closing bracket", {}},
      {"B13_comma_before_bracket",
       text("{\"l\": [1, ]}"),
       syntax,
       at(1, 11, 10, "/l"),
       "no comma before a closing",
       {}},
      {"B13_two_commas", text("[1,,2]"), syntax, at(1, 4, 3), "expected a value, got ','", {}},
      {"B13_line_comment", text("{\n// here\n}"), syntax, at(2, 1, 2), "JSON has no comments", {}},
      {"B13_block_comment", text("[/* here */]"), syntax, at(1, 2, 1), "JSON has no comments", {}},
      {"B13_hash_comment", text("{\"a\": 1 # here\n}"), syntax, at(1, 9, 8), "JSON has no comments", {}},
      {"B13_single_quotes", text("{'a': 1}"), syntax, at(1, 2, 1), "JSON takes double quotes", {}},
      {"B13_bare_key", text("{a: 1}"), syntax, at(1, 2, 1), "expected a key in double quotes, got a", {}},
      {"B13_no_colon", text("{\"a\" 1}"), syntax, at(1, 6, 5), "expected ':' after the key, got 1", {}},
      {"B13_no_value", text("{\"a\": }"), syntax, at(1, 7, 6), "expected a value, got '}'", {}},
      {"B13_no_comma", text("{\"a\": 1 \"b\": 2}"), syntax, at(1, 9, 8), "',' or '}' after the member, got '\"'", {}},
      {"B13_wrong_bracket", text("[1}"), syntax, at(1, 3, 2), "',' or ']' after the value, got '}'", {}},
      {"B13_python_true", text("[True]"), syntax, at(1, 2, 1), "JSON writes true", {}},
      {"B13_python_none",
       text("{\"x\": {\"a\": None}}"),
       syntax,
       at(1, 13, 12, "/x"),
       "expected a value, got None (JSON writes null)",
       {}},
      {"B13_tru", text("[tru]"), syntax, at(1, 2, 1), "expected a value, got tru", {}},
      {"B13_nul", text("[nul"), syntax, at(1, 2, 1), "expected a value, got nul", {}},
      {"B13_true_and_more", text("[true1]"), syntax, at(1, 6, 5), "',' or ']' after the value, got 1", {}},
      {"B13_open_array", text("[1, 2"), syntax, at(1, 6, 5), "got the end of the text", {}},
      {"B13_open_object", text("{\n\"a\": 1\n"), syntax, at(3, 1, 9), "got the end of the text", {}},
      {"B13_open_string", text("[\"abc"), syntax, at(1, 6, 5), "expected a closing double quote, got the end", {}},
      {"B13_open_escape", text("[\"abc\\"), syntax, at(1, 6, 5), "expected an escape that JSON has", {}},
      {"B13_spaces_only", text(" \n\t "), syntax, at(2, 3, 4), "expected a value, got the end of the text", {}},
      {"B13_bad_escape", text("[\"a\\x41\"]"), syntax, at(1, 4, 3), "an escape that JSON has, got \\x", {}},
      {"B13_bad_hex", text("[\"\\u12G4\"]"), syntax, at(1, 3, 2), "four hexadecimal digits", {}},
      {"B13_short_hex", text("[\"\\u12\"]"), syntax, at(1, 3, 2), "four hexadecimal digits", {}},
      {"B13_newline_in_a_string",
       text("[\"a\nb\"]"),
       syntax,
       at(1, 4, 3),
       "control character as an escape, got byte 0a",
       {}},
      {"B13_nul_in_a_string",
       text("[\"a\0b\"]"s),
       syntax,
       at(1, 4, 3),
       "control character as an escape, got byte 00",
       {}},
      {"B13_nul_in_an_array", text("[1,\0]"s), syntax, at(1, 4, 3), "expected a value, got \\x00", {}},
      {"B13_escape_sequence", text("[\x1b[2J]"), syntax, at(1, 2, 1), "got \\x1b", {}},
      {"B13_form_feed", text("[\f1]"), syntax, at(1, 2, 1), "got \\x0c1", {}},
      {"B14_text", text("{}\nx"), ErrorKind::json_trailing, at(2, 1, 3), "expected the end of the text, got x", {}},
      {"B14_second_document", text("{}{}"), ErrorKind::json_trailing, at(1, 3, 2), "got '{'", {}},
      {"B14_broken_number", text("{} 1."), ErrorKind::json_trailing, at(1, 4, 3), "got 1.", {}},
      {"B14_nul", text("{}\0"s), ErrorKind::json_trailing, at(1, 3, 2), "expected the end of the text, got \\x00", {}},
      {"B14_nul_and_more", text("{}\0{}"s), ErrorKind::json_trailing, at(1, 3, 2), "got \\x00", {}},
      {"B14_bracket", text("[]]"), ErrorKind::json_trailing, at(1, 3, 2), "got ']'", {}},
      {"B15_array", text("[1]"), ErrorKind::type, at(1, 1, 0), "got an array of 1 value", root_is_no_number()},
      {"B15_string", text(" \"x\""), ErrorKind::type, at(1, 2, 1), "got \"x\"", root_is_no_number()},
      {"B15_null", text("null"), ErrorKind::type, at(1, 1, 0), "got null", root_is_no_number()},
  };
}

Cases sizes() {
  return {
      {"B16_million_keys", b16_million_keys, kAccepted, {}, "", as_int("999999", 0)},
      {"B16_million_same_keys",
       b16_million_same_keys,
       kAccepted,
       {},
       "",
       duplicates(static_cast<std::size_t>(io::kMaxListedDuplicates))},
      {"B16_million_same_keys_used", b16_million_same_keys, ErrorKind::json_duplicate_key, at(2, 1, 11, "/same"),
       "lines 1 and 2", as_int("same")},
      {"B16_string_64_mib", b16_string_64_mib, ErrorKind::type, at(1, 1, 0), "ssss... (67108862 bytes)",
       root_is_no_number()},
      {"B16_escapes_64_mib", b16_escapes_64_mib, ErrorKind::type, at(1, 1, 0), "(33554431 bytes)", root_is_no_number()},
      {"B16_one_byte_too_many",
       b16_one_byte_too_many,
       ErrorKind::limit,
       {},
       "at most 67108864 bytes, got 67108865",
       {}},
      {"B16_unclosed_64_mib",
       b16_unclosed_64_mib,
       ErrorKind::json_syntax,
       at(1, 67108865, 67108864),
       "a closing double quote",
       {}},
      {"B16_empty", text(""), ErrorKind::empty, {}, "no bytes", {}},
      {"B17_same_hash", b17_same_hash, kAccepted, {}, "", as_int("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB", 0)},
      {"B17_long_common_prefix",
       b17_long_common_prefix,
       kAccepted,
       {},
       "",
       as_int(std::string(4096, 'p') + "14095", 0)},
  };
}

}  // namespace

std::vector<JsonCase> json_cases() {
  std::vector<JsonCase> all;
  for (Cases (*group)() : {depth, duplicate_keys, encoding, numbers, number_syntax, other_syntax, sizes}) {
    for (JsonCase& one : group()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace posenc::test

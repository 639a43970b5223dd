// Numbers of JSON (RFC 8259, section 6) without loss: the nearest double by std::from_chars, integers by decimal
// arithmetic, so that 4096.0 and 1e3 are integers and 9007199254740993 is not rounded. Python's NaN and Infinity are
// read, since json.dump writes them.
#include "io/json/json_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace posenc::io {
namespace {

// Exponents are clamped here: far above what 64 MiB of digits can make up for, far below overflow in sums.
constexpr std::int64_t kMaxExponent = std::int64_t{1} << 40;
// 10^19 - 1 is the largest run of nines below 2^64.
constexpr std::int64_t kMaxHead = 19;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What cannot follow a number directly: 12abc, 1.2.3 and NaN5 are one broken number, not a number and a rest.
bool continues_a_word(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || is_digit(c) || c == '_' || c == '.' || c == '+' || c == '-';
}

struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool take(char c) { return peek() == c ? (++at, true) : false; }
  bool take(std::string_view word) {
    if (text.substr(at, word.size()) != word) return false;
    at += word.size();
    return true;
  }
  bool take_digits() {
    const std::size_t first = at;
    while (is_digit(peek())) ++at;
    return at > first;
  }
};

// +-D x 10^exponent, where D has `count` digits and neither begins nor ends with 0. Zero has no digits.
struct Decimal {
  bool negative = false;
  std::int64_t count = 0;
  std::int64_t exponent = 0;
  std::array<char, kMaxHead> head{};  // the first digits of D
};

// from_chars takes no plus sign. A value beyond 64 bits is clamped like any other that is large.
std::int64_t read_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) return text.front() == '-' ? -kMaxExponent : kMaxExponent;
  return std::clamp(value, -kMaxExponent, kMaxExponent);
}

// 1200.50e3 -> first '1' (10^3), last '5' (10^-1): 5 digits, exponent -1 + 3. The digits stay where they are; no more
// than kMaxHead are copied, and to_whole() asks for no more.
Decimal to_decimal(std::string_view number) {
  Decimal out;
  out.negative = number.front() == '-';
  if (out.negative) number.remove_prefix(1);
  const std::size_t mantissa_end = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, mantissa_end);
  const std::size_t first = mantissa.find_first_not_of("0.");
  if (first == std::string_view::npos) return out;
  const std::size_t last = mantissa.find_last_not_of("0.");
  // The power of ten of the digit at index i is point - 1 - i before the point and point - i behind it.
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto power = [&](std::size_t i) {
    const auto index = static_cast<std::int64_t>(i);
    return index < point ? point - 1 - index : point - index;
  };
  out.count = power(first) - power(last) + 1;
  out.exponent = power(last) + read_exponent(number.substr(std::min(mantissa_end + 1, number.size())));
  std::size_t filled = 0;
  for (std::size_t i = first; i <= last && filled < out.head.size(); ++i) {
    if (mantissa[i] != '.') out.head[filled++] = mantissa[i];
  }
  return out;
}

// NaN, Infinity and -Infinity, by their last letters.
bool is_word(std::string_view number) { return number.back() == 'N' || number.back() == 'y'; }

}  // namespace

NumberScan scan_number(std::string_view text) noexcept {
  Cursor in{text};
  const bool negative = in.take('-');
  if (in.peek() == 'I') {
    if (!in.take("Infinity")) return {in.at, negative ? "Infinity" : "a value"};
  } else if (!negative && in.peek() == 'N') {
    if (!in.take("NaN")) return {in.at, "a value"};
  } else {
    if (in.take('0')) {
      if (is_digit(in.peek())) return {in.at, "a number without a leading zero"};
    } else if (!in.take_digits()) {
      return {in.at, negative ? "a digit after the minus sign" : "a number"};
    }
    if (in.take('.') && !in.take_digits()) return {in.at, "a digit after the decimal point"};
    if (in.take('e') || in.take('E')) {
      if (!in.take('+')) in.take('-');
      if (!in.take_digits()) return {in.at, "a digit in the exponent"};
    }
  }
  if (continues_a_word(in.peek())) return {in.at, "the end of the number"};
  return {in.at, {}};
}

double to_double(std::string_view number) noexcept {
  const double sign = number.front() == '-' ? -1.0 : 1.0;
  if (number.back() == 'N') return std::numeric_limits<double>::quiet_NaN();
  if (number.back() == 'y') return sign * std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (status != std::errc::result_out_of_range) return value;
  // from_chars says the same of 1e400 and of 1e-400, and leaves the value alone.
  const Decimal decimal = to_decimal(number);
  return decimal.count + decimal.exponent > 0 ? sign * std::numeric_limits<double>::infinity() : sign * 0.0;
}

Whole to_whole(std::string_view number) noexcept {
  if (is_word(number)) return {WholeState::not_a_number, 0};
  const Decimal decimal = to_decimal(number);
  if (decimal.count == 0) return {WholeState::whole, 0};
  if (decimal.exponent < 0) return {WholeState::fraction, 0};
  if (decimal.count + decimal.exponent > kMaxHead) return {WholeState::too_large, 0};
  // At most 19 digits with the zeros of the exponent: below 10^19, which is below 2^64.
  std::uint64_t magnitude = 0;
  for (std::int64_t i = 0; i < decimal.count; ++i) {
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(decimal.head[static_cast<std::size_t>(i)] - '0');
  }
  for (std::int64_t i = 0; i < decimal.exponent; ++i) magnitude *= 10;
  // -2^63 is an int64_t, 2^63 is not.
  const std::uint64_t bound = (std::uint64_t{1} << 63U) - (decimal.negative ? 0 : 1);
  if (magnitude > bound) return {WholeState::too_large, 0};
  return {WholeState::whole, static_cast<std::int64_t>(decimal.negative ? 0 - magnitude : magnitude)};
}

}  // namespace posenc::io

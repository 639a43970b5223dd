#include "io/json/json_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace posenc::io::json_number_test {
namespace {

TEST(ScanNumber, TakesWhatTheGrammarHas) {
  for (const std::string number : {"0", "-0", "7", "-12", "120", "0.5", "-0.25", "1e3", "1E+3", "1e-3", "12.50e07",
                                   "NaN", "Infinity", "-Infinity", "1e400"}) {
    for (const std::string after : {"", ",", "]", "}", " ", "\n", "\"", "\xff"}) {
      const NumberScan scan = scan_number(number + after);
      EXPECT_EQ(scan.length, number.size()) << number << after;
      EXPECT_EQ(scan.expected, "") << number << after;
    }
  }
}

TEST(ScanNumber, SaysWhatIsMissingAndWhere) {
  struct Broken {
    std::string text;
    std::size_t at;
    std::string expected;
  };
  for (const auto& [text, at, expected] : {
           Broken{"", 0, "a number"},
           {"+1", 0, "a number"},
           {".5", 0, "a number"},
           {"-", 1, "a digit after the minus sign"},
           {"--1", 1, "a digit after the minus sign"},
           {"-NaN", 1, "a digit after the minus sign"},
           {"01", 1, "a number without a leading zero"},
           {"-00", 2, "a number without a leading zero"},
           {"1.", 2, "a digit after the decimal point"},
           {"1.e5", 2, "a digit after the decimal point"},
           {"1e", 2, "a digit in the exponent"},
           {"1e+", 3, "a digit in the exponent"},
           {"1e+-1", 3, "a digit in the exponent"},
           {"0x10", 1, "the end of the number"},
           {"1.5.5", 3, "the end of the number"},
           {"1e5e5", 3, "the end of the number"},
           {"1_000", 1, "the end of the number"},
           {"12f", 2, "the end of the number"},
           {"Inf", 0, "a value"},
           {"-Inf", 1, "Infinity"},
           {"Infinite", 0, "a value"},
           {"Nan", 0, "a value"},
           {"None", 0, "a value"},
           {"NaNs", 3, "the end of the number"},
       }) {
    const NumberScan scan = scan_number(text);
    EXPECT_EQ(scan.length, at) << text;
    EXPECT_EQ(scan.expected, expected) << text;
  }
}

TEST(ToDouble, RoundsToTheNearest) {
  EXPECT_EQ(to_double("10000"), 10000.0);
  EXPECT_EQ(to_double("1e6"), 1e6);
  EXPECT_EQ(to_double("0.1"), 0.1);
  EXPECT_EQ(to_double("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(to_double("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(to_double("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::signbit(to_double("-0")));
}

TEST(ToDouble, TellsOverflowFromUnderflow) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string zeros(1000, '0');
  EXPECT_EQ(to_double("1e400"), infinity);
  EXPECT_EQ(to_double("-1e400"), -infinity);
  EXPECT_EQ(to_double("1e99999999999999999999"), infinity);
  EXPECT_EQ(to_double("1" + zeros), infinity);
  EXPECT_EQ(to_double("0." + zeros + "1e2000"), infinity);
  for (const std::string tiny : {"1e-400", "-1e-400", "2e-324", "1e-99999999999999999999"}) {
    EXPECT_EQ(to_double(tiny), 0.0) << tiny;
    EXPECT_EQ(std::signbit(to_double(tiny)), tiny[0] == '-') << tiny;
  }
  EXPECT_EQ(to_double("0." + zeros + "1"), 0.0);
  EXPECT_EQ(to_double("1" + zeros + "e-2000"), 0.0);
  EXPECT_EQ(to_double("1" + zeros + "e-1000"), 1.0);
  EXPECT_EQ(to_double("0e99999999999999999999"), 0.0);
  EXPECT_TRUE(std::isnan(to_double("NaN")));
  EXPECT_EQ(to_double("-Infinity"), -infinity);
}

void expect_whole(const std::string& text, std::int64_t value) {
  const Whole whole = to_whole(text);
  EXPECT_EQ(whole.state, WholeState::whole) << text;
  EXPECT_EQ(whole.value, value) << text;
}

TEST(ToWhole, IsExact) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  expect_whole("0", 0);
  expect_whole("-0", 0);
  expect_whole("-0.000e7", 0);
  expect_whole("0e99999999999999999999", 0);
  expect_whole("4096", 4096);
  expect_whole("4096.0", 4096);
  expect_whole("-4096.000", -4096);
  expect_whole("1e3", 1000);
  expect_whole("1.5e1", 15);
  expect_whole("120e-1", 12);
  expect_whole("0.00012e5", 12);
  expect_whole("9007199254740993", 9007199254740993);  // 2^53 + 1: no double
  expect_whole("9223372036854775807", kMax);
  expect_whole("9.223372036854775807e18", kMax);
  expect_whole("-9223372036854775808", std::numeric_limits<std::int64_t>::min());
  expect_whole("1" + std::string(1000, '0') + "e-1000", 1);
  expect_whole("0." + std::string(1000, '0') + "1e1001", 1);
}

TEST(ToWhole, SaysWhyNot) {
  for (const std::string text :
       {"0.5", "4096.5", "1e-1", "1e-400", "1e-99999999999999999999", "12e-3", "9223372036854775807.5"}) {
    EXPECT_EQ(to_whole(text).state, WholeState::fraction) << text;
  }
  for (const std::string text : {"9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e19", "1e400",
                                 "1e99999999999999999999", "9999999999999999999", "99999999999999999999"}) {
    EXPECT_EQ(to_whole(text).state, WholeState::too_large) << text;
  }
  EXPECT_EQ(to_whole(std::string(400, '9')).state, WholeState::too_large);
  for (const std::string text : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_EQ(to_whole(text).state, WholeState::not_a_number) << text;
  }
}

}  // namespace
}  // namespace posenc::io::json_number_test

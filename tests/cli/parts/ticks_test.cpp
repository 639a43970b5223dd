// Where axes are marked: whatever the bounds, a few numbers that lie between them.
#include "plot/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace posenc::tool::ticks_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> out;
  for (const Tick& tick : ticks) out.push_back(tick.label);
  return out;
}

TEST(Ticks, StandAtRoundNumbers) {
  using testing::ElementsAre;
  EXPECT_THAT(labels(linear_ticks(0.0, 1.0, 6)), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1"));
  EXPECT_THAT(labels(linear_ticks(-1.0, 1.0, 5)), ElementsAre("-1", "-0.5", "0", "0.5", "1"));
  EXPECT_THAT(labels(whole_ticks(0.0, 3.0, 9)), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(labels(whole_ticks(0.0, 131072.0, 4)), ElementsAre("0", "50k", "100k"));
  EXPECT_THAT(labels(log_ticks(1.0, 1e6, 4)), ElementsAre("1", "100", "10k", "1M"));
  EXPECT_THAT(labels(log_ticks(1.0, 1e40, 3)), ElementsAre("1", "1e+20", "1e+40"));
  EXPECT_THAT(labels(log_ticks(3.0, 60.0, 4)), ElementsAre("5", "10", "20", "50"));
}

// Each ends, which some did not, and gives at most `most` ticks in their order within the bounds.
TEST(Ticks, OfAnyBoundsAreFewAndWithinThem) {
  const double bounds[] = {-kInf, -kLargest, -1e308, -1e20, -1.0,  -kLeast, 0.0,     kLeast,   1e-310, 1e-300,
                           1.0,   1e15,      1e20,   1e160, 1e300, 1e307,   1.7e308, kLargest, kInf,   kNan};
  std::vector<std::vector<double>> pairs;
  for (const double low : bounds) {
    for (const double high : bounds) pairs.push_back({low, high});
    pairs.push_back({low, std::nextafter(low, kInf)});
  }
  for (const auto& pair : pairs) {
    const double low = pair[0];
    const double high = pair[1];
    for (const int most : {2, 6, 11}) {
      SCOPED_TRACE(testing::Message() << low << " to " << high << ", at most " << most);
      const double rounding = 1e-15 * std::max(std::fabs(low), std::fabs(high));  // of n * step, and of the bound
      for (const bool whole : {false, true}) {
        const std::vector<Tick> ticks = whole ? whole_ticks(low, high, most) : linear_ticks(low, high, most);
        EXPECT_LE(std::ssize(ticks), most);
        for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_LT(ticks[i - 1].value, ticks[i].value);
        if (!(low < high)) continue;
        const double slack = 1e-9 * std::max(whole ? 1.0 : 0.0, 5.0 * (high - low)) + rounding;  // of a step
        for (const Tick& tick : ticks) {
          EXPECT_TRUE(std::isfinite(tick.value));
          EXPECT_GE(tick.value, low - slack);
          EXPECT_LE(tick.value, high + slack);
        }
      }
      const std::vector<Tick> powers = log_ticks(low, high, most);
      EXPECT_LE(std::ssize(powers), std::max(most + 1, 6));
      for (const Tick& tick : powers) EXPECT_TRUE(std::isfinite(tick.value) && tick.value > 0.0) << tick.label;
    }
  }
}

TEST(Ticks, OfInfiniteBoundsReachTheLastNumbers) {
  EXPECT_EQ(linear_ticks(-kInf, kInf, 6).size(), 3);
  EXPECT_EQ(log_ticks(1.0, kInf, 5).front().label, "1");
  EXPECT_EQ(log_ticks(1.0, kInf, 5).back().value, 1e308);
}

}  // namespace
}  // namespace posenc::tool::ticks_test

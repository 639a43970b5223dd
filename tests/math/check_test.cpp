// Bad parameters: each is named, with the number that came. And parameters that are only odd, which pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "posenc/rope.h"
#include "posenc/rotary_table.h"

namespace posenc::check_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kTiny = 1e-300;

Rope good(Scaling scaling = {}) {
  return {.pairing = Pairing::half, .head_dim = 16, .dim = 8, .base = 1e4, .scaling = std::move(scaling)};
}

Rope with(const std::function<void(Rope&)>& change, Scaling scaling = {}) {
  Rope rope = good(std::move(scaling));
  change(rope);
  return rope;
}

YarnScaling yarn(const std::function<void(YarnScaling&)>& change = [](YarnScaling&) {}) {
  YarnScaling rule{.factor = 4, .original_max_position_embeddings = 4096};
  change(rule);
  return rule;
}

LongRopeScaling longrope(const std::function<void(LongRopeScaling&)>& change = [](LongRopeScaling&) {}) {
  LongRopeScaling rule{.short_factor = {1, 1, 1, 1},
                       .long_factor = {1, 2, 4, 8},
                       .original_max_position_embeddings = 4096,
                       .factor = 8};
  change(rule);
  return rule;
}

Llama3Scaling llama3(double factor, double low, double high, std::int64_t original = 8192) {
  return {factor, low, high, original};
}

// Eight channels, all of a head, as proportional scaling wants.
Rope whole(Scaling scaling) {
  return {.pairing = Pairing::half, .head_dim = 8, .dim = 8, .scaling = std::move(scaling)};
}

struct Bad {
  Rope rope;
  std::string field;
  std::string is;  // a part of it
};

std::vector<Bad> bad_channels() {
  return {
      {with([](Rope& r) { r.pairing = static_cast<Pairing>(7); }), "pairing", "7"},
      {with([](Rope& r) { r.head_dim = 0; }), "head_dim", "0"},
      {with([](Rope& r) { r.head_dim = -128; }), "head_dim", "-128"},
      {with([](Rope& r) {
         r.head_dim = 1LL << 40;
         r.dim = 1LL << 40;
       }),
       "head_dim", "1099511627776"},
      {with([](Rope& r) { r.head_dim = 65537; }), "head_dim", "65537"},
      {with([](Rope& r) { r.dim = 0; }), "dim", "0"},
      {with([](Rope& r) { r.dim = -8; }), "dim", "-8"},
      {with([](Rope& r) { r.dim = 7; }), "dim", "7"},
      {with([](Rope& r) { r.dim = 18; }), "dim", "18"},
      {with([](Rope& r) { r.first_channel = -1; }), "first_channel", "-1"},
      {with([](Rope& r) { r.first_channel = 9; }), "first_channel", "9"},
      {with([](Rope& r) { r.first_channel = std::numeric_limits<std::int64_t>::max(); }), "first_channel", "922"},
      {with([](Rope& r) { r.axis_frequencies = static_cast<AxisFrequencies>(9); }), "axis_frequencies", "9"},
      {with([](Rope& r) { r.rotation_direction = static_cast<RotationDirection>(2); }), "rotation_direction", "2"},
  };
}

std::vector<Bad> bad_bases() {
  std::vector<Bad> all;
  for (const double base : {kNaN, kInfinity, -kInfinity, -1e4, 0.0, -0.0, 0.5, std::nextafter(1.0, 0.0), kTiny}) {
    all.push_back({with([=](Rope& r) { r.base = base; }), "base", ""});
  }
  all.push_back({with([](Rope& r) { r.base = 1; }, yarn()), "base", "1"});
  return all;
}

std::vector<Bad> bad_axes() {
  const auto axes = [](AxisMap map, AxisFrequencies ladder = AxisFrequencies::shared) {
    return with([=](Rope& r) {
      r.axes = map;
      r.axis_frequencies = ladder;
    });
  };
  return {
      {axes({{}, {}}), "axes.names", "empty"},
      {axes({{"t"}, {0, 0, 0}}), "axes.of_pair", "3 long"},
      {axes({{"t"}, {0, 0, 0, 0, 0}}), "axes.of_pair", "5 long"},
      {axes({{"t", "h"}, {0, 1, 2, 0}}), "axes.of_pair[2]", "2"},
      {axes({{"t", "h"}, {0, 1, 1, -1}}), "axes.of_pair[3]", "-1"},
      {axes({{"t", "h", "w"}, {0, 1, 2, 0}}, AxisFrequencies::per_axis), "dim", "8"},
      {axes({{"h", "w"}, {0, 0, 1, 0}}, AxisFrequencies::per_axis), "axes.of_pair[3]", "0"},
      {axes({{"h", "w"}, {0, 1, 1, 0}}, AxisFrequencies::per_axis), "axes.of_pair[2]", "1"},
      {axes({{"h", "w"}, {0, 1, 0, 1}}, AxisFrequencies::strided), "axes.of_pair[1]", "1"},
      {axes({{"h", "w"}, {}}, AxisFrequencies::strided), "axes.of_pair[2]", "0"},
  };
}

std::vector<Bad> bad_factors() {
  std::vector<Bad> all;
  for (const double factor : {kNaN, kInfinity, -kInfinity, -2.0, 0.0}) {
    all.push_back({good(LinearScaling{factor}), "factor", ""});
    all.push_back({good(NtkScaling{factor}), "alpha", ""});
    all.push_back({good(DynamicScaling{factor, 2048}), "factor", ""});
    all.push_back({good(yarn([=](YarnScaling& y) { y.factor = factor; })), "factor", ""});
    all.push_back({good(longrope([=](LongRopeScaling& l) { l.factor = factor; })), "factor", ""});
    all.push_back({good(llama3(factor, 1, 4)), "factor", ""});
    all.push_back({whole(ProportionalScaling{0.5, factor}), "factor", ""});
    all.push_back({good(FactorListScaling{{1, 1, factor, 1}}), "factors[2]", ""});
    all.push_back({good(longrope([=](LongRopeScaling& l) { l.long_factor[3] = factor; })), "long_factor[3]", ""});
    all.push_back({good(longrope([=](LongRopeScaling& l) { l.short_factor[0] = factor; })), "short_factor[0]", ""});
    all.push_back({good(llama3(8, factor, 4)), "low_freq_factor", ""});
    all.push_back({good(llama3(8, 1, factor)), "high_freq_factor", ""});
  }
  return all;
}

std::vector<Bad> bad_optional_numbers() {
  std::vector<Bad> all;
  for (const double value : {kNaN, kInfinity, -0.5}) {
    all.push_back({good(yarn([=](YarnScaling& y) { y.attention_factor = value; })), "attention_factor", ""});
    all.push_back({good(yarn([=](YarnScaling& y) { y.beta_fast = value; })), "beta_fast", ""});
    all.push_back({good(yarn([=](YarnScaling& y) { y.beta_slow = value; })), "beta_slow", ""});
    all.push_back({good(yarn([=](YarnScaling& y) { y.mscale = value; })), "mscale", ""});
    all.push_back({good(yarn([=](YarnScaling& y) { y.mscale_all_dim = value; })), "mscale_all_dim", ""});
    all.push_back({good(longrope([=](LongRopeScaling& l) { l.attention_factor = value; })), "attention_factor", ""});
    all.push_back({good(longrope([=](LongRopeScaling& l) { l.short_mscale = value; })), "short_mscale", ""});
  }
  return all;
}

std::vector<Bad> bad_rules() {
  const auto lists = [](std::vector<double> short_list, std::vector<double> long_list) {
    return good(longrope([=](LongRopeScaling& l) { l.short_factor = short_list; l.long_factor = long_list; }));
  };
  const std::vector<double> right(4, 1.0);
  const auto two_channels = [](Scaling scaling) { return with([](Rope& r) { r.dim = 2; }, std::move(scaling)); };
  const auto blocks = [](Scaling scaling) {
    return with(
        [](Rope& r) {
          r.axes = axial_axes({"h", "w"}, 4);
          r.axis_frequencies = AxisFrequencies::per_axis;
        },
        std::move(scaling));
  };
  return {
      {two_channels(NtkScaling{2}), "dim", "2"},
      {two_channels(DynamicScaling{2, 2048}), "dim", "2"},
      {two_channels(QwenNtkScaling{2048}), "dim", "2"},
      {good(DynamicScaling{2, 0}), "max_position_embeddings", "0"},
      {good(DynamicScaling{2, -5}), "max_position_embeddings", "-5"},
      {good(QwenNtkScaling{0}), "seq_length", "0"},
      {good(NtkScaling{1e-9}), "alpha", "1e-09"},
      {good(yarn([](YarnScaling& y) { y.original_max_position_embeddings = 0; })), "original_max_position_embeddings",
       "0"},
      {good(yarn([](YarnScaling& y) {
         y.beta_fast = 1;
         y.beta_slow = 32;
       })),
       "beta_fast", "1"},
      {good(yarn([](YarnScaling& y) { y.beta_slow = 33; })), "beta_fast", "32"},
      {good(llama3(8, 4, 1)), "high_freq_factor", "1"},
      {good(llama3(8, 1, 4, 0)), "original_max_position_embeddings", "0"},
      {lists({}, right), "short_factor", "0 numbers"},
      {lists({1, 1, 1}, right), "short_factor", "3 numbers"},
      {lists(right, {1, 1, 1, 1, 1}), "long_factor", "5 numbers"},
      {lists(right, std::vector<double>(8, 1.0)), "long_factor", "8 numbers"},
      {good(longrope([](LongRopeScaling& l) { l.original_max_position_embeddings = 1; })),
       "original_max_position_embeddings", "1"},
      {good(longrope([](LongRopeScaling& l) { l.short_mscale = 1.1; })), "long_mscale", "absent"},
      {good(longrope([](LongRopeScaling& l) { l.long_mscale = 1.1; })), "short_mscale", "absent"},
      {good(FactorListScaling{{1, 1, 1}}), "factors", "3 numbers"},
      {good(ProportionalScaling{0.5, 1}), "dim", "8"},  // of a head of 16
      {whole(ProportionalScaling{-0.1, 1}), "partial_rotary_factor", "-0.1"},
      {whole(ProportionalScaling{1.5, 1}), "partial_rotary_factor", "1.5"},
      {whole(ProportionalScaling{kNaN, 1}), "partial_rotary_factor", "nan"},
      {blocks(yarn()), "axis_frequencies", "per_axis"},
      {blocks(NtkScaling{2}), "axis_frequencies", "per_axis"},
      {blocks(DynamicScaling{2, 2048}), "axis_frequencies", "per_axis"},
      {blocks(QwenNtkScaling{2048}), "axis_frequencies", "per_axis"},
  };
}

// Each parameter alone is allowed; together they leave the range of a double.
std::vector<Bad> overflowing() {
  return {
      {good(NtkScaling{kLargest}), "alpha", "inf"},
      {with([](Rope& r) { r.base = kLargest; }, NtkScaling{2}), "alpha", "inf"},
      {good(LinearScaling{1e-310}), "inv_freq[0]", "inf"},
      {good(FactorListScaling{{1, 1, 1, 1e-313}}), "inv_freq[3]", "inf"},
      {with([](Rope& r) { r.base = kLargest; }, LinearScaling{kLargest}), "inv_freq[1]", "0"},
      {good(yarn([](YarnScaling& y) { y.beta_fast = 1e-310; y.beta_slow = 1e-310; })), "inv_freq[0]", "nan"},
      {good(yarn([](YarnScaling& y) { y.factor = 1e10; y.mscale = kLargest; y.mscale_all_dim = 1; })),
       "attention_factor", "inf"},
  };
}

void expect_refused(const std::vector<Bad>& all) {
  for (const Bad& bad : all) {
    const std::optional<Problem> problem = check(bad.rope);
    ASSERT_TRUE(problem) << bad.field << " " << bad.is;
    EXPECT_EQ(problem->field, bad.field) << problem->must << " / " << problem->is;
    EXPECT_THAT(problem->is, testing::HasSubstr(bad.is)) << bad.field;
    EXPECT_FALSE(problem->must.empty());
    EXPECT_THROW((void)frequencies(bad.rope), Error) << bad.field;
    EXPECT_THROW((void)layout(bad.rope), Error) << bad.field;
  }
}

TEST(Check, Channels) { expect_refused(bad_channels()); }
TEST(Check, Bases) { expect_refused(bad_bases()); }
TEST(Check, Axes) { expect_refused(bad_axes()); }
TEST(Check, Factors) { expect_refused(bad_factors()); }
TEST(Check, OptionalNumbers) { expect_refused(bad_optional_numbers()); }
TEST(Check, Rules) { expect_refused(bad_rules()); }
TEST(Check, Overflow) { expect_refused(overflowing()); }

TEST(Check, MessageNamesWhatMustHoldAndTheArithmetic) {
  const Rope rope = with([](Rope& r) { r.first_channel = 9; });
  try {
    (void)frequencies(rope);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[frequencies] first_channel must lie from 0 to head_dim - dim = 16 - 8 = 8 but is 9");
  }
  const auto lists = check(good(longrope([](LongRopeScaling& l) { l.long_factor.pop_back(); })));
  ASSERT_TRUE(lists);
  EXPECT_EQ(lists->must + " but is " + lists->is,
            "have one number for each pair, dim / 2 = 8 / 2 = 4, but is 3 numbers long");
  const auto axes = check(with([](Rope& r) { r.axes = {{"t", "h"}, {0, 1, 2, 0}}; }));
  ASSERT_TRUE(axes);
  EXPECT_EQ(axes->must, "be one of the 2 axes, 0 to 1,");
}

// Without a length both lists are judged: the long one of a length beyond the trained one.
TEST(Check, BothListsMustGiveFrequencies) {
  const auto beyond = check(good(longrope([](LongRopeScaling& l) { l.long_factor[0] = 1e-100; })));
  ASSERT_TRUE(beyond);
  EXPECT_EQ(beyond->field, "inv_freq[0]");
  const auto within = check(good(longrope([](LongRopeScaling& l) { l.short_factor[0] = 1e-100; })));
  ASSERT_TRUE(within);
  EXPECT_EQ(within->field, "inv_freq[0]");
}

TEST(Check, OddParametersPass) {
  const std::vector<Rope> all{
      good(),
      with([](Rope& r) { r.first_channel = 8; }),
      with([](Rope& r) { r.dim = 16; }),
      with([](Rope& r) { r.dim = 2; }),
      with([](Rope& r) { r.base = 1; }),
      with([](Rope& r) { r.base = 1e38; }),
      with([](Rope& r) { r.base = kLargest; }),
      with([](Rope& r) { r.dim = 2; }, yarn()),
      good(LinearScaling{0.5}),
      good(DynamicScaling{0.5, 2048}),
      good(NtkScaling{0.5}),
      good(yarn([](YarnScaling& y) { y.factor = 0.5; })),
      good(yarn([](YarnScaling& y) { y.attention_factor = 0; })),
      good(yarn([](YarnScaling& y) { y.beta_fast = 0; y.beta_slow = 0; })),
      good(yarn([](YarnScaling& y) { y.beta_fast = 3; y.beta_slow = 3; y.truncate = false; })),
      good(yarn([](YarnScaling& y) { y.original_max_position_embeddings = 1; })),
      good(longrope([](LongRopeScaling& l) { l.long_factor[2] = 0.25; })),
      good(longrope([](LongRopeScaling& l) { l.original_max_position_embeddings = 2; })),
      good(llama3(16, 1, 1)),
      whole(ProportionalScaling{0, 1}),
      good(FactorListScaling{{1, 1, 1, 1e30}}),
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto problem = check(all[i]);
    EXPECT_FALSE(problem) << i << ": " << problem->field << " " << problem->must << " " << problem->is;
  }
}

// Whatever the parameters and the length, a caller gets finite frequencies or an Error, never a NaN.
TEST(Check, ExtremesNeverGiveNaN) {
  const std::vector<double> extremes{5e-324, kTiny, 1e-30, 0.5, 1, 2, 1e30, 1e38, 1e300, kLargest};
  int answered = 0;
  int refused = 0;
  const auto ask = [&](const Rope& rope, Arithmetic arithmetic) {
    try {
      const Frequencies got = frequencies(rope, std::numeric_limits<std::int64_t>::max(), arithmetic);
      for (const double value : got.inv_freq) EXPECT_TRUE(std::isfinite(value) && value >= 0);
      EXPECT_TRUE(std::isfinite(got.attention_factor) && got.attention_factor >= 0);
      ++answered;
    } catch (const Error&) {
      ++refused;
    }
  };
  for (const double base : extremes) {
    for (const double x : extremes) {
      for (const double y : extremes) {
        const std::vector<Scaling> rules{
            LinearScaling{x},
            NtkScaling{x},
            DynamicScaling{x, 1},
            QwenNtkScaling{1},
            yarn([=](YarnScaling& r) { r.factor = x; r.beta_fast = y; r.truncate = y < 1e30; }),
            yarn([=](YarnScaling& r) { r.factor = x; r.beta_slow = y; r.beta_fast = kLargest; r.mscale = y; }),
            longrope([=](LongRopeScaling& r) { r.factor = x; r.long_factor[1] = y; }),
            llama3(x, std::min(x, y), y),
            llama3(2, y, y),
            FactorListScaling{{x, y, 1, 1}}};
        for (const Scaling& rule : rules) {
          const Rope rope = with([=](Rope& r) { r.base = base; }, rule);
          ask(rope, Arithmetic::exact);
          ask(rope, Arithmetic::float32);
        }
      }
    }
  }
  EXPECT_GT(answered, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace posenc::check_test

// The six conventions of sinusoids: published tables, both index forms of the seed, layouts, shifts, bad inputs.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "math/config_to_rope.h"
#include "posenc/input.h"
#include "posenc/plan.h"
#include "support/test_data.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::sinusoid_test {
namespace {

using Convention = SinusoidConvention;
using Numbers = std::vector<double>;

constexpr const char* kAllennlp = "golden/sinusoidal/allennlp_positional_encoding_test.json";
constexpr const char* kFairseq2 = "golden/sinusoidal/fairseq2_sinusoidal_table.json";
constexpr std::array kAll = {Convention::paper,  Convention::tensor2tensor, Convention::musicgen,
                             Convention::marian, Convention::whisper,       Convention::xlnet};

Numbers row(Convention convention, std::int64_t channels, double place) {
  return input_row(SinusoidalInput{.convention = convention}, channels, place);
}

// Numbers that a float was printed with, of a table made in float.
double published_bound(double value, int digits, double t, double w) {
  return test::printed_digits(value, digits) + test::float_sinusoid_bound(t, w);
}

double rung(std::int64_t channels, std::size_t channel) {
  const auto half = static_cast<std::size_t>(channels / 2);
  return std::pow(1e4, -static_cast<double>(channel % half) / static_cast<double>(half - 1));
}

TEST(Sinusoid, Tensor2TensorAsAllennlpQuotesIt) {
  POSENC_NEED_DATA(kAllennlp);
  const auto document = test::read_json(test::test_data() / kAllennlp);
  ASSERT_EQ(document["cases"].Size(), 2U);
  test::ErrorRatio ratio("allennlp's table");
  for (const test::Json& one : document["cases"].GetArray()) {
    const std::int64_t channels = one["dim"].GetInt64();
    for (rapidjson::SizeType i = 0; i < one["positions"].Size(); ++i) {
      const double t = one["positions"][i].GetDouble();
      const Numbers expected = test::numbers(one["expected"][i]);
      const Numbers got = row(Convention::tensor2tensor, channels, t);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t c = 0; c < got.size(); ++c) {
        const double w = c < 2 * static_cast<std::size_t>(channels / 2) ? rung(channels, c) : 1.0;
        ratio.add(std::abs(got[c] - expected[c]), published_bound(expected[c], 9, t, w), std::to_string(c));
      }
    }
  }
  ratio.expect();
}

// Row 0 is the padding's; row n + 1 has the angles of place n.
TEST(Sinusoid, Fairseq2Table) {
  POSENC_NEED_DATA(kFairseq2);
  const auto document = test::read_json(test::test_data() / kFairseq2);
  const test::Json& table = document["expected"];
  ASSERT_GE(table.Size(), 5U);
  test::ErrorRatio ratio("fairseq2's table");
  for (rapidjson::SizeType r = 1; r < table.Size(); ++r) {
    const double t = static_cast<double>(r) - 1;
    const Numbers expected = test::numbers(table[r]);
    const Numbers got = row(Convention::tensor2tensor, 32, t);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t c = 0; c < got.size(); ++c) {
      ratio.add(std::abs(got[c] - expected[c]), published_bound(expected[c], 5, t, rung(32, c)),
                std::to_string(r) + ", " + std::to_string(c));
    }
  }
  ratio.expect();
}

// PE(t, 2p), PE(t, 2p + 1) and PE(t, c) of the seed, written as it writes them, and its rows for d = 4.
TEST(Sinusoid, BothIndexFormsOfTheSeed) {
  for (const std::int64_t d : {2, 4, 6, 512}) {
    for (const double t : {0.0, 1.0, 2.0, 3.0, 1000.0}) {
      const Numbers got = row(Convention::paper, d, t);
      for (std::int64_t p = 0; 2 * p < d; ++p) {
        const double x = t / std::pow(10000.0, static_cast<double>(2 * p) / static_cast<double>(d));
        const double bound = test::shifted_sinusoid_bound(t, 0, x / std::max(t, 1.0)) + 4 * x * test::kDoubleRounding;
        EXPECT_NEAR(got[static_cast<std::size_t>(2 * p)], std::sin(x), bound);
        EXPECT_NEAR(got[static_cast<std::size_t>(2 * p + 1)], std::cos(x), bound);
      }
      for (std::int64_t c = 0; c < d; ++c) {
        const std::int64_t even = c % 2 == 0 ? c : c - 1;
        const double x = t / std::pow(10000.0, static_cast<double>(even) / static_cast<double>(d));
        const double bound = test::shifted_sinusoid_bound(t, 0, x / std::max(t, 1.0)) + 4 * x * test::kDoubleRounding;
        EXPECT_NEAR(got[static_cast<std::size_t>(c)], c % 2 == 0 ? std::sin(x) : std::cos(x), bound);
      }
    }
  }
}

TEST(Sinusoid, SeedD4) {
  EXPECT_EQ(row(Convention::paper, 4, 0), (Numbers{0, 1, 0, 1}));
  for (const double t : {1.0, 2.0, 3.0}) {
    const Numbers got = row(Convention::paper, 4, t);
    const Numbers expected = {std::sin(t), std::cos(t), std::sin(t / 100), std::cos(t / 100)};
    for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(got[c], expected[c], 4 * t * test::kDoubleRounding) << t;
  }
  // sin 1, cos 1, sin 0.01, cos 0.01, from tables.
  const Numbers printed = {0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004};
  const Numbers got = row(Convention::paper, 4, 1);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(got[c], printed[c], test::printed_decimals(10));
}

// Where each convention puts what, at place 1 of 6 channels: rungs 1, 10000^(-1/3), 10000^(-2/3), or 1, 1/100, 1/10000.
TEST(Sinusoid, LayoutsOfSixChannels) {
  const double a = std::pow(10.0, -4.0 / 3);
  const double b = std::pow(10.0, -8.0 / 3);
  const auto s = [](double x) { return std::sin(x); };
  const auto c = [](double x) { return std::cos(x); };
  const std::array<Numbers, 6> expected = {{
      {s(1), c(1), s(a), c(a), s(b), c(b)},              // paper
      {s(1), s(1e-2), s(1e-4), c(1), c(1e-2), c(1e-4)},  // tensor2tensor
      {c(1), c(1e-2), c(1e-4), s(1), s(1e-2), s(1e-4)},  // musicgen
      {s(1), s(a), s(b), c(1), c(a), c(b)},              // marian
      {s(1), s(1e-2), s(1e-4), c(1), c(1e-2), c(1e-4)},  // whisper
      {s(1), s(a), s(b), c(1), c(a), c(b)},              // xlnet
  }};
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    const Numbers got = row(kAll[i], 6, 1);
    for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(got[k], expected[i][k], 8 * test::kDoubleRounding) << i << " " << k;
  }
}

TEST(Sinusoid, OddChannels) {
  const double a = std::pow(10.0, -4.0 * 2 / 5);
  const double b = std::pow(10.0, -4.0 * 4 / 5);
  const std::array<std::pair<Convention, Numbers>, 4> expected = {{
      {Convention::paper, {std::sin(1), std::cos(1), std::sin(a), std::cos(a), std::sin(b)}},
      {Convention::marian, {std::sin(1), std::sin(a), std::sin(b), std::cos(1), std::cos(a)}},
      {Convention::tensor2tensor, {std::sin(1), std::sin(1e-4), std::cos(1), std::cos(1e-4), 0}},
      {Convention::musicgen, {std::cos(1), std::cos(1e-4), std::sin(1), std::sin(1e-4), 0}},
  }};
  for (const auto& [convention, numbers] : expected) {
    const Numbers got = row(convention, 5, 1);
    for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(got[k], numbers[k], 8 * test::kDoubleRounding) << name(convention);
  }
  EXPECT_EQ(row(Convention::tensor2tensor, 3, 1), (Numbers{std::sin(1), std::cos(1), 0}));
  EXPECT_ERROR(row(Convention::whisper, 5, 1), "[input_row] channels must be even in this convention but is 5");
  EXPECT_ERROR(row(Convention::xlnet, 5, 1), "[input_row] channels must be even in this convention but is 5");
}

// No two places of a sequence look alike. 0.001 is far above rounding, and far below the first pair's steps.
TEST(Sinusoid, PlacesDiffer) {
  for (const Convention convention : kAll) {
    std::vector<Numbers> rows;
    for (int t = -64; t < 192; ++t) rows.push_back(row(convention, 8, t));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        double largest = 0;
        for (std::size_t c = 0; c < 8; ++c) largest = std::max(largest, std::abs(rows[i][c] - rows[j][c]));
        ASSERT_GT(largest, 0.001) << name(convention) << " " << i << " " << j;
      }
    }
  }
}

// p(t + k) is a rotation of p(t) that depends on k only.
TEST(Sinusoid, ShiftsAreRotations) {
  constexpr std::int64_t kChannels = 64;
  test::ErrorRatio ratio("shifted sinusoids");
  for (const double t : {1.0, 77.0, 4095.0, 16777217.0, -300.0}) {
    for (const double k : {1.0, 128.0, 65536.0}) {
      const Numbers at = row(Convention::marian, kChannels, t);
      const Numbers by = row(Convention::marian, kChannels, k);
      const Numbers got = row(Convention::marian, kChannels, t + k);
      for (std::size_t p = 0; p < kChannels / 2; ++p) {
        const std::size_t q = p + kChannels / 2;
        const double w = std::pow(1e4, -static_cast<double>(p) / (kChannels / 2));
        const double bound = test::shifted_sinusoid_bound(t, k, w);
        const std::string where = std::to_string(t) + " + " + std::to_string(k);
        ratio.add(std::abs(got[p] - (at[p] * by[q] + at[q] * by[p])), bound, where);
        ratio.add(std::abs(got[q] - (at[q] * by[q] - at[p] * by[p])), bound, where);
      }
    }
  }
  ratio.expect();
}

// M2M-100: padding_idx 1, so that tokens count from 2 and row 1 is 0.
TEST(Sinusoid, OffsetAndPaddingRow) {
  const SinusoidalInput m2m{.convention = Convention::tensor2tensor, .offset = 2};
  EXPECT_EQ(input_row(m2m, 8, 0), row(Convention::tensor2tensor, 8, 2));
  EXPECT_EQ(input_row(m2m, 8, 5), row(Convention::tensor2tensor, 8, 7));
  EXPECT_EQ(input_row(m2m, 8, -1), Numbers(8, 0.0));
  EXPECT_NE(row(Convention::tensor2tensor, 8, -1), Numbers(8, 0.0));
  const SinusoidalInput marian{.convention = Convention::marian, .offset = 2};
  EXPECT_EQ(input_row(marian, 8, -1), row(Convention::marian, 8, 1));
}

TEST(Sinusoid, BeyondTheTable) {
  const SinusoidalInput whisper{.convention = Convention::whisper, .positions = 1500};
  EXPECT_EQ(input_row(whisper, 4, 1499).size(), 4U);
  EXPECT_ERROR(input_row(whisper, 4, 1500),
               "[input_row] place must find one of the table's 1500 rows, place + 0, but is 1500");
  EXPECT_ERROR(input_row(whisper, 4, -1),
               "[input_row] place must find one of the table's 1500 rows, place + 0, but is -1");
  EXPECT_ERROR(input_row(whisper, 4, 0.5),
               "[input_row] place must find one of the table's 1500 rows, place + 0, but is 0.5");
  const SinusoidalInput shifted{.convention = Convention::tensor2tensor, .offset = 2, .positions = 10};
  EXPECT_EQ(input_row(shifted, 4, -2), row(Convention::tensor2tensor, 4, 0));
  EXPECT_ERROR(input_row(shifted, 4, 8), "[input_row] place must find one of the table's 10 rows, place + 2, but is 8");
}

TEST(Sinusoid, BadNumbers) {
  EXPECT_ERROR(row(Convention::paper, 0, 1), "[input_row] channels must be from 1 to 16777216 but is 0");
  EXPECT_ERROR(row(Convention::paper, INT64_MAX, 1),
               "[input_row] channels must be from 1 to 16777216 but is 9223372036854775807");
  EXPECT_ERROR(row(Convention::paper, 4, std::numeric_limits<double>::quiet_NaN()),
               "[input_row] place must be finite and at most 2^53 but is nan");
  EXPECT_ERROR(row(Convention::paper, 4, 1e300), "[input_row] place must be finite and at most 2^53 but is 1e+300");
}

}  // namespace
}  // namespace posenc::sinusoid_test

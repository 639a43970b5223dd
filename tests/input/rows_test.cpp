// Integers, binary numbers, and the places of tokens behind a mask.
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "math/config_to_rope.h"
#include "posenc/input.h"
#include "support/test_data.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::rows_test {
namespace {

constexpr const char* kSeeds = "golden/seeds.json";
using Numbers = std::vector<double>;
using Places = std::vector<std::int64_t>;

TEST(Integer, ThePlaceInEveryChannel) {
  EXPECT_EQ(input_row(IntegerInput{}, 3, 0), (Numbers{0, 0, 0}));
  EXPECT_EQ(input_row(IntegerInput{}, 3, 7), (Numbers{7, 7, 7}));
  EXPECT_EQ(input_row(IntegerInput{.offset = 1}, 2, 0), (Numbers{1, 1}));
  EXPECT_EQ(input_row(IntegerInput{}, 1, -2.5), (Numbers{-2.5}));
}

// Counted from 1 as the seed does, the last of m tokens has 1, and the step depends on m.
TEST(Integer, NormalisedByTheLength) {
  const IntegerInput scheme{.normalised = true, .offset = 1};
  EXPECT_EQ(input_row(scheme, 2, 0, 4), (Numbers{0.25, 0.25}));
  EXPECT_EQ(input_row(scheme, 2, 3, 4), (Numbers{1, 1}));
  EXPECT_EQ(input_row(scheme, 1, 0, 8), (Numbers{0.125}));
  EXPECT_EQ(input_row(IntegerInput{.normalised = true}, 1, 3, 4), (Numbers{0.75}));
}

TEST(Integer, BadNumbers) {
  EXPECT_ERROR(input_row(IntegerInput{.normalised = true}, 2, 1),
               "[input_row] length must be given to a normalised encoding but is omitted");
  EXPECT_ERROR(input_row(IntegerInput{.normalised = true}, 2, 1, 0), "[input_row] length must be at least 1 but is 0");
  EXPECT_ERROR(input_row(IntegerInput{}, 0, 1), "[input_row] channels must be from 1 to 16777216 but is 0");
  EXPECT_ERROR(input_row(IntegerInput{}, 1, std::numeric_limits<double>::infinity()),
               "[input_row] place must be a finite number but is inf");
}

TEST(Binary, SeedD3) {
  POSENC_NEED_DATA(kSeeds);
  const auto document = test::read_json(test::test_data() / kSeeds);
  const test::Json& seed = document["binary_d3"];
  ASSERT_EQ(seed["positions"].Size(), 3U);
  for (rapidjson::SizeType i = 0; i < 3; ++i) {
    EXPECT_EQ(input_row(BinaryInput{}, 3, seed["positions"][i].GetInt64()), test::numbers(seed["rows"][i]));
  }
}

TEST(Binary, HighestBitFirst) {
  EXPECT_EQ(input_row(BinaryInput{}, 4, 11), (Numbers{1, 0, 1, 1}));
  EXPECT_EQ(input_row(BinaryInput{.offset = 1}, 4, 7), (Numbers{1, 0, 0, 0}));
  Numbers wide(100, 0.0);
  wide[99] = 1;
  wide[37] = 1;
  EXPECT_EQ(input_row(BinaryInput{}, 100, (std::int64_t{1} << 62) + 1), wide);
}

TEST(Binary, EveryPlaceHasItsRow) {
  std::set<Numbers> rows;
  for (std::int64_t place = 0; place < 1024; ++place) {
    const Numbers row = input_row(BinaryInput{}, 10, place);
    double number = 0;
    for (const double bit : row) number = 2 * number + bit;
    EXPECT_EQ(number, static_cast<double>(place));
    rows.insert(row);
  }
  EXPECT_EQ(rows.size(), 1024U);
}

TEST(Binary, RefusesWhatItCannotTell) {
  EXPECT_EQ(input_row(BinaryInput{}, 3, 7), (Numbers{1, 1, 1}));
  EXPECT_ERROR(input_row(BinaryInput{}, 3, 8),
               "[input_row] place + offset must lie from 0 to 7, the last of 3 bits, but is 8");
  EXPECT_ERROR(input_row(BinaryInput{.offset = 1}, 3, 7),
               "[input_row] place + offset must lie from 0 to 7, the last of 3 bits, but is 8");
  EXPECT_ERROR(input_row(BinaryInput{}, 3, -1),
               "[input_row] place + offset must lie from 0 to 7, the last of 3 bits, but is -1");
  EXPECT_ERROR(input_row(BinaryInput{}, 62, std::int64_t{1} << 62),
               "[input_row] place + offset must lie from 0 to 4611686018427387903, the last of 62 bits, but is "
               "4611686018427387904");
  EXPECT_ERROR(input_row(BinaryInput{.offset = 1}, 64, INT64_MAX),
               "[input_row] place + offset must lie from 0 to 9223372036854775807, the last of 64 bits, but is beyond "
               "2^63");
}

// Two tokens of padding on the left, one on the right.
const std::vector<std::uint8_t> kMask = {0, 0, 1, 1, 1, 0};

Places rows_of(const Places& places, std::int64_t offset) {
  Places out = places;
  for (std::int64_t& place : out) place += offset;
  return out;
}

// RoBERTa: cumsum(mask) * mask + padding_idx = 0+1, 0+1, 1+1, 2+1, 3+1, 0+1. OPT: (cumsum(mask) * mask - 1) + 2.
TEST(Places, LearnedTablesOfMaskedSequences) {
  EXPECT_EQ(places(kMask), (Places{-1, -1, 0, 1, 2, -1}));
  EXPECT_EQ(rows_of(places(kMask), 1 + 1), (Places{1, 1, 2, 3, 4, 1}));
  EXPECT_EQ(rows_of(places(std::vector<std::uint8_t>{1, 1, 0}), 2), (Places{2, 3, 1}));
  EXPECT_EQ(places({}), Places{});
}

// BLOOM: (cumsum(mask) - 1) * mask = (0-1)*0, (0-1)*0, 0, 1, 2, (3-1)*0. transformers' generate(): 1 where masked.
TEST(Places, BloomAndDecoders) {
  EXPECT_EQ(places(kMask, 0, 0), (Places{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(places(kMask, 0, 1), (Places{1, 1, 0, 1, 2, 1}));
}

// A sequence in pieces has the places of the whole.
TEST(Places, BehindACache) {
  EXPECT_EQ(places(std::vector<std::uint8_t>{1, 0, 1}, 5), (Places{5, -1, 6}));
  EXPECT_EQ(places(std::vector<std::uint8_t>{255}, 3), (Places{3}));
  EXPECT_ERROR(places(kMask, -1), "[places] past must be at least 0 but is -1");
}

}  // namespace
}  // namespace posenc::rows_test

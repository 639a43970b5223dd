// Tables of another size: by hand, against ONNX's and Pillow's numbers, and what interpolation keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "posenc/input.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::grow_table_test {
namespace {

using Numbers = std::vector<double>;

void expect_near(const Numbers& got, const Numbers& expected, double bound) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], bound) << i;
}

Numbers counted(std::size_t count) {
  Numbers out(count);
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

// 2 rows to 4: centres at -1/4, 1/4, 3/4, 5/4 of the old rows. 3 to 2: at 1/4 and 7/4.
TEST(GrowTable, LinearByHand) {
  EXPECT_EQ(grow_table(Numbers{0, 10, 4, 30}, 2, 2, 4), (Numbers{0, 10, 1, 15, 3, 25, 4, 30}));
  EXPECT_EQ(grow_table(Numbers{0, 4, 12}, 3, 1, 2), (Numbers{1, 10}));
  EXPECT_EQ(grow_table(Numbers{5, 6}, 1, 2, 3), (Numbers{5, 6, 5, 6, 5, 6}));
  EXPECT_EQ(grow_table(Numbers{5, 6, 7, 8}, 4, 1, 4), (Numbers{5, 6, 7, 8}));
}

// The example of torch's nn.Upsample: [[1, 2], [3, 4]], bilinear with align_corners, prints 1.0000 1.3333 1.6667 2.0000
// in its first row and 1.6667 2.0000 2.3333 2.6667 in its second. An axis at a time.
TEST(GrowTable, AlignedCornersAsTorchPrintsThem) {
  const RowPlaces aligned{.align_corners = true};
  Numbers wide;
  for (const Numbers& row : {Numbers{1, 2}, Numbers{3, 4}}) {
    const Numbers stretched = grow_table(row, 2, 1, 4, aligned);
    wide.insert(wide.end(), stretched.begin(), stretched.end());
  }
  expect_near(grow_table(wide, 2, 4, 4, aligned),
              {1.0000, 1.3333, 1.6667, 2.0000, 1.6667, 2.0000, 2.3333, 2.6667,  //
               2.3333, 2.6667, 3.0000, 3.3333, 3.0000, 3.3333, 3.6667, 4.0000},
              test::printed_decimals(4));
  EXPECT_EQ(grow_table(Numbers{5, 6}, 2, 1, 1, aligned), Numbers{5});
}

// 16 rows that are their own number, to 37 with 0.1 added: row 18 stands at (18 + 1/2) 16 / 37.1 - 1/2 =
// 2960/371 - 185.5/371.
TEST(GrowTable, DinoSamplesALittleAside) {
  Numbers line(16);
  std::iota(line.begin(), line.end(), 0.0);
  const Numbers got = grow_table(line, 16, 1, 37, {.scale_offset = 0.1});
  EXPECT_NEAR(got[18], (2960.0 - 185.5) / 371.0, 16 * 8 * test::kDoubleRounding);
}

// 7 rows with 1 added are the first 7 of 8, the step being the same.
TEST(GrowTable, AnOffsetHasTheStepOfALargerTable) {
  const Numbers table = {1, 4, 9, 16};
  const auto without_last = [](Numbers rows) {
    rows.pop_back();
    return rows;
  };
  const RowPlaces aside{.scale_offset = 1.0};
  EXPECT_EQ(grow_table(table, 4, 1, 7, aside), without_last(grow_table(table, 4, 1, 8)));
  // Along the width there is one row, to stretch to one.
  for (const Bicubic kernel : {Bicubic::plain, Bicubic::antialias}) {
    for (const std::int64_t rows : {3, 8}) {  // 3: the antialiased kernel is widened
      EXPECT_EQ(grow_table(table, {4, 1}, 1, {rows - 1, 1}, kernel, aside),
                without_last(grow_table(table, {4, 1}, 1, {rows, 1}, kernel)));
    }
  }
}

TEST(GrowTable, BicubicWithAlignedCornersKeepsThem) {
  const Numbers table = counted(6);
  const Numbers got = grow_table(table, {2, 3}, 1, {4, 5}, Bicubic::plain, {.align_corners = true});
  EXPECT_EQ((Numbers{got[0], got[4], got[15], got[19]}), (Numbers{1, 3, 4, 6}));
  EXPECT_EQ(got[2], 2);
}

// a = -3/4: W(1/4), W(3/4), W(5/4), W(7/4) are 225, 67, -27, -9 over 256. Columns 0 and 256, and beyond the border
// again those: at -1/4 the second has W(5/4); at 1/4, W(3/4) and the repeated one's W(7/4), 67 - 9.
TEST(GrowTable, PlainBicubicByHand) {
  const Numbers got = grow_table(Numbers{0, 256}, {1, 2}, 1, {1, 4}, Bicubic::plain);
  expect_near(got, {-27, 58, 256 - 58, 256 + 27}, 256 * 8 * test::kDoubleRounding);
}

// The same with a = -1/2, the kernel cut off at the border: at -1/4 the two columns weigh W(1/4) and W(5/4), 222/256
// and -18/256; at 1/4 W(1/4) and W(3/4), 222/256 and 58/256. (Sums 204 and 280.)
TEST(GrowTable, AntialiasedBicubicByHand) {
  const Numbers got = grow_table(Numbers{0, 1}, {1, 2}, 1, {1, 4}, Bicubic::antialias);
  expect_near(got, {-18.0 / 204, 58.0 / 280, 222.0 / 280, 222.0 / 204}, 16 * test::kDoubleRounding);
}

// ONNX's operator Resize, example resize_upsample_scales_cubic: 1 to 16 in a square of 4, twice as large, a = -0.75.
// All its numbers are whole multiples of 2^-8.
TEST(GrowTable, PlainBicubicAsOnnxPrintsIt) {
  const Numbers expected = {
      0.47265625,  0.76953125,  1.24609375,  1.875,    2.28125,  2.91015625,  3.38671875,  3.68359375,
      1.66015625,  1.95703125,  2.43359375,  3.0625,   3.46875,  4.09765625,  4.57421875,  4.87109375,
      3.56640625,  3.86328125,  4.33984375,  4.96875,  5.375,    6.00390625,  6.48046875,  6.77734375,
      6.08203125,  6.37890625,  6.85546875,  7.484375, 7.890625, 8.51953125,  8.99609375,  9.29296875,
      7.70703125,  8.00390625,  8.48046875,  9.109375, 9.515625, 10.14453125, 10.62109375, 10.91796875,
      10.22265625, 10.51953125, 10.99609375, 11.625,   12.03125, 12.66015625, 13.13671875, 13.43359375,
      12.12890625, 12.42578125, 12.90234375, 13.53125, 13.9375,  14.56640625, 15.04296875, 15.33984375,
      13.31640625, 13.61328125, 14.08984375, 14.71875, 15.125,   15.75390625, 16.23046875, 16.52734375};
  expect_near(grow_table(counted(16), {4, 4}, 1, {8, 8}, Bicubic::plain), expected, 0);
}

// Pillow 13.0.0's Image.resize of floats, BICUBIC, of n^2 / 8 for n from 1 to 16 in a square of 4. torch's antialias is
// made to agree with it.
TEST(GrowTable, AntialiasedBicubicAsPillowGivesIt) {
  Numbers squares = counted(16);
  for (double& number : squares) number *= number / 8;
  const Numbers larger = {
      -0.031122873, 0.073181674, 0.2940357, 0.58653843, 0.9641735, 1.5113686, 1.8063632,  // 5 rows of 7
      1.7030759,    2.044653,    2.7218986, 3.4126122,  4.188458,  5.1920447, 5.724312,   //
      5.976262,     6.610215,    7.8498454, 9.03125,    10.297787, 11.863757, 12.688402,  //
      13.494722,    14.421051,   16.223066, 17.895163,  19.65239,  21.780745, 22.897766,  //
      21.3298,      22.493402,   24.75181,  26.822115,  28.977554, 31.5623,   32.916595};
  const Numbers smaller = {0.7995159, 2.287944, 7.445664, 11.326861, 20.677912, 26.951881};  // 3 rows of 2
  test::ErrorRatio ratio("Pillow's bicubic");
  const auto compare = [&](const Numbers& got, const Numbers& expected, double taps) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ratio.add(std::abs(got[i] - expected[i]), test::float_stretch_bound(32, taps) + test::printed_decimals(6),
                std::to_string(expected[i]));
    }
  };
  compare(grow_table(squares, {4, 4}, 1, {5, 7}, Bicubic::antialias), larger, 4);
  compare(grow_table(squares, {4, 4}, 1, {3, 2}, Bicubic::antialias), smaller, 8);
  ratio.expect();
}

// Equal sizes change nothing, equal rows stay equal, and channels do not mix.
TEST(GrowTable, WhatInterpolationKeeps) {
  Numbers table = counted(3 * 5 * 2);
  for (double& number : table) number = std::sin(number);
  for (const Bicubic kernel : {Bicubic::plain, Bicubic::antialias}) {
    EXPECT_EQ(grow_table(table, {3, 5}, 2, {3, 5}, kernel), table);
    const Numbers same = grow_table(Numbers(15, 3.25), {3, 5}, 1, {7, 4}, kernel);
    expect_near(same, Numbers(28, 3.25), 3.25 * 16 * test::kDoubleRounding);

    const Numbers both = grow_table(table, {3, 5}, 2, {4, 9}, kernel);
    for (std::size_t channel = 0; channel < 2; ++channel) {
      Numbers one;
      for (std::size_t i = channel; i < table.size(); i += 2) one.push_back(table[i]);
      const Numbers alone = grow_table(one, {3, 5}, 1, {4, 9}, kernel);
      for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(both[2 * i + channel], alone[i]);
    }
  }
}

// A grid that is rotated over comes out rotated over.
TEST(GrowTable, HeightAndWidthAreTreatedAlike) {
  const Numbers table = {1, 4, 9, 16, 25, 36};
  const Numbers rotated = {1, 16, 4, 25, 9, 36};
  for (const Bicubic kernel : {Bicubic::plain, Bicubic::antialias}) {
    const Numbers a = grow_table(table, {2, 3}, 1, {5, 4}, kernel);
    const Numbers b = grow_table(rotated, {3, 2}, 1, {4, 5}, kernel);
    for (std::size_t h = 0; h < 5; ++h) {
      for (std::size_t w = 0; w < 4; ++w) {
        EXPECT_NEAR(a[h * 4 + w], b[w * 5 + h], 36 * 32 * test::kDoubleRounding);
      }
    }
  }
}

TEST(GrowTable, BadSizes) {
  const Numbers table = counted(12);
  EXPECT_ERROR(grow_table(table, 0, 2, 4), "[grow_table] rows must be at least 1 but is 0");
  EXPECT_ERROR(grow_table(table, 6, 2, 0), "[grow_table] new_rows must be at least 1 but is 0");
  EXPECT_ERROR(grow_table(table, 6, 0, 4), "[grow_table] channels must be at least 1 but is 0");
  EXPECT_ERROR(grow_table(table, 6, 2, 4, {.scale_offset = -0.1}),
               "[grow_table] scale_offset must be a finite number of at least 0 but is -0.1");
  EXPECT_ERROR(grow_table(table, 6, 2, 4, {.align_corners = true, .scale_offset = 0.1}),
               "[grow_table] scale_offset must be 0 with align_corners but is 0.1");
  EXPECT_ERROR(grow_table(table, {3, 2}, 2, {6, 4}, Bicubic::antialias, {.align_corners = true}),
               "[grow_table] align_corners must be no with antialias but is yes");
  EXPECT_ERROR(grow_table(table, 5, 2, 4), "[grow_table] table must have 10 numbers but is 12 long");
  EXPECT_ERROR(grow_table(table, {3, 2}, 2, {3, -1}, Bicubic::plain),
               "[grow_table] to.width must be at least 1 but is -1");
  EXPECT_ERROR(grow_table(table, {3, 3}, 2, {3, 3}, Bicubic::plain),
               "[grow_table] table must have 18 numbers but is 12 long");
  EXPECT_ERROR(grow_table(table, {3, 2}, 2, {INT64_MAX, INT64_MAX}, Bicubic::plain),
               "[grow_table] to must make a table of at most 2^31 numbers but is 9223372036854775807 x "
               "9223372036854775807 rows of 2");
}

}  // namespace
}  // namespace posenc::grow_table_test

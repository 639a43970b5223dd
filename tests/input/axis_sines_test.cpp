// Sines of each coordinate side by side: rows that the classes of transformers 5.23.0 make, in float32 and printed with
// 9 digits; the formula written another way; bad inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "posenc/input.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::axis_sines_test {
namespace {

using Numbers = std::vector<double>;

constexpr double kTurn = 2 * std::numbers::pi;

AxisSinesInput detr(double offset) { return {.scale = kTurn, .offset = offset}; }

// Classes compute places, angles and sines in float: four roundings of the largest angle, and one of the sine.
void expect_row(const AxisSinesInput& scheme, const Numbers& place, const Numbers& lengths, const Numbers& expected,
                double largest_angle) {
  const auto channels = static_cast<std::int64_t>(expected.size());
  const Numbers got = input_row(scheme, channels, place, lengths);
  ASSERT_EQ(got.size(), expected.size());
  test::ErrorRatio ratio("a class's row");
  for (std::size_t c = 0; c < got.size(); ++c) {
    const double bound = std::ldexp(4 * largest_angle + 1, -24) + test::printed_digits(expected[c], 9);
    ratio.add(std::abs(got[c] - expected[c]), bound, std::to_string(c));
  }
  ratio.expect();
}

// DetrSinePositionEmbedding(4, normalize=True) of an image of 2 x 3 cells.
TEST(AxisSines, as_DETR_makes_them) {
  expect_row(detr(1), {1, 2}, {2, 3},
             {-2.68617737e-06, 1, 0.0627904907, 0.998026729, -1.73250305e-06, 1, 0.0627904981, 0.998026729}, kTurn);
  expect_row(detr(1), {0, 1}, {2, 3},
             {1.34308868e-06, -1, 0.0314107463, 0.999506533, -0.866024733, -0.500001132, 0.0418756418, 0.999122798},
             kTurn);
}

// DeformableDetrSinePositionEmbedding(4, normalize=True) of the same image.
TEST(AxisSines, as_Deformable_DETR_makes_them) {
  expect_row(detr(0.5), {1, 2}, {2, 3},
             {-1, -1.89542379e-06, 0.0471064337, 0.998889863, -0.866026163, 0.499998689, 0.052335944, 0.99862951},
             kTurn);
}

// RT-DETR's build_2d_sinusoidal_position_embedding(2, 3, 8, temperature=100).
TEST(AxisSines, as_RT_DETR_makes_them) {
  expect_row({.interleaved = false, .base = 100, .normalised = false}, {1, 2}, {},
             {0.841470957, 0.099833414, 0.540302277, 0.995004177, 0.909297407, 0.198669329, -0.416146845, 0.980066597},
             2);
}

// LW-DETR's encode_sinusoidal_position_embedding of the box (0.25, 0.5, 0.125, 0.75): across, down, width, height.
TEST(AxisSines, as_LW_DETR_makes_them_of_a_box) {
  AxisSinesInput of_boxes{.axes = {"h", "w", "width", "height"}, .normalised = false, .scale = kTurn};
  of_boxes.of = PlaceOf::boxes;
  expect_row(of_boxes, {0.5, 0.25, 0.125, 0.75}, {},
             {-8.74227766e-08, -1, 0.0314107612, 0.999506533, 1, -4.37113883e-08, 0.0157073177, 0.999876618,
              0.707106769, 0.707106769, 0.00785390101, 0.999969184, -1, 1.19248806e-08, 0.0471064523, 0.998889863},
             kTurn);
}

// exp(i v w_k) by multiplication: a row of the cell at 2 c is the square of that at c.
TEST(AxisSines, double_places_square_each_pair) {
  const AxisSinesInput scheme{.axes = {"t", "h", "w"}, .normalised = false, .scale = 0.75};
  const Numbers once = input_row(scheme, 48, Numbers{3, 5, 7.5});
  const Numbers twice = input_row(scheme, 48, Numbers{6, 10, 15});
  for (std::size_t c = 0; c < once.size(); c += 2) {
    const std::complex<double> pair(once[c + 1], once[c]);
    EXPECT_NEAR(std::abs(pair * pair - std::complex<double>(twice[c + 1], twice[c])), 0, std::ldexp(1.0, -48)) << c;
  }
}

TEST(AxisSines, what_is_no_place_is_refused) {
  const AxisSinesInput scheme = detr(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(input_row(scheme, 10, Numbers{1, 2}, Numbers{2, 3}),
               "[input_row] channels must be a multiple of 4 but is 10");
  EXPECT_ERROR(input_row(scheme, 8, Numbers{1}, Numbers{2, 3}),
               "[input_row] coordinates must have one for each of 2 axes but is 1 long");
  EXPECT_ERROR(input_row(scheme, 8, Numbers{1, 2}),
               "[input_row] lengths must have 2 entries for this scheme but is 0 long");
  EXPECT_ERROR(input_row(scheme, 8, Numbers{1, nan}, Numbers{2, 3}),
               "[input_row] coordinates[1] must be finite but is nan");
  EXPECT_ERROR(input_row(scheme, 8, Numbers{1, 2}, Numbers{0, 3}),
               "[input_row] lengths[0] must be finite and above 0 but is 0");
  EXPECT_ERROR(input_row({.axes = {}}, 8, Numbers{}), "[input_row] scheme.axes must name an axis but is empty");
  EXPECT_ERROR(input_row({.base = 0}, 8, Numbers{1, 2}, Numbers{2, 3}),
               "[input_row] scheme.base must be finite and above 0 but is 0");
}

}  // namespace
}  // namespace posenc::axis_sines_test

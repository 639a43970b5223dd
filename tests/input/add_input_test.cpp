// The input stage on embeddings: BERT, GPT-1, OPT, scaled and multiplied rows, memory, bad input.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "posenc/reference.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::add_input_test {
namespace {

using Numbers = std::vector<double>;
using Places = std::vector<std::int64_t>;

// Two tokens of three channels, and tables whose numbers say where they come from: row r, channel c is 10 r + c + 0.5.
const Numbers kX = {1, 2, 3, 4, 5, 6};

Numbers table(std::int64_t rows, double step = 10) {
  Numbers out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int c = 0; c < 3; ++c) out.push_back(static_cast<double>(r) * step + c + 0.5);
  }
  return out;
}

class AddInput : public testing::Test {
 protected:
  reference::InputArgs args() { return {.out = tensor(out.data(), {2, 3}), .x = tensor(x.data(), {2, 3})}; }

  Numbers x = kX;
  Numbers out = Numbers(6, -99.0);
  Numbers rows = table(4);
  Numbers types = table(2, 1000);
  LearnedInputWeights weights{.positions = tensor(rows.data(), {4, 3})};
};

TEST_F(AddInput, Gpt2) {
  reference::add_input(LearnedInput{.positions = 4}, weights, args());
  EXPECT_EQ(out, (Numbers{1.5, 3.5, 5.5, 14.5, 16.5, 18.5}));
  auto at = args();
  const Places places = {3, 1};
  at.positions = std::span<const std::int64_t>(places);
  reference::add_input(LearnedInput{}, weights, at);
  EXPECT_EQ(out, (Numbers{31.5, 33.5, 35.5, 14.5, 16.5, 18.5}));
  EXPECT_EQ(x, kX);
}

TEST_F(AddInput, BertAddsTheSegment) {
  weights.token_types = tensor(types.data(), {2, 3});
  auto call = args();
  const Places segments = {0, 1};
  call.token_types = segments;
  reference::add_input(LearnedInput{.positions = 4, .token_types = 2}, weights, call);
  EXPECT_EQ(out, (Numbers{1.5 + 0.5, 3.5 + 1.5, 5.5 + 2.5, 14.5 + 1000.5, 16.5 + 1001.5, 18.5 + 1002.5}));
}

// Token types are words of the vocabulary, and the table is the one that x was taken from.
TEST_F(AddInput, Gpt1TakesTokenTypesFromTheWordTable) {
  Numbers words = table(9, 100);
  weights.token_types = tensor(words.data(), {9, 3});
  auto call = args();
  const Places ids = {8, 7};
  call.token_types = ids;
  reference::add_input(LearnedInput{.positions = 4}, weights, call);
  EXPECT_EQ(out, (Numbers{1.5 + 800.5, 3.5 + 801.5, 5.5 + 802.5, 14.5 + 700.5, 16.5 + 701.5, 18.5 + 702.5}));
}

// OPT: two rows before the first token; a masked token stands at -1.
TEST_F(AddInput, OptOffsetAndMask) {
  auto call = args();
  const Places found = places(std::vector<std::uint8_t>{0, 1});
  call.positions = std::span<const std::int64_t>(found);
  reference::add_input(LearnedInput{.positions = 4, .offset = 2}, weights, call);
  EXPECT_EQ(out, (Numbers{11.5, 13.5, 15.5, 24.5, 26.5, 28.5}));
}

TEST_F(AddInput, MultiplierAndProduct) {
  reference::add_input(LearnedInput{.embedding_multiplier = 2}, weights, args());
  EXPECT_EQ(out, (Numbers{2.5, 5.5, 8.5, 18.5, 21.5, 24.5}));
  reference::add_input(LearnedInput{.combine = InputCombine::multiply}, weights, args());
  EXPECT_EQ(out, (Numbers{0.5, 3, 7.5, 42, 57.5, 75}));
  weights.token_types = tensor(types.data(), {2, 3});
  auto call = args();
  const Places segments = {0, 0};
  call.token_types = segments;
  reference::add_input(LearnedInput{.token_types = 2, .embedding_multiplier = 2, .combine = InputCombine::multiply},
                       weights, call);
  EXPECT_EQ(out, (Numbers{2.5 * 0.5, 5.5 * 1.5, 8.5 * 2.5, 8.5 * 10.5, 11.5 * 11.5, 14.5 * 12.5}));
}

// sqrt(d_model) x + p, as in the paper and Marian; the row is input_row's.
TEST_F(AddInput, Sinusoidal) {
  const SinusoidalInput scheme{.offset = 3, .embedding_multiplier = 1.5};
  auto call = args();
  call.positions = PositionRange{7};
  reference::add_input(scheme, {}, call);
  for (std::size_t t = 0; t < 2; ++t) {
    const Numbers row = input_row(scheme, 3, 7.0 + static_cast<double>(t));
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[3 * t + c], 1.5 * kX[3 * t + c] + row[c]);
  }
  const std::vector<double> real = {0.25, -1.5};
  call.positions = std::span<const double>(real);
  reference::add_input(SinusoidalInput{.combine = InputCombine::multiply}, {}, call);
  EXPECT_EQ(out[0], std::sin(0.25));
  EXPECT_EQ(out[4], 5 * std::cos(-1.5));
}

TEST_F(AddInput, LearnedScale) {
  const SinusoidalInput scheme{.learned_scale = true};
  reference::add_input(scheme, {.scale = 0.5}, args());
  EXPECT_EQ(out[1], 2 + 0.5 * 1);
  EXPECT_EQ(out[3], 4 + 0.5 * std::sin(1));
  EXPECT_ERROR(reference::add_input(scheme, {}, args()),
               "[reference::add_input] weights.scale must be given to a scheme with a learned scale but is omitted");
  EXPECT_ERROR(reference::add_input(SinusoidalInput{}, {.scale = 1}, args()),
               "[reference::add_input] weights.scale must be omitted for this scheme but is given");
}

TEST_F(AddInput, IntegerAndBinary) {
  reference::add_input(IntegerInput{.offset = 1}, args());
  EXPECT_EQ(out, (Numbers{2, 3, 4, 6, 7, 8}));
  reference::add_input(IntegerInput{.normalised = true, .offset = 1}, args());
  EXPECT_EQ(out, (Numbers{1.5, 2.5, 3.5, 5, 6, 7}));
  auto call = args();
  call.length = 8;
  reference::add_input(IntegerInput{.normalised = true, .combine = InputCombine::multiply}, call);
  EXPECT_EQ(out, (Numbers{0, 0, 0, 0.5, 0.625, 0.75}));
  call.positions = PositionRange{5};
  reference::add_input(BinaryInput{}, call);
  EXPECT_EQ(out, (Numbers{2, 2, 4, 5, 6, 6}));
}

// f32 in, in place in f64, rows with a gap between them.
TEST_F(AddInput, Memory) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  auto call = args();
  call.x = tensor(floats.data(), {2, 3});
  reference::add_input(LearnedInput{}, weights, call);
  const Numbers expected = {1.5, 3.5, 5.5, 14.5, 16.5, 18.5};
  EXPECT_EQ(out, expected);

  call.x = call.out = tensor(x.data(), {2, 3});
  reference::add_input(LearnedInput{}, weights, call);
  EXPECT_EQ(x, expected);

  Numbers wide(10, -7.0);
  call = args();
  x = kX;
  call.out = tensor(wide.data(), {2, 3});
  call.out.strides = {5, 1};
  reference::add_input(LearnedInput{}, weights, call);
  EXPECT_EQ(wide, (Numbers{1.5, 3.5, 5.5, -7, -7, 14.5, 16.5, 18.5, -7, -7}));
}

// A call on no tokens does nothing.
TEST_F(AddInput, NoTokens) {
  auto call = args();
  call.x = tensor(static_cast<const double*>(nullptr), {0, 3});
  call.out = tensor(static_cast<double*>(nullptr), {0, 3});
  reference::add_input(LearnedInput{.token_types = 2}, weights, call);
  reference::add_input(SinusoidalInput{}, {}, call);
  reference::add_input(BinaryInput{}, call);
}

TEST_F(AddInput, BeyondATable) {
  auto call = args();
  call.positions = PositionRange{3};
  EXPECT_ERROR(reference::add_input(LearnedInput{.positions = 4}, weights, call),
               "[reference::add_input] positions[1] must find one of the table's 4 rows, position + 0, but is 4");
  call.positions = PositionRange{1};
  EXPECT_ERROR(reference::add_input(LearnedInput{.offset = 2}, weights, call),
               "[reference::add_input] positions[1] must find one of the table's 4 rows, position + 2, but is 2");
  call.positions = PositionRange{-3};
  EXPECT_ERROR(reference::add_input(LearnedInput{.offset = 2}, weights, call),
               "[reference::add_input] positions[0] must find one of the table's 4 rows, position + 2, but is -3");
  const std::vector<double> half = {0, 0.5};
  call.positions = std::span<const double>(half);
  EXPECT_ERROR(reference::add_input(LearnedInput{}, weights, call),
               "[reference::add_input] positions[1] must be a whole number of at most 2^53 but is 0.5");
  call.positions = PositionRange{7};
  EXPECT_ERROR(reference::add_input(BinaryInput{}, call),
               "[input_row] place + offset must lie from 0 to 7, the last of 3 bits, but is 8");
  EXPECT_EQ(out, Numbers(6, -99.0));
}

TEST_F(AddInput, TokenTypesThatDoNotFit) {
  weights.token_types = tensor(types.data(), {2, 3});
  auto call = args();
  EXPECT_ERROR(reference::add_input(LearnedInput{.token_types = 2}, weights, call),
               "[reference::add_input] token_types must be given, as the scheme adds one of 2 rows, but is empty");
  const Places beyond = {0, 2};
  call.token_types = beyond;
  EXPECT_ERROR(reference::add_input(LearnedInput{.token_types = 2}, weights, call),
               "[reference::add_input] token_types[1] must be at least 0 and below 2 but is 2");
  EXPECT_ERROR(reference::add_input(LearnedInput{.token_types = 3}, weights, call),
               "[reference::add_input] weights.token_types must have 3 rows but is [2, 3]");
  EXPECT_ERROR(
      reference::add_input(BinaryInput{}, call),
      "[reference::add_input] token_types must be omitted for an encoding without a table of them but is given");
  const Places one = {0};
  call.token_types = one;
  EXPECT_ERROR(reference::add_input(LearnedInput{.token_types = 2}, weights, call),
               "[reference::add_input] token_types must have one for each of 2 tokens but is 1 long");
  call.token_types = beyond;
  weights.token_types = {};
  EXPECT_ERROR(reference::add_input(LearnedInput{}, weights, call),
               "[reference::add_input] weights.token_types must be [rows, 3] but is []");
  EXPECT_EQ(out, Numbers(6, -99.0));
}

TEST_F(AddInput, TensorsThatDoNotFit) {
  EXPECT_ERROR(reference::add_input(LearnedInput{.positions = 5}, weights, args()),
               "[reference::add_input] weights.positions must have 5 rows but is [4, 3]");
  EXPECT_ERROR(reference::add_input(LearnedInput{}, {}, args()),
               "[reference::add_input] weights.positions must be [rows, 3] but is []");
  weights.positions = tensor(rows.data(), {6, 2});
  EXPECT_ERROR(reference::add_input(LearnedInput{}, weights, args()),
               "[reference::add_input] weights.positions must be [rows, 3] but is [6, 2]");
  auto call = args();
  call.out = tensor(out.data(), {3, 2});
  EXPECT_ERROR(reference::add_input(IntegerInput{}, call),
               "[reference::add_input] out must have the shape of x, [2, 3], but is [3, 2]");
  call = args();
  call.x = tensor(x.data(), {6});
  EXPECT_ERROR(reference::add_input(IntegerInput{}, call),
               "[reference::add_input] x must be [tokens, channels] but is [6]");
  std::vector<float> floats(6);
  call = args();
  call.out = tensor(floats.data(), {2, 3});
  EXPECT_ERROR(reference::add_input(IntegerInput{}, call), "[reference::add_input] out.dtype must be f64 but is f32");
  call = args();
  const Places three = {0, 1, 2};
  call.positions = std::span<const std::int64_t>(three);
  EXPECT_ERROR(reference::add_input(IntegerInput{}, call),
               "[reference::add_input] positions must have one entry for each of 2 tokens but is 3 long");
}

}  // namespace
}  // namespace posenc::add_input_test

// What prepare_input and add_input refuse, before anything is written.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "posenc/add_input.h"
#include "support/throws.h"

namespace posenc::test::add_input_errors_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExact = std::int64_t{1} << 53;

using Places = std::vector<std::int64_t>;

// Two sequences of two tokens of four channels, and a table of five rows.
class AddInputErrors : public ::testing::Test {
 protected:
  AddInputErrors() : x(16, -7.0F), from(16, 3.0F), rows(20, 1.0F), types(8, 2.0F) {
    weights.positions = tensor(rows.data(), {5, 4});
    args.x = tensor(x.data(), {2, 2, 4});
  }
  ~AddInputErrors() override { EXPECT_EQ(x, std::vector<float>(16, -7.0F)) << "something was written"; }

  void expect_error(const InputScheme& scheme, const InputWeights& of, const char* text) const {
    EXPECT_ERROR((void)add_input(scheme, of, args), text);
  }

  std::vector<float> x, from, rows, types;
  LearnedInputWeights weights{};
  AddInputArgs args{};
};

// The channels of a call without a prepared input are those of x.
TEST_F(AddInputErrors, ChannelsOfX) {
  args.x = {};
  expect_error(SinusoidalInput{}, {}, "[add_input] channels must be from 1 to 16777216 but is 0");
  args.x = tensor(x.data(), {2, 8});
  expect_error(LearnedInput{}, weights, "[add_input] weights.positions must be [rows, 8] but is [5, 4]");
}

TEST_F(AddInputErrors, TensorsOfAPreparedInput) {
  const PreparedInput prepared = prepare_input(LearnedInput{}, weights, {});
  EXPECT_EQ(prepared.channels(), 4);
  const TensorView good = args.x;
  const auto expect = [&](const char* text) {
    EXPECT_ERROR((void)add_input(prepared, args), text);
    args.x = good;
    args.x_from = {};
  };
  args.x = {};
  expect("[add_input] x must be [tokens, channels] or [batch, tokens, channels] but is []");
  args.x = tensor(x.data(), {1, 2, 2, 4});
  expect("[add_input] x must be [tokens, channels] or [batch, tokens, channels] but is [1, 2, 2, 4]");
  args.x = tensor(x.data(), {2, 8});
  expect("[add_input] x.shape[1] must be the 4 channels of the input but is 8");
  args.x.shape[1] = -1;
  expect("[add_input] x.shape[1] must be at least 0 but is -1");
  args.x.strides[2] = 2;
  expect("[add_input] x.strides[2] must be 1, since channels of a row are adjacent, but is 2");
  args.x.dtype = static_cast<DType>(9);
  expect("[add_input] x.dtype must be f32, f16, bf16 or f64 but is unknown");
  args.x.data = nullptr;
  expect("[add_input] x.data must point to the elements but is null");
  args.x.data = reinterpret_cast<char*>(x.data()) + 2;
  expect("[add_input] x.data must be aligned to its elements, 4 bytes, but is between two");
  args.x.strides = {0, 4, 1};
  expect("[add_input] x.strides must give every element a place of its own but is 2 parts of 1 elements, 0 apart");
  args.x.strides = {kLow, 4, 1};
  expect("[add_input] x.strides must reach less than 2^63 bytes but is larger");
  args.x.shape = {kHigh, kHigh, 4};
  expect("[add_input] x.shape must have fewer than 2^63 positions but is larger");
  args.x_from = tensor(std::as_const(from).data(), {4, 4});
  expect("[add_input] x_from.shape must be that of x, [2, 2, 4], but is [4, 4]");
  args.x_from = tensor(from.data(), DType::f16, {2, 2, 4});
  expect("[add_input] x_from.dtype must be that of x, f32, but is f16");
  args.x_from = tensor(std::as_const(x).data() + 4, {2, 2, 4});
  args.x.shape[0] = args.x_from.shape[0] = 1;
  expect("[add_input] x_from must be x itself or share no element with it but is overlapping");
}

TEST_F(AddInputErrors, TablesInTheWay) {
  weights.positions = tensor(std::as_const(x).data() + 4, {3, 4});
  expect_error(LearnedInput{}, weights,
               "[add_input] weights.positions must share no element with x but is overlapping");
  weights.positions = tensor(std::as_const(rows).data(), {5, 4});
  weights.token_types = tensor(std::as_const(x).data(), {2, 4});
  expect_error(LearnedInput{}, weights,
               "[add_input] weights.token_types must share no element with x but is overlapping");
}

TEST_F(AddInputErrors, Positions) {
  const auto listed = [&](const Places& places) { args.positions = std::span<const std::int64_t>(places); };
  const Places three = {0, 1, 2};
  listed(three);
  expect_error(LearnedInput{}, weights,
               "[add_input] positions must have one entry for each of 1 axes and 4 tokens, 4, but is 3 long");
  const Places beyond = {0, 1, 2, 5};
  listed(beyond);
  expect_error(LearnedInput{}, weights,
               "[add_input] positions[3] must find one of the table's 5 rows, position + 0, but is 5");
  const Places negative = {0, -3};
  listed(negative);
  expect_error(LearnedInput{.offset = 2}, weights,
               "[add_input] positions[1] must find one of the table's 5 rows, position + 2, but is -3");
  args.positions = PositionRange{4};
  expect_error(LearnedInput{}, weights,
               "[add_input] positions must find one of the table's 5 rows, position + 0, but is 5");
  for (const std::int64_t start : {kLow, kHigh, kHigh - 1, -1L}) {
    args.positions = PositionRange{start};
    EXPECT_THROW((void)add_input(LearnedInput{}, weights, args), Error) << start;
    EXPECT_THROW((void)add_input(BinaryInput{}, {}, args), Error) << start;
    if (start == -1) continue;
    EXPECT_THROW((void)add_input(SinusoidalInput{}, {}, args), Error) << start;
    EXPECT_THROW((void)add_input(IntegerInput{}, {}, args), Error) << start;
  }
  const Places odd = {kExact + 1, 0};
  listed(odd);
  expect_error(SinusoidalInput{}, {},
               "[add_input] positions[0] must lie from -9007199254740992 to 9007199254740992, which the scheme serves, "
               "but is 9007199254740993");
  std::vector<double> fractions = {0, 0.5};
  args.positions = std::span<const double>(fractions);
  expect_error(LearnedInput{}, weights,
               "[add_input] positions[1] must find one of the table's 5 rows, position + 0, but is 0.5");
  expect_error(BinaryInput{}, {},
               "[add_input] positions[1] must be whole and lie from 0 to 15, which the scheme serves, but is 0.5");
  for (const double wrong : {kNan, HUGE_VAL, -HUGE_VAL, 1e16}) {
    fractions[1] = wrong;
    for (const InputScheme& scheme :
         {InputScheme(SinusoidalInput{}), InputScheme(IntegerInput{}), InputScheme(BinaryInput{})}) {
      EXPECT_THROW((void)add_input(scheme, {}, args), Error) << wrong;
    }
    EXPECT_THROW((void)add_input(LearnedInput{}, weights, args), Error) << wrong;
  }
  fractions = {16, 0};
  expect_error(BinaryInput{}, {},
               "[add_input] positions[0] must be whole and lie from 0 to 15, which the scheme serves, but is 16");
}

TEST_F(AddInputErrors, TokenTypes) {
  const Places given = {0, 1, 2, 0};
  args.token_types = given;
  expect_error(LearnedInput{}, weights,
               "[add_input] token_types must be omitted for an input without a table of them but is given");
  expect_error(SinusoidalInput{}, {},
               "[add_input] token_types must be omitted for an input without a table of them but is given");
  weights.token_types = tensor(std::as_const(types).data(), {2, 4});
  expect_error(LearnedInput{}, weights, "[add_input] token_types[2] must be at least 0 and below 2 but is 2");
  const Places three = {0, 1, 0};
  args.token_types = three;
  expect_error(LearnedInput{}, weights, "[add_input] token_types must have one for each of 4 tokens but is 3 long");
  const Places negative = {0, -1};
  args.token_types = negative;
  expect_error(LearnedInput{}, weights, "[add_input] token_types[1] must be at least 0 and below 2 but is -1");
  args.token_types = {};
  expect_error(LearnedInput{.token_types = 2}, weights,
               "[add_input] token_types must be given, as the scheme adds one of 2 rows, but is empty");
  expect_error(LearnedInput{.token_types = 3}, weights,
               "[add_input] weights.token_types must have 3 rows but is [2, 4]");
}

TEST_F(AddInputErrors, Sequences) {
  const std::vector<std::int32_t> bounds = {0, 2};
  args.cu_seqlens = bounds;
  expect_error(SinusoidalInput{}, {},
               "[add_input] cu_seqlens must be omitted for x of rank 3, whose batch are sequences, but is given");
  args.x = tensor(x.data(), {4, 4});
  expect_error(SinusoidalInput{}, {}, "[add_input] cu_seqlens[1] must be the number of tokens, 4, but is 2");
  const std::vector<std::int32_t> down = {0, 3, 2, 4};
  args.cu_seqlens = down;
  expect_error(SinusoidalInput{}, {}, "[add_input] cu_seqlens[2] must be at least 3, the one before, but is 2");
  const std::vector<std::int32_t> late = {1, 4};
  args.cu_seqlens = late;
  expect_error(SinusoidalInput{}, {}, "[add_input] cu_seqlens[0] must be 0 but is 1");
  const std::vector<std::int32_t> good = {0, 1, 4};
  args.cu_seqlens = good;
  expect_error(IntegerInput{.normalised = true}, {},
               "[add_input] length must be given where cu_seqlens are and integers are normalised but is omitted");
}

TEST_F(AddInputErrors, Lengths) {
  args.length = 0;
  expect_error(IntegerInput{.normalised = true}, {}, "[add_input] length must be at least 1 but is 0");
  const std::vector<double> two = {4.0, 0.0};
  expect_error(AxisSinesInput{}, {}, "[add_input] lengths must have 2 entries for this scheme but is 0 long");
  args.lengths = two;
  expect_error(AxisSinesInput{}, {}, "[add_input] lengths[1] must be finite and above 0 but is 0");
  expect_error(AxisSinesInput{.normalised = false}, {},
               "[add_input] lengths must have 0 entries for this scheme but is 2 long");
  const std::vector<double> tiny = {1e-300, 1e-300};
  args.lengths = tiny;
  args.positions = PositionRange{kExact / 2};
  expect_error(AxisSinesInput{.scale = 1e6}, {},
               "[add_input] positions must give angles of at most 2^53 radians but is 4503599627370496");
}

TEST_F(AddInputErrors, Schemes) {
  const auto refuse = [](const InputScheme& scheme, const InputWeights& of, const PrepareInputOptions& options,
                         const char* text) { EXPECT_ERROR((void)prepare_input(scheme, of, options), text); };
  const PrepareInputOptions four{.channels = 4};
  refuse(AxialInput{}, {}, four,
         "[prepare_input] scheme must be learned, sinusoidal, integer, binary or axis_sines but is an axial one, whose "
         "tables the model's own code adds");
  for (const InputScheme& scheme : {InputScheme(TileInput{}), InputScheme(ConvolutionInput{}),
                                    InputScheme(FourierInput{}), InputScheme(PerceptronInput{})}) {
    EXPECT_THROW((void)prepare_input(scheme, {}, four), Error);
  }
  refuse(AxisSinesInput{.learned_map = true}, {}, four,
         "[prepare_input] scheme.learned_map must be false: what is added otherwise is made of the sines by a "
         "perceptron but is true");
  refuse(AxisSinesInput{}, {}, {.channels = 6}, "[prepare_input] channels must be a multiple of 4 but is 6");
  refuse(AxisSinesInput{.axes = {}}, {}, four, "[prepare_input] scheme.axes must name an axis but is empty");
  refuse(AxisSinesInput{.base = 0}, {}, four, "[prepare_input] scheme.base must be finite and at least 2^-53 but is 0");
  refuse(AxisSinesInput{.scale = kNan}, {}, four, "[prepare_input] scheme.scale must be finite but is nan");
  refuse(SinusoidalInput{.convention = SinusoidConvention::whisper}, {}, {.channels = 7},
         "[prepare_input] channels must be even in this convention but is 7");
  refuse(SinusoidalInput{.convention = static_cast<SinusoidConvention>(77)}, {}, four,
         "[prepare_input] scheme.convention must be one of the conventions but is 77");
  refuse(SinusoidalInput{}, {}, {}, "[prepare_input] channels must be from 1 to 16777216 but is 0");
  refuse(SinusoidalInput{}, {}, {.channels = -4}, "[prepare_input] channels must be at least 0 but is -4");
  refuse(SinusoidalInput{}, {}, {.channels = kHigh},
         "[prepare_input] channels must be from 1 to 16777216 but is 9223372036854775807");
  refuse(SinusoidalInput{.learned_scale = true}, {}, four,
         "[prepare_input] weights.scale must be given to a scheme with a learned scale but is omitted");
  refuse(SinusoidalInput{}, SinusoidalInputWeights{.scale = 1}, four,
         "[prepare_input] weights.scale must be omitted for it but is given");
  refuse(SinusoidalInput{.learned_scale = true}, SinusoidalInputWeights{.scale = 1e300}, four,
         "[prepare_input] weights.scale must be a number that float holds (0, or 1.4e-45 to 3.4e38 either way) but is "
         "1e+300");
  refuse(SinusoidalInput{.offset = kLow}, {}, four,
         "[prepare_input] scheme.offset must be within 2^53 of 0 but is -9223372036854775808");
  refuse(IntegerInput{.embedding_multiplier = kNan}, {}, four,
         "[prepare_input] scheme.embedding_multiplier must be a number that float holds (0, or 1.4e-45 to 3.4e38 "
         "either way) but is nan");
  refuse(BinaryInput{.combine = static_cast<InputCombine>(2)}, {}, four,
         "[prepare_input] scheme.combine must be add or multiply but is 2");
  refuse(BinaryInput{}, weights, four,
         "[prepare_input] weights must be omitted for a scheme of which nothing is learned but is given");
  refuse(LearnedInput{}, {}, four, "[prepare_input] weights must be LearnedInputWeights but is omitted");
  refuse(LearnedInput{}, SinusoidalInputWeights{}, four,
         "[prepare_input] weights must be LearnedInputWeights but is of another scheme");
  refuse(SinusoidalInput{}, weights, four,
         "[prepare_input] weights must be SinusoidalInputWeights but is of another scheme");
}

TEST_F(AddInputErrors, Tables) {
  const auto refuse = [&](const LearnedInput& scheme, std::int64_t channels, const char* text) {
    EXPECT_ERROR((void)prepare_input(scheme, weights, {.channels = channels}), text);
    weights.positions = tensor(std::as_const(rows).data(), {5, 4});
  };
  refuse({}, 5, "[prepare_input] weights.positions must be [rows, 5] but is [5, 4]");
  refuse({.positions = 6}, 4, "[prepare_input] weights.positions must have 6 rows but is [5, 4]");
  weights.positions = {};
  refuse({}, 0, "[prepare_input] weights.positions must be [rows, 0] but is []");
  weights.positions.strides[1] = 5;
  refuse({}, 0,
         "[prepare_input] weights.positions.strides[1] must be 1, since channels of a row are adjacent, but is 5");
  weights.positions.data = nullptr;
  refuse({}, 0, "[prepare_input] weights.positions.data must point to the elements but is null");
  weights.positions.dtype = static_cast<DType>(4);
  refuse({}, 0, "[prepare_input] weights.positions.dtype must be f32, f16, bf16 or f64 but is unknown");
  weights.positions.strides[0] = kHigh;
  refuse({}, 0, "[prepare_input] weights.positions.strides must reach less than 2^63 bytes but is larger");
  weights.positions.shape[0] = -5;
  refuse({}, 0, "[prepare_input] weights.positions must be [rows, 4] but is [-5, 4]");
  refuse({.token_types = 2}, 0, "[prepare_input] weights.token_types must have 2 rows but is []");
}

TEST_F(AddInputErrors, HeldRows) {
  const auto refuse = [&](const SinusoidalInput& scheme, const PrepareInputOptions& options, const char* text) {
    EXPECT_ERROR((void)prepare_input(scheme, {}, options), text);
  };
  refuse({}, {.channels = 4, .count = -1}, "[prepare_input] count must be at least 0 but is -1");
  refuse({}, {.channels = 4, .start = kExact, .count = 2},
         "[prepare_input] start + count - 1 must be at most 2^53 but is 9007199254740992 + 2 - 1");
  refuse({}, {.channels = 4, .count = 1LL << 40},
         "[prepare_input] count must be at most 67108864 (max_bytes 1073741824) but is 1099511627776");
  refuse({}, {.channels = 3, .count = 4, .max_bytes = 63},
         "[prepare_input] count must be at most 3 (max_bytes 63) but is 4");
  refuse({.positions = 1500}, {.channels = 4, .start = 1499, .count = 2},
         "[prepare_input] start .. start + count - 1 must find one of the table's 1500 rows, position + 0, but is "
         "1500");
  refuse(
      {.positions = kLow}, {.channels = 4, .count = 1},
      "[prepare_input] start .. start + count - 1 must find one of the table's -9.223372036854776e+18 rows, position "
      "+ 0, but is 0");
  EXPECT_EQ(prepare_input(IntegerInput{}, {}, {.channels = 4, .count = 100}).count(), 0);
}

TEST_F(AddInputErrors, MovedFrom) {
  PreparedInput one = prepare_input(BinaryInput{}, {}, {.channels = 4});
  const PreparedInput other = std::move(one);
  EXPECT_EQ(other.channels(), 4);
  EXPECT_ERROR((void)add_input(one, args), "[PreparedInput] must hold a scheme but is moved from");  // NOLINT
}

TEST_F(AddInputErrors, Elsewhere) {
  args.isa = static_cast<Isa>(99);
  EXPECT_THROW((void)add_input(BinaryInput{}, {}, args), Error);
  EXPECT_THROW((void)prepare_input(BinaryInput{}, {}, {.channels = 4, .isa = static_cast<Isa>(99)}), Error);
  args.isa = Isa::automatic;
  args.parallel.threads = -1;
  EXPECT_THROW((void)add_input(BinaryInput{}, {}, args), Error);
}

// What has no elements needs no memory, no token types, no position that is served.
TEST_F(AddInputErrors, NoTokens) {
  args.x = tensor(static_cast<float*>(nullptr), {0, 4});
  args.positions = PositionRange{kLow};
  EXPECT_TRUE(add_input(
      LearnedInput{.token_types = 2},
      LearnedInputWeights{tensor(std::as_const(rows).data(), {5, 4}), tensor(std::as_const(types).data(), {2, 4})},
      args));
  EXPECT_TRUE(add_input(IntegerInput{.normalised = true}, {}, args));
  args.x = tensor(static_cast<float*>(nullptr), {3, 0, 4});
  EXPECT_TRUE(add_input(SinusoidalInput{}, {}, args));
  args.x = tensor(static_cast<float*>(nullptr), {0, 3, 4});
  EXPECT_TRUE(add_input(BinaryInput{}, {}, args));
}

}  // namespace
}  // namespace posenc::test::add_input_errors_test

// add_input against the float64 reference: every scheme, dtype, layout and form of positions, in place and out of
// place, on every instruction set; rows that are held against rows that are made.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "input/embeddings.h"
#include "input/input_cases.h"
#include "posenc/add_input.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"

namespace posenc::test::add_input_values_test {
namespace {

constexpr unsigned kSeed = 17062017;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kTokens = 7;

// The forms in which positions are given.
enum class Form : std::uint8_t { counted, int64, int32, fractions, of_each_row };
constexpr int kForms = 5;

// Positions of one call in the form that a caller has them in, and as doubles.
struct Places {
  Form form = Form::counted;
  std::int64_t rows = 0;  // listed: the tokens, or all rows
  std::int64_t start = 0;
  std::vector<std::int64_t> int64{};
  std::vector<std::int32_t> int32{};
  std::vector<double> reals{};

  Positions positions() const {
    if (form == Form::counted) return PositionRange{start};
    if (form == Form::int32) return std::span<const std::int32_t>(int32);
    if (form == Form::fractions) return std::span<const double>(reals);
    return std::span<const std::int64_t>(int64);
  }
  // Of a row, an axis each.
  std::vector<double> at(std::int64_t member, std::int64_t token, std::int64_t axes) const {
    std::vector<double> out;
    const std::int64_t row = rows == kTokens ? token : member * kTokens + token;
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      const auto i = static_cast<std::size_t>(axis * rows + row);
      out.push_back(form == Form::counted     ? static_cast<double>(start + token)
                    : form == Form::int32     ? static_cast<double>(int32[i])
                    : form == Form::fractions ? reals[i]
                                              : static_cast<double>(int64[i]));
    }
    return out;
  }
};

Places places_for(const InputCase& of, Form form, std::int64_t batch, std::mt19937_64& random) {
  Places out{.form = form, .rows = form == Form::of_each_row ? batch * kTokens : kTokens};
  std::uniform_int_distribution<std::int64_t> within(of.least, of.most);
  out.start = std::min(within(random), std::max(of.least, of.most - kTokens + 1));
  for (std::int64_t i = 0; i < out.rows * of.axes(); ++i) {
    const std::int64_t place = i == 0 ? of.least : i == 1 ? of.most : within(random);
    out.int64.push_back(place);
    out.int32.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(place, INT32_MAX)));
    const bool fraction = of.takes_fractions && place < of.most;
    out.reals.push_back(static_cast<double>(place) + (fraction ? 0.3 : 0.0));
  }
  return out;
}

struct Call {
  const InputCase& of;
  const Places& places;
  std::vector<std::int64_t> types;
  bool shared_types;

  std::int64_t type_of(std::int64_t member, std::int64_t token) const {
    return types[static_cast<std::size_t>(shared_types ? token : member * kTokens + token)];
  }
};

std::vector<ExpectedNumber> expected(const Call& call, const ConstTensorView& x) {
  const InputCase& of = call.of;
  const CombineRule rule = combine_of(of.scheme);
  const std::int64_t batch = x.rank == 3 ? x.shape[0] : 1;
  const std::vector<double> values = [&] {
    std::vector<double> out;
    for_elements(x, [&](std::int64_t offset, std::size_t) { out.push_back(reference::read(x, offset)); });
    return out;
  }();
  std::vector<ExpectedNumber> out;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < kTokens; ++t) {
      const std::vector<double> place = call.places.at(b, t, of.axes());
      const std::vector<double> row = exact_row(of, place);
      for (std::int64_t c = 0; c < of.channels; ++c) {
        double type = 0;
        double type_error = 0;
        if (!call.types.empty()) {
          type = reference::element(of.types->view(), {call.type_of(b, t), c});
          if (x.dtype != DType::f64 && of.types->view().dtype == DType::f64)
            type_error = kFloatRounding * std::abs(type);
        }
        out.push_back(expected_number(rule, x.dtype, values[out.size()], type, type_error,
                                      row_number(of, row, place, c, x.dtype == DType::f64)));
      }
    }
  }
  return out;
}

// reference::add_input of a whole call of rank 2.
std::vector<double> by_reference(const Call& call, const ConstTensorView& x) {
  std::vector<double> out(static_cast<std::size_t>(x.shape[0] * x.shape[1]));
  const reference::InputArgs args{.out = tensor(out.data(), {x.shape[0], x.shape[1]}),
                                  .x = x,
                                  .positions = call.places.positions(),
                                  .token_types = call.types,
                                  .length = call.of.length};
  const InputWeights weights = call.of.weights();
  if (const auto* const scheme = std::get_if<LearnedInput>(&call.of.scheme)) {
    reference::add_input(*scheme, std::get<LearnedInputWeights>(weights), args);
  } else if (const auto* const sines = std::get_if<SinusoidalInput>(&call.of.scheme)) {
    const auto* const scale = std::get_if<SinusoidalInputWeights>(&weights);
    reference::add_input(*sines, scale == nullptr ? SinusoidalInputWeights{} : *scale, args);
  } else if (const auto* const integer = std::get_if<IntegerInput>(&call.of.scheme)) {
    reference::add_input(*integer, args);
  } else if (const auto* const binary = std::get_if<BinaryInput>(&call.of.scheme)) {
    reference::add_input(*binary, args);
  } else {
    return {};  // axis_sines has none
  }
  return out;
}

void expect_near(const ConstTensorView& result, const std::vector<ExpectedNumber>& expected, ErrorRatio& ratio,
                 const std::string& where) {
  for_elements(result, [&](std::int64_t offset, std::size_t n) {
    ratio.add(std::abs(reference::read(result, offset) - expected[n].value), expected[n].bound, where);
  });
}

class AddInputValues : public ::testing::Test {
 protected:
  AddInputArgs args(const Call& call, Embeddings& to, Embeddings* from, Isa isa) const {
    return {.x = to.view(),
            .x_from = from == nullptr ? ConstTensorView{} : ConstTensorView(from->view()),
            .positions = call.places.positions(),
            .token_types = call.types,
            .length = call.of.length,
            .lengths = call.of.lengths,
            .isa = isa};
  }

  // In place and out of place, on every instruction set; bits that differ with it only where there are sines.
  void run(const Call& call, RowLayout layout, DType dtype, const std::string& where) {
    const std::int64_t channels = call.of.channels;
    Embeddings x(rows_laid_out(layout, dtype, kBatch, kTokens, channels), random_, next_edge());
    const bool has_batch = x.view().rank == 3;
    Embeddings to(
        rows_laid_out(has_batch ? RowLayout::tokens_first : RowLayout::gaps, dtype, kBatch, kTokens, channels), random_,
        next_edge());
    const std::vector<std::byte> before = x.memory();
    const std::vector<std::byte> to_before = to.memory();
    const std::vector<ExpectedNumber> numbers = expected(call, x.view());
    if (!has_batch) {
      const std::vector<double> reference = by_reference(call, x.view());
      for (std::size_t i = 0; i < reference.size(); ++i) ASSERT_EQ(reference[i], numbers[i].value) << where;
    }
    const PreparedInput prepared = prepare_input(call.of.scheme, call.of.weights(), {.channels = channels});
    std::vector<std::byte> first;
    for (const Isa isa : isas_) {
      const std::string here = where + ", " + std::string(name(isa));
      ASSERT_TRUE(add_input(prepared, args(call, to, &x, isa)));
      ErrorRatio& ratio = dtype == DType::f64 ? doubles_ : floats_;
      expect_near(to.view(), numbers, ratio, here);
      EXPECT_TRUE(to.has_kept_the_rest(to_before)) << here;
      EXPECT_TRUE(x.memory() == before) << here;
      ASSERT_TRUE(add_input(call.of.scheme, call.of.weights(), args(call, x, nullptr, isa)));
      expect_near(x.view(), numbers, ratio, here + ", in place");
      EXPECT_TRUE(x.has_kept_the_rest(before)) << here;
      const bool has_sines = std::holds_alternative<SinusoidalInput>(call.of.scheme) ||
                             std::holds_alternative<AxisSinesInput>(call.of.scheme);
      if (first.empty()) first = to.memory();
      EXPECT_TRUE(has_sines || to.memory() == first) << here;
      x.restore(before);
      to.restore(to_before);
    }
  }

  Edge next_edge() { return ++edges_ % 2 == 0 ? Edge::begin : Edge::end; }

  std::mt19937_64 random_{kSeed};
  const std::vector<Isa> isas_ = every_isa("add_input");
  ErrorRatio floats_{"add_input, f32, f16, bf16"};
  ErrorRatio doubles_{"add_input, f64"};

 private:
  int edges_ = 0;
};

TEST_F(AddInputValues, EverySchemeDtypeAndLayout) {
  int n = 0;
  for (const InputCase& of : input_cases(random_)) {
    for (const DType dtype : kInputDTypes) {
      for (const RowLayout layout : kRowLayouts) {
        const std::int64_t batch = layout == RowLayout::batch || layout == RowLayout::tokens_first ? kBatch : 1;
        const auto form = static_cast<Form>(n++ % kForms);
        const Places places = places_for(of, form, batch, random_);
        Call call{of, places, {}, n % 2 == 0};
        if (of.types) {
          const std::int64_t rows = call.shared_types ? kTokens : batch * kTokens;
          for (std::int64_t t = 0; t < rows; ++t) {
            call.types.push_back(
                static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(of.types->view().shape[0])));
          }
        }
        run(call, layout, dtype,
            of.name + ", " + std::string(name(dtype)) + ", " + name(layout) + ", form " +
                std::to_string(static_cast<int>(form)));
      }
    }
  }
  floats_.expect();
  doubles_.expect();
}

// The same bits, whichever of the rows are held.
TEST_F(AddInputValues, HeldRowsHaveTheBitsOfMadeOnes) {
  for (const InputCase& of : input_cases(random_)) {
    if (!std::holds_alternative<SinusoidalInput>(of.scheme) || of.channels == 1) continue;  // one is a 0
    for (const Isa isa : isas_) {
      const std::int64_t start = of.least + 1;
      const PreparedInput none = prepare_input(of.scheme, of.weights(), {.channels = of.channels});
      const PreparedInput some =
          prepare_input(of.scheme, of.weights(), {.channels = of.channels, .start = start, .count = 3, .isa = isa});
      EXPECT_EQ(some.start(), start);
      EXPECT_EQ(some.count(), 3);
      EXPECT_EQ(some.bytes(), 3 * (of.channels + of.channels % 2) * 4);
      for (const DType dtype : kDTypes) {
        Embeddings x(rows_laid_out(RowLayout::rows, dtype, 1, 5, of.channels), random_);
        const std::vector<std::byte> before = x.memory();
        AddInputArgs args{.x = x.view(), .positions = PositionRange{of.least}, .isa = isa};
        (void)add_input(none, args);
        const std::vector<std::byte> made = x.memory();
        EXPECT_TRUE(made != before);
        x.restore(before);
        (void)add_input(some, args);
        EXPECT_TRUE(x.memory() == made) << of.name << ", " << name(isa) << ", " << name(dtype);
      }
    }
  }
}

// Packed sequences count anew, in runs that pass the blocks in which rows are made.
TEST_F(AddInputValues, PackedSequences) {
  constexpr std::int64_t kChannels = 64;
  const std::vector<std::int32_t> bounds = {0, 1, 1, 200, 203, 300};
  const SinusoidalInput scheme{.offset = 4};
  Embeddings x(rows_laid_out(RowLayout::rows, DType::f32, 1, 300, kChannels), random_);
  const std::vector<std::byte> before = x.memory();
  (void)add_input(scheme, {}, {.x = x.view(), .positions = PositionRange{10}, .cu_seqlens = bounds});
  const std::vector<std::byte> packed = x.memory();
  x.restore(before);
  std::vector<std::int64_t> places;
  for (std::size_t s = 1; s < bounds.size(); ++s) {
    for (std::int32_t t = bounds[s - 1]; t < bounds[s]; ++t) places.push_back(10 + t - bounds[s - 1]);
  }
  (void)add_input(scheme, {}, {.x = x.view(), .positions = std::span<const std::int64_t>(places)});
  EXPECT_TRUE(x.memory() == packed);
  EXPECT_TRUE(packed != before);
}

// Infinities and NaN pass through as in any sum, and numbers beyond f16 become infinite.
TEST_F(AddInputValues, NotFinite) {
  const float inf = INFINITY;
  std::vector<float> x = {inf, -inf, NAN, 3e38F};
  std::vector<float> p = {1, inf, 1, 3e38F};
  const LearnedInputWeights weights{.positions = tensor(p.data(), {1, 4})};
  for (const Isa isa : isas_) {
    std::vector<float> to(4);
    (void)add_input(LearnedInput{}, weights,
                    {.x = tensor(to.data(), {1, 4}), .x_from = tensor(x.data(), {1, 4}), .isa = isa});
    EXPECT_EQ(to[0], inf);
    EXPECT_TRUE(std::isnan(to[1]));
    EXPECT_TRUE(std::isnan(to[2]));
    EXPECT_EQ(to[3], inf);
  }
}

// Rows of more channels than are made on the stack.
TEST_F(AddInputValues, LongRows) {
  constexpr std::int64_t kChannels = 9000;
  const SinusoidalInput scheme{.convention = SinusoidConvention::marian};
  Embeddings x(rows_laid_out(RowLayout::rows, DType::f32, 1, 12, kChannels), random_);
  InputCase of{.name = "long", .scheme = scheme, .channels = kChannels};
  const std::vector<double> values = [&] {
    std::vector<double> out;
    for_elements(x.view(), [&](std::int64_t offset, std::size_t) { out.push_back(reference::read(x.view(), offset)); });
    return out;
  }();
  (void)add_input(scheme, {}, {.x = x.view(), .positions = PositionRange{3}, .parallel = {.threads = 2}});
  ErrorRatio ratio("9000 channels");
  for_elements(x.view(), [&](std::int64_t offset, std::size_t n) {
    const auto t = static_cast<std::int64_t>(n) / kChannels;
    const auto c = static_cast<std::int64_t>(n) % kChannels;
    const double place = static_cast<double>(3 + t);
    static std::vector<double> row;
    if (c == 0) row = input_row(scheme, kChannels, place);
    const ExpectedNumber number =
        expected_number({}, DType::f32, values[n], 0, 0, row_number(of, row, {&place, 1}, c, false));
    ratio.add(std::abs(reference::read(x.view(), offset) - number.value), number.bound, "row");
  });
  ratio.expect();
}

}  // namespace
}  // namespace posenc::test::add_input_values_test

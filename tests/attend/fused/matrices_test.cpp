// Matrices of queries and keys that a call gives, visible and bias: the same whatever their dtype and strides, and of
// tiles that they hide nothing is computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attend/fused/fused_call.h"
#include "attend/fused/in_dtype.h"
#include "support/every_isa.h"

namespace posenc::test::matrices_test {
namespace {

constexpr std::uint64_t kSeed = 20261123;
constexpr std::int64_t kQueries = 75;
constexpr std::int64_t kKeys = 139;

// Elements that lie `step` apart in memory, from a place where they are not aligned if that is asked.
struct Laid {
  Laid(const Tensor& of, DType dtype, std::int64_t step, bool aligned) {
    std::vector<double> numbers = of.values;
    const std::vector<std::byte> elements = in_dtype(numbers, dtype);
    EXPECT_EQ(numbers, of.values) << "to be the same in every dtype";
    const auto bytes = static_cast<std::size_t>(bytes_of(dtype));
    const std::size_t first = aligned ? bytes : 1;
    memory.resize(first + elements.size() * static_cast<std::size_t>(step));
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      std::copy_n(elements.data() + n * bytes, bytes,
                  memory.data() + first + n * bytes * static_cast<std::size_t>(step));
    }
    view = of;
    view.dtype = dtype;
    view.data = memory.data() + first;
    for (int axis = 0; axis < view.rank; ++axis) view.strides[static_cast<std::size_t>(axis)] *= step;
  }
  std::vector<std::byte> memory;
  ConstTensorView view;
};

// Quarters from -8 to 8, a third of them 0, which every dtype holds.
Tensor quarters(Random& random, std::vector<std::int64_t> shape) {
  Tensor out{{}, std::move(shape)};
  std::int64_t count = 1;
  for (const std::int64_t size : out.shape) count *= size;
  for (std::int64_t n = 0; n < count; ++n) {
    out.values.push_back(random.whole(0, 2) == 0 ? 0.0 : static_cast<double>(random.whole(-32, 32)) / 4);
  }
  return out;
}

TEST(Matrices, AreReadInEveryDtypeAndStride) {
  const SchemeCase plain{.name = "plain", .layer = plain_layer()};
  const std::int64_t heads = plain.layer.heads;
  Random random(kSeed);
  for (const Isa isa : every_isa("matrices of a call")) {
    for (const std::int64_t queries : {kQueries, std::int64_t{2}}) {
      const std::vector<std::vector<std::int64_t>> shapes{{queries, kKeys},  {queries, 1},           {1, kKeys},
                                                          {heads, 1, kKeys}, {2, 1, queries, kKeys}, {2, heads, 1, 1}};
      for (const std::vector<std::int64_t>& shape : shapes) {
        SCOPED_TRACE(testing::PrintToString(shape));
        SchemeCall call(plain, {.name = "", .batch = 2, .queries = queries, .keys = kKeys}, Places::by_order, kSeed);
        Tensor given = quarters(random, shape);
        for (ConstTensorView* const role : {&call.inputs.attn_mask, &call.inputs.bias}) {
          *role = given;
          const SchemeCall::Result wanted = FusedCall(call).by_kernels(isa);  // from doubles, each by itself
          for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
            for (const auto& [step, aligned] : {std::pair{1, true}, {3, true}, {1, false}}) {
              const Laid laid(given, dtype, step, aligned);
              *role = laid.view;
              const SchemeCall::Result is = FusedCall(call).by_kernels(isa);
              EXPECT_EQ(is.out, wanted.out) << name(dtype) << ", step " << step << (aligned ? "" : ", not aligned");
              EXPECT_EQ(is.lse, wanted.lse) << name(dtype) << ", step " << step << (aligned ? "" : ", not aligned");
            }
          }
          *role = {};
        }
      }
    }
  }
}

// A bias may be anything at a hidden place, whatever the rows beside it see of its tile.
TEST(Matrices, HideWhateverABiasIs) {
  const SchemeCase plain{.name = "plain", .layer = plain_layer()};
  for (const Isa isa : every_isa("hidden biases")) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      SchemeCall call(plain, {.name = "", .mask = {.kind = MaskKind::bidirectional}, .queries = 128, .keys = 128},
                      Places::by_order, kSeed);
      Tensor visible{std::vector<double>(128 * 128, 1.0), {128, 128}};
      Tensor bias{std::vector<double>(128 * 128, 0.0), {128, 128}};
      for (std::size_t i = 0; i < 128; ++i) std::fill_n(visible.values.begin() + i * 128 + 64, 64, 0.0);
      call.inputs.attn_mask = visible;
      const SchemeCall::Result wanted = FusedCall(call).by_kernels(isa);
      bias.values[3 * 128 + 100] = bad;
      visible.values[64] = 1.0;  // of the first row alone
      call.inputs.bias = bias;
      const SchemeCall::Result is = FusedCall(call).by_kernels(isa);
      const std::ptrdiff_t row = call.layer.heads * call.layer.value_dim;
      EXPECT_TRUE(std::equal(wanted.out.begin() + row, wanted.out.end(), is.out.begin() + row));
      EXPECT_NE(wanted.out, is.out);
    }
  }
}

// A double that no float holds is not 0: the key is seen.
TEST(Matrices, ShowWhatIsNotZeroInItsOwnDtype) {
  const SchemeCase plain{.name = "plain", .layer = plain_layer()};
  SchemeCall call(plain, {.name = "", .queries = 3, .keys = 5}, Places::by_order, kSeed);
  const SchemeCall::Result wanted = FusedCall(call).by_kernels(Isa::automatic);
  const Tensor tiny{std::vector<double>(15, 1e-300), {3, 5}};
  call.inputs.attn_mask = tiny;
  EXPECT_EQ(FusedCall(call).by_kernels(Isa::automatic).out, wanted.out);
}

// The chunks of a mask, as a matrix: the same bits, and the same tiles as long as chunks are whole tiles.
TEST(Matrices, HideTilesThatAreNotComputed) {
  constexpr std::int64_t kTokens = 384;
  constexpr std::int64_t kChunk = 128;
  const SchemeCase plain{.name = "plain", .layer = plain_layer()};
  Tensor same_chunk{{}, {kTokens, kTokens}};
  for (std::int64_t n = 0; n < kTokens * kTokens; ++n) {
    same_chunk.values.push_back(n / kTokens / kChunk == n % kTokens / kChunk ? 1.0 : 0.0);
  }
  for (const Isa isa : every_isa("tiles that a matrix hides")) {
    for (const std::int64_t threads : {1, 2}) {
      AttendWork by_mask, by_matrix;
      SchemeCall call(plain, {.name = "", .mask = {.chunk = kChunk}, .queries = kTokens, .keys = kTokens},
                      Places::by_order, kSeed);
      const SchemeCall::Result wanted = FusedCall(call).by_kernels(isa, {.threads = threads, .work = &by_mask});
      call.layer.mask = {};
      call.inputs.attn_mask = same_chunk;
      const SchemeCall::Result is = FusedCall(call).by_kernels(isa, {.threads = threads, .work = &by_matrix});
      EXPECT_EQ(is.out, wanted.out);
      EXPECT_EQ(is.lse, wanted.lse);
      EXPECT_EQ(by_matrix, by_mask);
      EXPECT_GT(by_matrix.skipped, 0);
    }
  }
}

}  // namespace
}  // namespace posenc::test::matrices_test

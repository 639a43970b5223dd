// Plain calls of rotate_into_cache against the check of every call: with its table in a list, a call is not plain, and
// means the same.
#include "cpu/cache/plain_cache_call.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "rotate/expect_same_call.h"
#include "support/ropes.h"

namespace posenc::test::plain_cache_call_test {
namespace {

constexpr std::array<DType, 3> kDTypes{DType::f32, DType::f16, DType::bf16};

class PlainCacheCall : public testing::Test {
 protected:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  // Often as it should be, often not.
  TensorView any_tensor(std::initializer_list<std::int64_t> shape) {
    TensorView x = tensor(memory.data() + 2 * below(8) + 4096 * below(8), kDTypes[random() % 3], shape);
    const auto axis = [&] { return static_cast<std::size_t>(below(x.rank)); };
    if (below(6) == 0) x.strides[axis()] += below(80) - 20;
    if (below(8) == 0) x.strides[0] += 100;
    if (below(24) == 0) x.shape[axis()] += below(3) - 1;
    if (below(40) == 0) x.rank = static_cast<int>(below(5));
    if (below(40) == 0) x.data = nullptr;
    if (below(80) == 0) x.dtype = static_cast<DType>(3 + below(3));
    if (below(80) == 0) x.strides[0] = std::int64_t{1} << static_cast<unsigned>(20 + below(43));
    return x;
  }

  TensorView any_cache(bool paged, std::int64_t heads, std::int64_t channels) {
    return paged ? any_tensor({3, 2, heads, channels}) : any_tensor({6, heads, channels});
  }

  std::vector<std::int64_t> any_slots(std::int64_t rows) {
    std::vector<std::int64_t> out;
    for (std::int64_t next = below(3) - 1; std::ssize(out) < rows; next += 1 + below(2)) {
      out.push_back(below(12) == 0 ? below(10) - 2 : next);
    }
    return out;
  }

  std::mt19937_64 random{7};
  std::vector<char> memory = std::vector<char>(9 * 4096);
  RotaryTable table = make_table(plain_rope(8), {.start = -5, .count = 20});
};

TEST_F(PlainCacheCall, IsACallThatTheCheckOfEveryCallLetsPass) {
  int plain = 0;
  int paged_ones = 0;
  int normed = 0;
  for (int round = 0; round < 100000; ++round) {
    const std::int64_t rows = below(5);
    const std::int64_t heads = 1 + below(3);
    const bool paged = below(2) == 0;
    std::vector<std::int64_t> list;
    for (std::int64_t t = 0; t < rows; ++t) list.push_back(below(21) - 5);
    const std::vector<std::int64_t> slots = any_slots(rows);
    CacheArgs args{.k = any_tensor({rows, heads, 8}), .table = &table, .k_cache = any_cache(paged, heads, 8)};
    if (below(2) == 0) {
      args.positions = list;
    } else {
      args.positions = PositionRange{below(24) - 7};
    }
    if (below(3) != 0) {
      args.v = any_tensor({rows, heads, 4});
      args.v_cache = any_cache(paged, heads, 4);
    }
    if (below(4) == 0) {
      args.norm = KeyNorm{.scheme = {.kind = QkNorm::Kind::rms, .weighted = true}, .weight = any_tensor({8})};
    }
    args.slots = slots;
    if (!cpu::is_plain(args)) continue;
    ++plain;
    paged_ones += paged ? 1 : 0;
    CacheArgs other = args;
    const std::array<const RotaryTable*, 1> tables{args.table};
    other.table = nullptr;
    other.tables = tables;
    ASSERT_FALSE(cpu::is_plain(other));
    if (args.norm) {  // whose own numbers are looked at in both, after all else
      ++normed;
      args.norm.reset();
      other.norm->weight = {};
      other.norm->scheme.weighted = false;
    }
    const cpu::CacheCall a = cpu::check_cache("rotate_into_cache", args);
    cpu::CacheCall b;
    ASSERT_NO_THROW(b = cpu::check_cache("rotate_into_cache", other)) << "round " << round;
    EXPECT_EQ(a.rotates, b.rotates);
    EXPECT_EQ(a.rotating.k, b.rotating.k);
    expect_same(a.rows, b.rows);
    expect_same(a.v, b.v);
    expect_same(a.k_cache, b.k_cache);
    expect_same(a.v_cache, b.v_cache);
    EXPECT_EQ(a.head_dim, b.head_dim);
    EXPECT_EQ(a.value_dim, b.value_dim);
    EXPECT_EQ(a.bytes, b.bytes);
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(plain, 2000);
  EXPECT_GT(paged_ones, 500);
  EXPECT_GT(normed, 200);
}

// What the glance lets pass with a norm, the whole check does too, but for what check_norm says in both.
TEST_F(PlainCacheCall, WeightsOfANormStandApartFromTheCaches) {
  const std::vector<std::int64_t> slots{1};
  const TensorView k = tensor(memory.data(), DType::f32, {1, 2, 8});
  const TensorView cache = tensor(memory.data() + 4096, DType::f32, {3, 2, 8});
  CacheArgs args{.k = k, .table = &table, .k_cache = cache, .slots = slots};
  args.norm = KeyNorm{.scheme = {.kind = QkNorm::Kind::rms, .weighted = true},
                      .weight = tensor(memory.data() + 4096 - 32, DType::f32, {8})};
  EXPECT_TRUE(cpu::is_plain(args));
  args.norm->weight.data = memory.data() + 4096 - 28;
  EXPECT_FALSE(cpu::is_plain(args));
}

TEST_F(PlainCacheCall, IsWhatEnginesAsk) {
  const std::vector<std::int64_t> slots{5};
  const std::vector<std::int64_t> positions{3};
  CacheArgs args{.k = tensor(memory.data(), DType::bf16, {1, 2, 8}),
                 .v = tensor(memory.data() + 64, DType::bf16, {1, 2, 8}),
                 .positions = positions,
                 .table = &table,
                 .k_cache = tensor(memory.data() + 4096, DType::bf16, {3, 2, 2, 8}),
                 .v_cache = tensor(memory.data() + 8192, DType::bf16, {3, 2, 2, 8}),
                 .slots = slots};
  EXPECT_TRUE(cpu::is_plain(args));
  // Keys and values of a block side by side, as some engines keep them: their caches interleave.
  args.k_cache.strides[0] = args.v_cache.strides[0] = 2 * 64;
  args.v_cache.data = memory.data() + 4096 + 2 * 64;
  EXPECT_FALSE(cpu::is_plain(args));
  EXPECT_NO_THROW(cpu::check_cache("rotate_into_cache", args));
}

}  // namespace
}  // namespace posenc::test::plain_cache_call_test

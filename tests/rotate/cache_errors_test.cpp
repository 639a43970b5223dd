// What rotate_into_cache refuses, before it writes anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cpu/cache/check_slots.h"
#include "posenc/cache.h"
#include "rotate/cache_tensors.h"
#include "support/ropes.h"
#include "support/throws.h"

namespace posenc::test::cache_errors_test {
namespace {

// A call that fits: 3 tokens of 2 heads of 8, values of 6, in 4 blocks of 2.
class CacheErrors : public testing::Test {
 protected:
  CacheErrors() {
    args.k = k.view;
    args.v = v.view;
    args.table = &table;
    args.k_cache = k_cache.view;
    args.v_cache = v_cache.view;
    args.slots = slots;
  }

  void weigh(const TensorView& weight) { args.norm = KeyNorm{.weight = weight}; }

  // Refused with this text, the caches as they were.
  void expect_error(const char* text) {
    const std::vector<std::byte> k_before = k_cache.memory;
    const std::vector<std::byte> v_before = v_cache.memory;
    EXPECT_ERROR((void)rotate_into_cache(args), text);
    EXPECT_TRUE(k_cache.memory == k_before && v_cache.memory == v_before) << text;
  }

  std::mt19937_64 random{1};
  RotaryTable table = make_table(plain_rope(8), range(0, 100));
  Owned k = filled(DType::f32, {3, 2, 8}, random);
  Owned v = filled(DType::f32, {3, 2, 6}, random);
  Owned k_cache = owned(DType::f16, {4, 2, 2, 8});
  Owned v_cache = owned(DType::f16, {4, 2, 2, 6});
  std::vector<std::int64_t> slots{6, 0, -1};
  CacheArgs args;
};

TEST_F(CacheErrors, TheCallItselfFits) {
  const std::vector<std::byte> before = k_cache.memory;
  (void)rotate_into_cache(args);
  EXPECT_FALSE(k_cache.memory == before);
}

TEST_F(CacheErrors, TensorsLeftOut) {
  args.k = {};
  expect_error("[rotate_into_cache] k must be given but is omitted");
  args.k = k.view;
  args.v = {};
  expect_error("[rotate_into_cache] v must be given where v_cache is but is omitted");
  args.v = v.view;
  args.v_cache = {};
  expect_error("[rotate_into_cache] v_cache must be given where v is but is omitted");
  args.v_cache = v_cache.view;
  args.k_cache = {};
  expect_error("[rotate_into_cache] k_cache must be given but is omitted");
}

TEST_F(CacheErrors, ShapesOfValues) {
  args.v.rank = 4;
  expect_error("[rotate_into_cache] v.rank must be that of k, 3, but is 4");
  args.v = v.view;
  args.v.shape[0] = 2;
  expect_error("[rotate_into_cache] v.shape[0] must be that of k, 3, but is 2");
}

TEST_F(CacheErrors, ShapesOfCaches) {
  args.k_cache.rank = 2;
  expect_error(
      "[rotate_into_cache] k_cache.rank must be 3, [rows, heads, head_dim], or 4, [blocks, block_size, heads, "
      "head_dim], but is 2");
  args.k_cache = k_cache.view;
  args.k_cache.shape[2] = 1;
  expect_error("[rotate_into_cache] k_cache.shape[2] must be the heads of k, 2, but is 1");
  args.k_cache = k_cache.view;
  args.k_cache.shape[3] = 4;
  expect_error("[rotate_into_cache] k_cache.shape[3] must be the channels of k, 8, but is 4");
  args.k_cache = k_cache.view;
  args.v_cache.shape[3] = 5;
  expect_error("[rotate_into_cache] v_cache.shape[3] must be the channels of v, 6, but is 5");
  args.v_cache = v_cache.view;
  args.v_cache.shape[1] = 1;
  expect_error("[rotate_into_cache] v_cache.shape[1] must be that of k_cache, 2, but is 1");
  args.v_cache = tensor(v_cache.view.data, DType::f16, {8, 2, 6});
  expect_error("[rotate_into_cache] v_cache.rank must be that of k_cache, 4, but is 3");
  args.v_cache = v_cache.view;
  args.k_cache.shape[0] = -1;
  expect_error("[rotate_into_cache] k_cache.shape[0] must be at least 0 but is -1");
}

TEST_F(CacheErrors, DTypesStridesAndData) {
  args.k.dtype = DType::f64;
  expect_error("[rotate_into_cache] k.dtype must be f32, f16 or bf16 but is f64");
  args.k = k.view;
  args.v_cache.dtype = DType::f64;
  expect_error("[rotate_into_cache] v_cache.dtype must be f32, f16 or bf16 but is f64");
  args.v_cache = v_cache.view;
  args.k_cache.strides[3] = 2;
  expect_error("[rotate_into_cache] k_cache.strides[3] must be 1, since channels of a head are adjacent, but is 2");
  args.k_cache = k_cache.view;
  args.k_cache.strides[0] = 31;
  expect_error(
      "[rotate_into_cache] k_cache.strides must give every element a place of its own but is 4 parts of 32 elements, "
      "31 apart");
  args.k_cache = k_cache.view;
  args.k_cache.data = nullptr;
  expect_error("[rotate_into_cache] k_cache.data must point to the elements but is null");
  args.k_cache.data = static_cast<std::byte*>(k_cache.view.data) + 1;
  expect_error("[rotate_into_cache] k_cache.data must be aligned to its elements, 2 bytes, but is between two");
  args.k_cache = k_cache.view;
  args.k.data = nullptr;
  expect_error("[rotate_into_cache] k.data must point to the elements but is null");
}

TEST_F(CacheErrors, TablesAndPositions) {
  args.positions = PositionRange{98};
  expect_error("[rotate_into_cache] positions must lie from 0 to 99, which its table serves, but is 100");
  const std::int64_t two[] = {1, 2};
  args.positions = std::span<const std::int64_t>(two);
  expect_error("[rotate_into_cache] positions must have one entry for each of 1 axes and 3 tokens, 3, but is 2 long");
  args.positions = {};
  const RotaryTable other = make_table(plain_rope(6), range(0, 100));
  args.table = &other;
  expect_error("[rotate_into_cache] k.shape[2] must be the head_dim of the table, 6, but is 8");
}

TEST_F(CacheErrors, Slots) {
  args.slots = std::span(slots).first(2);
  expect_error("[rotate_into_cache] slots must have one entry for each of 3 tokens but is 2 long");
  args.slots = slots;
  slots = {1, 8, -1};
  args.slots = slots;
  expect_error("[rotate_into_cache] slots[1] must be -1 or one of the 8 rows of the cache but is 8");
  slots[1] = -2;
  expect_error("[rotate_into_cache] slots[1] must be -1 or one of the 8 rows of the cache but is -2");
  slots = {5, 3, 5};
  args.slots = slots;
  expect_error("[rotate_into_cache] slots[2] must be another row than slots[0] but is 5");
}

TEST_F(CacheErrors, SharedMemory) {
  args.v_cache = k_cache.view;
  args.v = k.view;
  expect_error("[rotate_into_cache] v_cache must share no element with k_cache but is overlapping");
  args.v = v.view;
  args.v_cache = v_cache.view;
  args.k.data = k_cache.view.data;
  expect_error("[rotate_into_cache] k_cache must share no element with k but is overlapping");
  args.k = k.view;
  args.v.data = v_cache.view.data;
  expect_error("[rotate_into_cache] v_cache must share no element with v but is overlapping");
  args.v = v.view;
  weigh(tensor(k_cache.view.data, DType::bf16, {8}));
  expect_error("[rotate_into_cache] k_cache must share no element with norm.weight but is overlapping");
}

TEST_F(CacheErrors, Norms) {
  const Owned weight = filled(DType::f32, {16}, random);
  args.norm = KeyNorm{};
  expect_error("[rotate_into_cache] norm.weight must be given where norm.scheme is weighted but is omitted");
  weigh(weight.view);
  args.norm->epsilon = -1;
  expect_error("[rotate_into_cache] norm.epsilon must be finite and at least 0 but is -1");
  args.norm->epsilon = std::numeric_limits<double>::infinity();
  expect_error("[rotate_into_cache] norm.epsilon must be finite and at least 0 but is inf");
  args.norm->epsilon = 0;
  args.norm->scheme.weighted = false;
  expect_error("[rotate_into_cache] norm.weight must be omitted where norm.scheme is not weighted but is given");
  args.norm->weight = {};
  args.norm->weight_plus_one = true;
  expect_error("[rotate_into_cache] norm.weight_plus_one must be false without a weight but is true");
  weigh(weight.view);
  args.norm->bias = weight.view;
  expect_error("[rotate_into_cache] norm.bias must be omitted for a norm that is not `layer` but is given");
  args.norm->scheme = {.kind = QkNorm::Kind::layer, .weighted = false};
  args.norm->weight = {};
  expect_error("[rotate_into_cache] norm.bias must be omitted where norm.weight is but is given");
  args.norm->scheme.weighted = true;
  args.norm->weight = tensor(weight.view.data, DType::f32, {8});
  expect_error("[rotate_into_cache] norm.bias.shape must have as many elements as norm.weight but is otherwise");
}

TEST_F(CacheErrors, NumbersThatAreNoEnumerators) {
  args.norm = KeyNorm{.scheme = {.weighted = false}};
  args.norm->scheme.kind = static_cast<QkNorm::Kind>(3);
  expect_error("[rotate_into_cache] norm.scheme.kind must be rms, l2 or layer but is 3");
  args.norm->scheme = {.order = static_cast<QkNorm::Order>(147), .weighted = false};
  expect_error("[rotate_into_cache] norm.scheme.order must be before or after but is 147");
  args.norm->scheme = {.weighted = false, .over = static_cast<QkNorm::Over>(2)};
  expect_error("[rotate_into_cache] norm.scheme.over must be head or all_heads but is 2");
  const Owned weight = filled(DType::f32, {8}, random);
  weigh(weight.view);
  args.norm->weight.dtype = static_cast<DType>(4);
  expect_error("[rotate_into_cache] norm.weight.dtype must be f32, f16 or bf16 but is unknown");
}

// A view is a plain struct: its rank may be any number.
TEST_F(CacheErrors, RanksThatNoViewHas) {
  const Owned weight = filled(DType::f32, {8}, random);
  for (const int rank : {-1, 5, 200}) {
    const std::string k_text =
        "[rotate_into_cache] k.rank must be 3, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim] but "
        "is " +
        std::to_string(rank);
    args.norm = {};
    args.k.rank = rank;
    for (const bool rotates : {true, false}) {
      args.table = rotates ? &table : nullptr;
      expect_error(k_text.c_str());
    }
    args.table = &table;
    args.k = k.view;
    weigh(weight.view);
    args.norm->weight.rank = rank;
    expect_error(("[rotate_into_cache] norm.weight.rank must be 1 or 2 but is " + std::to_string(rank)).c_str());
  }
}

TEST_F(CacheErrors, WeightsOfNorms) {
  const Owned weight = filled(DType::f32, {2, 8}, random);
  weigh(tensor(weight.view.data, DType::f32, {7}));
  expect_error("[rotate_into_cache] norm.weight.shape must be 8 or 2 heads of 8 but is 7");
  args.norm->scheme.over = QkNorm::Over::all_heads;
  args.norm->weight = tensor(weight.view.data, DType::f32, {8});
  expect_error("[rotate_into_cache] norm.weight.shape must be 2 heads of 8 but is 8");
  args.norm->weight = tensor(weight.view.data, DType::f32, {8, 2});
  expect_error("[rotate_into_cache] norm.weight.shape must be 2 heads of 8 but is [8, 2]");
  args.norm->weight = tensor(weight.view.data, DType::f32, {1, 2, 8});
  expect_error("[rotate_into_cache] norm.weight.rank must be 1 or 2 but is 3");
  args.norm->weight = weight.view;
  args.norm->weight.dtype = DType::f64;
  expect_error("[rotate_into_cache] norm.weight.dtype must be f32, f16 or bf16 but is f64");
  args.norm->weight = weight.view;
  args.norm->weight.strides[0] = 9;
  expect_error("[rotate_into_cache] norm.weight.strides must leave elements adjacent but is otherwise");
  args.norm->weight = weight.view;
  args.norm->weight.data = nullptr;
  expect_error("[rotate_into_cache] norm.weight.data must point to the elements but is null");
  args.norm->weight.data = static_cast<std::byte*>(weight.view.data) + 2;
  expect_error("[rotate_into_cache] norm.weight.data must be aligned to its elements, 4 bytes, but is between two");
}

TEST_F(CacheErrors, NothingToStoreIsNoError) {
  const std::vector<std::byte> before = k_cache.memory;
  std::ranges::fill(slots, -1);
  (void)rotate_into_cache(args);
  args.k = tensor(static_cast<const float*>(nullptr), {0, 2, 8});
  args.v = tensor(static_cast<const float*>(nullptr), {0, 2, 6});
  args.slots = {};
  (void)rotate_into_cache(args);
  // Of no tokens, sizes may be anything.
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  args = {};
  args.k = {nullptr, DType::f32, 3, {0, kHuge, kHuge}, {0, 0, 1}};
  args.k_cache = {nullptr, DType::f32, 4, {kHuge, 0, kHuge, kHuge}, {0, 0, 0, 1}};
  args.norm = KeyNorm{.scheme = {.weighted = false}};
  (void)rotate_into_cache(args);
  EXPECT_TRUE(k_cache.memory == before);
}

// Runs, permutations of them, holes: refused exactly when a set finds a row twice, and never a row that is there once.
TEST(Slots, RepeatsAreFound) {
  std::mt19937_64 random(5);
  int repeats = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::int64_t> slots;
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const std::int64_t runs = below(round % 50 == 0 ? 600 : 12);
    for (std::int64_t r = 0; r < runs; ++r) {
      const std::int64_t first = below(runs * 40);
      const std::int64_t count = 1 + below(4);
      for (std::int64_t i = 0; i < count; ++i) slots.push_back(first + i);
      if (below(5) == 0) slots.push_back(-1);
    }
    std::set<std::int64_t> seen;
    bool repeated = false;
    for (const std::int64_t slot : slots) repeated = repeated || (slot >= 0 && !seen.insert(slot).second);
    try {
      cpu::check_slots("slots", slots, std::ssize(slots), 100000);
      EXPECT_FALSE(repeated) << "round " << round;
    } catch (const Error& error) {
      EXPECT_TRUE(repeated) << "round " << round << ": " << error.what();
      // Its two entries are the same row.
      const std::string text = error.what();
      const auto entry = [&](std::size_t from) { return std::stoul(text.substr(text.find("slots[", from) + 6)); };
      const std::size_t second = text.find("than ");
      EXPECT_LT(entry(second), entry(0)) << text;
      EXPECT_EQ(slots[entry(0)], slots[entry(second)]) << text;
    }
    repeats += repeated ? 1 : 0;
  }
  EXPECT_GT(repeats, 500);
  EXPECT_LT(repeats, 3500);
}

}  // namespace
}  // namespace posenc::test::cache_errors_test

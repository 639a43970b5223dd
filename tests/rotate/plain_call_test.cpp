// Plain calls against the check of every call and the way of every call: with its table in a list, a call is not plain,
// and means the same.
#include "cpu/rotate/plain_call.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "posenc/error.h"
#include "rotate/expect_rotated.h"
#include "rotate/expect_same_call.h"
#include "rotate/heads.h"
#include "rotate/schemes.h"
#include "support/ropes.h"

namespace posenc::test::plain_call_test {
namespace {

constexpr unsigned kSeed = 4;

struct AnyWay {
  std::array<const RotaryTable*, 1> table;
  RotateArgs args;

  explicit AnyWay(const RotateArgs& plain) : table{plain.table}, args(plain) {
    args.table = nullptr;
    args.tables = table;
  }
};

class PlainCall : public testing::Test {
 protected:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }

  // Often as it should be, often not.
  TensorView any_tensor(std::int64_t rows, std::int64_t heads) {
    TensorView x = tensor(memory.data() + 2 * below(8) + 400 * below(3), kDTypes[random() % 3], {rows, heads, 8});
    if (below(3) == 0) x.strides[static_cast<std::size_t>(below(3))] += below(40) - 12;
    if (below(8) == 0) x.strides[0] += 3 * 8 * heads;
    if (below(12) == 0) x.shape[static_cast<std::size_t>(below(3))] += below(3) - 1;
    if (below(20) == 0) x.rank = static_cast<int>(below(5));
    if (below(20) == 0) x.data = nullptr;
    if (below(40) == 0) x.dtype = static_cast<DType>(3 + below(3));
    if (below(40) == 0) x.strides[0] = std::int64_t{1} << static_cast<unsigned>(20 + below(43));
    return x;
  }

  std::mt19937_64 random{kSeed};
  std::vector<char> memory = std::vector<char>(4096);
  RotaryTable table = make_table(plain_rope(8), {.start = -5, .count = 20});
};

TEST_F(PlainCall, IsACallThatTheCheckOfEveryCallLetsPass) {
  int plain = 0;
  for (int round = 0; round < 100000; ++round) {
    const std::int64_t rows = below(4);
    std::vector<std::int64_t> list;
    for (std::int64_t t = 0; t < rows + (below(10) == 0 ? 1 : 0); ++t) list.push_back(below(22) - 6);
    const std::vector<std::int32_t> narrow(list.begin(), list.end());
    const std::vector<double> real(list.begin(), list.end());
    const std::array<Positions, 4> positions{PositionRange{below(24) - 7}, list, narrow, real};
    RotateArgs args{.positions = positions[random() % 4], .table = &table};
    if (below(3) != 0) args.q = any_tensor(rows, 1 + below(3));
    if (below(3) != 0) args.k = any_tensor(rows, 1 + below(3));
    args.direction = static_cast<Direction>(below(4));
    if (!cpu::is_plain(args)) continue;
    ++plain;
    const AnyWay other(args);
    ASSERT_FALSE(cpu::is_plain(other.args));
    ASSERT_NO_THROW(expect_same(cpu::plain_call(args), cpu::check_rotate("rotate", other.args))) << "round " << round;
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_GT(plain, 2000);
}

TEST_F(PlainCall, IsWhatEnginesAsk) {
  const std::vector<std::int64_t> positions{3};
  TensorView q = tensor(memory.data(), DType::bf16, {1, 4, 8});
  TensorView k = tensor(memory.data() + 64, DType::bf16, {1, 2, 8});
  EXPECT_TRUE(cpu::is_small_and_plain({.q = q, .k = k, .positions = positions, .table = &table}));
  q.shape[0] = k.shape[0] = 3;  // of one fused projection, with values behind
  q.strides[0] = k.strides[0] = 8 * 8;
  EXPECT_FALSE(cpu::is_plain({.q = q, .k = k, .positions = PositionRange{0}, .table = &table}));  // they interleave
  EXPECT_TRUE(cpu::is_plain({.q = q, .positions = PositionRange{0}, .table = &table}));
  EXPECT_FALSE(cpu::is_plain({.q = q, .positions = PositionRange{13}, .table = &table}));
  EXPECT_TRUE(cpu::is_plain({.q = q, .positions = PositionRange{12}, .table = &table}));
}

TEST_F(PlainCall, OnOneThreadIsSmallUpToAMebibyte) {
  const RotaryTable angles = make_table(plain_rope(128), {.count = 64});
  const std::vector<float> before(63 * 32 * 128, 0.5F);
  for (const std::int64_t rows : {16, 63}) {
    std::vector<float> x = before;
    RotateArgs args{.q = tensor(x.data(), {rows, 32, 128}), .positions = PositionRange{1}, .table = &angles};
    EXPECT_FALSE(cpu::is_small_and_plain(args)) << rows;
    args.parallel.threads = 1;
    EXPECT_TRUE(cpu::is_small_and_plain(args)) << rows;
    (void)rotate(args);
    const std::vector<float> rotated = x;
    x = before;
    (void)rotate(AnyWay(args).args);
    EXPECT_TRUE(x == rotated) << rows;
    EXPECT_FALSE(x == before);
  }
  std::vector<float> x(64 * 32 * 128);
  RotateArgs args{.q = tensor(x.data(), {64, 32, 128}), .table = &angles, .parallel = {.threads = 1}};
  EXPECT_FALSE(cpu::is_small_and_plain(args));
}

TEST_F(PlainCall, GivesTheBitsOfEveryOtherWay) {
  Suite suite("small and plain");
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const Scheme& scheme : schemes(pairing, 18)) {
      const bool is_plain = scheme.rope.axes.names.size() == 1;
      const RotaryTable angles = make_table(scheme.rope, {.start = -3, .count = 80});
      for (const DType dtype : kDTypes) {
        for (const std::int64_t rows : {1, 2, 64, 65}) {
          for (const Direction direction : {Direction::forward, Direction::transpose}) {
            Heads q(laid_out(Layout::gaps, dtype, {1, rows, 3, scheme.rope.head_dim}), random);
            Heads k(laid_out(Layout::thd, dtype, {1, rows, 2, scheme.rope.head_dim}), random);
            const std::vector<std::byte> q_before = q.memory();
            const std::vector<std::byte> k_before = k.memory();
            std::vector<std::int64_t> list;
            for (std::int64_t t = 0; t < rows * std::ssize(scheme.rope.axes.names); ++t) list.push_back(below(80) - 3);
            const std::vector<std::int32_t> narrow(list.begin(), list.end());
            for (const Positions& positions : {Positions(list), Positions(narrow), Positions(PositionRange{2})}) {
              for (const Isa isa : supported_isas()) {
                const RotateArgs args{.q = q.view(),
                                      .k = k.view(),
                                      .positions = positions,
                                      .table = &angles,
                                      .direction = direction,
                                      .isa = isa};
                EXPECT_EQ(cpu::is_small_and_plain(args), is_plain && rows <= 64);
                (void)rotate(args);
                const std::vector<std::byte> q_after = q.memory();
                const std::vector<std::byte> k_after = k.memory();
                q.restore(q_before);
                k.restore(k_before);
                (void)rotate(AnyWay(args).args);
                EXPECT_TRUE(q.memory() == q_after && k.memory() == k_after) << scheme.name << ", " << name(isa);
                q.restore(q_before);
                k.restore(k_before);
                suite.ran(isa);
              }
            }
          }
        }
      }
    }
  }
  suite.expect_ran();
}

}  // namespace
}  // namespace posenc::test::plain_call_test

// Long calls ask whether they are still wanted: after the first 16 MiB, of 20.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "posenc/cache.h"
#include "posenc/rotate.h"

namespace posenc::test::keep_going_test {
namespace {

constexpr std::int64_t kTokens = 640;
constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kHeadDim = 256;
constexpr std::int64_t kRow = kHeads * kHeadDim;

const Rope kRope{.pairing = Pairing::half, .head_dim = kHeadDim, .dim = kHeadDim};

// A tensor of ones.
struct Ones {
  std::vector<float> numbers = std::vector<float>(static_cast<std::size_t>(kTokens * kRow), 1.0F);

  TensorView view() { return tensor(numbers.data(), {kTokens, kHeads, kHeadDim}); }
  // Whether a token is no longer what it was.
  bool is_done(std::int64_t token, float before = 1.0F) const {
    return numbers[static_cast<std::size_t>(token * kRow)] != before;
  }
};

// call(keep_going) under answers of each kind.
template <typename Call>
void expect_ends(const Call& call) {
  std::int64_t asked = 0;
  EXPECT_TRUE(call([&] {
    ++asked;
    return true;
  }));
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(call([] { return false; }));
  EXPECT_THROW(call([]() -> bool { throw std::runtime_error("enough"); }), std::runtime_error);
}

TEST(KeepGoing, EndsARotation) {
  const RotaryTable table = make_table(kRope, {.start = 1, .count = kTokens});
  Ones x;
  expect_ends([&](const std::function<bool()>& keep_going) {
    return rotate({.k = x.view(),
                   .positions = PositionRange{1},
                   .table = &table,
                   .parallel = {.threads = 1},
                   .keep_going = keep_going});
  });
  Ones stopped;
  EXPECT_FALSE(rotate({.k = stopped.view(),
                       .positions = PositionRange{1},
                       .table = &table,
                       .parallel = {.threads = 1},
                       .keep_going = [] { return false; }}));
  EXPECT_TRUE(stopped.is_done(0));
  EXPECT_FALSE(stopped.is_done(kTokens - 1));
}

TEST(KeepGoing, EndsARerotation) {
  const RotaryTable table = make_table(kRope, {.count = kTokens + 1});
  Ones x;
  expect_ends([&](const std::function<bool()>& keep_going) {
    return rerotate({.k = x.view(),
                     .from_table = &table,
                     .from_positions = PositionRange{0},
                     .to_table = &table,
                     .to_positions = PositionRange{1},
                     .parallel = {.threads = 1},
                     .keep_going = keep_going});
  });
}

TEST(KeepGoing, EndsAWayIntoACache) {
  const RotaryTable table = make_table(kRope, {.count = kTokens});
  std::vector<std::int64_t> slots(kTokens);
  std::iota(slots.begin(), slots.end(), std::int64_t{0});
  Ones k;
  for (const RotaryTable* rotating : {&table, static_cast<const RotaryTable*>(nullptr)}) {
    Ones cache;
    expect_ends([&](const std::function<bool()>& keep_going) {
      cache.numbers.assign(cache.numbers.size(), 0.0F);
      return rotate_into_cache({.k = k.view(),
                                .table = rotating,
                                .k_cache = cache.view(),
                                .slots = slots,
                                .parallel = {.threads = 1},
                                .keep_going = keep_going});
    });
    EXPECT_TRUE(cache.is_done(0, 0.0F));
    EXPECT_FALSE(cache.is_done(kTokens - 1, 0.0F));
  }
}

// A call without tokens has come to its end: it was not ended.
TEST(KeepGoing, IsNotAskedOfNothing) {
  const RotaryTable table = make_table(kRope, {.count = 2});
  std::vector<float> cache(static_cast<std::size_t>(kRow));
  const TensorView nothing = tensor(cache.data(), {0, kHeads, kHeadDim});
  const TensorView one = tensor(cache.data(), {1, kHeads, kHeadDim});
  const std::function<bool()> stop = [] { return false; };
  EXPECT_TRUE(rotate({.k = nothing, .positions = PositionRange{0}, .table = &table, .keep_going = stop}));
  EXPECT_TRUE(rerotate({.k = nothing,
                        .from_table = &table,
                        .from_positions = PositionRange{0},
                        .to_table = &table,
                        .to_positions = PositionRange{1},
                        .keep_going = stop}));
  for (const RotaryTable* rotating : {&table, static_cast<const RotaryTable*>(nullptr)}) {
    EXPECT_TRUE(rotate_into_cache({.k = nothing, .table = rotating, .k_cache = one, .keep_going = stop}));
  }
}

}  // namespace
}  // namespace posenc::test::keep_going_test

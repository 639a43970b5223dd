// Calls of rerotate that do not fit: the exact message, and not a byte written.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/heads.h"
#include "support/ropes.h"
#include "support/throws.h"

namespace posenc::test::bad_rerotate_test {
namespace {

class BadRerotate : public testing::Test {
 protected:
  void expect_error(const char* text) {
    const std::vector<std::byte> before = k.memory();
    EXPECT_ERROR((void)rerotate(args), ("[rerotate] " + std::string(text)).c_str());
    EXPECT_TRUE(k.memory() == before);
  }
  std::mt19937_64 random{2};
  RotaryTable table = make_table(plain_rope(8), {.start = 10, .count = 20});
  Heads k{laid_out(Layout::thd, DType::f32, {1, 4, 2, 8}), random};
  RerotateArgs args{.k = k.view(),
                    .from_table = &table,
                    .from_positions = PositionRange{10},
                    .to_table = &table,
                    .to_positions = PositionRange{12}};
};

TEST_F(BadRerotate, NamesTheSideThatDoesNotFit) {
  args.k = {};
  expect_error("k must be given but is omitted");
  args.k = k.view();
  args.from_table = nullptr;
  expect_error("from_table must be given but is null");
  args.from_table = &table;
  args.to_table = nullptr;
  expect_error("to_table must be given but is null");
  args.to_table = &table;
  args.from_positions = PositionRange{9};
  expect_error("from_positions must lie from 10 to 29, which its table serves, but is 9");
  args.from_positions = PositionRange{10};
  const std::vector<std::int64_t> beyond{10, 11, 12, 40};
  args.to_positions = std::span<const std::int64_t>(beyond);
  expect_error("to_positions[3] must lie from 10 to 29, which its table serves, but is 40");
}
TEST_F(BadRerotate, TablesOfOtherChannels) {
  Rope rope = plain_rope(8);
  rope.pairing = Pairing::interleaved;
  const RotaryTable other = table_on_demand(rope);
  args.to_table = &other;
  expect_error("to_table must rotate the same channels as from_table but is of another layout");
}
TEST_F(BadRerotate, AnAttentionFactorOfZero) {
  const std::vector<float> zeros(16, 0.0F);
  const RotaryTable nothing = table_from_cos_sin(table.layout(), zeros, zeros, 10, 0.0);
  args.from_table = &nothing;
  expect_error("from_table must have an attention factor whose square can be divided by but is 0");
}
TEST_F(BadRerotate, KeysThatOverlapThoseRead) {
  args.k.shape[0] = 3;
  args.k_from = args.k;
  args.k.data = static_cast<std::byte*>(args.k.data) + 4 * args.k.strides[0];
  expect_error("k_from must be k itself or share no element with it but is overlapping");
}
TEST_F(BadRerotate, ALayerWhoseKeysCannotBeRotated) {
  LayerPlan layer;
  layer.rotate.push_back({.scheme = plain_rope(8)});
  args.layer = &layer;
  EXPECT_NO_THROW((void)rerotate(args));
  layer.qk_norm = QkNorm{.order = QkNorm::Order::after};
  expect_error(
      "layer must allow its cached keys to be rotated again but is of the kind where a norm with weights follows the "
      "rotation");
}

TEST_F(BadRerotate, AFactorThatANormHasTakenAway) {
  const std::vector<float> ones(16, 1.0F);
  const RotaryTable other = table_from_cos_sin(table.layout(), ones, ones, 12, 2.0);
  LayerPlan layer;
  layer.rotate.push_back({.scheme = plain_rope(8)});
  layer.qk_norm = QkNorm{.order = QkNorm::Order::after, .weighted = false};
  args.layer = &layer;
  EXPECT_NO_THROW((void)rerotate(args));
  args.to_table = &other;
  expect_error(
      "to_table must have the attention factor of from_table, since a norm follows the rotation, but is of another");
  layer.qk_norm->order = QkNorm::Order::before;
  EXPECT_NO_THROW((void)rerotate(args));
}

}  // namespace
}  // namespace posenc::test::bad_rerotate_test

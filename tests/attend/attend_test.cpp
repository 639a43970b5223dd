// reference::attend on numbers that a reader can check by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "posenc/reference_attend.h"
#include "posenc/reference_linear.h"
#include "support/random_tensor.h"
#include "support/throws.h"

namespace posenc::test::attend_test {
namespace {

using testing::ElementsAre;
using testing::Ne;

// One head of one channel: scores are q k.
LayerPlan one_channel() { return {.heads = 1, .kv_heads = 1, .head_dim = 1, .value_dim = 1}; }

Tensor column(std::vector<double> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  return {std::move(values), {rows, 1, 1}};
}

TEST(Attend, WeighsValuesByTheirScores) {
  const Tensor q = column({1.0, std::log(2.0)});
  const Tensor k = column({0.0, 1.0});
  const Tensor v = column({10.0, 40.0});
  Tensor out = column({0.0, 0.0});
  Tensor lse = zeros({2, 1});
  (void)reference::attend(one_channel(), {.out = out.writable(), .q = q, .k = k, .v = v, .lse = lse.writable()});
  EXPECT_DOUBLE_EQ(out.values[0], 10.0);  // sees itself
  EXPECT_DOUBLE_EQ(lse.values[0], 0.0);
  EXPECT_DOUBLE_EQ(out.values[1], (1 * 10.0 + 2 * 40.0) / 3);  // scores 0 and ln 2
  EXPECT_DOUBLE_EQ(lse.values[1], std::log(3.0));
}

TEST(Attend, GivesZeroWhereNothingIsSeen) {
  const Tensor q = column({1.0});
  const Tensor k = column({0.0, 1.0});
  Tensor out = column({7.0});
  Tensor lse = zeros({1, 1});
  const std::vector<std::int64_t> before{-1};
  (void)reference::attend(
      one_channel(),
      {.out = out.writable(), .q = q, .k = k, .v = k, .inputs = {.q_order = before}, .lse = lse.writable()});
  EXPECT_EQ(out.values[0], 0.0);
  EXPECT_EQ(lse.values[0], -HUGE_VAL);
}

TEST(Attend, EndsWhenItIsTold) {
  const Tensor x = column({1.0, 2.0, 3.0});
  int asked = 0;
  const auto two_rows = [&] { return ++asked <= 2; };
  Tensor out = column({7.0, 7.0, 7.0});
  EXPECT_FALSE(
      reference::attend(one_channel(), {.out = out.writable(), .q = x, .k = x, .v = x, .keep_going = two_rows}));
  EXPECT_THAT(out.values, ElementsAre(1.0, Ne(7.0), 7.0));
  asked = 0;
  out = column({7.0, 7.0, 7.0});
  EXPECT_FALSE(
      reference::attend_linear(one_channel(), {.out = out.writable(), .q = x, .k = x, .v = x, .keep_going = two_rows}));
  EXPECT_THAT(out.values, ElementsAre(1.0, Ne(7.0), 7.0));
  EXPECT_TRUE(reference::attend(one_channel(), {.out = out.writable(), .q = x, .k = x, .v = x}));
  EXPECT_TRUE(reference::attend_linear(one_channel(), {.out = out.writable(), .q = x, .k = x, .v = x}));
}

}  // namespace
}  // namespace posenc::test::attend_test

// Every field of a plan is compared, and a difference stands where the value does.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plan/compare/changed_plan.h"
#include "plan/random_plan.h"
#include "posenc/compare.h"

namespace posenc::test::compare_fields_test {
namespace {

TEST(Compare, a_plan_and_itself) {
  for (std::uint32_t seed = 0; seed < kRandomPlans; ++seed) {
    const Plan plan = RandomPlan(seed).plan();
    const Comparison same = compare(plan, plan);
    ASSERT_TRUE(same.differences.empty()) << seed;
    EXPECT_EQ(same.verdict, Verdict::same);
    EXPECT_TRUE(same.pairings.empty() && same.angles.empty() && same.softmax_scales.empty());
    for (const CachedKeys& keys : same.cached_keys) EXPECT_EQ(keys.use, KeyUse::as_they_are);
  }
}

// "/stacks/0/layers/3/mask/window/past" -> "mask/window/past", for counting which fields were tried.
std::string field_of(const std::string& path) {
  const std::string layers = "/layers/";
  const std::size_t at = path.find(layers);
  return at == std::string::npos ? path : path.substr(path.find('/', at + layers.size()) + 1);
}

// One value is changed, and one difference stands at that value, or at the object around it.
TEST(Compare, every_value_of_a_plan_is_compared) {
  std::set<std::string> fields;
  for (std::uint32_t seed = 0; seed < kRandomPlans; seed += 4) {
    const Plan plan = RandomPlan(seed).plan();
    for (std::size_t n = 0;; ++n) {
      Plan changed = plan;
      const std::optional<std::string> where = change_value(changed, n);
      if (!where) break;
      if (!is_sound(changed)) continue;
      const Comparison found = compare(plan, changed);
      ASSERT_EQ(found.differences.size(), 1U) << "seed " << seed << ", " << *where << "\n" << describe(found);
      const Difference& only = found.differences.front();
      ASSERT_FALSE(only.field.empty()) << *where;
      ASSERT_TRUE(where->starts_with(only.where_a)) << *where << " but " << only.where_a;
      ASSERT_NE(only.a.json, only.b.json) << *where;
      ASSERT_EQ(found.verdict == Verdict::same, only.kind == DifferenceKind::note) << *where;
      fields.insert(field_of(*where));
    }
  }
  for (const char* field : {"heads",
                            "kv_heads",
                            "head_dim",
                            "value_dim",
                            "kv_from",
                            "softmax_scale",
                            "soft_cap/cap",
                            "sinks",
                            "qk_norm/order",
                            "mask/kind",
                            "mask/window/past",
                            "mask/chunk",
                            "mask/detail",
                            "rotate/0/pairing",
                            "rotate/0/base",
                            "rotate/0/scaling/factor",
                            "rotate/0/rotation_direction",
                            "rotate/1",
                            "score/0",
                            "value",
                            "query_scale",
                            "/known",
                            "/family",
                            "/trained_length",
                            "/length",
                            "/warnings"}) {
    EXPECT_TRUE(fields.contains(field) || fields.contains(std::string(field) + "/kind")) << field;
  }
}

Plan with_stacks(const std::vector<std::string>& names) {
  Plan plan;
  plan.known = true;
  for (const std::string& name : names) {
    plan.stacks.push_back({name, {}, std::vector<LayerPlan>(2)});
    plan.stacks.back().layers[1].index = 1;
  }
  return plan;
}

TEST(CompareStacks, are_matched_by_name) {
  EXPECT_TRUE(compare(with_stacks({"vision", "decoder"}), with_stacks({"decoder", "vision"})).differences.empty());
  const Comparison found = compare(with_stacks({"vision", "decoder"}), with_stacks({"decoder", "audio"}));
  ASSERT_EQ(found.differences.size(), 2U);
  EXPECT_EQ(found.differences[0].where_a, "/stacks/0/name");
  EXPECT_EQ(found.differences[0].where_b, "");
  EXPECT_EQ(found.differences[1].where_a, "");
  EXPECT_EQ(found.differences[1].where_b, "/stacks/1/name");
  EXPECT_EQ(found.verdict, Verdict::differ);
}

TEST(CompareStacks, one_and_one_are_a_pair_whatever_their_names) {
  const Comparison found = compare(with_stacks({"decoder"}), with_stacks({"text"}));
  EXPECT_EQ(found.verdict, Verdict::same);
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_EQ(found.differences[0].where_b, "/stacks/0/name");
}

// A block with a cross-attention of its own in B: the self-attentions still stand beside each other.
TEST(CompareStacks, layers_are_matched_by_their_blocks) {
  const Plan a = with_stacks({"decoder"});
  Plan b = a;
  LayerPlan cross;
  cross.kind = LayerKind::cross_attention;
  b.stacks[0].layers.insert(b.stacks[0].layers.begin() + 1, cross);
  b.stacks[0].layers.back().heads = 4;
  const Comparison found = compare(a, b);
  ASSERT_EQ(found.differences.size(), 2U);
  EXPECT_EQ(found.differences[0].where_a, "/stacks/0/layers/1/heads");
  EXPECT_EQ(found.differences[0].where_b, "/stacks/0/layers/2/heads");
  EXPECT_EQ(found.differences[1].where_a, "");
  EXPECT_EQ(found.differences[1].where_b, "/stacks/0/layers/1/kind");
  EXPECT_EQ(found.differences[1].b.json, "\"cross_attention\"");
}

// What A says of B, B says of A.
TEST(Compare, both_directions_agree) {
  for (std::uint32_t seed = 0; seed < kRandomPlans; ++seed) {
    const Plan a = RandomPlan(seed).plan();
    const Plan b = RandomPlan(seed + kRandomPlans).plan();
    const Comparison forth = compare(a, b);
    const Comparison back = compare(b, a);
    ASSERT_EQ(forth.verdict, back.verdict);
    ASSERT_EQ(forth.length, back.length);
    ASSERT_EQ(forth.differences.size(), back.differences.size()) << seed;
    std::multiset<std::string> seen;
    for (const Difference& d : forth.differences) {
      EXPECT_FALSE(d.field.empty()) << describe(forth);
      seen.insert(d.where_a + "|" + d.where_b + "|" + d.a.json + "|" + d.b.json + std::string(name(d.kind)));
    }
    for (const Difference& d : back.differences) {
      seen.erase(d.where_b + "|" + d.where_a + "|" + d.b.json + "|" + d.a.json + std::string(name(d.kind)));
    }
    EXPECT_TRUE(seen.empty()) << seed << ": " << *seen.begin();
    ASSERT_EQ(forth.cached_keys.size(), back.cached_keys.size());
    ASSERT_EQ(forth.angles.size(), back.angles.size());
  }
}

// Two plans are without a difference exactly when they are equal.
TEST(Compare, no_difference_means_equal) {
  std::size_t equal = 0;
  for (std::uint32_t seed = 0; seed < kRandomPlans; ++seed) {
    for (std::uint32_t other = seed; other < seed + 3; ++other) {
      const Plan a = RandomPlan(seed).plan();
      const Plan b = RandomPlan(other).plan();
      EXPECT_EQ(compare(a, b).differences.empty(), a == b) << seed << " " << other;
      equal += a == b ? 1 : 0;
    }
  }
  EXPECT_GE(equal, kRandomPlans);
}

}  // namespace
}  // namespace posenc::test::compare_fields_test

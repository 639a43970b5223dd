// What reuse_verdict says of plans that no attention of this library runs, or not by itself: states, groups of tokens,
// shared caches, cross attention, other models; and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "posenc/cache/reuse.h"
#include "posenc/read_plan.h"
#include "reuse/reuse_cases.h"

namespace posenc::test::verdict_facts_test {
namespace {

using enum CacheOperation;

bool has(const ReuseVerdict& verdict, ReuseFact fact) {
  return std::ranges::any_of(verdict.reasons, [&](const ReuseReason& reason) { return reason.fact == fact; });
}

LayerPlan rotating() { return with_rotation(half_rope()); }

TEST(ReuseVerdictFacts, OfAStateNothingIsTakenOut) {
  const Plan plan = plan_of({{.kind = LayerKind::state_space}, rotating()});
  EXPECT_EQ(reuse_verdict(plan, 0, shift).reuse, Reuse::exact);
  for (const CacheOperation operation : {front_trim, splice, reorder, merge, evict, sinks}) {
    const ReuseVerdict verdict = reuse_verdict(plan, 0, operation);
    EXPECT_EQ(verdict.reuse, Reuse::no);
    EXPECT_TRUE(has(verdict, ReuseFact::state));
    // What it has taken in, keys above it were made of.
    EXPECT_EQ(reuse_verdict(plan, 1, operation).reuse, Reuse::approximate);
    EXPECT_FALSE(reuse_verdict(plan, 1, operation).reach.has_value());
  }
}

TEST(ReuseVerdictFacts, OfGroupsOfTokensWholeGroupsMove) {
  LayerPlan layer = rotating();
  layer.compression = 4;
  const ReuseVerdict verdict = reuse_verdict(plan_of({layer}), 0, shift);
  EXPECT_EQ(verdict.reuse, Reuse::approximate);
  EXPECT_EQ(verdict.period, 4);
  EXPECT_TRUE(has(verdict, ReuseFact::whole_groups));
}

TEST(ReuseVerdictFacts, ASharedCacheIsItsOwners) {
  LayerPlan borrows = rotating();
  borrows.kv_from = 0;
  const Plan plan = plan_of({rotating(), rotating(), borrows});
  EXPECT_EQ(reuse_verdict(plan, 1, front_trim).reuse, Reuse::approximate);
  const ReuseVerdict verdict = reuse_verdict(plan, 2, front_trim);
  EXPECT_EQ(verdict.reuse, Reuse::exact);  // layer 0's: nothing is below it
  EXPECT_TRUE(has(verdict, ReuseFact::owner));

  Plan nobody = plan;
  nobody.stacks.front().layers[2].kv_from = 7;
  EXPECT_THROW((void)reuse_verdict(nobody, 2, shift), Error);
}

TEST(ReuseVerdictFacts, OfCrossAttentionQueriesAloneMove) {
  LayerPlan cross = plain_layer();
  cross.kind = LayerKind::cross_attention;
  const Plan plan = plan_of({rotating(), cross, rotating()});
  for (const CacheOperation operation : {shift, front_trim, evict}) {
    const ReuseVerdict verdict = reuse_verdict(plan, 1, operation);
    EXPECT_EQ(verdict.reuse, Reuse::exact);
    EXPECT_TRUE(has(verdict, ReuseFact::encoder_keys));
  }
  EXPECT_EQ(reuse_verdict(plan, 2, shift).reuse, Reuse::exact);
}

TEST(ReuseVerdictFacts, ConvolutionsAtTheInputLookAtNeighbours) {
  Plan plan = plan_of({rotating()});
  plan.stacks.front().input = {ConvolutionInput{.kernel = 8, .layers = 2}};
  EXPECT_EQ(reuse_verdict(plan, 0, shift).reuse, Reuse::exact);
  const ReuseVerdict verdict = reuse_verdict(plan, 0, front_trim);
  EXPECT_EQ(verdict.reuse, Reuse::approximate);
  EXPECT_EQ(verdict.reach, 8);
  plan.stacks.front().input = {ConvolutionInput{.kernel = std::numeric_limits<std::int64_t>::max(),
                                                .layers = std::numeric_limits<std::int64_t>::max()}};
  EXPECT_EQ(reuse_verdict(plan, 0, front_trim).reuse, Reuse::approximate);
}

TEST(ReuseVerdictFacts, AnotherModelsFactsDecideWhoReads) {
  const Plan plan = plan_of({rotating(), rotating()});
  EXPECT_EQ(reuse_verdict(plan, 1, share, {.reader = &plan}).reuse, Reuse::exact);
  Plan scaled = plan;
  for (LayerPlan& layer : scaled.stacks.front().layers) layer.softmax_scale *= 2;
  EXPECT_EQ(reuse_verdict(plan, 0, share, {.keys = StoredKeys::rotated, .reader = &scaled}).reuse, Reuse::exact);
  EXPECT_EQ(reuse_verdict(plan, 1, share, {.reader = &scaled}).reuse, Reuse::approximate);
  Plan paired = plan;
  for (LayerPlan& layer : paired.stacks.front().layers) {
    std::get<Rope>(layer.rotate.front().scheme).pairing = Pairing::interleaved;
  }
  const ReuseVerdict other = reuse_verdict(plan, 0, share, {.reader = &paired});
  EXPECT_EQ(other.reuse, Reuse::no);
  EXPECT_TRUE(has(other, ReuseFact::another_cache));
  EXPECT_EQ(reuse_verdict(plan, 1, share, {.reader = &paired}).reuse, Reuse::no);
}

TEST(ReuseVerdictFacts, OfModelsAreWhatTheirFilesSay) {
  const auto of = [](const char* preset, std::int64_t layer, CacheOperation operation,
                     StoredKeys keys = StoredKeys::unrotated) {
    return reuse_verdict(preset_plan(preset), layer, operation, {.keys = keys});
  };
  EXPECT_EQ(of("llama-3.1-8b", 31, shift).reuse, Reuse::exact);
  EXPECT_EQ(of("llama-3.1-8b", 31, shift, StoredKeys::rotated).reuse, Reuse::approximate);
  EXPECT_EQ(of("llama-3.1-8b", 31, splice).reuse, Reuse::approximate);
  EXPECT_EQ(of("gpt2", 0, shift).reuse, Reuse::no);
  EXPECT_EQ(of("t5-base", 1, shift).reuse, Reuse::exact);  // the decoder: cross attention of its first block
  EXPECT_TRUE(has(of("t5-base", 1, shift), ReuseFact::encoder_keys));
  EXPECT_EQ(of("deepseek-v3", 60, shift).reuse, Reuse::exact);
  EXPECT_EQ(of("phi-3-mini-128k", 0, switch_rule).reuse, Reuse::exact);
  EXPECT_EQ(of("phi-3-mini-128k", 0, switch_rule, StoredKeys::rotated).reuse, Reuse::approximate);
  EXPECT_TRUE(has(of("phi-3-mini-128k", 1, switch_rule), ReuseFact::other_below));
  EXPECT_EQ(of("llama-3.1-8b", 31, switch_rule, StoredKeys::rotated).reuse, Reuse::exact);
  // Five of six layers slide, over 1024 tokens; what the first full layer has mixed in has no end.
  EXPECT_EQ(of("gemma-3-4b", 5, front_trim).reach, 5 * 1023);
  EXPECT_EQ(of("gemma-3-4b", 6, front_trim).reach, std::nullopt);
}

TEST(ReuseVerdictFacts, RefusesWhatIsNotThere) {
  const Plan plan = plan_of({rotating(), {.kind = LayerKind::none}});
  const auto refused = [](const Plan& of, std::int64_t layer, ReuseOptions options = {},
                          CacheOperation operation = shift) {
    try {
      (void)reuse_verdict(of, layer, operation, options);
    } catch (const Error& error) {
      return error.problem().field;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refused(plan, 2), "layer");
  EXPECT_EQ(refused(plan, -1), "layer");
  EXPECT_EQ(refused(plan, 1), "layer");
  EXPECT_EQ(refused(plan, 0, {.stack = "vision"}), "stack");
  EXPECT_EQ(refused(plan, 0, {.keys = static_cast<StoredKeys>(9)}), "keys");
  EXPECT_EQ(refused(plan, 0, {}, static_cast<CacheOperation>(9)), "operation");
  EXPECT_EQ(refused(Plan{}, 0), "plan");
  Plan unknown = plan;
  unknown.stacks.front().known = false;
  EXPECT_EQ(refused(unknown, 0), "plan");
}

TEST(ReuseVerdictFacts, HaveNames) {
  std::set<std::string_view> names;
  for (std::int64_t f = 0; f < kReuseFacts; ++f) names.insert(name(static_cast<ReuseFact>(f)));
  EXPECT_EQ(std::ssize(names), kReuseFacts);
  EXPECT_EQ(name(ReuseFact::both_ways), "both_ways");
  EXPECT_EQ(name(share), "share");
}

}  // namespace
}  // namespace posenc::test::verdict_facts_test

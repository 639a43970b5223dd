// What reuse_verdict says of models in which more than a token and its position enters keys and values, or where what
// is below depends on more than distances. What each does was measured on transformers 5.23.0 in float64: keys and
// values of a sequence and of the same sequence shifted or trimmed.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/cache/study_cache.h"
#include "posenc/read_plan.h"
#include "reuse/reuse_cases.h"

namespace posenc::test::verdict_models_test {
namespace {

using enum CacheOperation;

constexpr CacheOperation kLosing[] = {front_trim, splice, reorder, merge, evict, sinks};

Plan read(std::string_view config) {
  const Result<Plan> plan = read_plan(std::as_bytes(std::span(config)), "config.json");
  EXPECT_TRUE(plan.ok() && plan->known) << config;
  return plan.ok() ? *plan : Plan{};
}

bool says(const ReuseVerdict& verdict, std::string_view words) {
  return std::ranges::any_of(verdict.reasons,
                             [&](const ReuseReason& reason) { return reason.text.find(words) != std::string::npos; });
}

// Of every operation that takes tokens away, or puts others before them.
void expect_reach(const Plan& plan, std::int64_t layer, std::optional<std::int64_t> reach,
                  const char* stack = nullptr) {
  for (const CacheOperation operation : kLosing) {
    ReuseOptions options;
    if (stack != nullptr) options.stack = stack;
    const ReuseVerdict verdict = reuse_verdict(plan, layer, operation, options);
    EXPECT_EQ(verdict.reuse, Reuse::approximate) << name(operation) << ", layer " << layer;
    EXPECT_EQ(verdict.reach, reach) << name(operation) << ", layer " << layer;
  }
}

// Its RG-LRU multiplies the input by sqrt(1 - a^2), and at position 0 by 1.
TEST(ReuseVerdictOfModels, ARecurrenceThatKnowsPosition0IsNotShifted) {
  const Plan plan = read(R"({"model_type": "recurrent_gemma", "num_hidden_layers": 6})");
  for (std::int64_t layer = 0; layer < 6; ++layer) {
    const ReuseVerdict verdict = reuse_verdict(plan, layer, shift);
    EXPECT_EQ(verdict.reuse, Reuse::approximate) << layer;
    EXPECT_EQ(verdict.period, 0) << layer;
    EXPECT_EQ(verdict.reach, std::nullopt) << layer;
  }
}

TEST(ReuseVerdictOfModels, KeysOfConvolutionsReachBack) {
  const Plan zaya = read(R"({"model_type": "zaya"})");
  expect_reach(zaya, 0, 2);
  EXPECT_EQ(reuse_verdict(zaya, 0, shift).reuse, Reuse::exact);

  const Plan inkling = read(R"({"model_type": "inkling_text"})");
  expect_reach(inkling, 0, std::nullopt);
  expect_reach(inkling, 1, std::nullopt);
  EXPECT_EQ(reuse_verdict(inkling, 0, shift).reuse, Reuse::exact);

  // Windows below: what a key is made of comes on top, in each layer.
  Plan plan = plan_of({with_rotation(half_rope()), with_rotation(half_rope())});
  for (LayerPlan& layer : plan.stacks.front().layers) {
    layer.mask.window = Window{.past = 5};
    layer.mixing.tokens_before = 1;
  }
  expect_reach(plan, 0, 1);
  expect_reach(plan, 1, 5 + 1 + 1);

  // A convolution that is added to the hidden states of a layer.
  Plan added = plan_of({with_rotation(half_rope())});
  added.stacks.front().layers.front().added = {
      {.to = AddedTo::hidden_states, .scheme = ConvolutionInput{.kernel = 3, .layers = 1}}};
  expect_reach(added, 0, std::nullopt);

  // Of how many is not said: however far.
  plan.stacks.front().layers.front().mixing.tokens_before.reset();
  expect_reach(plan, 0, std::nullopt);
}

// Hashes of the bytes before; and stacks that are fed by each other.
TEST(ReuseVerdictOfModels, StacksThatAreNotFedByTokensAloneAreNotExact) {
  const Plan blt = read(
      R"({"model_type": "blt", "decoder_config": {}, "encoder_config": {}, "global_config": {}, "patcher_config": {}})");
  for (const char* stack : {"encoder", "global", "decoder"}) {
    expect_reach(blt, 0, std::nullopt, stack);
    EXPECT_EQ(reuse_verdict(blt, 0, shift, {.stack = stack}).reuse, Reuse::exact) << stack;
  }
  // Cross attention's keys are of patches of the same bytes.
  expect_reach(blt, 1, std::nullopt, "decoder");
  EXPECT_FALSE(says(reuse_verdict(blt, 1, shift, {.stack = "decoder"}), "stay where they are"));

  // A codec's encoder: convolutions come first.
  expect_reach(read(R"({"model_type": "mimi"})"), 0, std::nullopt, "encoder");
  expect_reach(read(R"({"model_type": "mimi"})"), 0, std::nullopt, "decoder");

  // Patches of a series, normalised by those before them.
  EXPECT_TRUE(says(reuse_verdict(read(R"({"model_type": "timesfm2_5"})"), 0, front_trim), "enters the first layer"));

  // Deformable attention samples what it looks at wherever it is.
  Plan sampled = plan_of({{.kind = LayerKind::deformable_attention}, with_rotation(half_rope())});
  expect_reach(sampled, 1, std::nullopt);

  Plan tower = plan_of({with_rotation(half_rope())});
  tower.stacks.front().name = "audio";
  tower.stacks.front().fed_by = FedBy::not_said;
  expect_reach(tower, 0, std::nullopt, "audio");
}

// What a stack that others feed is given holds what they hold; and so do keys of cross attention.
TEST(ReuseVerdictOfModels, WhatOtherStacksDoEntersToo) {
  Plan plan = plan_of({with_rotation(half_rope())});
  plan.stacks.push_back({.name = "talker", .input = {}, .layers = plan.stacks.front().layers});
  EXPECT_EQ(reuse_verdict(plan, 0, shift, {.stack = "talker"}).reuse, Reuse::exact);
  EXPECT_EQ(reuse_verdict(plan, 0, share, {.stack = "talker"}).reuse, Reuse::approximate);
  EXPECT_EQ(reuse_verdict(plan, 0, share, {.stack = "talker", .reader = &plan}).reuse, Reuse::exact);
  EXPECT_EQ(reuse_verdict(plan, 0, share, {.stack = "decoder"}).reuse, Reuse::exact);
  Plan placed = plan;
  placed.stacks.front().input = {SinusoidalInput{}};
  EXPECT_EQ(reuse_verdict(placed, 0, shift, {.stack = "talker"}).reuse, Reuse::approximate);

  // An encoder that rotates, and a decoder whose cross attention does not.
  LayerPlan cross = plain_layer();
  cross.kind = LayerKind::cross_attention;
  Plan both = plan_of({cross});
  both.stacks.push_back({.name = "encoder", .input = {}, .layers = {with_rotation(half_rope())}});
  EXPECT_EQ(reuse_verdict(both, 0, front_trim).reuse, Reuse::exact);
  EXPECT_EQ(reuse_verdict(both, 0, share).reuse, Reuse::approximate);
  EXPECT_EQ(reuse_verdict(both, 0, share, {.reader = &both}).reuse, Reuse::exact);
}

TEST(ReuseVerdictOfModels, WindowsThatAreNotOfAllTokensHaveNoReach) {
  const Plan kyutai = read(R"({"model_type": "kyutai_speech_to_text", "sliding_window": 8})");
  ASSERT_EQ(kyutai.stacks.front().layers.front().mask.window, (Window{.past = 7}));
  expect_reach(kyutai, 1, std::nullopt);
  EXPECT_EQ(reuse_verdict(kyutai, 0, front_trim).reuse, Reuse::exact);

  const Plan ocr = read(R"({"model_type": "unlimited_ocr"})");
  const Mask& mask = ocr.stacks.front().layers.front().mask;
  ASSERT_TRUE(mask.window && mask.kind == MaskKind::sparse);
  expect_reach(ocr, 1, std::nullopt);
  expect_reach(ocr, 2, std::nullopt);
  const ReuseVerdict verdict = reuse_verdict(ocr, 0, front_trim);
  EXPECT_FALSE(says(verdict, "cannot come back"));  // prompt keys never leave
  EXPECT_FALSE(says(verdict, "picked"));            // and no indexer picks them
}

TEST(ReuseVerdictOfModels, BlocksOfKeysLieAtPlaces) {
  Plan plan = plan_of({with_rotation(half_rope()), with_rotation(half_rope())});
  for (LayerPlan& layer : plan.stacks.front().layers) {
    layer.mask = {.kind = MaskKind::sparse,
                  .detail = "causal, in blocks of 64 keys: the 16 nearest blocks and each 8th, shifted by head",
                  .by_blocks = true};
  }
  EXPECT_EQ(reuse_verdict(plan, 0, shift).reuse, Reuse::exact);
  EXPECT_FALSE(says(reuse_verdict(plan, 0, shift), "picked"));
  const ReuseVerdict verdict = reuse_verdict(plan, 1, shift);
  EXPECT_EQ(verdict.reuse, Reuse::approximate);
  EXPECT_EQ(verdict.period, 0);
  expect_reach(plan, 1, std::nullopt);

  plan.stacks.front().layers[0].mask.by_blocks = false;
  plan.stacks.front().layers[0].mask.by_indexer = true;
  EXPECT_TRUE(says(reuse_verdict(plan, 0, shift), "picked"));
  EXPECT_EQ(reuse_verdict(plan, 1, shift).reuse, Reuse::exact);
}

// Beyond the length of training every length has a base of its own.
TEST(ReuseVerdictOfModels, DynamicNtkHasNoSideOfASwitch) {
  Rope rope = half_rope();
  rope.scaling = DynamicScaling{.factor = 4.0, .max_position_embeddings = 32};
  const Plan plan = plan_of({with_rotation(rope), with_rotation(rope)});
  for (const CacheOperation operation : {shift, front_trim, evict}) {
    const ReuseVerdict verdict = reuse_verdict(plan, 1, operation);
    EXPECT_EQ(verdict.reuse, Reuse::approximate) << name(operation);
    EXPECT_EQ(verdict.period, 0) << name(operation);
    EXPECT_EQ(verdict.exact_below, 32) << name(operation);
  }
  EXPECT_EQ(reuse_verdict(plan, 0, shift).reuse, Reuse::exact);
  EXPECT_TRUE(says(reuse_verdict(plan, 0, shift), "every length"));
}

TEST(ReuseVerdictOfModels, WhatSharesACacheIsNotSaidToHoldNoPosition) {
  const Plan plan = read(R"({"model_type": "whisper"})");
  for (const CacheOperation operation : {shift, share}) {
    EXPECT_FALSE(says(reuse_verdict(plan, 0, operation), "neither keys nor values")) << name(operation);
  }
  EXPECT_EQ(reuse_verdict(plan, 0, share).reuse, Reuse::exact);
}

// 24 blocks of 1024 + 1024 numbers, whose cross attention has as many of each of the encoder's tokens.
TEST(ReuseVerdictOfModels, CrossAttentionIsCountedByTheEncodersTokens) {
  const CacheStudy study = study_cache(read(R"({"model_type": "whisper", "d_model": 1024, "decoder_layers": 24,
      "encoder_layers": 24, "decoder_attention_heads": 16, "encoder_attention_heads": 16})"));
  const auto f16 = static_cast<std::size_t>(KvFormat::f16);
  EXPECT_EQ(study.bytes[f16].bytes, 24 * 2048 * 2.0);
  ASSERT_FALSE(study.encoder_bytes.empty());
  EXPECT_EQ(study.encoder_bytes[f16].bytes, 24 * 2048 * 2.0);
  EXPECT_NE(to_json(study).find("\"encoder_bytes\": {\"f32\": 196608"), std::string::npos)
      << to_json(study).substr(0, 600);
  EXPECT_NE(describe(study).find("encoder token"), std::string::npos);
  EXPECT_TRUE(study_cache(preset_plan("llama-3.1-8b")).encoder_bytes.empty());
}

// What a verdict rests on is in the plan, not in its names: one that was written as JSON and read again, or renamed, is
// judged alike, and without the facts otherwise.
TEST(ReuseVerdictOfModels, VerdictsAreOfThePlanAlone) {
  using Forget = void (*)(Stack&);
  struct Case {
    const char* config;
    std::int64_t layer;
    CacheOperation operation;
    Forget forget;
  };
  constexpr Forget kMixing = [](Stack& stack) {
    for (LayerPlan& layer : stack.layers) layer.mixing = {};
  };
  constexpr Forget kBegins = [](Stack& stack) {
    for (LayerPlan& layer : stack.layers) layer.begins_apart = false;
  };
  constexpr Forget kFed = [](Stack& stack) { stack.fed_by = FedBy::tokens; };
  constexpr Forget kBeyond = [](Stack& stack) {
    for (LayerPlan& layer : stack.layers) layer.mask.beyond_window = false;
  };
  constexpr Forget kBlocks = [](Stack& stack) {
    for (LayerPlan& layer : stack.layers) layer.mask.by_blocks = false;
  };
  constexpr Forget kIndexer = [](Stack& stack) {
    for (LayerPlan& layer : stack.layers) layer.mask.by_indexer = false;
  };
  const Case cases[] = {
      {R"({"model_type": "zaya"})", 0, front_trim, kMixing},
      {R"({"model_type": "inkling_text"})", 0, front_trim, kMixing},
      {R"({"model_type": "falcon_h1", "num_hidden_layers": 2})", 1, front_trim, kMixing},
      {R"({"model_type": "recurrent_gemma", "num_hidden_layers": 6})", 0, shift, kBegins},
      {R"({"model_type": "recurrent_gemma", "num_hidden_layers": 6})", 2, shift, kBegins},
      {R"({"model_type": "blt_local_decoder"})", 0, front_trim, kFed},
      {R"({"model_type": "timesfm2_5"})", 0, front_trim, kFed},
      {R"({"model_type": "kyutai_speech_to_text", "sliding_window": 8})", 1, front_trim, kBeyond},
      {R"({"model_type": "phi3small", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2,
          "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_embedding_base": 1000000,
          "blocksparse_block_size": 32, "blocksparse_num_local_blocks": 8, "blocksparse_vert_stride": 4})",
       1, shift, kBlocks},
      {R"({"model_type": "glm_moe_dsa", "num_hidden_layers": 3})", 1, shift, kIndexer}};
  for (const Case& one : cases) {
    const Plan plan = read(one.config);
    const ReuseVerdict verdict = reuse_verdict(plan, one.layer, one.operation);
    const Result<Plan> again = plan_from_json(to_json(plan));
    ASSERT_TRUE(again.ok()) << one.config;
    EXPECT_EQ(reuse_verdict(*again, one.layer, one.operation), verdict) << one.config;
    Plan renamed = plan;
    renamed.family = renamed.model_type = "another";
    for (Stack& stack : renamed.stacks) {
      for (LayerPlan& layer : stack.layers) layer.mask.detail.clear();
    }
    EXPECT_EQ(reuse_verdict(renamed, one.layer, one.operation), verdict) << one.config;
    one.forget(renamed.stacks.front());
    if (one.forget == kIndexer) {
      for (LayerPlan& layer : renamed.stacks.front().layers) {
        std::erase_if(layer.rotate, [](const Rotate& rotate) { return rotate.role == RotateRole::indexer; });
      }
    }
    EXPECT_NE(reuse_verdict(renamed, one.layer, one.operation), verdict) << one.config;
  }
}

// A Mamba mixer beside attention keeps a state that nothing is taken out of.
TEST(ReuseVerdictOfModels, LayersWithAStateBesideAttentionLoseNothing) {
  const Plan plan = read(R"({"model_type": "falcon_h1", "num_hidden_layers": 2})");
  ASSERT_EQ(plan.stacks.front().layers.front().kind, LayerKind::attention);
  for (const std::int64_t layer : {0, 1}) {
    for (const CacheOperation operation : kLosing) {
      EXPECT_EQ(reuse_verdict(plan, layer, operation).reuse, Reuse::no) << name(operation) << ", layer " << layer;
    }
    EXPECT_EQ(reuse_verdict(plan, layer, shift).reuse, Reuse::exact);
  }
}

}  // namespace
}  // namespace posenc::test::verdict_models_test

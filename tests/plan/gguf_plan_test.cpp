// Plans of made-up GGUF files: what no real file at hand has. Each file is the smallest that says one thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "plan/gguf_reading.h"

namespace posenc::test::gguf_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "1-3" of the layers for which `holds`.
template <typename Holds>
std::vector<std::int64_t> layers_where(const Plan& plan, Holds holds) {
  std::vector<std::int64_t> found;
  for (const LayerPlan& layer : plan.stacks.at(0).layers) {
    if (holds(layer)) found.push_back(layer.index);
  }
  return found;
}
std::vector<std::int64_t> sliding(const Plan& plan) {
  return layers_where(plan, [](const LayerPlan& layer) { return layer.mask.window.has_value(); });
}
std::vector<std::int64_t> rotating(const Plan& plan) {
  return layers_where(plan, [](const LayerPlan& layer) { return !layer.rotate.empty(); });
}

// ---- versions and sources ----

TEST(GgufPlan, IsTheSameInEveryVersionAndByteOrder) {
  const Plan plan = gguf_plan(model("llama").f32("llama.rope.freq_base", 500000));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.source.kind, SourceKind::gguf);
  EXPECT_EQ(plan.trained_length, 4096);
  EXPECT_EQ(rope_of(plan), (Rope{.pairing = Pairing::interleaved, .head_dim = 64, .dim = 64, .base = 500000}));
  for (const std::uint32_t version : {1U, 2U, 3U}) {
    for (const bool big : {false, true}) {
      EXPECT_EQ(gguf_plan(model("llama", 4, version, big).f32("llama.rope.freq_base", 500000)), plan) << version << big;
    }
  }
}

TEST(GgufPlan, NamesTheKeyOfEachValueAndWhatItDidNotRead) {
  const Plan plan = gguf_plan(model("qwen2", 2)
                                  .f32("qwen2.rope.freq_base", 1e6F)
                                  .u32("qwen2.feed_forward_length", 512)
                                  .f32("qwen2.rope.freq_bse", 5)
                                  .u32("qwen2.attention.sliding_window", 64)
                                  .texts("tokenizer.ggml.tokens", {"a", "b"}));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/rotate/0/base"), "qwen2.rope.freq_base");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/rotate/0/pairing"), "default: qwen2 in llama.cpp");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers"), "qwen2.block_count");
  EXPECT_EQ(source_of(plan, "/trained_length"), "qwen2.context_length");
  EXPECT_THAT(plan.ignored_keys,
              ElementsAre("qwen2.feed_forward_length", "qwen2.rope.freq_bse", "qwen2.attention.sliding_window"));
  EXPECT_THAT(codes(plan), ElementsAre("misleading-key", "unknown-key"));
}

TEST(GgufPlan, OfAnUnknownArchitectureIsNotKnown) {
  const Plan plan = gguf_plan(GgufBuilder().text("general.architecture", "nobodys").u32("nobodys.x", 1));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(plan.model_type, "nobodys");
  EXPECT_THAT(codes(plan), ElementsAre("unknown-family"));
  EXPECT_THAT(plan.ignored_keys, ElementsAre("nobodys.x"));
  EXPECT_THAT(plan.stacks, IsEmpty());
}

TEST(GgufPlan, SaysWhatAnArchitectureLeavesUndecided) {
  const Plan plan = gguf_plan(GgufBuilder().text("general.architecture", "gptj"));
  EXPECT_FALSE(plan.known);
  EXPECT_THAT(codes(plan), ElementsAre("unread-fact"));
}

// ---- pairing and axes ----

TEST(GgufPlan, PairsAsTheArchitectureDoes) {
  EXPECT_EQ(rope_of(gguf_plan(model("llama"))).pairing, Pairing::interleaved);
  EXPECT_EQ(rope_of(gguf_plan(model("qwen2"))).pairing, Pairing::half);
  EXPECT_EQ(rope_of(gguf_plan(model("glm4"))).pairing, Pairing::interleaved);
}

TEST(GgufPlan, LaysSectionsOverPairs) {
  const std::vector<std::int32_t> sections = {8, 12, 12, 0};
  const AxisMap chunked = rope_of(gguf_plan(model("qwen2vl").i32s("qwen2vl.rope.dimension_sections", sections))).axes;
  EXPECT_EQ(chunked, chunked_axes({"t", "h", "w"}, {8, 12, 12}));
  const AxisMap mixed =
      rope_of(gguf_plan(model("qwen3vl").i32s("qwen3vl.rope.dimension_sections", {12, 10, 10, 0}))).axes;
  EXPECT_EQ(mixed, interleaved_axes({12, 10, 10}));
  // GLM 4 pairs halves where it has sections: its weights were converted so.
  const Rope glm = rope_of(gguf_plan(model("glm4").i32s("glm4.rope.dimension_sections", sections)));
  EXPECT_EQ(glm.pairing, Pairing::half);
  EXPECT_EQ(glm.axes, chunked);
  EXPECT_EQ(rope_of(gguf_plan(model("glm4").i32s("glm4.rope.dimension_sections", {0, 0, 0, 0}))).axes, AxisMap{});
  const Rope hunyuan = rope_of(gguf_plan(model("hunyuan_vl").i32s("hunyuan_vl.rope.dimension_sections", {8, 8, 8, 8})));
  EXPECT_EQ(hunyuan.axes, chunked_axes({"p", "w", "h", "t"}, {8, 8, 8, 8}));
}

// ---- rules ----

TEST(GgufPlan, ReadsLinearScalingUnderItsNewAndItsOldKey) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const Plan plan = gguf_plan(model("llama").f32(key, 4));
    EXPECT_EQ(rope_of(plan).scaling, Scaling(LinearScaling{.factor = 4}));
    EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-3/rotate/0/scaling/factor"), key);
  }
  EXPECT_EQ(
      rope_of(gguf_plan(model("llama").f32("llama.rope.scaling.factor", 4).text("llama.rope.scaling.type", "none")))
          .scaling,
      Scaling());
}

TEST(GgufPlan, ReadsYarn) {
  const Plan plan = gguf_plan(model("qwen2")
                                  .text("qwen2.rope.scaling.type", "yarn")
                                  .f32("qwen2.rope.scaling.factor", 4)
                                  .u32("qwen2.rope.scaling.original_context_length", 1024));
  EXPECT_EQ(rope_of(plan).scaling, Scaling(YarnScaling{.factor = 4, .original_max_position_embeddings = 1024}));
  // attn_factor multiplies the rule's own 0.1 ln 4 + 1.
  const Plan scaled = gguf_plan(model("qwen2")
                                    .text("qwen2.rope.scaling.type", "yarn")
                                    .f32("qwen2.rope.scaling.factor", 4)
                                    .f32("qwen2.rope.scaling.attn_factor", 0.5));
  const auto rule = std::get<YarnScaling>(rope_of(scaled).scaling);
  ASSERT_TRUE(rule.attention_factor);
  EXPECT_DOUBLE_EQ(*rule.attention_factor, 0.5 * (0.1 * std::log(4.0) + 1));
  EXPECT_EQ(rule.original_max_position_embeddings, 4096);
}

TEST(GgufPlan, ReadsLatentAttentionWithItsYarn) {
  // DeepSeek V3's numbers; the converter stores 0.1 times mscale_all_dim.
  const Plan plan = gguf_plan(GgufBuilder()
                                  .text("general.architecture", "deepseek2")
                                  .u32("deepseek2.block_count", 2)
                                  .u32("deepseek2.context_length", 163840)
                                  .u32("deepseek2.embedding_length", 7168)
                                  .u32("deepseek2.attention.head_count", 128)
                                  .u32("deepseek2.attention.head_count_kv", 1)
                                  .u32("deepseek2.attention.key_length", 576)
                                  .u32("deepseek2.attention.value_length", 512)
                                  .u32("deepseek2.attention.key_length_mla", 192)
                                  .u32("deepseek2.attention.value_length_mla", 128)
                                  .u32("deepseek2.attention.kv_lora_rank", 512)
                                  .u32("deepseek2.rope.dimension_count", 64)
                                  .text("deepseek2.rope.scaling.type", "yarn")
                                  .f32("deepseek2.rope.scaling.factor", 40)
                                  .u32("deepseek2.rope.scaling.original_context_length", 4096)
                                  .f32("deepseek2.rope.scaling.yarn_log_multiplier", 0.1F));
  const LayerPlan layer = layer_of(plan, 0);
  EXPECT_EQ(layer.heads, 128);
  EXPECT_EQ(layer.kv_heads, 128);
  EXPECT_EQ(layer.head_dim, 192);
  EXPECT_EQ(layer.value_dim, 128);
  const Rope rope = rope_of(plan);
  EXPECT_EQ(rope.first_channel, 128);
  EXPECT_EQ(rope.dim, 64);
  EXPECT_EQ(rope.pairing, Pairing::interleaved);
  // plan-contract: g(40, 1)^2 / sqrt 192.
  EXPECT_NEAR(layer.softmax_scale, 0.135234, 5e-7);
  EXPECT_EQ(frequencies(rope).attention_factor, 1);
}

TEST(GgufPlan, ReadsTheListsOfLongRope) {
  std::vector<float> shorts(32, 1.0F);
  std::vector<float> longs(32, 1.5F);
  const Plan plan = gguf_plan(model("phi3")
                                  .u32("phi3.rope.scaling.original_context_length", 1024)
                                  .f32("phi3.rope.scaling.attn_factor", 1.25F)
                                  .floats("rope_factors_long.weight", longs)
                                  .floats("rope_factors_short.weight", shorts));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(rope_of(plan).scaling, Scaling(LongRopeScaling{.short_factor = std::vector<double>(32, 1.0),
                                                           .long_factor = std::vector<double>(32, 1.5),
                                                           .original_max_position_embeddings = 1024,
                                                           .factor = 4,
                                                           .attention_factor = 1.25}));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-3/rotate/0/scaling/long_factor"), "rope_factors_long.weight");
}

TEST(GgufPlan, ReadsRopeFreqsOfEitherTypeAndFoldsTheFactorIn) {
  std::vector<float> divisors(32, 1.0F);
  divisors[31] = 8;
  std::vector<double> wide(divisors.begin(), divisors.end());
  EXPECT_EQ(rope_of(gguf_plan(model("llama").floats("rope_freqs.weight", divisors))).scaling,
            Scaling(FactorListScaling{.factors = wide}));
  // binary16: 1 is 0x3C00, 8 is 0x4800.
  std::string halves;
  for (int i = 0; i < 31; ++i) halves += std::string("\x00\x3C", 2);
  halves += std::string("\x00\x48", 2);
  EXPECT_EQ(rope_of(gguf_plan(model("llama").tensor(
                        {.name = "rope_freqs.weight", .shape = {32}, .type = kF16, .data = halves})))
                .scaling,
            Scaling(FactorListScaling{.factors = wide}));
  for (double& divisor : wide) divisor *= 2;
  EXPECT_EQ(rope_of(gguf_plan(model("llama").f32("llama.rope.scaling.factor", 2).floats("rope_freqs.weight", divisors)))
                .scaling,
            Scaling(FactorListScaling{.factors = wide}));
}

TEST(GgufPlan, FromAStreamDoesNotReadFactors) {
  const std::string bytes = model("llama").floats("rope_freqs.weight", std::vector<float>(32, 1.0F)).bytes();
  std::size_t at = 0;
  std::size_t asked_at_end = 0;
  // The header is all that ever comes: asking for more counts as waiting.
  const std::string header = bytes.substr(0, bytes.size() - 32 * sizeof(float));
  const ByteStream stream = [&](std::byte* to, std::size_t count) -> std::ptrdiff_t {
    const std::size_t part = std::min(count, header.size() - at);
    if (part == 0) ++asked_at_end;
    std::copy_n(header.data() + at, part, reinterpret_cast<char*>(to));
    at += part;
    return static_cast<std::ptrdiff_t>(part);
  };
  const Result<Plan> plan = read_plan(stream, "<stdin>");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(asked_at_end, 0u);
  EXPECT_FALSE(plan->known);
  EXPECT_THAT(codes(*plan), ElementsAre("tensor-not-read"));
}

// ---- windows, resting layers ----

TEST(GgufPlan, FollowsEachArchitecturesPatternOfWindows) {
  const auto windowed = [](const std::string& name, std::uint32_t blocks = 8) {
    return model(name, blocks).u32(name + ".attention.sliding_window", 512);
  };
  const Plan gemma2 = gguf_plan(windowed("gemma2"));
  EXPECT_THAT(sliding(gemma2), ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(layer_of(gemma2, 0).mask.window, (Window{511, 0}));
  EXPECT_EQ(layer_of(gemma2, 0).soft_cap->cap, 50);
  EXPECT_THAT(sliding(gguf_plan(windowed("gemma3"))), ElementsAre(0, 1, 2, 3, 4, 6, 7));
  const Plan cohere = gguf_plan(windowed("cohere2"));
  EXPECT_THAT(sliding(cohere), ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_EQ(rotating(cohere), sliding(cohere));
  const Plan bert = gguf_plan(windowed("modern-bert").flag("modern-bert.attention.causal", false));
  EXPECT_THAT(sliding(bert), ElementsAre(1, 2, 4, 5, 7));
  EXPECT_EQ(layer_of(bert, 1).mask.window, (Window{256, 256}));
  EXPECT_EQ(layer_of(bert, 1).mask.kind, MaskKind::bidirectional);
  EXPECT_THAT(codes(bert), testing::Not(testing::Contains("causal-encoder")));
  EXPECT_THAT(codes(gguf_plan(windowed("modern-bert"))), testing::Contains("causal-encoder"));
  const Plan oss = gguf_plan(windowed("gpt-oss"));
  EXPECT_THAT(sliding(oss), ElementsAre(0, 2, 4, 6));
  EXPECT_TRUE(layer_of(oss, 1).sinks);
}

TEST(GgufPlan, PrefersThePatternInTheFile) {
  const GgufBuilder base = model("gemma3", 6).u32("gemma3.attention.sliding_window", 512);
  EXPECT_THAT(sliding(gguf_plan(GgufBuilder(base).u32("gemma3.attention.sliding_window_pattern", 2))),
              ElementsAre(0, 2, 4));
  const Plan listed = gguf_plan(
      GgufBuilder(base).flags("gemma3.attention.sliding_window_pattern", {false, true, true, false, false, true}));
  EXPECT_THAT(sliding(listed), ElementsAre(1, 2, 5));
  EXPECT_EQ(source_of(listed, "/stacks/0/layers/0,3-4/mask/window"), "gemma3.attention.sliding_window_pattern");
}

TEST(GgufPlan, GivesSlidingLayersTheirOwnBaseAndNoRule) {
  const Plan plan = gguf_plan(model("gemma3", 6)
                                  .u32("gemma3.attention.sliding_window", 512)
                                  .f32("gemma3.rope.freq_base", 1e6F)
                                  .f32("gemma3.rope.scaling.factor", 8));
  EXPECT_EQ(rope_of(plan, 0).base, 10000);
  EXPECT_EQ(rope_of(plan, 0).scaling, Scaling());
  EXPECT_EQ(rope_of(plan, 5).base, 1e6);
  EXPECT_EQ(rope_of(plan, 5).scaling, Scaling(LinearScaling{.factor = 8}));
}

TEST(GgufPlan, ReadsGemma4) {
  std::vector<float> divisors(64, 1.0F);
  for (std::size_t i = 16; i < divisors.size(); ++i) divisors[i] = 1e30F;
  const Plan plan =
      gguf_plan(GgufBuilder()
                    .text("general.architecture", "gemma4")
                    .u32("gemma4.block_count", 6)
                    .u32("gemma4.context_length", 8192)
                    .u32("gemma4.embedding_length", 256)
                    .u32("gemma4.attention.head_count", 4)
                    .i32s("gemma4.attention.head_count_kv", {2, 2, 1, 2, 2, 1})
                    .u32("gemma4.attention.key_length", 128)
                    .u32("gemma4.attention.value_length", 128)
                    .u32("gemma4.attention.key_length_swa", 64)
                    .u32("gemma4.attention.value_length_swa", 64)
                    .u32("gemma4.attention.sliding_window", 512)
                    .u32("gemma4.attention.shared_kv_layers", 3)
                    .u32("gemma4.rope.dimension_count", 128)
                    .u32("gemma4.rope.dimension_count_swa", 64)
                    .flags("gemma4.attention.sliding_window_pattern", {true, true, false, true, true, false})
                    .floats("rope_freqs.weight", divisors));
  EXPECT_THAT(sliding(plan), ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(layer_of(plan, 0).head_dim, 64);
  EXPECT_EQ(layer_of(plan, 2).head_dim, 128);
  EXPECT_EQ(layer_of(plan, 2).kv_heads, 1);
  EXPECT_EQ(layer_of(plan, 2).softmax_scale, 1);
  EXPECT_EQ(rope_of(plan, 0).scaling, Scaling());
  EXPECT_TRUE(std::holds_alternative<FactorListScaling>(rope_of(plan, 2).scaling));
  EXPECT_EQ(layer_of(plan, 2).kv_from, std::nullopt);
  EXPECT_EQ(layer_of(plan, 3).kv_from, 1);
  EXPECT_EQ(layer_of(plan, 5).kv_from, 2);
}

TEST(GgufPlan, ReadsLlama4) {
  const Plan plan = gguf_plan(model("llama4", 8).u32("llama4.expert_count", 16));
  EXPECT_THAT(rotating(plan), ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_EQ(layer_of(plan, 0).mask.chunk, std::nullopt);  // 8192 covers the 4096 that the model is for
  EXPECT_EQ(layer_of(plan, 3).query_scale, QueryScale(Llama4Temperature{}));
  EXPECT_EQ(layer_of(plan, 0).query_scale, QueryScale());
  EXPECT_TRUE(layer_of(plan, 0).qk_norm);
  EXPECT_FALSE(layer_of(plan, 3).qk_norm);
  EXPECT_FALSE(layer_of(gguf_plan(model("llama4", 8).u32("llama4.expert_count", 128)), 0).qk_norm);
  const Plan plain = gguf_plan(model("llama4", 4).u32("llama4.attention.sliding_window", 0));
  EXPECT_THAT(rotating(plain), ElementsAre(0, 1, 2, 3));
}

TEST(GgufPlan, LeavesOutLayersThatPredictFurtherTokens) {
  const Plan plan = gguf_plan(model("glm4moe", 4).u32("glm4moe.nextn_predict_layers", 1).zeros("x", {2}));
  EXPECT_EQ(plan.stacks.at(0).layers.size(), 3u);
}

// ---- layers that do not attend ----

TEST(GgufPlan, TellsStatesFromAttention) {
  const auto attending = [](const Plan& plan) {
    return layers_where(plan, [](const LayerPlan& layer) { return layer.kind == LayerKind::attention; });
  };
  const Plan jamba = gguf_plan(model("jamba").i32s("jamba.attention.head_count_kv", {0, 2, 0, 0}));
  EXPECT_THAT(attending(jamba), ElementsAre(1));
  EXPECT_EQ(layer_of(jamba, 0).kind, LayerKind::state_space);
  EXPECT_THAT(rotating(jamba), IsEmpty());
  const Plan lfm = gguf_plan(model("lfm2").i32s("lfm2.attention.head_count_kv", {0, 2, 0, 2}));
  EXPECT_EQ(layer_of(lfm, 0).kind, LayerKind::convolution);
  EXPECT_THAT(rotating(lfm), ElementsAre(1, 3));
  const Plan next = gguf_plan(model("qwen3next", 8));
  EXPECT_THAT(attending(next), ElementsAre(3, 7));
  EXPECT_EQ(layer_of(next, 0).kind, LayerKind::linear_attention);
  EXPECT_THAT(attending(gguf_plan(model("qwen3next", 4).u32("qwen3next.full_attention_interval", 2))),
              ElementsAre(1, 3));
  const Plan nemotron = gguf_plan(model("nemotron_h")
                                      .i32s("nemotron_h.attention.head_count_kv", {0, 0, 2, 0})
                                      .i32s("nemotron_h.feed_forward_length", {0, 512, 0, 0}));
  EXPECT_EQ(layer_of(nemotron, 0).kind, LayerKind::state_space);
  EXPECT_EQ(layer_of(nemotron, 1).kind, LayerKind::none);
  EXPECT_THAT(attending(nemotron), ElementsAre(2));
  // Llama-3_1-Nemotron-51B: a linear layer in place of attention keeps its heads of queries.
  const Plan deci = gguf_plan(GgufBuilder()
                                  .text("general.architecture", "deci")
                                  .u32("deci.block_count", 4)
                                  .u32("deci.context_length", 4096)
                                  .u32("deci.embedding_length", 256)
                                  .i32s("deci.attention.head_count", {8, 0, 8, 8})
                                  .i32s("deci.attention.head_count_kv", {2, 0, 0, 4})
                                  .zeros("output_norm.weight", {4}));
  EXPECT_TRUE(deci.known);
  EXPECT_THAT(attending(deci), ElementsAre(0, 3));
  const Plan mamba = gguf_plan(GgufBuilder()
                                   .text("general.architecture", "mamba")
                                   .u32("mamba.block_count", 2)
                                   .u32("mamba.context_length", 1000000)
                                   .u32("mamba.embedding_length", 768)
                                   .u32("mamba.attention.head_count", 0));
  EXPECT_THAT(attending(mamba), IsEmpty());
  EXPECT_TRUE(mamba.known);
}

// ---- other schemes ----

TEST(GgufPlan, ReadsAlibiAndLearnedTables) {
  const Plan mpt = gguf_plan(model("mpt").f32("mpt.attention.max_alibi_bias", 8).zeros("token_embd.weight", {4, 2}));
  EXPECT_TRUE(mpt.known);
  EXPECT_EQ(layer_of(mpt, 0).score, (std::vector<ScoreTerm>{Alibi{.heads = 4, .max_bias = 8}}));
  EXPECT_THAT(mpt.stacks.at(0).input, IsEmpty());
  const Plan both = gguf_plan(model("mpt").zeros("position_embd.weight", {256, 4096}));
  EXPECT_EQ(both.stacks.at(0).input, (std::vector<InputScheme>{LearnedInput{.positions = 4096}}));
  EXPECT_THAT(layer_of(both, 0).score, IsEmpty());
  const Plan jina =
      gguf_plan(model("jina-bert-v2").flag("jina-bert-v2.attention.causal", false).zeros("token_embd.weight", {4, 2}));
  EXPECT_EQ(layer_of(jina, 0).score, (std::vector<ScoreTerm>{Alibi{.heads = 4, .max_bias = 8, .symmetric = true}}));
}

TEST(GgufPlan, ReadsT5) {
  const Plan plan = gguf_plan(model("t5", 2)
                                  .u32("t5.attention.key_length", 64)
                                  .u32("t5.attention.value_length", 64)
                                  .u32("t5.attention.relative_buckets_count", 32)
                                  .u32("t5.decoder_block_count", 3)
                                  .zeros("enc.blk.0.attn_rel_b.weight", {4, 32}));
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 2u);
  EXPECT_EQ(plan.stacks[0].name, "encoder");
  EXPECT_EQ(plan.stacks[0].layers.size(), 2u);
  EXPECT_EQ(plan.stacks[0].layers[0].score, (std::vector<ScoreTerm>{T5Bias{.bidirectional = true}}));
  EXPECT_EQ(plan.stacks[0].layers[0].softmax_scale, 1);
  EXPECT_EQ(plan.stacks[1].layers.size(), 6u);
  EXPECT_EQ(plan.stacks[1].layers[1].kind, LayerKind::cross_attention);
  EXPECT_EQ(plan.stacks[1].layers[0].score, (std::vector<ScoreTerm>{T5Bias{}}));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/heads"), "t5.attention.head_count");
  // Of a decoder places count both attentions of a block; the second has no biases.
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/0-5/heads"), "t5.attention.head_count");
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/0,2,4/score/0/buckets"), "t5.attention.relative_buckets_count");
}

// 255 / 2 = 127 buckets of one distance are the most below the largest distance, 128.
TEST(GgufPlan, RefusesBucketsThatT5CannotHaveAndWarnsOfOddOnes) {
  const auto t5 = [](std::uint32_t buckets) {
    return model("t5", 2)
        .u32("t5.attention.key_length", 64)
        .u32("t5.attention.value_length", 64)
        .u32("t5.attention.relative_buckets_count", buckets)
        .zeros("enc.blk.0.attn_rel_b.weight", {4, buckets});
  };
  EXPECT_THAT(codes(gguf_plan(t5(33))), ElementsAre("odd-buckets"));
  EXPECT_THAT(codes(gguf_plan(t5(255))), ElementsAre("odd-buckets"));
  EXPECT_THAT(codes(gguf_plan(t5(4))), IsEmpty());
  for (const std::uint32_t impossible : {2U, 3U, 256U}) {
    EXPECT_EQ(gguf_error(t5(impossible).bytes()).kind, ErrorKind::out_of_range) << impossible;
  }
}

TEST(GgufPlan, TakesNormsOfQAndKFromTheTensorTable) {
  const GgufBuilder norms = model("stablelm", 2).zeros("blk.0.attn_q_norm.weight", {64, 4});
  EXPECT_TRUE(layer_of(gguf_plan(norms), 0).qk_norm);
  EXPECT_FALSE(layer_of(gguf_plan(norms), 1).qk_norm);
  EXPECT_TRUE(gguf_plan(model("stablelm")).known);
  EXPECT_THAT(codes(gguf_plan(model("stablelm").u32("split.count", 2))), ElementsAre("no-tensors"));
}

// A vocabulary cannot say what the model's tensors would: norms of q and k, divisors of frequencies.
TEST(GgufPlan, OfAFileWithoutTensorsLeavesOpenWhatTheyTell) {
  for (const std::string name : {"llama", "stablelm", "qwen2"}) {
    const Plan plan = gguf_plan(GgufBuilder()
                                    .text("general.architecture", name)
                                    .u32(name + ".block_count", 2)
                                    .u32(name + ".context_length", 4096)
                                    .u32(name + ".embedding_length", 256)
                                    .u32(name + ".attention.head_count", 4));
    EXPECT_EQ(plan.known, name == "qwen2") << name;
    EXPECT_EQ(codes(plan), name == "qwen2" ? std::vector<std::string>{} : std::vector<std::string>{"no-tensors"});
  }
}

TEST(GgufPlan, ReadsTheIndexersRotation) {
  const Plan plan = gguf_plan(model("deepseek32")
                                  .u32("deepseek32.attention.key_length_mla", 96)
                                  .u32("deepseek32.attention.value_length_mla", 64)
                                  .u32("deepseek32.rope.dimension_count", 32)
                                  .u32("deepseek32.attention.indexer.head_count", 64)
                                  .u32("deepseek32.attention.indexer.key_length", 128)
                                  .u32("deepseek32.attention.indexer.top_k", 2048));
  const LayerPlan layer = layer_of(plan, 0);
  ASSERT_EQ(layer.rotate.size(), 2u);
  EXPECT_EQ(layer.rotate[1].role, RotateRole::indexer);
  EXPECT_EQ(layer.rotate[1].heads, 64);
  EXPECT_EQ(rope(layer.rotate[1]).pairing, Pairing::half);
  EXPECT_EQ(rope(layer.rotate[1]).head_dim, 128);
  EXPECT_EQ(layer.mask.kind, MaskKind::sparse);
}

TEST(GgufPlan, SurvivesItsOwnJson) {
  const Plan plan = gguf_plan(model("gemma3", 6).u32("gemma3.attention.sliding_window", 512));
  const Result<Plan> again = plan_from_json(to_json(plan));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, plan);
}

// ---- split files ----

TEST(GgufPlan, OfAModelInPartsIsReadFromTheFirst) {
  const auto part = [](std::uint16_t number) {
    return model("llama")
        .raw("split.no", static_cast<std::uint32_t>(Gguf::u16), std::string{static_cast<char>(number), '\0'})
        .raw("split.count", static_cast<std::uint32_t>(Gguf::u16), std::string("\x03\0", 2))
        .bytes();
  };
  EXPECT_TRUE(read_gguf_bytes(part(0), "m-00001-of-00003.gguf"));
  const Result<Plan> second = read_gguf_bytes(part(1), "m-00002-of-00003.gguf");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::split);
  EXPECT_THAT(second.error().message(), HasSubstr("expected m-00001-of-00003.gguf, got part 2 of 3"));
}

}  // namespace
}  // namespace posenc::test::gguf_plan_test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "plan/random_plan.h"
#include "plan/text/text_lines.h"
#include "posenc/plan.h"

namespace posenc::describe_test {
namespace {

using ::testing::HasSubstr;

// 62 layers, every sixth from 5 sees everything.
Plan gemma3() {
  Plan plan;
  plan.known = true;
  plan.model_type = "gemma3_text";
  plan.family = "gemma3";
  plan.source = {SourceKind::config_json, "gemma-3-27b/config.json"};
  plan.trained_length = 131072;
  Stack stack;
  stack.name = "decoder";
  for (std::int64_t i = 0; i < 62; ++i) {
    const bool is_global = i % 6 == 5;
    Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
    rope.head_dim = rope.dim = 128;
    rope.base = is_global ? 1e6 : 1e4;
    if (is_global) rope.scaling = LinearScaling{8.0};
    LayerPlan& layer = stack.layers.emplace_back();
    layer.index = i;
    layer.heads = 32;
    layer.kv_heads = 16;
    layer.head_dim = layer.value_dim = 128;
    layer.softmax_scale = 0.0625;
    layer.qk_norm = QkNorm{};
    if (!is_global) layer.mask.window = Window{1023, 0};
    layer.rotate.push_back({RotateRole::main, 32, rope});
  }
  plan.stacks.push_back(stack);
  return plan;
}

TEST(Describe, merges_equal_layers) {
  EXPECT_EQ(describe(gemma3()), R"(config.json: gemma-3-27b/config.json
  model type gemma3_text, family gemma3, known
  trained length 131072 tokens, length not given

decoder, 62 layers
  input: none
  layers 0-4, 6-10, ..., 54-58, 60-61 (52): attention
    heads: 32 of 128 channels, 16 for keys and values
    rotate: rope of 32 heads, channels 0-127 of 128, pairing half-split (NeoX,
      rotate_half), base 10000, rule none, attention factor 1
    score: none
    value: none
    mask: causal, window 1023 past and 0 future
    logits: scale 0.0625
    q and k norm: rms before the rotation, with weights, over each head
  layers 5, 11, ..., 59 (every 6th) (10): attention
    heads: 32 of 128 channels, 16 for keys and values
    rotate: rope of 32 heads, channels 0-127 of 128, pairing half-split (NeoX,
      rotate_half), base 1000000, rule linear, factor 8, attention factor 1
    score: none
    value: none
    mask: causal
    logits: scale 0.0625
    q and k norm: rms before the rotation, with weights, over each head
)");
}

TEST(Describe, says_everything_that_a_layer_has) {
  Plan plan;
  plan.source.name = "x";
  plan.length = 10;
  Rope rope{.pairing = Pairing::interleaved, .scaling = {}, .axes = {}};
  rope.head_dim = 20;
  rope.first_channel = 4;
  rope.dim = 16;
  rope.axes = chunked_axes({"t", "h", "w"}, {2, 3, 3});
  YarnScaling yarn;
  yarn.factor = 4;
  yarn.original_max_position_embeddings = 64;
  yarn.attention_factor = 1.25;
  rope.scaling = yarn;
  LayerPlan layer;
  layer.index = 3;
  layer.heads = 8;
  layer.value_dim = 12;
  layer.kv_from = 1;
  layer.compression = 4;
  layer.mixing = {.tokens_before = 2, .outputs = true, .beside = LayerKind::state_space};
  layer.channel_scale = true;
  layer.soft_cap = SoftCap{50, SoftCap::Order::before_bias};
  layer.sinks = true;
  layer.qk_norm = QkNorm{QkNorm::Kind::l2, QkNorm::Order::after, false, QkNorm::Over::all_heads, QkNorm::Of::keys};
  layer.mask = {MaskKind::prefix, {}, 8192, "the image sees itself", true, true, true};
  Rope clockwise = rope;
  clockwise.rotation_direction = RotationDirection::clockwise;
  layer.rotate = {{RotateRole::main, 8, XPos{rope, 256}, 1}, {RotateRole::indexer, 4, clockwise}};
  layer.regions = DualChunk{24, 8, 32};
  layer.score = {Alibi{8, 8.0, true, false}, ShawKeys{3, 4}, Fire{}};
  layer.value = RotatedValues{true};
  layer.query_scale = Llama4Temperature{};
  LayerPlan mamba;
  mamba.index = 4;
  mamba.kind = LayerKind::state_space;
  mamba.begins_apart = true;
  plan.stacks.push_back(
      {"encoder", {LearnedInput{512, 2, 3}, AxialInput{{16, 24}}, TileInput{9, 4, 0}}, {layer, mamba}});
  plan.stacks.back().fed_by = FedBy::mixed_tokens;
  EXPECT_EQ(describe(plan), R"(config.json: x
  model type none, family none, not known in full
  trained length not given, length 10 tokens

encoder, 2 layers
  input: learned, positions 512, offset 2, token_types 3, embedding_multiplier
    1; axial, shape 16 x 24, combine add; tile, rows 9, tiles 4, positions 0
  fed by: mixed_tokens
  layers 3 (1): attention
    heads: 8 of ? channels, ? for keys and values, values of 12 channels, keys
      and values of layer 1, also keys of 4 tokens each
    rotate: xpos of 8 heads, channels 4-19 of 20, pairing interleaved (GPT-J),
      base 10000, rule yarn, factor 4, original_max_position_embeddings 64,
      attention_factor 1.25, truncate yes, attention factor 1.25, scale base
      256, axes t, h, w rotating 2, 3, 3 pairs, positions + 1
    rotate (indexer): rope of 4 heads, channels 4-19 of 20, pairing interleaved
      (GPT-J), base 10000, rule yarn, factor 4, original_max_position_embeddings
      64, attention_factor 1.25, truncate yes, attention factor 1.25, axes t, h,
      w rotating 2, 3, 3 pairs, clockwise
    regions: dual_chunk, chunk 24, local 8, trained 32
    score: alibi, heads 8, max_bias 8, symmetric yes, scaled no, form relative;
      shaw, left 3, right 4, sinusoidal no; fire
    value: rotated, inverse_on_output yes
    mask: prefix, chunks of 8192, the image sees itself, keys beyond the window
      too, by blocks, by an indexer
    mixing: keys and values of 2 before too, outputs of tokens before too,
      beside state_space
    logits: scale 1 and a learned one per channel, soft cap 50 before the bias,
      sinks
    q and k norm: l2 after the rotation, without weights, over all heads at
      once, of keys only
    query scale: llama4, attn_scale 0.1, floor_scale 8192
  layers 4 (1): state_space, position 0 apart
)");
}

// The decoder of an encoder-decoder has two attentions a layer.
TEST(Describe, sub_layers_are_not_layers) {
  Plan plan;
  plan.source.name = "x";
  Stack stack{.name = "decoder", .input = {}, .layers = {}};
  for (std::int64_t block = 0; block < 3; ++block) {
    stack.layers.emplace_back().index = block;
    LayerPlan& cross = stack.layers.emplace_back();
    cross.index = block;
    cross.kind = LayerKind::cross_attention;
  }
  plan.stacks.push_back(stack);
  EXPECT_THAT(describe(plan), HasSubstr("decoder, 3 layers, 6 sub-layers\n"));
  EXPECT_THAT(describe(plan), HasSubstr("layers 0-2 (3): cross_attention\n"));
}

TEST(Describe, an_impossible_rotation_is_said_not_thrown) {
  Plan plan = gemma3();
  std::get<Rope>(plan.stacks[0].layers[0].rotate[0].scheme).base = -1;
  EXPECT_THAT(describe(plan), HasSubstr("rotate: impossible, base must be"));
  plan = gemma3();
  plan.length = 0;
  EXPECT_THAT(describe(plan), HasSubstr("rotate: impossible, length must be at least 1 but is 0"));
}

TEST(Describe, scaling_rules) {
  EXPECT_EQ(describe(Scaling{}), "none");
  EXPECT_EQ(describe(Llama3Scaling{8, 1, 4, 8192}),
            "llama3, factor 8, low_freq_factor 1, high_freq_factor 4, original_max_position_embeddings 8192");
  EXPECT_EQ(describe(YarnScaling{40, 4096, {}, {}, {}, 1.0, 0.5, false}),
            "yarn, factor 40, original_max_position_embeddings 4096, mscale 1, mscale_all_dim 0.5, truncate no");
  EXPECT_EQ(describe(FactorListScaling{{3, 1, 2.5}}), "factors, factors of 3 numbers 1 to 3");
  EXPECT_EQ(describe(FactorListScaling{}), "factors, factors of 0 numbers");
}

// Names come from files: whatever they hold, the text is printable ASCII in lines of 80.
TEST(Describe, every_line_is_short_and_ascii) {
  for (std::uint32_t seed = 0; seed < test::kRandomPlans; ++seed) {
    Plan plan = test::RandomPlan(seed).plan();
    plan.source.name = "dir/" + std::string(seed, 'x') + " \x1b]0;evil\x07 " + std::string(seed, '\xff');
    std::istringstream lines(describe(plan));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << "seed " << seed << ": " << line;
      EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }))
          << "seed " << seed << ": " << line;
    }
  }
}

TEST(TextLines, breaks_at_blanks_and_loses_nothing) {
  plan::TextLines lines;
  lines.add(2, std::string(78, 'a'));
  lines.add(2, std::string(77, 'b') + " c");
  lines.add(2, std::string(79, 'd'));
  lines.add(0, std::string(80, 'e') + " f");
  EXPECT_EQ(lines.take(), "  " + std::string(78, 'a') + "\n  " + std::string(77, 'b') + "\n    c\n  " +
                              std::string(78, 'd') + "\n    d\n" + std::string(80, 'e') + "\n  f\n");
}

}  // namespace
}  // namespace posenc::describe_test

// Configs of several stacks: which object holds which, whose rules its keys follow, and what vision and audio stacks
// do.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_stacks_test {
namespace {

constexpr std::string_view kText =
    R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
  "num_hidden_layers": 2, "max_position_embeddings": 128})";

// A model of `type` with Llama's text and one other object.
std::string model(std::string_view type, std::string_view key, std::string_view object) {
  return std::string(R"({"model_type": ")") + std::string(type) + R"(", "text_config": )" + std::string(kText) +
         ", \"" + std::string(key) + "\": " + std::string(object) + "}";
}

// A model whose wrapper says nothing, with a vision object.
std::string vision(std::string_view object) { return model("wrapper9", "vision_config", object); }

std::vector<std::string> stack_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Stack& stack : plan.stacks) names.push_back(stack.name);
  return names;
}

// The stack of that place, or a failed test and an empty stack.
Stack stack_of(const Plan& plan, std::size_t at) {
  if (at < plan.stacks.size()) return plan.stacks[at];
  ADD_FAILURE() << "no stack " << at;
  return {};
}

// The only input of a stack; a failed test where it is no learned table.
LearnedInput table_of(const Stack& stack) {
  if (stack.input.size() == 1 && std::holds_alternative<LearnedInput>(stack.input[0])) {
    return std::get<LearnedInput>(stack.input[0]);
  }
  ADD_FAILURE() << stack.name << " has no single learned table";
  return {};
}

using Strings = std::vector<std::string>;

// ---- which object, whose rules ----

TEST(ReadPlanStacks, each_stack_of_an_unknown_wrapper_is_read_by_its_own_type) {
  const Plan plan = plan_of(vision(R"({"model_type": "dinov2", "image_size": 518, "patch_size": 14})"));
  EXPECT_EQ(plan.family, "wrapper9");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(codes(plan), Strings{"unknown-wrapper"});
  EXPECT_EQ(stack_names(plan), (Strings{"decoder", "vision"}));
  EXPECT_EQ(table_of(stack_of(plan, 1)).positions, 37 * 37 + 1);
  EXPECT_EQ(source_of(plan, "/stacks/1/input/0/positions"), "/vision_config/image_size");
  EXPECT_EQ(source_of(plan, "/stacks/1/layers"), "default: Dinov2Config, transformers 5.23.0");
}

TEST(ReadPlanStacks, layers_that_an_unknown_wrapper_counts_itself_are_a_stack_that_nobody_read) {
  const std::string dinov2 = R"({"model_type": "dinov2", "image_size": 518, "patch_size": 14})";
  const auto top = [&](std::string_view more) {
    std::string text = vision(dinov2);
    return plan_of(text.insert(1, more));
  };
  const Plan own = top(R"("encoder_layers": 6, "encoder_attention_heads": 8, )");
  EXPECT_FALSE(own.known);
  EXPECT_EQ(stack_names(own), (Strings{"decoder", "vision", "wrapper"}));
  EXPECT_FALSE(stack_of(own, 2).unknown.empty());
  EXPECT_TRUE(stack_of(own, 0).unknown.empty());
  EXPECT_TRUE(top(R"("num_hidden_layers": 2, )").known) << "as the text's own object says";
}

TEST(ReadPlanStacks, text_stands_under_four_names_or_flat) {
  for (std::string_view key : {"text_config", "llm_config", "language_config", "decoder_config"}) {
    const Plan plan = plan_of(with(vision("null"), "text_config", key));
    ASSERT_EQ(stack_names(plan), Strings{"decoder"}) << key;
    EXPECT_EQ(plan.trained_length, 128) << key;
  }
  const Plan flat = plan_of(R"({"model_type": "qwen2_vl", "hidden_size": 64, "num_attention_heads": 2,
    "num_key_value_heads": 2, "num_hidden_layers": 1, "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]}})");
  EXPECT_EQ(flat.family, "qwen2_vl");
  EXPECT_TRUE(flat.known);
  EXPECT_EQ(stack_names(flat), Strings{"decoder"});
}

TEST(ReadPlanStacks, text_that_stands_where_its_class_does_not_look_is_read_with_a_warning) {
  const Plan plan = plan_of(R"({"model_type": "gemma3", "hidden_size": 64, "num_attention_heads": 2, "head_dim": 32,
    "num_key_value_heads": 2, "num_hidden_layers": 6, "max_position_embeddings": 8192})");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(codes(plan), Strings{"text-beside-part"});
  const auto of = [](const std::string& part) {
    return plan_of(R"({"model_type": "vibevoice", ")" + part + R"(": {"model_type": "qwen2", "hidden_size": 64,
      "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 3}})");
  };
  EXPECT_EQ(stack_of(of("decoder_config"), 0).layers.size(), 3U);
  EXPECT_EQ(codes(of("decoder_config")), Strings{"text-beside-part"});
  EXPECT_EQ(codes(of("text_config")), Strings{});
}

TEST(ReadPlanStacks, a_value_that_the_wrapper_alone_has_leaves_its_text_unknown) {
  const Plan part =
      plan_of(R"({"model_type": "voxtral", "text_config": {"model_type": "llama", "num_hidden_layers": 2}})");
  EXPECT_FALSE(part.known);
  const Plan absent = plan_of(R"({"model_type": "mistral3"})");
  EXPECT_FALSE(absent.known);
}

TEST(ReadPlanStacks, a_row_says_the_type_that_the_text_does_not) {
  const Plan plan = plan_of(R"({"model_type": "llava", "text_config": {"max_position_embeddings": 4096}})");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(stack_of(plan, 0).layers.size(), 32U);
  EXPECT_EQ(source_of(plan, "/stacks/0/layers"), "default: LlamaConfig, transformers 5.23.0");
}

TEST(ReadPlanStacks, a_fixed_type_beats_what_the_object_says) {
  const Plan plan = plan_of(with(model("qwen2_vl", "vision_config", R"({"model_type": "siglip_vision_model"})"),
                                 R"("hidden_size")", R"("rope_scaling": {"mrope_section": [2, 3, 3]}, "hidden_size")"));
  EXPECT_TRUE(stack_of(plan, 1).input.empty());
  EXPECT_EQ(stack_of(plan, 1).layers.size(), 32U);
  EXPECT_FALSE(stack_of(plan, 1).layers.at(0).rotate.empty());
}

TEST(ReadPlanStacks, a_type_without_rules_is_undecided) {
  const Plan plan = plan_of(vision(R"({"model_type": "tower9"})"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), (Strings{"undecided", "unknown-wrapper"}));
  EXPECT_EQ(stack_names(plan), (Strings{"decoder", "vision"}));
  EXPECT_FALSE(stack_of(plan, 1).known);
  EXPECT_NE(plan.warnings.back().message.find("tower9"), std::string::npos);
}

TEST(ReadPlanStacks, keys_at_the_top_of_an_unknown_wrapper_do_not_contradict) {
  const std::string text = with(vision("null"), R"("text_config")", R"("hidden_size": 4096, "text_config")");
  EXPECT_EQ(codes(plan_of(text)), Strings{"unknown-wrapper"});
  EXPECT_EQ(codes(plan_of(with(text, "wrapper9", "llava"))), Strings{"precedence"});
}

// ---- tables ----

struct TableRow {
  std::string_view id;
  std::string_view object;
  std::int64_t positions;
};

constexpr TableRow kTables[] = {
    {"SigLIP: patches", R"({"model_type": "siglip_vision_model", "image_size": 384, "patch_size": 14})", 27 * 27},
    {"its short name", R"({"model_type": "siglip", "image_size": 980, "patch_size": 14})", 70 * 70},
    {"CLIP: and the class", R"({"model_type": "clip_vision_model", "image_size": 336, "patch_size": 14})", 577},
    {"CLIP by default", R"({"model_type": "clip_vision_model"})", 7 * 7 + 1},
    {"two sides", R"({"model_type": "internvl_vision", "image_size": [448, 224], "patch_size": [14, 14]})", 513},
    {"SigLIP 2: a count", R"({"model_type": "siglip2_vision_model", "num_patches": 1024})", 1024},
};

TEST(ReadPlanStacks, rows_of_tables) {
  for (const TableRow& row : kTables) {
    SCOPED_TRACE(row.id);
    const Plan plan = plan_of(vision(row.object));
    const Stack stack = stack_of(plan, 1);
    EXPECT_EQ(table_of(stack).positions, row.positions);
    for (const LayerPlan& layer : stack.layers) {
      EXPECT_EQ(layer.mask.kind, MaskKind::bidirectional);
      EXPECT_TRUE(layer.rotate.empty());
    }
  }
}

TEST(ReadPlanStacks, a_table_may_be_switched_off) {
  const Plan plan = plan_of(vision(R"({"model_type": "internvl_vision", "use_absolute_position_embeddings": false,
    "use_qk_norm": true})"));
  EXPECT_TRUE(stack_of(plan, 1).input.empty());
  EXPECT_EQ(stack_of(plan, 1).layers.at(0).qk_norm->over, QkNorm::Over::all_heads);
}

TEST(ReadPlanStacks, mllama_has_tiles_and_a_second_encoder) {
  const Plan plan = plan_of(vision(R"({"model_type": "mllama_vision_model", "hidden_size": 32, "attention_heads": 2,
    "num_hidden_layers": 3, "num_global_layers": 2, "image_size": 28, "patch_size": 14, "max_num_tiles": 4,
    "supported_aspect_ratios": [[1, 1], [1, 2]]})"));
  const Stack stack = stack_of(plan, 1);
  EXPECT_EQ(stack.layers.size(), 5U);
  const std::vector<InputScheme> wanted{LearnedInput{5}, TileInput{3, 4, 5}, TileInput{3, 4, 0}};
  EXPECT_EQ(stack.input, wanted);
}

// ---- rotations ----

TEST(ReadPlanStacks, blocks_of_h_and_w) {
  const Plan plan = plan_of(vision(R"({"model_type": "qwen2_vl_vision", "depth": 2, "embed_dim": 32, "hidden_size": 999,
    "num_heads": 2})"));
  const Rotate rotate = stack_of(plan, 1).layers.at(1).rotate.at(0);
  EXPECT_TRUE(rope(rotate) == (Rope{.pairing = Pairing::half,
                                    .head_dim = 16,
                                    .dim = 16,
                                    .base = 1e4,
                                    .axes = {{"h", "w"}, {0, 0, 0, 0, 1, 1, 1, 1}},
                                    .axis_frequencies = AxisFrequencies::per_axis}));
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/0-1/head_dim"), "/vision_config/embed_dim");
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/0-1/rotate/0/base"), "default: Qwen2VLVisionConfig, transformers 5.23.0");
}

TEST(ReadPlanStacks, llama_4_counts_from_one) {
  const Plan plan = plan_of(vision(R"({"model_type": "llama4_vision_model", "hidden_size": 16, "num_attention_heads": 2,
    "num_hidden_layers": 1, "rope_theta": 100, "image_size": 28, "patch_size": 14})"));
  const Rotate rotate = stack_of(plan, 1).layers.at(0).rotate.at(0);
  EXPECT_EQ(rotate.offset, 1);
  EXPECT_EQ(rope(rotate).axes, (AxisMap{{"w", "h"}, {0, 0, 1, 1}}));
  EXPECT_EQ(rope(rotate).base, 100);
  EXPECT_TRUE(rope(rotate).pairing == Pairing::interleaved);
  EXPECT_EQ(table_of(stack_of(plan, 1)).positions, 5);
}

TEST(ReadPlanStacks, pixtral_deals_one_ladder_and_kimi_alternates) {
  const Plan pixtral = plan_of(vision(R"({"model_type": "pixtral", "hidden_size": 8, "num_attention_heads": 1,
    "num_hidden_layers": 1})"));
  const Rope dealt = rope(stack_of(pixtral, 1).layers.at(0).rotate.at(0));
  EXPECT_EQ(dealt.axis_frequencies, AxisFrequencies::strided);
  EXPECT_EQ(frequencies(dealt).inv_freq, (std::vector<double>{1, 1e-2, 1e-1, 1e-3}));
  const Plan kimi = plan_of(vision(R"({"model_type": "kimi_k25_vision", "vt_hidden_size": 8,
    "vt_num_attention_heads": 1, "vt_num_hidden_layers": 1, "init_pos_emb_height": 6, "init_pos_emb_width": 5,
    "auto_map": {}})"));
  const Rope alternating = rope(stack_of(kimi, 1).layers.at(0).rotate.at(0));
  EXPECT_EQ(alternating.axes, (AxisMap{{"w", "h"}, {0, 1, 0, 1}}));
  EXPECT_EQ(frequencies(alternating).inv_freq, (std::vector<double>{1, 1, 1e-2, 1e-2}));
  const std::vector<InputScheme> wanted{
      LearnedInput{30}, SinusoidalInput{.convention = SinusoidConvention::marian, .positions = 4, .axis = "t"}};
  EXPECT_EQ(stack_of(kimi, 1).input, wanted);
}

TEST(ReadPlanStacks, gemma_4_rotates_two_halves_side_by_side) {
  const Plan plan = plan_of(vision(R"({"model_type": "gemma4_vision", "head_dim": 24, "hidden_size": 48,
    "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1, "position_embedding_size": 64,
    "rope_parameters": {"rope_theta": 50.0, "rope_type": "default"}})"));
  const LayerPlan layer = stack_of(plan, 1).layers.at(0);
  ASSERT_EQ(layer.rotate.size(), 2U);
  const Rope w{.pairing = Pairing::half,
               .head_dim = 24,
               .dim = 12,
               .base = 50,
               .axes = {{"w"}, {}},
               .axis_frequencies = AxisFrequencies::shared};
  Rope h = w;
  h.first_channel = 12;
  h.axes.names = {"h"};
  EXPECT_TRUE(rope(layer.rotate[0]) == w);
  EXPECT_TRUE(rope(layer.rotate[1]) == h);
  EXPECT_EQ(layer.kv_heads, 1);
  EXPECT_EQ(layer.softmax_scale, 1);
  EXPECT_EQ(layer.qk_norm, QkNorm{});
  EXPECT_EQ(stack_of(plan, 1).input, (std::vector<InputScheme>{AxialInput{{64, 64}}}));
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/0/rotate/1/base"), "/vision_config/rope_parameters/rope_theta");
}

// ---- masks and scores ----

TEST(ReadPlanStacks, windows_of_pixels_follow_the_merged_patches) {
  const Plan plan = plan_of(vision(R"({"model_type": "qwen2_5_vl_vision", "depth": 3, "hidden_size": 16, "num_heads": 2,
    "window_size": 120, "patch_size": 14, "spatial_merge_size": 2, "fullatt_block_indexes": [1]})"));
  const Stack stack = stack_of(plan, 1);
  EXPECT_EQ(stack.layers.at(0).mask,
            (Mask{.kind = MaskKind::sparse, .window = {}, .chunk = {}, .detail = "windows of 8x8 patches"}));
  EXPECT_EQ(stack.layers.at(1).mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(stack.layers.at(2).mask, stack.layers.at(0).mask);
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/0,2/mask/kind"), "/vision_config/window_size");
  EXPECT_EQ(source_of(plan, "/stacks/1/layers/1/mask/kind"), "/vision_config/fullatt_block_indexes");
}

TEST(ReadPlanStacks, sam_has_tables_of_distances) {
  const Plan plan = plan_of(R"({"model_type": "unlimited-ocr", "language_config": {"use_mla": false, "hidden_size": 32,
      "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1,
      "max_position_embeddings": 64}, "sliding_window": 16,
    "vision_config": {"width": {
      "sam_vit_b": {"heads": 2, "layers": 2, "width": 16, "global_attn_indexes": [1]},
      "clip-l-14-224": {"heads": 2, "layers": 1, "width": 16, "image_size": 28, "patch_size": 14}}}})");
  EXPECT_EQ(plan.family, "unlimited_ocr");
  EXPECT_EQ(stack_names(plan), (Strings{"decoder", "vision_sam", "vision_clip"}));
  const Stack sam = stack_of(plan, 1);
  EXPECT_EQ(sam.layers.at(0).score, std::vector<ScoreTerm>{DecomposedHw{27}});
  EXPECT_EQ(sam.layers.at(0).mask.detail, "windows of 14x14 patches");
  EXPECT_EQ(sam.layers.at(1).score, std::vector<ScoreTerm>{DecomposedHw{127}});
  EXPECT_EQ(table_of(stack_of(plan, 2)).positions, 5);
}

TEST(ReadPlanStacks, the_audio_of_gemma_4) {
  const Plan plan = plan_of(model("wrapper9", "audio_config", R"({"model_type": "gemma4_audio", "hidden_size": 32,
    "num_attention_heads": 2, "num_hidden_layers": 1, "attention_chunk_size": 8, "attention_context_left": 5,
    "attention_context_right": 3, "attention_logit_cap": 20.0})"));
  const LayerPlan layer = stack_of(plan, 1).layers.at(0);
  EXPECT_EQ(stack_of(plan, 1).name, "audio");
  EXPECT_EQ(layer.mask.window, (Window{3, 2}));
  EXPECT_EQ(layer.mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(layer.soft_cap, SoftCap{20});
  EXPECT_TRUE(layer.channel_scale);
  // softplus(1) / ln(2)^2 / sqrt 16: with the factor that is learned, softplus(0) = ln 2, as it starts.
  EXPECT_NEAR(layer.softmax_scale * 0.6931471805599453, 1.3132616875182228 / 0.6931471805599453 / 4, 1e-15);
  const TransformerXl wanted{.content_bias = false,
                             .position_bias = false,
                             .sinusoid = SinusoidConvention::tensor2tensor,
                             .distances = Distances{0, (8 + 4 + 3) / 2}};
  EXPECT_EQ(layer.score, std::vector<ScoreTerm>{wanted});
}

TEST(ReadPlanStacks, the_audio_of_gemma_3n) {
  const Plan plan = plan_of(model("wrapper9", "audio_config", R"({"model_type": "gemma3n_audio", "hidden_size": 32,
    "conf_num_attention_heads": 2, "conf_num_hidden_layers": 1, "conf_attention_chunk_size": 8,
    "conf_attention_context_left": 5, "conf_attention_context_right": 3, "conf_attention_logit_cap": 20.0})"));
  const LayerPlan layer = stack_of(plan, 1).layers.at(0);
  EXPECT_EQ(layer.mask.window, (Window{4, 3}));
  EXPECT_EQ(layer.mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(layer.soft_cap, SoftCap{20});
  EXPECT_TRUE(layer.channel_scale);
  // 1 / (ln(2) sqrt 16): with the factor that is learned, softplus(0) = ln 2, as it starts.
  EXPECT_NEAR(layer.softmax_scale * 0.6931471805599453, 0.25, 1e-15);
  const TransformerXl wanted{.content_bias = false,
                             .position_bias = false,
                             .sinusoid = SinusoidConvention::tensor2tensor,
                             .distances = Distances{-3, 4}};
  EXPECT_EQ(layer.score, std::vector<ScoreTerm>{wanted});
}

// Its layers' keys and values are those of the model that it drafts for.
TEST(ReadPlanStacks, an_assistant_of_gemma_4_is_not_known) {
  for (const std::string_view type : {"gemma4_assistant", "gemma4_unified_assistant"}) {
    const Plan plan = plan_of(R"({"model_type": ")" + std::string(type) + R"(", "text_config": {"hidden_size": 64,
      "num_attention_heads": 4, "head_dim": 16, "num_hidden_layers": 2, "num_kv_shared_layers": 2}})");
    EXPECT_FALSE(plan.known) << type;
    EXPECT_EQ(plan.stacks.at(0).layers.size(), 2U) << type;
  }
}

TEST(ReadPlanStacks, the_merger_of_minicpm_is_a_stack) {
  const Plan plan = plan_of(model("minicpmv4_6", "vision_config", R"({"hidden_size": 16, "num_attention_heads": 2,
    "num_hidden_layers": 2, "image_size": 28, "patch_size": 14, "insert_layer_id": 1, "window_kernel_size": [2, 2]})"));
  EXPECT_EQ(stack_names(plan), (Strings{"decoder", "vision", "vision_merger"}));
  EXPECT_EQ(stack_of(plan, 2).layers.size(), 1U);
  EXPECT_EQ(stack_of(plan, 2).layers.at(0).mask.detail, "windows of 2x2 patches, after vision layer 1");
  EXPECT_TRUE(stack_of(plan, 2).input.empty());
}

// ---- convolutions ----

TEST(ReadPlanStacks, convolutions_are_counted) {
  const std::string text = model("wrapper9", "acoustic_tokenizer_config",
                                 R"({"model_type": "vibevoice_acoustic_tokenizer", "encoder_depths": "3-3-8",
                                     "decoder_depths": null})");
  const Plan plan = plan_of(text);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(stack_names(plan), (Strings{"decoder", "acoustic_encoder", "acoustic_decoder"}));
  EXPECT_EQ(stack_of(plan, 1).layers.size(), 14U);
  EXPECT_EQ(stack_of(plan, 2).layers.size(), 14U);
  EXPECT_EQ(stack_of(plan, 1).layers.at(13).kind, LayerKind::convolution);
  const Plan listed =
      plan_of(with(with(text, R"("3-3-8")", "[1, 2]"), R"("decoder_depths": null)", R"("decoder_depths": [4])"));
  EXPECT_EQ(stack_of(listed, 1).layers.size(), 3U);
  EXPECT_EQ(stack_of(listed, 2).layers.size(), 4U);
}

// ---- what is wrong ----

struct Wrong {
  std::string_view id;
  std::string_view key;
  std::string_view object;
  ErrorKind kind;
  std::string_view at;
};

constexpr Wrong kWrong[] = {
    {"heads that do not divide", "vision_config",
     R"({"model_type": "clip_vision_model", "hidden_size": 30, "num_attention_heads": 4})", ErrorKind::not_divisible,
     "/vision_config/hidden_size"},
    {"an image smaller than a patch", "vision_config",
     R"({"model_type": "siglip_vision_model", "image_size": 13, "patch_size": 14})", ErrorKind::out_of_range,
     "/vision_config/image_size"},
    {"three sides", "vision_config", R"({"model_type": "siglip_vision_model", "image_size": [1, 2, 3]})",
     ErrorKind::length_mismatch, "/vision_config/image_size"},
    {"a patch in words", "vision_config", R"({"model_type": "siglip_vision_model", "patch_size": "14"})",
     ErrorKind::type, "/vision_config/patch_size"},
    {"heads that two axes cannot share", "vision_config",
     R"({"model_type": "qwen2_vl_vision", "embed_dim": 12, "num_heads": 2})", ErrorKind::not_divisible,
     "/vision_config/embed_dim"},
    {"base 0", "vision_config", R"({"model_type": "pixtral", "rope_theta": 0})", ErrorKind::out_of_range,
     "/vision_config/rope_theta"},
    {"a layer that there is not", "vision_config",
     R"({"model_type": "qwen2_5_vl_vision", "depth": 2, "hidden_size": 16, "num_heads": 2,
         "fullatt_block_indexes": [2]})",
     ErrorKind::out_of_range, "/vision_config/fullatt_block_indexes/0"},
    {"a window smaller than a merged patch", "vision_config",
     R"({"model_type": "qwen2_5_vl_vision", "window_size": 27})", ErrorKind::out_of_range,
     "/vision_config/window_size"},
    {"more layers than a plan has", "vision_config",
     R"({"model_type": "clip_vision_model", "num_hidden_layers": 1023})", ErrorKind::out_of_range,
     "/vision_config/num_hidden_layers"},
    {"stages in words", "acoustic_tokenizer_config",
     R"({"model_type": "vibevoice_acoustic_tokenizer", "encoder_depths": "3-x"})", ErrorKind::out_of_range,
     "/acoustic_tokenizer_config/encoder_depths"},
    {"a cap of 0", "audio_config", R"({"model_type": "gemma4_audio", "attention_logit_cap": 0})",
     ErrorKind::out_of_range, "/audio_config/attention_logit_cap"},
};

TEST(ReadPlanStacks, errors_name_the_key) {
  for (const Wrong& wrong : kWrong) {
    SCOPED_TRACE(wrong.id);
    const FileError error = error_of(model("wrapper9", wrong.key, wrong.object));
    EXPECT_EQ(error.kind, wrong.kind) << error.message();
    EXPECT_EQ(error.path, wrong.at) << error.message();
  }
}

TEST(ReadPlanStacks, what_a_stack_lacks_leaves_it_unknown) {
  for (const auto& [key, object, name] :
       {std::array{"vision_config",
                   R"({"model_type": "pixtral", "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}})",
                   "vision"},
        std::array{"acoustic_tokenizer_config", R"({"model_type": "vibevoice_acoustic_tokenizer"})",
                   "acoustic_encoder"}}) {
    const Plan plan = plan_of(model("wrapper9", key, object));
    ASSERT_EQ(plan.stacks.size(), 2U) << object;
    EXPECT_TRUE(plan.stacks[0].known);
    EXPECT_FALSE(plan.stacks[1].known);
    EXPECT_EQ(plan.stacks[1].name, name);
    EXPECT_TRUE(plan.stacks[1].layers.empty());
  }
}

}  // namespace
}  // namespace posenc::test::read_plan_stacks_test

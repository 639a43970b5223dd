// Speech encoders and what is built around them, by small configs of our own. What is expected was taken from the
// classes of transformers 5.23.0: positional convolutions, Shaw's keys, Transformer-XL's terms, gated buckets.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/read/plan_reading.h"

namespace posenc::test::speech_families_test {
namespace {

const Stack& stack_of(const Plan& plan, std::string_view name) {
  static const Stack kNone;
  const auto stack = std::ranges::find(plan.stacks, name, &Stack::name);
  if (stack != plan.stacks.end()) return *stack;
  ADD_FAILURE() << "no stack " << name;
  return kNone;
}

std::vector<std::string> stack_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Stack& stack : plan.stacks) names.push_back(stack.name);
  return names;
}

// Every layer of the stack attends so, both ways unless it is said, with the scale of its heads' width.
void expect_layers(const Stack& stack, std::int64_t layers, std::int64_t heads, std::int64_t head_dim,
                   const std::vector<ScoreTerm>& score, MaskKind mask = MaskKind::bidirectional) {
  SCOPED_TRACE(stack.name);
  ASSERT_EQ(std::ssize(stack.layers), layers);
  for (const LayerPlan& layer : stack.layers) {
    EXPECT_EQ(layer.kind, LayerKind::attention);
    EXPECT_EQ(layer.heads, heads);
    EXPECT_EQ(layer.kv_heads, heads);
    EXPECT_EQ(layer.head_dim, head_dim);
    EXPECT_DOUBLE_EQ(layer.softmax_scale, 1 / std::sqrt(static_cast<double>(head_dim)));
    EXPECT_EQ(layer.mask.kind, mask);
    EXPECT_EQ(layer.score, score);
    EXPECT_TRUE(layer.rotate.empty());
  }
}

using Inputs = std::vector<InputScheme>;

const TransformerXl kSinesOfDistances{
    .clamp_length = -1, .content_bias = true, .position_bias = true, .sinusoid = SinusoidConvention::paper};

constexpr std::string_view kWav2vec2 = R"({"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"],
  "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "num_conv_pos_embeddings": 32,
  "num_conv_pos_embedding_groups": 8})";
constexpr std::string_view kSew = R"({"model_type": "sew", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 2, "num_conv_pos_embeddings": 32, "num_conv_pos_embedding_groups": 8, "squeeze_factor": 3})";
constexpr std::string_view kSewD = R"({"model_type": "sew-d", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 1, "num_conv_pos_embeddings": 31, "num_conv_pos_embedding_groups": 16, "squeeze_factor": 2,
  "max_position_embeddings": 256, "position_buckets": 64, "share_att_key": false, "relative_attention": true,
  "pos_att_type": ["p2c", "c2p"]})";
constexpr std::string_view kData2vec = R"({"model_type": "data2vec-audio", "hidden_size": 64,
  "num_attention_heads": 4, "num_hidden_layers": 2, "num_conv_pos_embeddings": 5, "conv_pos_kernel_size": 19,
  "num_conv_pos_embedding_groups": 16})";
constexpr std::string_view kWavlm = R"({"model_type": "wavlm", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 2, "num_conv_pos_embeddings": 128, "num_conv_pos_embedding_groups": 16, "num_buckets": 320,
  "max_bucket_distance": 800})";
constexpr std::string_view kConformer = R"({"model_type": "wav2vec2-conformer", "hidden_size": 64,
  "num_attention_heads": 4, "num_hidden_layers": 2, "num_conv_pos_embeddings": 32,
  "num_conv_pos_embedding_groups": 8, "position_embeddings_type": "relative", "rotary_embedding_base": 5000,
  "max_source_positions": 900})";
constexpr std::string_view kBert = R"({"model_type": "wav2vec2-bert", "hidden_size": 64, "num_attention_heads": 4,
  "num_hidden_layers": 2, "position_embeddings_type": "relative_key", "left_max_position_embeddings": 16,
  "right_max_position_embeddings": 3, "max_source_positions": 900, "add_adapter": true, "num_adapter_layers": 3,
  "output_hidden_size": 32})";
constexpr std::string_view kFastSpeech = R"({"model_type": "fastspeech2_conformer", "hidden_size": 64,
  "encoder_layers": 2, "encoder_num_attention_heads": 4, "decoder_layers": 3, "decoder_num_attention_heads": 2,
  "max_source_positions": 900})";
constexpr std::string_view kSpeechT5 = R"({"model_type": "speecht5", "architectures": ["SpeechT5ForSpeechToText"],
  "hidden_size": 64, "encoder_layers": 2, "encoder_attention_heads": 4, "decoder_layers": 1,
  "decoder_attention_heads": 2, "num_conv_pos_embeddings": 32, "num_conv_pos_embedding_groups": 8,
  "max_speech_positions": 400, "max_text_positions": 45, "encoder_max_relative_position": 16, "pad_token_id": 1,
  "scale_embedding": true})";
constexpr std::string_view kSeamless = R"({"model_type": "seamless_m4t", "architectures": ["SeamlessM4TModel"],
  "hidden_size": 64, "encoder_layers": 2, "encoder_attention_heads": 4, "decoder_layers": 1,
  "decoder_attention_heads": 8, "max_position_embeddings": 128, "scale_embedding": true, "pad_token_id": 0,
  "speech_encoder_layers": 3, "speech_encoder_attention_heads": 2, "position_embeddings_type": "relative",
  "rotary_embedding_base": 10000, "max_source_positions": 900, "add_adapter": true, "num_adapter_layers": 1,
  "t2u_encoder_layers": 1, "t2u_encoder_attention_heads": 4, "t2u_decoder_layers": 2,
  "t2u_decoder_attention_heads": 4, "t2u_max_position_embeddings": 256, "t2u_pad_token_id": 1})";
constexpr std::string_view kSeamlessV2 = R"({"model_type": "seamless_m4t_v2",
  "architectures": ["SeamlessM4Tv2Model"], "hidden_size": 64, "encoder_layers": 2, "encoder_attention_heads": 4,
  "decoder_layers": 1, "decoder_attention_heads": 8, "max_position_embeddings": 128, "scale_embedding": true,
  "pad_token_id": 0, "speech_encoder_layers": 3, "speech_encoder_attention_heads": 2,
  "position_embeddings_type": "relative_key", "left_max_position_embeddings": 64,
  "right_max_position_embeddings": 8, "speech_encoder_chunk_size": 200, "speech_encoder_left_chunk_num": 5,
  "add_adapter": true, "num_adapter_layers": 1, "t2u_encoder_layers": 1, "t2u_encoder_attention_heads": 4,
  "t2u_decoder_layers": 2, "t2u_decoder_attention_heads": 4, "t2u_max_position_embeddings": 256,
  "t2u_pad_token_id": 1})";
constexpr std::string_view kAll[] = {kWav2vec2, kSew,        kSewD,     kData2vec, kWavlm,     kConformer,
                                     kBert,     kFastSpeech, kSpeechT5, kSeamless, kSeamlessV2};

// ---- convolutions ----

TEST(SpeechFamilies, a_convolution_tells_positions_and_nothing_limits_them) {
  for (std::string_view type : {"wav2vec2", "hubert", "unispeech", "unispeech-sat"}) {
    SCOPED_TRACE(type);
    const std::string text = with(with(kWav2vec2, "wav2vec2", type), R"("architectures": ["Wav2Vec2ForCTC"],)", "");
    const Plan plan = plan_of(text);
    EXPECT_TRUE(plan.known);
    EXPECT_EQ(plan.family, type);
    EXPECT_EQ(plan.trained_length, std::nullopt);
    EXPECT_EQ(stack_names(plan), std::vector<std::string>{"encoder"});
    EXPECT_EQ(plan.stacks[0].input, Inputs{(ConvolutionInput{.kernel = 32, .groups = 8})});
    expect_layers(plan.stacks[0], 2, 4, 16, {});
    EXPECT_EQ(source_of(plan, "/stacks/0/input/0/kernel"), "/num_conv_pos_embeddings");
    EXPECT_TRUE(plan.warnings.empty());
  }
}

TEST(SpeechFamilies, sew_averages_frames) {
  const Plan plan = plan_of(kSew);
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{(ConvolutionInput{.kernel = 32, .groups = 8, .stride = 3})});
  expect_layers(plan.stacks[0], 2, 4, 16, {});
}

TEST(SpeechFamilies, sew_d_has_debertas_terms_besides) {
  const Plan plan = plan_of(kSewD);
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{(ConvolutionInput{.kernel = 31, .groups = 16, .stride = 2})});
  const LayerPlan layer = layer_of(plan, 0);
  EXPECT_EQ(layer.score.at(0), ScoreTerm(Deberta{.buckets = 64,
                                                 .max_distance = 256,
                                                 .content_to_position = true,
                                                 .position_to_content = true,
                                                 .position_to_position = false,
                                                 .shared_projection = false}));
  EXPECT_DOUBLE_EQ(layer.softmax_scale, 1 / std::sqrt(16.0 * 3));
  EXPECT_EQ(layer.mask.kind, MaskKind::bidirectional);
  const Plan convolved = plan_of(with(kSewD, R"("squeeze_factor")", R"("conv_kernel_size": 3, "squeeze_factor")"));
  EXPECT_FALSE(convolved.known);
  EXPECT_EQ(codes(convolved), std::vector<std::string>{"undecided"});
}

// The same key counts positions elsewhere and convolutions here.
TEST(SpeechFamilies, data2vec_stacks_its_convolutions) {
  const Plan plan = plan_of(kData2vec);
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{(ConvolutionInput{.kernel = 19, .groups = 16, .layers = 5})});
  EXPECT_EQ(source_of(plan, "/stacks/0/input/0/layers"), "/num_conv_pos_embeddings");
  EXPECT_EQ(source_of(plan, "/stacks/0/input/0/kernel"), "/conv_pos_kernel_size");
}

TEST(SpeechFamilies, wavlm_gates_its_buckets) {
  const Plan plan = plan_of(kWavlm);
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{(ConvolutionInput{.kernel = 128, .groups = 16})});
  const T5Bias bias{.buckets = 320, .max_distance = 800, .bidirectional = true, .gated = true};
  expect_layers(plan.stacks[0], 2, 4, 16, {bias});
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/score/0/max_distance"), "/max_bucket_distance");
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(SpeechFamilies, channels_come_in_equal_groups) {
  const FileError error =
      error_of(with(kWav2vec2, R"("num_conv_pos_embedding_groups": 8)", R"("num_conv_pos_embedding_groups": 7)"));
  EXPECT_EQ(error.kind, ErrorKind::not_divisible);
  EXPECT_EQ(error.path, "/num_conv_pos_embedding_groups");
  EXPECT_EQ(error_of(with(kSew, R"("squeeze_factor": 3)", R"("squeeze_factor": 0)")).kind, ErrorKind::out_of_range);
  EXPECT_EQ(error_of(with(kWav2vec2, R"("num_conv_pos_embeddings": 32)", R"("num_conv_pos_embeddings": "32")")).kind,
            ErrorKind::type);
}

// ---- conformers ----

TEST(SpeechFamilies, a_conformer_has_sines_of_distances) {
  const Plan plan = plan_of(kConformer);
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{(ConvolutionInput{.kernel = 32, .groups = 8})});
  expect_layers(plan.stacks[0], 2, 4, 16, {kSinesOfDistances});
  EXPECT_EQ(plan.trained_length, std::nullopt) << "max_source_positions is where a table begins that grows";
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/score"), "/position_embeddings_type");
}

TEST(SpeechFamilies, a_conformer_may_rotate_what_queries_and_keys_are_made_of) {
  const Plan plan = plan_of(with(kConformer, R"("relative")", R"("rotary")"));
  const LayerPlan layer = layer_of(plan, 1);
  ASSERT_EQ(layer.rotate.size(), 1U);
  const Rope rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16, .base = 5000};
  EXPECT_EQ(layer.rotate[0], (Rotate{RotateRole::before_projection, 4, rope}));
  EXPECT_TRUE(layer.score.empty());
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/rotate/0/base"), "/rotary_embedding_base");
}

TEST(SpeechFamilies, a_conformer_without_a_type_has_the_convolution_only) {
  const Plan plan = plan_of(with(kConformer, R"("relative")", "null"));
  expect_layers(plan.stacks.at(0), 2, 4, 16, {});
  EXPECT_EQ(plan.stacks[0].input.size(), 1U);
  const FileError error = error_of(with(kConformer, R"("relative")", R"("relative_key")"));
  EXPECT_EQ(error.kind, ErrorKind::out_of_range) << "the class has no such terms";
  EXPECT_EQ(error.path, "/position_embeddings_type");
}

TEST(SpeechFamilies, wav2vec2_bert_clips_distances_and_adds_nothing) {
  const Plan plan = plan_of(kBert);
  EXPECT_EQ(stack_names(plan), (std::vector<std::string>{"encoder", "adapter"}));
  EXPECT_TRUE(plan.stacks.at(0).input.empty());
  expect_layers(plan.stacks[0], 2, 4, 16, {ShawKeys{.left = 16, .right = 3}});
  expect_layers(plan.stacks.at(1), 3, 4, 8, {});
  EXPECT_EQ(plan.trained_length, std::nullopt);
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/score/0/right"), "/right_max_position_embeddings");
}

TEST(SpeechFamilies, an_adapter_may_be_missing_or_as_wide_as_the_encoder) {
  EXPECT_EQ(plan_of(with(kBert, R"("add_adapter": true)", R"("add_adapter": false)")).stacks.size(), 1U);
  const Plan wide = plan_of(with(kBert, R"("output_hidden_size": 32)", R"("output_hidden_size": null)"));
  expect_layers(stack_of(wide, "adapter"), 3, 4, 16, {});
}

TEST(SpeechFamilies, wav2vec2_bert_knows_the_conformers_types_too) {
  const Plan plan = plan_of(with(kBert, R"("relative_key")", R"("relative")"));
  expect_layers(plan.stacks.at(0), 2, 4, 16, {kSinesOfDistances});
  const Plan rotated = plan_of(with(kBert, R"("relative_key")", R"("rotary")"));
  const auto& rotate = rotated.stacks.at(0).layers.at(0).rotate;
  ASSERT_EQ(rotate.size(), 1U);
  EXPECT_EQ(rotate[0].role, RotateRole::before_projection);
  EXPECT_EQ(rope(rotate[0]).base, 10000);
  EXPECT_TRUE(stack_of(rotated, "adapter").layers.at(0).rotate.empty());
}

TEST(SpeechFamilies, fastspeech_sees_both_ways_in_its_decoder_too) {
  const Plan plan = plan_of(kFastSpeech);
  EXPECT_EQ(stack_names(plan), (std::vector<std::string>{"decoder", "encoder"}));
  expect_layers(plan.stacks.at(0), 3, 2, 32, {kSinesOfDistances});
  expect_layers(plan.stacks.at(1), 2, 4, 16, {kSinesOfDistances});
  EXPECT_TRUE(plan.stacks[0].input.empty());
}

// ---- SpeechT5 ----

// A table of 2 x 16 rows for i - j from -16 to 15.
const ShawKeys kSpeechT5Keys{.left = 15, .right = 16};
const SinusoidalInput kPaddedSines{.convention = SinusoidConvention::tensor2tensor, .offset = 2};

TEST(SpeechFamilies, speecht5_hears_by_a_convolution_and_sines) {
  const Plan plan = plan_of(kSpeechT5);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(stack_names(plan), (std::vector<std::string>{"decoder", "encoder"}));
  const Stack& encoder = stack_of(plan, "encoder");
  EXPECT_EQ(encoder.input, (Inputs{ConvolutionInput{.kernel = 32, .groups = 8}, kPaddedSines}));
  expect_layers(encoder, 2, 4, 16, {kSpeechT5Keys});
  EXPECT_EQ(source_of(plan, "/stacks/1/input/1/offset"), "/pad_token_id");
  SinusoidalInput text = kPaddedSines;
  text.embedding_multiplier = 8;
  const Stack& decoder = stack_of(plan, "decoder");
  EXPECT_EQ(decoder.input, Inputs{text});
  ASSERT_EQ(decoder.layers.size(), 2U);
  EXPECT_EQ(decoder.layers[0].mask.kind, MaskKind::causal);
  EXPECT_EQ(decoder.layers[1].kind, LayerKind::cross_attention);
  EXPECT_TRUE(decoder.layers[0].score.empty());
  EXPECT_EQ(plan.trained_length, 45);
}

TEST(SpeechFamilies, speecht5_reads_text_by_scaled_sines) {
  const auto scaled = [](std::int64_t rows) {
    return Inputs{SinusoidalInput{.convention = SinusoidConvention::paper, .positions = rows, .learned_scale = true}};
  };
  const Plan speaks = plan_of(with(kSpeechT5, "SpeechT5ForSpeechToText", "SpeechT5ForTextToSpeech"));
  EXPECT_EQ(stack_of(speaks, "encoder").input, scaled(45));
  EXPECT_EQ(stack_of(speaks, "decoder").input, scaled(400));
  const Plan converts = plan_of(with(kSpeechT5, "SpeechT5ForSpeechToText", "SpeechT5ForSpeechToSpeech"));
  EXPECT_EQ(stack_of(converts, "encoder").input.size(), 2U);
  EXPECT_EQ(stack_of(converts, "decoder").input, scaled(400));
}

TEST(SpeechFamilies, speecht5_without_a_task_does_not_say_what_comes_in) {
  const Plan plan = plan_of(with(kSpeechT5, "SpeechT5ForSpeechToText", "SpeechT5Model"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"undecided"});
  expect_layers(stack_of(plan, "encoder"), 2, 4, 16, {kSpeechT5Keys});
}

// ---- Seamless ----

TEST(SpeechFamilies, seamless_builds_text_speech_and_units) {
  const Plan plan = plan_of(kSeamless);
  EXPECT_TRUE(plan.known);
  EXPECT_TRUE(plan.warnings.empty());
  EXPECT_EQ(stack_names(plan),
            (std::vector<std::string>{"decoder", "encoder", "audio", "audio_adapter", "unit_encoder", "unit_decoder"}));
  const auto sines = [](std::int64_t offset) {
    return Inputs{
        SinusoidalInput{.convention = SinusoidConvention::tensor2tensor, .offset = offset, .embedding_multiplier = 8}};
  };
  EXPECT_EQ(stack_of(plan, "decoder").input, sines(1));
  EXPECT_EQ(stack_of(plan, "encoder").input, sines(1));
  EXPECT_EQ(stack_of(plan, "unit_decoder").input, sines(2));
  for (std::string_view name : {"audio", "audio_adapter", "unit_encoder"}) {
    EXPECT_TRUE(stack_of(plan, name).input.empty()) << name;
  }
  expect_layers(stack_of(plan, "encoder"), 2, 4, 16, {});
  expect_layers(stack_of(plan, "audio"), 3, 2, 32, {kSinesOfDistances});
  expect_layers(stack_of(plan, "audio_adapter"), 1, 2, 32, {});
  expect_layers(stack_of(plan, "unit_encoder"), 1, 4, 16, {});
  EXPECT_EQ(stack_of(plan, "unit_decoder").layers.size(), 4U);
  EXPECT_EQ(stack_of(plan, "unit_decoder").layers.at(0).mask.kind, MaskKind::causal);
  EXPECT_EQ(plan.trained_length, 128);
}

TEST(SpeechFamilies, seamless_builds_what_the_task_needs) {
  const auto names = [](std::string_view task) {
    return stack_names(plan_of(with(kSeamless, "SeamlessM4TModel", "SeamlessM4TFor" + std::string(task))));
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(names("TextToText"), (List{"decoder", "encoder"}));
  EXPECT_EQ(names("SpeechToText"), (List{"decoder", "audio", "audio_adapter"}));
  EXPECT_EQ(names("TextToSpeech"), (List{"decoder", "encoder", "unit_encoder", "unit_decoder"}));
  EXPECT_EQ(names("SpeechToSpeech"), (List{"decoder", "audio", "audio_adapter", "unit_encoder", "unit_decoder"}));
}

TEST(SpeechFamilies, seamless_v2_sees_chunks_and_makes_units_at_once) {
  const Plan plan = plan_of(kSeamlessV2);
  EXPECT_TRUE(plan.warnings.empty());
  const Stack& audio = stack_of(plan, "audio");
  expect_layers(audio, 3, 2, 32, {ShawKeys{.left = 64, .right = 8}}, MaskKind::sparse);
  EXPECT_EQ(audio.layers.at(0).mask.detail, "the own chunk of 200 and the 5 before it");
  const Stack& units = stack_of(plan, "unit_decoder");
  SinusoidalInput characters{.convention = SinusoidConvention::tensor2tensor,
                             .offset = 2,
                             .axis = "character",
                             .embedding_multiplier = 8,
                             .learned_scale = true};
  const SinusoidalInput unit{.convention = SinusoidConvention::tensor2tensor, .offset = 2, .learned_scale = true};
  EXPECT_EQ(units.input, (Inputs{characters, unit}));
  expect_layers(units, 2, 4, 16, {});
}

TEST(SpeechFamilies, seamless_v2_may_see_every_chunk) {
  const Plan whole =
      plan_of(with(kSeamlessV2, R"("speech_encoder_chunk_size": 200)", R"("speech_encoder_chunk_size": null)"));
  EXPECT_EQ(stack_of(whole, "audio").layers.at(0).mask.kind, MaskKind::bidirectional);
  const Plan past =
      plan_of(with(kSeamlessV2, R"("speech_encoder_left_chunk_num": 5)", R"("speech_encoder_left_chunk_num": -1)"));
  EXPECT_EQ(stack_of(past, "audio").layers.at(0).mask.detail, "all up to the end of the own chunk of 200");
}

// ---- all of them ----

TEST(SpeechFamilies, every_small_config_is_read_in_full) {
  for (std::string_view text : kAll) {
    const Plan plan = plan_of(text);
    EXPECT_TRUE(plan.known) << text;
    EXPECT_TRUE(plan.warnings.empty()) << text << describe(plan);
  }
}

TEST(SpeechFamilies, a_wrong_type_is_an_error_at_its_key) {
  EXPECT_EQ(
      error_of(with(kBert, R"("left_max_position_embeddings": 16)", R"("left_max_position_embeddings": -1)")).path,
      "/left_max_position_embeddings");
  EXPECT_EQ(
      error_of(with(kSpeechT5, R"("encoder_max_relative_position": 16)", R"("encoder_max_relative_position": 0)")).path,
      "/encoder_max_relative_position");
  EXPECT_EQ(error_of(with(kWavlm, R"("num_buckets": 320)", R"("num_buckets": 2)")).path, "/num_buckets");
  EXPECT_EQ(error_of(with(kSeamless, R"("speech_encoder_layers": 3)", R"("speech_encoder_layers": 100)")).kind,
            ErrorKind::out_of_range);
  const std::string rotated = with(kConformer, R"("relative")", R"("rotary")");
  EXPECT_EQ(error_of(with(rotated, "5000", R"("5000")")).path, "/rotary_embedding_base");
}

}  // namespace
}  // namespace posenc::test::speech_families_test

// Decoders of audio codes, codecs and encoders of sound that rotate, by small configs of our own; what is expected was
// taken from the classes of transformers 5.23.0.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/read/plan_reading.h"

namespace posenc::test::audio_families_test {
namespace {

const Stack& stack_of(const Plan& plan, std::string_view name) {
  static const Stack kNone;
  const auto stack = std::ranges::find(plan.stacks, name, &Stack::name);
  if (stack != plan.stacks.end()) return *stack;
  ADD_FAILURE() << "no stack " << name;
  return kNone;
}

using List = std::vector<std::string>;
using Inputs = std::vector<InputScheme>;

List stack_names(const Plan& plan) {
  List names;
  for (const Stack& stack : plan.stacks) names.push_back(stack.name);
  return names;
}

// The first rotation of the stack's last layer; one of no channels where there is none.
Rope rope_in(const Stack& stack) {
  if (!stack.layers.empty() && !stack.layers.back().rotate.empty()) return rope(stack.layers.back().rotate[0]);
  ADD_FAILURE() << stack.name << " does not rotate";
  return Rope{.pairing = Pairing::half, .head_dim = 0};
}

constexpr std::string_view kMoshi = R"({"model_type": "moshi", "architectures": ["MoshiForConditionalGeneration"],
  "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
  "max_position_embeddings": 300, "sliding_window": 100, "rope_theta": 20000,
  "depth_decoder_config": {"model_type": "moshi_depth", "hidden_size": 32, "num_attention_heads": 4,
    "num_hidden_layers": 3, "max_position_embeddings": 9, "sliding_window": 8},
  "audio_encoder_config": {"model_type": "mimi", "hidden_size": 48, "num_attention_heads": 4,
    "num_key_value_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 8000, "sliding_window": 25,
    "rope_theta": 10000}})";
constexpr std::string_view kCsm = R"({"model_type": "csm", "architectures": ["CsmForConditionalGeneration"],
  "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
  "max_position_embeddings": 2048, "rope_theta": 500000,
  "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 0.125, "high_freq_factor": 0.5,
    "original_max_position_embeddings": 1024},
  "depth_decoder_config": {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 1,
    "num_hidden_layers": 1, "max_position_embeddings": 33, "rope_theta": 500000}})";
constexpr std::string_view kBark = R"({"model_type": "bark", "architectures": ["BarkModel"],
  "semantic_config": {"hidden_size": 64, "num_heads": 4, "num_layers": 2, "block_size": 128},
  "coarse_acoustics_config": {"hidden_size": 64, "num_heads": 4, "num_layers": 1, "block_size": 256},
  "fine_acoustics_config": {"hidden_size": 32, "num_heads": 2, "num_layers": 1, "block_size": 512}})";
constexpr std::string_view kMusicgen = R"({"model_type": "musicgen",
  "architectures": ["MusicgenForConditionalGeneration"],
  "decoder": {"model_type": "musicgen_decoder", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 200, "scale_embedding": false},
  "text_encoder": {"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2,
    "relative_attention_num_buckets": 16, "relative_attention_max_distance": 64},
  "audio_encoder": {"model_type": "encodec", "num_lstm_layers": 2}})";
constexpr std::string_view kMoonshine = R"({"model_type": "moonshine",
  "architectures": ["MoonshineForConditionalGeneration"], "hidden_size": 288, "encoder_num_hidden_layers": 1,
  "encoder_num_attention_heads": 8, "encoder_num_key_value_heads": 8, "decoder_num_hidden_layers": 2,
  "decoder_num_attention_heads": 8, "decoder_num_key_value_heads": 8, "max_position_embeddings": 512,
  "partial_rotary_factor": 0.9, "rope_theta": 5000})";
constexpr std::string_view kParakeet = R"({"model_type": "parakeet_ctc", "architectures": ["ParakeetForCTC"],
  "encoder_config": {"model_type": "parakeet_encoder", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 5000}})";
constexpr std::string_view kCohereAsr = R"({"model_type": "cohere_asr",
  "architectures": ["CohereAsrForConditionalGeneration"], "hidden_size": 64, "num_attention_heads": 4,
  "num_key_value_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 100,
  "encoder_config": {"model_type": "parakeet_encoder", "hidden_size": 32, "num_attention_heads": 4,
    "num_hidden_layers": 2}})";
constexpr std::string_view kGlmAsr = R"({"model_type": "glmasr", "architectures": ["GlmAsrForConditionalGeneration"],
  "text_config": {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
    "num_key_value_heads": 4, "max_position_embeddings": 128,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000}},
  "audio_config": {"model_type": "glmasr_encoder", "hidden_size": 64, "num_attention_heads": 2,
    "num_hidden_layers": 2, "max_position_embeddings": 1500,
    "rope_parameters": {"rope_type": "default", "rope_theta": 3000, "partial_rotary_factor": 0.5}}})";
constexpr std::string_view kFlamingo = R"({"model_type": "audioflamingo3",
  "architectures": ["AudioFlamingo3ForConditionalGeneration"],
  "text_config": {"model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
    "num_hidden_layers": 1, "max_position_embeddings": 128, "rope_theta": 10000, "use_sliding_window": false},
  "audio_config": {"model_type": "audioflamingo3_encoder", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_source_positions": 1500}})";
constexpr std::string_view kAll[] = {kMoshi,    kCsm,       kBark,   kMusicgen, kMoonshine,
                                     kParakeet, kCohereAsr, kGlmAsr, kFlamingo};

TEST(AudioFamilies, moshi_rotates_and_its_depth_decoder_does_not) {
  const Plan plan = plan_of(kMoshi);
  EXPECT_EQ(stack_names(plan), (List{"decoder", "depth_decoder", "codec_encoder", "codec_decoder"}));
  const Stack& decoder = stack_of(plan, "decoder");
  EXPECT_EQ(rope_in(decoder), (Rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16, .base = 20000}));
  EXPECT_EQ(decoder.layers.at(0).mask.window, (Window{99, 0}));
  EXPECT_EQ(decoder.layers.at(0).kv_heads, 2);
  const Stack& depth = stack_of(plan, "depth_decoder");
  ASSERT_EQ(depth.layers.size(), 3U);
  EXPECT_TRUE(depth.layers[0].rotate.empty());
  EXPECT_TRUE(depth.input.empty());
  EXPECT_EQ(depth.layers[0].mask.window, (Window{7, 0}));
  for (std::string_view name : {"codec_encoder", "codec_decoder"}) {
    const Stack& codec = stack_of(plan, name);
    EXPECT_EQ(rope_in(codec).dim, 12);
    EXPECT_EQ(codec.layers.at(0).mask.kind, MaskKind::causal);
    EXPECT_EQ(codec.layers.at(0).mask.window, (Window{24, 0}));
  }
  EXPECT_EQ(source_of(plan, "/stacks/2/layers/0/heads"), "/audio_encoder_config/num_attention_heads");
  EXPECT_EQ(source_of(plan, "/stacks/3/layers/0/rotate/0/base"), "/audio_encoder_config/rope_theta");
}

TEST(AudioFamilies, csm_scales_its_backbone_and_rotates_its_depth_decoder) {
  const Plan plan = plan_of(kCsm);
  EXPECT_EQ(stack_names(plan), (List{"decoder", "depth_decoder"}));
  EXPECT_EQ(rope_in(stack_of(plan, "decoder")).scaling, Scaling(Llama3Scaling{32, 0.125, 0.5, 1024}));
  EXPECT_EQ(rope_in(stack_of(plan, "depth_decoder")),
            (Rope{.pairing = Pairing::half, .head_dim = 8, .dim = 8, .base = 500000}));
  EXPECT_EQ(plan.trained_length, 2048);
}

TEST(AudioFamilies, codecs_and_codes_by_themselves) {
  const Plan mimi = plan_of(R"({"model_type": "mimi", "architectures": ["MimiModel"], "hidden_size": 64,
    "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 8000,
    "sliding_window": 250, "rope_theta": 10000})");
  EXPECT_EQ(stack_names(mimi), (List{"encoder", "decoder"}));
  EXPECT_EQ(mimi.stacks.at(1).layers.at(1).mask.window, (Window{249, 0}));
  const Plan kyutai = plan_of(R"({"model_type": "kyutai_speech_to_text",
    "architectures": ["KyutaiSpeechToTextForConditionalGeneration"], "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 750, "sliding_window": 375, "rope_theta": 100000})");
  EXPECT_TRUE(kyutai.known);
  EXPECT_EQ(layer_of(kyutai, 1).mask.window, (Window{374, 0}));
  EXPECT_EQ(rope_of(kyutai).base, 100000);
  const Plan higgs = plan_of(R"({"model_type": "higgs_audio_v2", "hidden_size": 96, "num_attention_heads": 6,
    "num_key_value_heads": 2, "num_hidden_layers": 1, "head_dim": 32, "max_position_embeddings": 2048,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})");
  EXPECT_EQ(rope_of(higgs), (Rope{.pairing = Pairing::half, .head_dim = 32, .dim = 32, .base = 500000}));
}

TEST(AudioFamilies, bark_has_three_tables_and_its_last_model_sees_both_ways) {
  const Plan plan = plan_of(kBark);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(stack_names(plan), (List{"decoder", "coarse_acoustics", "fine_acoustics"}));
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{LearnedInput{.positions = 128}});
  EXPECT_EQ(plan.stacks.at(1).input, Inputs{LearnedInput{.positions = 256}});
  EXPECT_EQ(plan.stacks.at(2).input, Inputs{LearnedInput{.positions = 512}});
  EXPECT_EQ(plan.stacks[0].layers.at(0).mask.kind, MaskKind::causal);
  EXPECT_EQ(plan.stacks[1].layers.at(0).mask.kind, MaskKind::causal);
  EXPECT_EQ(plan.stacks[2].layers.at(0).mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(plan.trained_length, 128);
}

TEST(AudioFamilies, musicgen_has_sines_and_a_prompt_with_buckets) {
  const Plan plan = plan_of(kMusicgen);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(stack_names(plan), (List{"decoder", "text_encoder"}));
  EXPECT_EQ(plan.stacks.at(0).input, Inputs{SinusoidalInput{.convention = SinusoidConvention::musicgen}});
  EXPECT_EQ(plan.stacks[0].layers.size(), 4U) << "each block looks at the prompt too";
  const Stack& prompt = stack_of(plan, "text_encoder");
  ASSERT_EQ(prompt.layers.size(), 2U);
  EXPECT_EQ(prompt.layers[0].score.at(0), ScoreTerm(T5Bias{.buckets = 16, .max_distance = 64, .bidirectional = true}));
}

TEST(AudioFamilies, musicgen_melody_counts_the_prompt_with_the_codes) {
  const std::string text =
      with(with(with(kMusicgen, R"("musicgen")", R"("musicgen_melody")"), "MusicgenFor", "MusicgenMelodyFor"),
           "musicgen_decoder", "musicgen_melody_decoder");
  const Plan plan = plan_of(text);
  EXPECT_EQ(plan.stacks.at(0).layers.size(), 2U) << "no cross attention";
  EXPECT_EQ(plan.stacks[0].input, Inputs{SinusoidalInput{.convention = SinusoidConvention::musicgen}});
}

// 36 channels a head, of which trunc(32.4) rotate as neighbours.
TEST(AudioFamilies, moonshine_rotates_part_of_its_heads) {
  const Plan plan = plan_of(kMoonshine);
  EXPECT_EQ(stack_names(plan), (List{"decoder", "encoder"}));
  const Rope rope{.pairing = Pairing::interleaved, .head_dim = 36, .dim = 32, .base = 5000};
  const Stack& encoder = stack_of(plan, "encoder");
  ASSERT_EQ(encoder.layers.size(), 1U);
  EXPECT_EQ(rope_in(encoder), rope);
  EXPECT_EQ(encoder.layers[0].mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(encoder.layers[0].kv_heads, 8);
  const Stack& decoder = stack_of(plan, "decoder");
  ASSERT_EQ(decoder.layers.size(), 4U);
  EXPECT_EQ(posenc::rope(decoder.layers[0].rotate.at(0)), rope);
  EXPECT_EQ(decoder.layers[0].kv_heads, 8);
  EXPECT_EQ(decoder.layers[1].kind, LayerKind::cross_attention);
  EXPECT_TRUE(decoder.layers[1].rotate.empty());
  EXPECT_TRUE(plan.known);
}

// Its class builds both with the encoder's.
TEST(AudioFamilies, moonshine_with_two_numbers_of_heads_is_not_known) {
  constexpr std::string_view kEncoder = R"("encoder_num_attention_heads": 8, "encoder_num_key_value_heads": 8)";
  constexpr std::string_view kFewer = R"("encoder_num_attention_heads": 4, "encoder_num_key_value_heads": 4)";
  for (const std::string& config :
       {with(kMoonshine, R"("decoder_num_key_value_heads": 8)", R"("decoder_num_key_value_heads": 4)"),
        with(kMoonshine, kEncoder, kFewer)}) {
    const Plan plan = plan_of(config);
    EXPECT_FALSE(stack_of(plan, "decoder").known) << config;
    EXPECT_TRUE(stack_of(plan, "encoder").known) << config;
  }
}

TEST(AudioFamilies, parakeet_has_sines_of_distances) {
  const TransformerXl term{.sinusoid = SinusoidConvention::paper};
  const Plan plan = plan_of(kParakeet);
  EXPECT_EQ(stack_names(plan), List{"encoder"});
  EXPECT_EQ(layer_of(plan, 1).score, std::vector<ScoreTerm>{term});
  EXPECT_EQ(layer_of(plan, 1).mask.kind, MaskKind::bidirectional);
  EXPECT_EQ(plan.trained_length, std::nullopt);
  const Plan asr = plan_of(kCohereAsr);
  EXPECT_EQ(stack_names(asr), (List{"decoder", "encoder"}));
  EXPECT_EQ(asr.stacks.at(0).input, Inputs{LearnedInput{.positions = 100}});
  EXPECT_EQ(asr.stacks[0].layers.size(), 2U);
  EXPECT_EQ(asr.stacks.at(1).layers.at(0).score, std::vector<ScoreTerm>{term});
  EXPECT_EQ(asr.stacks[1].layers[0].head_dim, 8);
}

TEST(AudioFamilies, encoders_of_sound_beside_text) {
  const Plan glm = plan_of(kGlmAsr);
  EXPECT_EQ(stack_names(glm), (List{"decoder", "audio"}));
  EXPECT_EQ(rope_in(stack_of(glm, "audio")), (Rope{.pairing = Pairing::half, .head_dim = 32, .dim = 16, .base = 3000}));
  EXPECT_EQ(stack_of(glm, "audio").layers.at(0).mask.kind, MaskKind::bidirectional);
  const Plan flamingo = plan_of(kFlamingo);
  EXPECT_EQ(stack_names(flamingo), (List{"decoder", "audio"}));
  EXPECT_EQ(stack_of(flamingo, "audio").input, Inputs{LearnedInput{.positions = 1500}});
}

TEST(AudioFamilies, lasr_rotates_both_ways) {
  const Plan plan = plan_of(R"({"model_type": "lasr_ctc", "architectures": ["LasrForCTC"], "encoder_config":
    {"model_type": "lasr_encoder", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
     "max_position_embeddings": 10000, "rope_parameters": {"rope_type": "default", "rope_theta": 10000}}})");
  EXPECT_EQ(rope_of(plan), (Rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16, .base = 10000}));
  EXPECT_EQ(layer_of(plan, 0).mask.kind, MaskKind::bidirectional);
}

TEST(AudioFamilies, pop2piano_is_t5) {
  const Plan plan = plan_of(R"({"model_type": "pop2piano", "d_model": 64, "d_kv": 16, "num_heads": 4,
    "num_layers": 2, "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128})");
  EXPECT_EQ(stack_names(plan), (List{"decoder", "encoder"}));
  EXPECT_EQ(plan.stacks[0].layers.at(0).softmax_scale, 1);
  EXPECT_EQ(plan.stacks[1].layers.at(0).score.at(0),
            ScoreTerm(T5Bias{.buckets = 32, .max_distance = 128, .bidirectional = true}));
}

TEST(AudioFamilies, every_small_config_is_read_in_full) {
  for (std::string_view text : kAll) {
    const Plan plan = plan_of(text);
    EXPECT_TRUE(plan.known) << text;
    EXPECT_TRUE(plan.warnings.empty()) << text << describe(plan);
  }
}

// All stacks of a file together stay within the limit, also those that another type describes.
TEST(AudioFamilies, layers_of_all_stacks_are_counted_together) {
  const std::string many = with(kMoshi, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 700)");
  EXPECT_TRUE(read(many).ok());
  const FileError error = error_of(with(many, R"("num_hidden_layers": 3)", R"("num_hidden_layers": 200)"));
  EXPECT_EQ(error.kind, ErrorKind::out_of_range);
  EXPECT_EQ(error.path, "/depth_decoder_config/num_hidden_layers");
}

TEST(AudioFamilies, a_wrong_type_is_an_error_at_its_key) {
  EXPECT_EQ(error_of(with(kBark, R"("block_size": 256)", R"("block_size": "256")")).path,
            "/coarse_acoustics_config/block_size");
  EXPECT_EQ(error_of(with(kMusicgen, R"("num_layers": 2)", R"("num_layers": -1)")).path, "/text_encoder/num_layers");
  EXPECT_EQ(
      error_of(with(kMoonshine, R"("decoder_num_key_value_heads": 8)", R"("decoder_num_key_value_heads": 3)")).path,
      "/decoder_num_key_value_heads");
}

}  // namespace
}  // namespace posenc::test::audio_families_test

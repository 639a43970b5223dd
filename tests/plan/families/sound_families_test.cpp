// Encoders and decoders of sound and of series of numbers, each by a small config of our own and the facts that follow
// from its class in transformers 5.23.0.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::sound_families_test {
namespace {

constexpr std::string_view kRotating = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "head_dim": 64, "num_hidden_layers": 1, "max_position_embeddings": 4096, "rope_theta": 20000)";
constexpr std::string_view kPlain = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 128)";
constexpr std::string_view kGranite = R"("hidden_dim": 64, "num_heads": 4, "num_layers": 2, "dim_head": 16,
  "context_size": 20, "max_pos_emb": 32)";
constexpr std::string_view kWhisperLike = R"("d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 4,
  "max_source_positions": 100)";
constexpr std::string_view kSeries = R"("d_model": 64, "encoder_layers": 1, "decoder_layers": 1,
  "encoder_attention_heads": 4, "decoder_attention_heads": 2, "prediction_length": 8)";

struct Sound {
  std::string_view type;
  std::string_view sizes;
  std::string_view own;  // keys beside the sizes, each with a comma before it
  std::string_view expected;
};
void PrintTo(const Sound& sound, std::ostream* out) { *out << sound.type << sound.own; }

std::string config(const Sound& sound) {
  std::string text = "{\"model_type\": \"";
  text.append(sound.type).append("\", ").append(sound.sizes).append(sound.own).append("}");
  return text;
}

constexpr Sound kSounds[] = {
    {"pocket_tts", kRotating, "", "decoder: 0 4/2x64 half 64 @20000 s0.125 causal"},
    {"gradium_phonon_tts", kRotating, "", "decoder: 0 4/2x64 half 64 @20000 s0.125 causal"},
    {"voxtral_realtime_text", kRotating, R"(, "sliding_window": 32)",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"voxtral_realtime_encoder", kRotating,
     R"(, "sliding_window": 32)",  // num_key_value_heads is its heads' other name
     "audio: 0 2/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"mimi_encoder", kRotating, R"(, "sliding_window": 32)", "encoder: 0 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"pocket_tts_audio_tokenizer_decoder", kRotating, R"(, "sliding_window": 32)",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"dia_encoder", kRotating, "", "encoder: 0 4/2x64 half 64 @20000 s1 both"},
    {"dia_decoder", kRotating,
     R"(, "cross_num_attention_heads": 6, "cross_num_key_value_heads": 3, "cross_head_dim": 32)",
     "decoder: 0 4/2x64 half 64 @20000 s1 causal; 1 cross 6/3x32 s1 both"},
    {"canary_decoder", kPlain, R"(, "head_dim": 16, "num_key_value_heads": 4)",
     "decoder: sines+0 x8; 0 4/4x16 s0.25 causal; 1 cross 4/4x16 s0.25 both; 2 4/4x16 s0.25 causal; "
     "3 cross 4/4x16 s0.25 both"},
    {"clvp_encoder", kPlain, R"(, "projection_dim": 64, "use_rotary_embedding": false)",
     "encoder: 0-1 4/4x16 s0.25 both"},
    {"clvp_decoder", kPlain, "", "decoder: table 128+0; 0-1 4/4x16 s0.25 causal"},
    {"clap_text_model", kPlain, R"(, "type_vocab_size": 3, "pad_token_id": 1)",
     "encoder: table 128+2 types3; 0-1 4/4x16 s0.25 both"},
    {"dots3_note_audio_encoder", kRotating, R"(, "partial_rotary_factor": 0.5)",
     "audio: 0 4/4x64 half 32 @20000 s0.125 both"},
    {"nemotron3_diarization_audio", kRotating, R"(, "partial_rotary_factor": 0.5)",
     "audio: 0 4/2x64 half 32 @20000 s0.125 both"},
    {"nemotron3_5_transcribe_asr_audio", kRotating, R"(, "partial_rotary_factor": 0.5)",
     "audio: 0 4/2x64 half 32 @20000 s0.125 layer both"},
    {"pe_audio_encoder", kRotating, "", "audio: 0 4/2x64 interleaved 64 @20000 s0.125 rms both"},
    {"granite_speech_encoder", kGranite, "", "audio: 0-1 4/4x16 shaw 32,32 s0.25 both c20"},
    {"granite_speech5_encoder", kPlain, R"(, "num_key_value_heads": 4, "head_dim": 16, "context_size": 20)",
     "audio: 0-1 4/4x16 shaw 128,128 s0.25 both c20"},
    {"phi4_multimodal_audio", R"("hidden_size": 64, "num_attention_heads": 4, "num_blocks": 2)",
     R"(, "bias_max_distance": 10)", "audio: 0-1 4/4x16 clipped 10,9 s0.25 both c500"},
    {"qwen2_5_omni_audio_encoder", kWhisperLike, R"(, "n_window": 10)", "audio: sines+0; 0-1 4/4x16 s0.25 both c10"},
    // 20 frames are 3 after three halvings; 85 / 20 pieces of that.
    {"qwen3_omni_moe_audio_encoder", kWhisperLike, R"(, "n_window": 10, "n_window_infer": 85)",
     "audio: sines+0; 0-1 4/4x16 s0.25 both c12"},
    {"moonshine_streaming_encoder", kPlain, R"(, "num_key_value_heads": 4, "sliding_windows": [[16, 4], [9, 0]])",
     "encoder: 0 4/4x16 s0.25 both w15,3; 1 4/4x16 s0.25 both w8,0"},
    {"nemotron_asr_streaming_encoder", kPlain, R"(, "sliding_window": 17, "default_num_lookahead_tokens": 4)",
     "encoder: 0-1 4/4x16 another score s0.25 sparse"},
    {"audio-spectrogram-transformer",
     R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "num_mel_bins": 32, "max_length": 64)",
     R"(, "patch_size": 16, "frequency_stride": 10, "time_stride": 12)", "audio: table 12+0; 0-1 4/4x16 s0.25 both"},
    {"fun_asr_nano_encoder", kPlain, "", "audio: sines+1 x8; 0-1 4/4x16 s0.25 both"},
    {"xcodec2", kRotating, "", "decoder: 0 4/2x64 half 64 @20000 s0.125 both"},
    {"time_series_transformer", kSeries, "",
     "decoder: sines+8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
     "encoder: sines+0; 0 4/4x16 s0.25 both"},
    {"time_series_transformer", kSeries, R"(, "context_length": 24)",
     "decoder: sines+24; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
     "encoder: sines+0; 0 4/4x16 s0.25 both"},
    // A row for each step; heads of 64 / 2 channels.
    {"decision_transformer", R"("hidden_size": 64, "n_head": 2, "n_layer": 2, "n_positions": 128)",
     R"(, "max_ep_len": 50)", "decoder: table 50+0; 0-1 2/2x32 s0.176777 causal"},
    {"patchtst", R"("d_model": 64, "num_attention_heads": 4, "num_hidden_layers": 2)",
     R"(, "context_length": 32, "patch_length": 8, "patch_stride": 4, "use_cls_token": true)",
     "encoder: table 8+0; 0-1 4/4x16 s0.25 both"},
    // 1 / (ln 2 sqrt(16))
    {"timesfm", R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "head_dim": 16)", "",
     "decoder: 0-1 4/4x16 s0.360674 causal"},
    {"timesfm2_5", kRotating, "", "decoder: 0 4/2x64 half 64 @20000 s0.180337 rms-after causal"},
};

class SoundFamilies : public testing::TestWithParam<Sound> {};

TEST_P(SoundFamilies, is_what_its_class_says) {
  const Plan plan = plan_of(config(GetParam()));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.model_type, GetParam().type);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Sounds, SoundFamilies, testing::ValuesIn(kSounds));

TEST(SoundFamilies, clvp_leaves_values_rotated) {
  const Plan plan = plan_of(R"({"model_type": "clvp_encoder", "hidden_size": 256, "num_attention_heads": 4,
    "num_hidden_layers": 1, "projection_dim": 320})");
  ASSERT_EQ(plan.stacks.size(), 1U);
  const LayerPlan& layer = plan.stacks[0].layers.at(0);
  EXPECT_EQ(rope(layer.rotate.at(0)).dim, 40);
  const auto* const values = std::get_if<RotatedValues>(&layer.value);
  ASSERT_NE(values, nullptr);
  EXPECT_FALSE(values->inverse_on_output);
}

TEST(SoundFamilies, a_learned_factor_for_each_channel_is_told) {
  const Plan plan = plan_of(R"({"model_type": "timesfm", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16,
    "num_hidden_layers": 1})");
  EXPECT_TRUE(plan.stacks.at(0).layers.at(0).channel_scale);
}

TEST(SoundFamilies, the_window_of_a_cache_is_told) {
  const Plan plan = plan_of(R"({"model_type": "kyutai_speech_to_text", "hidden_size": 256, "num_attention_heads": 4,
    "num_hidden_layers": 1, "sliding_window": 32})");
  const Mask& mask = plan.stacks.at(0).layers.at(0).mask;
  EXPECT_EQ(mask.window, (Window{31, 0}));
  EXPECT_NE(mask.detail.find("cache"), std::string::npos);
}

TEST(SoundFamilies, chunks_of_frames_ahead) {
  const Plan plan = plan_of(R"({"model_type": "nemotron_asr_streaming_encoder", "hidden_size": 64,
    "num_attention_heads": 4, "num_hidden_layers": 1, "sliding_window": 17, "default_num_lookahead_tokens": 4})");
  EXPECT_EQ(plan.stacks.at(0).layers.at(0).mask.detail, "the own chunk of 5 and the 3 before it");
}

TEST(SoundFamilies, sizes_that_make_no_block_are_refused) {
  EXPECT_EQ(error_of(config({"qwen3_asr_encoder", kWhisperLike, R"(, "n_window": 10, "n_window_infer": 19)", {}})).path,
            "/n_window_infer");
  EXPECT_EQ(error_of(config({"moonshine_streaming_encoder",
                             kPlain,
                             R"(, "num_key_value_heads": 4, "sliding_windows": [[16, 4], [9]])",
                             {}}))
                .path,
            "/sliding_windows/1");
  EXPECT_EQ(
      error_of(
          config({"dia_decoder", kRotating, R"(, "cross_num_attention_heads": 6, "cross_num_key_value_heads": 4)", {}}))
          .path,
      "/cross_num_key_value_heads");
}

TEST(SoundFamilies, what_a_plan_cannot_hold_is_named) {
  for (const std::string_view type : {"vits", "autoformer"}) {
    const Plan plan = plan_of(config({type, kPlain, R"(, "prediction_length": 8)", {}}));
    EXPECT_FALSE(plan.known) << type;
    EXPECT_NE(codes(plan), std::vector<std::string>{"unknown-family"}) << type;
  }
}

// ---- several stacks ----

TEST(SoundWrappers, a_decoder_and_an_encoder_of_any_types) {
  const Plan plan = plan_of(R"({"model_type": "encoder-decoder",
    "encoder": {"model_type": "bert", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                "max_position_embeddings": 128},
    "decoder": {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 1, "n_positions": 128,
                "add_cross_attention": true}})");
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 2U);
  EXPECT_EQ(plan.stacks[0].name, "decoder");
  EXPECT_EQ(plan.stacks[1].name, "encoder");
  EXPECT_EQ(plan.stacks[1].layers.at(0).mask.kind, MaskKind::bidirectional);
}

TEST(SoundWrappers, objects_within_objects) {
  const Plan plan = plan_of(R"({"model_type": "nemotron3_5_transcribe_audio",
    "asr_config": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 128,
                   "rope_theta": 20000, "partial_rotary_factor": 0.5},
    "diarization_config": {"audio_config": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
      "max_position_embeddings": 128, "rope_theta": 20000, "partial_rotary_factor": 1}}})");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan),
            "audio: 0-1 4/4x16 half 8 @20000 s0.25 layer both | audio_diarization: 0 4/4x16 half 16 @20000 s0.25 both");
}

}  // namespace
}  // namespace posenc::test::sound_families_test

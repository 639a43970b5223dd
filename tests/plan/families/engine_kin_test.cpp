// More families that engines name and transformers 5.23.0 has no class of (tests/facts/engine_families.tsv): small
// configs, with the facts that follow from the code which the table names. The facts were written down before the
// reader saw the config. engine_families_test.cpp has the list and plain decoders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::engine_kin_test {
namespace {

struct Row {
  std::string_view architecture;
  std::string_view type;
  std::string_view members;
  std::string_view expected;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.architecture << ' ' << row.type; }

Plan plan_of_row(const Row& row) {
  std::string text = "{";
  if (!row.architecture.empty()) text.append("\"architectures\": [\"").append(row.architecture).append("\"], ");
  if (!row.type.empty()) text.append("\"model_type\": \"").append(row.type).append("\", ");
  return plan_of(text.append(row.members).append("}"));
}

constexpr Row kRows[] = {
    // ---- decoders ----
    {"AliceAIForCausalLM", "", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000,
      "partial_rotary_factor": 0.5, "layer_types": ["linear_attention", "full_attention"])",
     "decoder: 0 linear; 1 4/2x64 half 32 @20000 s0.125 rms causal"},
    // Heads of layers with a window are 8 over the same width: 32 channels.
    {"", "baichuan_m1", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 3, "rope_theta": 20000, "num_swa_attention_heads": 8, "num_swa_key_value_heads": 4,
      "sliding_window": 32, "sliding_window_layers": [1], "conv_window": 2)",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 causal; 1 8/4x32 half 32 @20000 s0.176777 causal w31,0; "
     "2 4/2x64 half 64 @20000 s0.125 causal"},
    {"DomynEdgeForCausalLM", "", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64,
      "position_layers": ["rope", "nope"], "window_sizes": [[31, 0], [-1, -1]],
      "per_layer_config": {"0": {"head_dim": 64}, "1": {"head_dim": 16}})",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 rms causal w31,0; 1 4/2x16 s0.25 rms causal"},
    {"DoryForCausalLM", "dory", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 3, "max_position_embeddings": 4096, "head_dim": 64, "sliding_window": 32,
      "layer_types": ["sliding_attention", "mlp", "full_attention"],
      "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000},
                          "full_attention": {"rope_type": "default", "rope_theta": 20000}})",
     "decoder: 0 4/2x64 half 64 @10000 s0.125 l2-after causal w31,0; 1 none; "
     "2 4/2x64 half 64 @20000 s0.125 l2-after causal"},
    {"GigaChat35ForCausalLM", "gigachat3_5", R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16,
      "v_head_dim": 32, "kv_lora_rank": 64, "use_mla_scaling_factor": true, "full_attention_layers": [1])",
     "decoder: 0 linear; 1 4/4x64:32 interleaved 48+16 @20000 s0.125 causal"},
    // So many tokens before a token's own.
    {"JetNemotronForCausalLM", "jet_nemotron", R"("hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "num_hidden_layers": 3, "max_position_embeddings": 4096, "rope_theta": 20000,
      "layer_types": ["jet", "swa", "attn"], "efficient_attention_config": {"swa": {"window_size": 32}})",
     "decoder: 0 linear; 1 4/2x64 half 64 @20000 s0.125 causal w32,0; 2 4/2x64 half 64 @20000 s0.125 causal"},
    {"JinaEmbeddingsV5Model", "", R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000)",
     "decoder: 0-1 4/4x64 half 64 @20000 s0.125 rms causal"},
    {"JinaEmbeddingsV5Model", "", R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000, "is_decoder": false)",
     "decoder: 0-1 4/4x64 half 64 @20000 s0.125 both"},
    {"MoonshotKimiaForCausalLM", "kimi_audio", R"("hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 20000,
      "kimia_mimo_layers": 2)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.125 causal | audio_decoder: 0-1 4/2x64 half 64 @20000 s0.125 causal | "
     "audio: table 1500+0; 0-31 20/20x64 s0.125 both"},
    {"NemotronHPuzzleForCausalLM", "nemotron_h_puzzle", R"("hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 64, "layers_block_type": ["mamba", "moe", "attention"],
      "max_position_embeddings": 4096, "block_configs": [{"block_type": "mamba"},
      {"block_type": "moe", "n_routed_experts": 8}, {"block_type": "attention"}])",
     "decoder: 0 state; 1 none; 2 4/2x64 s0.125 causal"},
    {"Phi4FlashForCausalLM", "phi4flash", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 8, "max_position_embeddings": 4096, "mb_per_layer": 2, "sliding_window": 32)",
     "decoder: 0 state; 1 4/2x64 s0.125 causal w31,0; 2 state; 3 4/2x64 s0.125 causal w31,0; 4 state; "
     "5 4/2x64 s0.125 causal; 6 none; 7 4/2x64 kv5 s0.125 causal"},
    {"Phi4FlashForCausalLM", "phi4flash", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 4, "max_position_embeddings": 4096, "mb_per_layer": 2,
      "sliding_window": [null, 32, null, null])",
     "decoder: 0 state; 1 4/2x64 s0.125 causal w31,0; 2 state; 3 4/2x64 s0.125 causal"},
    {"Plamo2ForCausalLM", "plamo2", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 4, "max_position_embeddings": 4096, "hidden_size_per_head": 32, "mamba_step": 2,
      "attention_window_size": 32, "full_attention_idx": [3])",
     "decoder: 0 state; 1 4/2x32 half 32 @10000 s0.176777 rms causal w32,0; 2 state; "
     "3 4/2x32 half 32 @10000 s0.176777 rms causal"},
    {"Rnj1ForCausalLM", "", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "head_dim": 64, "query_pre_attn_scalar": 256,
      "sliding_window": 32, "layer_types": ["chunked_attention", "full_attention"],
      "rope_parameters": {"chunked_attention": {"rope_theta": 10000}, "full_attention": {"rope_theta": 20000}})",
     "decoder: 0 4/2x64 half 64 @10000 s0.0625 rms sparse; 1 4/2x64 half 64 @20000 s0.0625 rms causal"},
    {"Spark2_5ForCausalLM", "spark2_5", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 4, "max_position_embeddings": 4096, "head_dim": 64, "sliding_window": 32)",
     "decoder: 0-2 4/2x64 half 64 @10000 s0.125 causal w31,0; 3 4/2x64 half 16 @5e+06 s0.125 causal"},
    {"TalkieForCausalLM", "talkie", R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000)",
     "decoder: 0-1 4/4x64 half 64 @20000 s0.125 rms-after causal"},
    {"VLlama3ForCausalLM", "llama", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000)",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 causal"},

    // ---- with a tower ----
    {"BailingMMNativeForConditionalGeneration", "bailingmm_moe_v2_lite", R"("llm_config": {"hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000},
      "vision_config": {"architectures": ["Qwen3_VisionTransformer"], "hidden_size": 64, "num_heads": 4, "depth": 2,
      "num_position_embeddings": 16, "patch_size": 14})",
     "decoder: 0-1 4/4x64 half 64 @20000 s0.125 causal | vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"BailingMoeV3VLForConditionalGeneration", "bailing_moe_v3_vl", R"("text_config": {"hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000,
      "layer_group_size": 2, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 32},
      "vision_config": {"hidden_size": 64, "num_heads": 4, "depth": 2, "num_position_embeddings": 16,
      "patch_size": 14}, "mrope_section": [12, 10, 10])",
     "decoder: 0 linear; 1 4/4x256:32 interleaved 192+64 @20000 thw s0.0625 causal | "
     "vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"InternS2MobiusForConditionalGeneration", "interns2_mobius", R"("text_config": {"hidden_size": 256,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "layer_types": ["linear_attention", "full_attention"],
      "rope_parameters": {"rope_theta": 20000, "partial_rotary_factor": 0.25, "mrope_section": [3, 3, 2]}},
      "vision_config": {"hidden_size": 64, "num_heads": 4, "depth": 2, "num_position_embeddings": 16,
      "patch_size": 14})",
     "decoder: 0 linear; 1 4/2x64 half 16 @20000 thw s0.125 rms causal | "
     "vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"IsaacForConditionalGeneration", "isaac", R"("text_config": {"model_type": "qwen3", "hidden_size": 256,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000}, "vision_config": {"hidden_size": 64,
      "num_attention_heads": 4, "num_hidden_layers": 2, "patch_size": 16, "num_patches": 256})",
     "decoder: 0-1 4/2x64 half 64 @20000 thw s0.125 rms causal | vision: table 256+0; 0-1 4/4x16 s0.25 both"},
    {"KananaVForConditionalGeneration", "", R"("text_config": {"model_type": "llama", "hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000},
      "vision_config": {"model_type": "qwen2_vl", "embed_dim": 64, "num_heads": 4, "depth": 2, "patch_size": 14},
      "projector_config": {"pos_emb": true, "pos_emb_size": 576, "depth": 3})",
     "decoder: 0-1 4/4x64 half 64 @20000 s0.125 causal | vision: 0-1 4/4x16 half 16 @10000 hw s0.25 both | "
     "abstractor: table 576+0; 0-5 convolution"},
    // Heads of 96 / 3 channels, though the stack has 64.
    {"KimiK3ForConditionalGeneration", "kimi_k3", R"("text_config": {"model_type": "kimi_linear", "hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "qk_nope_head_dim": 48,
      "qk_rope_head_dim": 16, "v_head_dim": 32, "kv_lora_rank": 64,
      "linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1]}},
      "vision_config": {"vt_hidden_size": 64, "qkv_hidden_size": 96, "vt_num_attention_heads": 3,
      "vt_num_hidden_layers": 2, "init_pos_emb_height": 8, "init_pos_emb_width": 8, "init_pos_emb_time": 4})",
     "decoder: 0 linear; 1 4/4x64:32 s0.125 causal | "
     "vision: table 64+0; sines+0; 0-1 3/3x32 interleaved 32 @10000 wh s0.176777 both"},
    {"Llama_Nemotron_Nano_VL", "Llama_Nemotron_Nano_VL", R"("llm_config": {"model_type": "llama", "hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000},
      "vision_config": {"args": {"model": "vit_huge_patch16_224", "cpe_max_size": 2048}, "patch_size": 16})",
     "decoder: 0-1 4/4x64 half 64 @20000 s0.125 causal | vision: table 16384+0; 0-31 16/16x80 s0.111803 "
     "both"},
    {"MolmoForCausalLM", "molmo", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "attention_layer_norm": true)",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms-all causal | vision: table 577+0; 0-22 16/16x64 s0.125 both | "
     "adapter: 0 cross 16/16x64 s0.125 both"},
    {"MossVLForConditionalGeneration", "", R"("text_config": {"hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 4096,
      "rope_theta": 20000, "cross_attention_layers": [1],
      "rope_scaling": {"rope_type": "default", "mrope_interleaved": true, "mrope_section": [12, 10, 10]}},
      "vision_config": {"hidden_size": 64, "num_heads": 4, "depth": 2, "num_position_embeddings": 16})",
     "decoder: 0 4/2x64 half 64 @20000 thw s0.125 rms causal; 1 cross 4/2x64 half 64 @20000 thw s0.125 rms both | "
     "vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"NemotronParseForConditionalGeneration", "", R"("encoder": {"args": {"model": "vit_so400m_patch16_224",
      "cpe_max_size": 1024}}, "decoder": {"d_model": 256, "decoder_layers": 2, "decoder_attention_heads": 4})",
     "decoder: 0 4/4x64 s0.125 causal; 1 cross 4/4x64 s0.125 both; 2 4/4x64 s0.125 causal; "
     "3 cross 4/4x64 s0.125 both | vision: table 4096+0; 0-26 16/16x72 s0.117851 both"},
    {"RadioMBartPrefixForCausalLM", "", R"("encoder": {"args": {"model": "vit_huge_patch16_224"}}, "decoder":
      {"d_model": 256, "decoder_layers": 2, "decoder_attention_heads": 4, "add_cross_attention": false})",
     "decoder: 0-1 4/4x64 s0.125 causal | vision: table 16384+0; 0-31 16/16x80 s0.111803 both"},
    {"OpenPanguVLForConditionalGeneration", "", R"("text_config": {"hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000,
      "rope_scaling": {"type": "default", "mrope_interleaved": true, "mrope_section": [12, 10, 10]}},
      "vision_config": {"hidden_size": 64, "num_heads": 4, "depth": 2, "patch_size": 14, "spatial_merge_size": 2,
      "window_size": 112, "fullatt_block_indexes": [1]})",
     "decoder: 0-1 4/2x64 half 64 @20000 thw s0.125 causal | vision: 0 4/4x16 half 16 @10000 hw s0.25 sparse; "
     "1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"OpenVLAForActionPrediction", "openvla", R"("text_config": {"model_type": "llama", "hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 2048, "rope_theta": 10000},
      "vision_backbone_id": "dinosiglip-vit-so-224px")",
     "decoder: 0-1 4/4x64 half 64 @10000 s0.125 causal | vision: table 256+0; 0-23 16/16x64 s0.125 both | "
     "vision_siglip: table 256+0; 0-26 16/16x72 s0.117851 both"},
    {"Phi4MMForCausalLM", "phi4mm", R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "partial_rotary_factor": 0.75,
      "embd_layer": {"image_embd_layer": {"crop_size": 448}}, "audio_processor": {"config": {"attention_dim": 64,
      "attention_heads": 4, "num_blocks": 2, "chunk_size": -1,
      "relative_attention_bias_args": {"t5_bias_max_distance": 500}}})",
     "decoder: 0-1 4/2x64 half 48 @20000 s0.125 causal | vision: table 1024+0; 0-26 16/16x72 s0.117851 both "
     "| "
     "audio: 0-1 4/4x16 clipped 500,499 s0.25 both c500"},
    {"StepVLForConditionalGeneration", "", R"("text_config": {"model_type": "qwen3", "hidden_size": 256,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000}, "vision_config": {"width": 64, "layers": 2, "heads": 4,
      "image_size": 56, "patch_size": 14, "use_cls_token": false})",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms causal | "
     "vision: table 16+0; 0-1 4/4x16 interleaved 16 @10000 wh s0.25 both"},
    {"YoutuVLForConditionalGeneration", "youtu_vl", R"("hidden_size": 256, "num_attention_heads": 4,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "qk_nope_head_dim": 48,
      "qk_rope_head_dim": 16, "v_head_dim": 32, "kv_lora_rank": 64, "vision_config": {"hidden_size": 64,
      "num_attention_heads": 4, "num_hidden_layers": 2, "patch_size": 16, "spatial_merge_size": 2,
      "window_size": 64, "fullatt_block_indexes": [1]})",
     "decoder: 0-1 4/4x64:32 interleaved 48+16 @20000 s0.125 causal | "
     "vision: 0 4/4x16 half 16 @10000 hw s0.25 sparse; 1 4/4x16 half 16 @10000 hw s0.25 both"},

    // ---- with sound ----
    {"FireRedASR2ForConditionalGeneration", "qwen2", R"("hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000,
      "audio_encoder_conf": {"idim": 80, "n_layers_enc": 2, "n_head": 4, "d_model": 64})",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 causal | audio: 0-1 4/4x16 another score s0.25 both"},
    {"FireRedLIDForConditionalGeneration", "", R"("n_layers_enc": 2, "n_layers_lid_dec": 1, "n_head": 4,
      "d_model": 64, "pe_maxlen": 5000)",
     "decoder: sines+0 x8; 0 4/4x16 s0.25 causal; 1 cross 4/4x16 s0.25 both | "
     "encoder: 0-1 4/4x16 another score s0.25 both"},
    {"FunASRForConditionalGeneration", "qwen3", R"("hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 4096,
      "rope_theta": 20000, "audio_encoder_conf": {"output_size": 64, "attention_heads": 4, "num_blocks": 3,
      "tp_blocks": 2})",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms causal | audio_encoder: sines+1 x8; 0-2 4/4x16 s0.25 both | "
     "audio_second: 0-1 4/4x16 s0.25 both | audio_adapter: 0-1 8/8x128 s0.0883883 both"},
    {"FunAudioChatForConditionalGeneration", "funaudiochat", R"("text_config": {"model_type": "qwen3",
      "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2,
      "max_position_embeddings": 4096, "rope_theta": 20000}, "audio_config": {"d_model": 64, "encoder_layers": 2,
      "encoder_attention_heads": 4, "max_source_positions": 1500, "n_window": 100})",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms causal | audio: sines+0; 0-1 4/4x16 s0.25 both c100"},
    {"MiDashengLMModel", "midashenglm", R"("text_config": {"hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000,
      "rope_scaling": {"rope_type": "default", "mrope_section": [12, 10, 10]}}, "audio_encoder_config":
      {"embed_dim": 64, "depth": 2, "num_heads": 4, "n_mels": 64, "patch_stride": [64, 4], "target_length": 1008})",
     "decoder: 0-1 4/2x64 half 64 @20000 thw s0.125 causal | audio: table 252+0; 0-1 4/4x16 s0.25 both c252"},
    // 400 frames become 50.
    {"MossAudioModel", "", R"("language_config": {"hidden_size": 256, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 4096,
      "rope_theta": 20000}, "audio_config": {"d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 4,
      "n_window": 200})",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms causal | audio: sines+0; 0-1 4/4x16 s0.25 both c50"},
};

class EngineKin : public testing::TestWithParam<Row> {};

TEST_P(EngineKin, is_what_the_code_says) {
  const Row& row = GetParam();
  const Plan plan = plan_of_row(row);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), row.expected);
}

INSTANTIATE_TEST_SUITE_P(Families, EngineKin, testing::ValuesIn(kRows));

// ---- frequencies and axes ----

// K2 Horizon: pairs p of the whole head's halves, of which the first 16 have the frequencies of a head of 32 channels.
TEST(EngineKin, a_narrower_head_s_frequencies_stand_on_the_first_pairs) {
  for (const std::string_view type : {"k2_horizon", "xllm"}) {
    const Plan plan = plan_of(R"({"model_type": ")" + std::string(type) +
                              R"(", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64,
      "rope_head_dim": 32, "query_key_norm": true})");
    EXPECT_TRUE(plan.known);
    const Rope& rope = rope_of(plan);
    EXPECT_EQ(rope.dim, 64);
    EXPECT_EQ(rope.pairing, Pairing::half);
    const Frequencies found = frequencies(rope, 4096);
    ASSERT_EQ(found.inv_freq.size(), 32U);
    for (std::size_t p = 0; p < 32; ++p) {
      const double expected = p < 16 ? std::pow(20000.0, -2.0 * static_cast<double>(p) / 32) : 0.0;
      // Two powers, each within an ulp or so of a number of which the logarithm is at most 20.
      EXPECT_NEAR(found.inv_freq[p], expected, 1e-14 * std::max(expected, 1e-300)) << p;
    }
  }
}

TEST(EngineKin, a_narrower_head_and_yarn_leave_the_plan_open) {
  EXPECT_FALSE(plan_of(R"({"model_type": "k2_horizon", "hidden_size": 256, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 8192, "head_dim": 64, "rope_head_dim": 32,
    "rope_parameters": {"rope_type": "yarn", "rope_theta": 20000, "factor": 2.0,
                        "original_max_position_embeddings": 4096}})")
                   .known);
}

std::vector<std::int32_t> axes_of(std::string_view text) { return rope_of(plan_of(text)).axes.of_pair; }

TEST(EngineKin, isaac_gives_half_of_the_pairs_to_time) {
  const auto isaac = [](std::string_view own) {
    return axes_of(R"({"model_type": "isaac", "text_config": {"hidden_size": 64, "num_attention_heads": 4,
      "num_hidden_layers": 1, "max_position_embeddings": 4096, "rope_theta": 20000)" +
                   std::string(own) + "}}");
  };
  EXPECT_EQ(isaac(""), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(isaac(R"(, "rope_scaling": {"rope_type": "default", "mrope_interleaved": true})"),
            (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 0}));
}

// Ling 3: h and w take turns, then comes t.
TEST(EngineKin, ling_s_time_has_the_last_pairs) {
  EXPECT_EQ(axes_of(R"({"model_type": "bailing_moe_v3_vl", "text_config": {"hidden_size": 256,
      "num_attention_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 4096, "layer_group_size": 1,
      "qk_nope_head_dim": 48, "qk_rope_head_dim": 16, "v_head_dim": 32}, "mrope_section": [2, 3, 3]})"),
            (std::vector<std::int32_t>{1, 2, 1, 2, 1, 2, 0, 0}));
}

// openPangu VL: 3 of t (the last of which is kept for the end), 3 of h, 2 of w. Served least, ties to the first:
// t h w, then of t (1/2), h (1/3), w (1/2): h; t and w are as much served: t; h; w; t.
TEST(EngineKin, pangu_serves_the_axis_that_had_least) {
  const auto pangu = [](std::string_view interleaved) {
    return axes_of(R"({"model_type": "openpangu_vl", "text_config": {"hidden_size": 64, "num_attention_heads": 4,
      "num_hidden_layers": 1, "max_position_embeddings": 4096, "rope_theta": 20000,
      "rope_scaling": {"type": "default", "mrope_section": [3, 3, 2])" +
                   std::string(interleaved) + "}}}");
  };
  EXPECT_EQ(pangu(R"(, "mrope_interleaved": true)"), (std::vector<std::int32_t>{0, 1, 2, 1, 0, 2, 1, 0}));
  EXPECT_EQ(pangu(""), (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1, 2, 2}));
}

// Mistral Large 3: where apply_scale is false YaRN enters no scores; else g(36)^2 enters them, and cos and sin stay.
TEST(EngineKin, mistral_s_yarn_enters_the_scores_where_it_is_to) {
  const auto large = [](std::string_view apply) {
    return plan_of(R"({"dim": 256, "n_layers": 1, "n_heads": 4, "hidden_dim": 512, "norm_eps": 1e-6,
      "rope_theta": 10000.0, "q_lora_rank": 64, "kv_lora_rank": 64, "qk_rope_head_dim": 16, "qk_nope_head_dim": 48,
      "v_head_dim": 32, "yarn": {"original_max_position_embeddings": 8192, "factor": 36, "beta": 32, "alpha": 1)" +
                   std::string(apply) + "}}");
  };
  const Plan without = large(R"(, "apply_scale": false)");
  const Plan with = large("");
  EXPECT_TRUE(without.known);
  EXPECT_TRUE(with.known);
  const double g = 0.1 * std::log(36.0) + 1;
  EXPECT_DOUBLE_EQ(without.stacks.front().layers.front().softmax_scale, 0.125);
  EXPECT_DOUBLE_EQ(with.stacks.front().layers.front().softmax_scale, 0.125 * g * g);
  EXPECT_EQ(frequencies(rope_of(without), 294912).attention_factor, 1.0);
  EXPECT_EQ(frequencies(rope_of(with), 294912).attention_factor, 1.0);
}

// ---- what leaves a plan open ----

TEST(EngineKin, keys_that_the_code_does_not_settle_leave_the_plan_open) {
  const auto known = [](std::string_view text) { return plan_of(text).known; };
  // Recurrent layers run several times.
  EXPECT_FALSE(known(R"({"model_type": "dory", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 1,
    "max_position_embeddings": 4096, "n_recurrent_loops": 2, "layer_types": ["full_attention"],
    "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 20000}}})"));
  // A layer of a puzzle with heads of its own.
  EXPECT_FALSE(known(R"({"model_type": "nemotron_h_puzzle", "hidden_size": 256, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "layers_block_type": ["attention"], "max_position_embeddings": 4096,
    "block_configs": [{"block_type": "attention", "num_key_value_heads": 1}]})"));
  // Windows of RADIO.
  EXPECT_FALSE(known(R"({"model_type": "NemotronH_Nano_VL_V2", "llm_config": {"model_type": "llama",
    "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 4096,
    "rope_theta": 20000}, "vision_config": {"args": {"model": "vit_huge_patch16_224", "cpe_max_size": 2048,
    "vitdet_window_size": 16}}})"));
  // Another size of RADIO.
  EXPECT_FALSE(known(R"({"model_type": "NemotronH_Nano_VL_V2", "llm_config": {"model_type": "llama",
    "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 4096,
    "rope_theta": 20000}, "vision_config": {"args": {"model": "vit_giant_patch14_reg4_dinov2"}}})"));
  // Chunks of Phi-4's sound.
  EXPECT_FALSE(known(R"({"model_type": "phi4mm", "hidden_size": 256, "num_attention_heads": 4,
    "num_hidden_layers": 1, "max_position_embeddings": 4096, "rope_theta": 20000, "audio_processor": {"config":
    {"attention_dim": 64, "attention_heads": 4, "num_blocks": 1, "chunk_size": 18}}})"));
}

}  // namespace
}  // namespace posenc::test::engine_kin_test

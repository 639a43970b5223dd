// DeepSeek, and decoders of others with its latent attention. One row a family. Facts: the transformers 5.23.0 class
// named by the stem; but of
//   dots_vlm: SGLang configs/dots_vlm.py. plm: llama.cpp conversion/plm.py and its graph. sarvam_mla: vLLM sarvam.py.
//   longcat_flash_ngram: vLLM longcat_flash_ngram.py; rows for each n-gram that ends with the token. pangu_ultra_moe:
//   vLLM openpangu.py. youtu_llm: mlx-lm youtu_llm.py. DeepseekV3BidirectionalModel: vLLM deepseek_v2.py. KimiK3Linear:
//   SGLang kimi_k3.py. deepseek-native: inference/model.py of deepseek-ai/DeepSeek-V3.
#include <cmath>

#include "plan/facts/plan_limits.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"
#include "plan/rope/keys.h"

namespace posenc::plan {
namespace {

// q_b_norm of the class is DeepseekV4UnweightedRMSNorm, kv_norm has weights.
constexpr QkNorm kKeysWeighted{.kind = QkNorm::Kind::rms, .weighted_queries = false};

constexpr ClassStacks kDeepseekStacks[] = {{"DeepseekV3BidirectionalModel", kSeesBothWays}};

constexpr OwnKey kLongcatKeys[] = {{&keys::kLayers, "num_layers"}, {&keys::kHeadDim}};
constexpr StackRule kLongcatStack{.own_keys = kLongcatKeys};

// Queries are multiplied by sqrt(hidden_size / q_lora_rank) (mla_scale_q_lora) before they rotate. What keys and values
// are multiplied by stands before their projection, and is the weights' matter.
std::optional<Sourced<double>> longcat_scale(ConfigScope& scope, const AttentionShape& shape) {
  const Setting<std::int64_t> rank = scope.integer(keys::kQueryRank, {1, kMaxHiddenSize});
  if (!rank.value) return std::nullopt;
  const auto hidden = static_cast<double>(scope.required_integer(keys::kHidden, {1, kMaxHiddenSize}).value);
  const double ratio = hidden / (static_cast<double>(*rank.value) * static_cast<double>(shape.head_dim.value));
  return Sourced<double>{std::sqrt(ratio), rank.from};
}

// YaRN beyond original_seq_len; one mscale for both places leaves cos and sin alone.
Scaling deepseek_scaling(RopeKeys& keys, std::int64_t) {
  YarnScaling rule;
  rule.factor = keys.number_beside(keys::kRopeFactor, "factor");
  rule.original_max_position_embeddings = keys.original_length_beside(keys::kOriginalSeqLen);
  rule.beta_fast = keys.number_beside(keys::kBetaFast, "beta_fast");
  rule.beta_slow = keys.number_beside(keys::kBetaSlow, "beta_slow");
  rule.mscale = rule.mscale_all_dim = keys.number_beside(keys::kMscale, "mscale");
  if (const auto place = keys.scope().peek(keys::kMscale)) keys.note("scaling/mscale_all_dim", *place);
  return rule;
}

}  // namespace

std::span<const Family> deepseek_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "bailing_hybrid", .class_stems = "BailingHybrid", .pairing = kInterleaved, .latent = true,
     .kinds = Kinds::listed, .default_pattern = 6, .misleading_keys = "partial_rotary_factor rope_interleave"},
    {.name = "bailing_moe_v3_text", .class_stems = "BailingMoeV3", .pairing = kInterleaved, .latent = true,
     .axes = AxesRule{.layout = AxisLayout::hw_then_t, .sections = {12, 10, 10}}, .kinds = Kinds::listed,
     .default_pattern = 5, .misleading_keys = "partial_rotary_factor rope_interleave"},
    {.name = "deepseek_v2", .model_types = "deepseek_v2 plm sarvam_mla", .class_stems = "DeepseekV2 PLM SarvamMLA", .pairing = kInterleaved,
     .names_beside_class = "use_mla",  // DeepSeek-VL2 and -OCR, vLLM
     .latent = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "deepseek_v3", .model_types = "deepseek_v3 dots_vlm kimi_k2 axk1", .class_stems = "DeepseekV3 DotsVLM DeepseekV3Bidirectional AXK1", .pairing = kInterleaved,
     .class_stacks = kDeepseekStacks, .latent = true, .reads_interleave = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "deepseek_v32", .model_types = "deepseek_v32 axk2", .class_stems = "DeepseekV32 AXK2", .pairing = kInterleaved, .latent = true,
     .indexer = IndexerRule{IndexedLayers::every, kHalf}, .misleading_keys = "partial_rotary_factor"},
    {.name = "deepseek_v4", .class_stems = "DeepseekV4", .pairing = kInterleaved, .kv_heads = KvHeads::one, .last_channels = true,
     .yarn_attention_factor = 1.0, .indexer = IndexerRule{IndexedLayers::compressed, kInterleaved, true},
     .compressed_keys = true, .rotates_values = true, .windows = Windows::every_layer, .sinks = true,
     .qk_norm = QkNormRule{kKeysWeighted}},
    {.name = "deepseek-native", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .latent = true,
     .scales = false, .own_scaling = deepseek_scaling, .undecided_keys = "index_n_heads compress_ratios",
     .needs_length = false},
    // What use_mla_scaling_factor multiplies stands before the projections: the weights' matter.
    {.name = "gigachat3_5", .class_stems = "GigaChat35", .pairing = kInterleaved, .latent = true,
     .reads_interleave = true, .kinds = Kinds::indexed_only, .misleading_keys = "partial_rotary_factor"},
    {.name = "hy_v4", .class_stems = "HYV4", .pairing = kHalf, .latent = true,
     .indexer = IndexerRule{IndexedLayers::shared, kHalf, true}, .sinks = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "kimi_linear", .class_stems = "KimiLinear KimiK3Linear", .pairing = kInterleaved, .latent = true, .scales = false,
     .kinds = Kinds::numbered, .rotary_layers = RotaryLayers::no_layer},
    {.name = "longcat_flash", .model_types = "longcat_flash longcat_flash_ngram",
     .class_stems = "LongcatFlash LongcatFlashNgram", .pairing = kInterleaved, .main = kLongcatStack,
     .latent = true, .mixed_input = "longcat_flash_ngram", .two_attentions = true, .softmax_scale = longcat_scale, .misleading_keys = "partial_rotary_factor"},
    // Its YaRN has a factor of 1 and one mscale for both places: no rule.
    {.name = "pangu_ultra_moe", .class_stems = "PanguUltraMoE", .pairing = kInterleaved, .latent = true, .scales = false,
     .misleading_keys = kQwenMisleads},
    {.name = "youtu", .model_types = "youtu youtu_llm youtu_vl", .class_stems = "Youtu YoutuLLM", .pairing = kInterleaved, .latent = true, .reads_interleave = true,
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

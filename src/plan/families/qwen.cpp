// Qwen. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   isaac_text: vLLM isaac.py. kimi_audio: vLLM kimi_audio.py, and modeling_moonshot_kimia.py beside its weights.
//   alice_ai: vLLM alice_ai.py, whose full layers are Qwen3-Next's.
//   Dream, grove_moe, rnd1: llama.cpp conversion/dream.py, grovemoe.py, qwen.py, and its graphs of those names.
//   dots_ocr: vLLM dots_ocr.py, whose text is Qwen2's class. bagel_text: vLLM bagel.py, whose text is Qwen2's with its
//   qk_norm. keye_text: vLLM keye.py, keye_vl1_5.py (Qwen3's class, by axes). Motif: vLLM 0.10 motif.py. sdar,
//   sdar_moe: lmdeploy pytorch/models/sdar.py (block_sparse_size) and SGLang sdar.py.
//   VoyageQwen3BidirectionalEmbedModel: vLLM voyage.py.
//   qwen: modeling_qwen.py and configuration_qwen.py of Qwen-7B.
#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {
namespace {

constexpr ClassStacks kVoyageStacks[] = {{"VoyageQwen3BidirectionalEmbedModel", kSeesBothWays}};

constexpr AxesRule kQwen35Axes{.layout = AxisLayout::interleaved, .sections = {11, 11, 10}};

// The class's two versions disagree, and so do files: those of 1.8B and 7B carry true, those of 72B false.
void warn_of_qwen_switches(RopeKeys& keys) {
  for (const Key* key : {&keys::kDynamicNtk, &keys::kLogn}) {
    const auto place = keys.scope().peek(*key);
    if (!place || place->in_file) continue;
    keys.reader().warn("default-differs",
                       formatted("{} is not given; the class says {}, its first version said false.", key->name(),
                                 shown(place->value)),
                       {});
  }
}

// Qwen 1 has no dictionary: one switch, and the length that it is measured against.
Scaling qwen_scaling(RopeKeys& keys, std::int64_t) {
  warn_of_qwen_switches(keys);
  const Setting<bool> on = keys.scope().flag(keys::kDynamicNtk);
  keys.note("scaling/rule", on.from);
  if (!on.value.value_or(false)) return {};
  keys.note("scaling/seq_length", keys.trained_length().from);
  return QwenNtkScaling{.seq_length = keys.trained_length().value};
}

// Kimi-Audio: these layers make sound of what a layer of the others hands on.
constexpr OwnKey kMimoKeys[] = {{&keys::kLayers, "kimia_mimo_layers"}};
constexpr StackRule kMimoStack{.name = "audio_decoder", .own_keys = kMimoKeys};
constexpr const StackRule* kMimoStacks[] = {&kMimoStack};

constexpr StackRule kImageThenQueries{
    .name = "vision",
    .mask = {.kind = MaskKind::prefix,
             .detail = {"the patches of an image see each other both ways, the queries after them are causal",
                        Sees::beyond_window}}};

Sourced<std::int64_t> sound_block(ConfigScope& scope) {
  return scope.required_integer(keys::kSoundBlock, {1, kMaxPosition});
}
constexpr OwnKey kSoundKeys[] = {{&keys::kKvHeads}};
constexpr StackRule kSoundBlocks{.name = "sound",
                                 .mask = {.kind = MaskKind::bidirectional, .block = sound_block, .block_lists = true},
                                 .own_keys = kSoundKeys};

}  // namespace

std::span<const Family> qwen_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "deepseek_ocr2_encoder", .pairing = kHalf, .main = kImageThenQueries,
     .misleading_keys = "sliding_window partial_rotary_factor"},
    {.name = "qwen", .class_stems = "QWen", .pairing = kHalf,
     .own_names = "seq_length rotary_emb_base kv_channels rotary_pct", .width = Width::partial_factor, .scales = false,
     .query_scaling = QueryScaling::logn, .own_scaling = qwen_scaling, .misleading_keys = kQwenMisleads},
    {.name = "qwen2", .model_types = "qwen2 dots_ocr mimo", .class_stems = "Qwen2 DotsOCR MiMo Qwen2ForReward Qwen2ForProcessReward", .pairing = kHalf,
     .names_beside_class = "dual_chunk_attention_config", .dual_chunk = true,
     .windows = Windows::late_layers, .window_switch = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "kimi_audio", .class_stems = "MoonshotKimia", .pairing = kHalf, .more_stacks = kMimoStacks,
     .windows = Windows::late_layers, .window_switch = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "bagel_text", .class_stems = {}, .pairing = kHalf, .windows = Windows::late_layers, .window_switch = true,
     .qk_norm = QkNormRule{kRmsPerHead, "qk_norm"}, .misleading_keys = "partial_rotary_factor"},
    {.name = "dream", .model_types = "Dream", .class_stems = "Dream", .pairing = kHalf, .main = kUnmaskedStack,
     .windows = Windows::late_layers, .window_switch = true, .misleading_keys = "partial_rotary_factor"},
    // Two softmaxes, apart by a learned factor: positions are those of one.
    {.name = "motif", .model_types = "Motif motif", .class_stems = "Motif", .pairing = kHalf,
     .windows = Windows::late_layers, .window_switch = true},
    {.name = "qwen2_moe", .class_stems = "Qwen2Moe", .pairing = kHalf,
     .names_beside_class = "dual_chunk_attention_config", .dual_chunk = true,
     .windows = Windows::early_even, .window_switch = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3", .class_stems = "Qwen3 VoyageQwen3BidirectionalEmbed Qwen3ForReward", .pairing = kHalf,
     .names_beside_class = "dual_chunk_attention_config",
     .class_stacks = kVoyageStacks, .dual_chunk = true, .windows = Windows::late_layers,
     .window_switch = true, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "isaac_text", .class_stems = {}, .pairing = kHalf,
     .axes = AxesRule{.layout = AxisLayout::halved, .sections = {}}, .windows = Windows::late_layers,
     .window_switch = true, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "rnd1", .class_stems = "RND1", .pairing = kHalf, .main = kUnmaskedStack, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor", .undecided_keys = "sliding_window"},
    {.name = "qwen3_moe", .model_types = "qwen3_moe grove_moe", .class_stems = "Qwen3Moe GroveMoe", .pairing = kHalf,
     .names_beside_class = "dual_chunk_attention_config", .dual_chunk = true,
     .windows = Windows::every_layer, .window_switch = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "sdar", .model_types = "sdar sdar_moe", .class_stems = "SDAR SDARMoe", .pairing = kHalf,
     .main = kBlockwiseStack, .windows = Windows::late_layers, .window_switch = true,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "alice_ai", .class_stems = "AliceAI", .pairing = kHalf, .width = Width::partial_factor, .kinds = Kinds::listed,
     .needs_types = true, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen3_next", .class_stems = "Qwen3Next", .pairing = kHalf,
     .names_beside_class = "dual_chunk_attention_config", .width = Width::partial_factor,
     .dual_chunk = true, .kinds = Kinds::listed, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen3_5", .model_types = "qwen3_5 qwen3_5_text", .class_stems = "Qwen3_5 Qwen3_5Text", .pairing = kHalf,
     .names_beside_class = "retrieval_attention_contract",  // vLLM, of ColQwen3.5
     .width = Width::partial_factor, .axes = kQwen35Axes, .kinds = Kinds::listed, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen3_5_moe", .model_types = "qwen3_5_moe qwen3_5_moe_text", .class_stems = "Qwen3_5Moe Qwen3_5MoeText",
     .pairing = kHalf, .width = Width::partial_factor, .axes = kQwen35Axes, .kinds = Kinds::listed,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen2_vl", .model_types = "qwen2_vl qwen2_vl_text", .class_stems = "Qwen2VL Qwen2VLText",
     .pairing = kHalf, .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen2_5_vl", .model_types = "qwen2_5_vl qwen2_5_vl_text", .class_stems = "Qwen2_5_VL Qwen2_5_VLText",
     .pairing = kHalf, .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "keye", .model_types = "keye_text", .class_stems = "Keye KeyeVL1_5", .pairing = kHalf, .axes = kQwen2Axes,
     .windows = Windows::late_layers, .window_switch = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_vl", .model_types = "qwen3_vl qwen3_vl_text", .class_stems = "Qwen3VL Qwen3VLText",
     .pairing = kHalf, .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_vl_moe", .model_types = "qwen3_vl_moe qwen3_vl_moe_text",
     .class_stems = "Qwen3VLMoe Qwen3VLMoeText", .pairing = kHalf, .axes = kQwen3Axes,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    // Rows for each n-gram that ends with the token, with a convolution behind.
    {.name = "qwen4_exp_text", .class_stems = "Qwen4ExpText", .pairing = kHalf, .width = Width::partial_factor,
     .axes = kQwen35Axes, .indexer = IndexerRule{IndexedLayers::typed, kHalf}, .mixed_input = "qwen4_exp_text",
     .kinds = Kinds::listed,
     .default_pattern = 4, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen2_5_omni", .model_types = "qwen2_5_omni_text qwen2_5_omni_talker",
     .class_stems = "Qwen2_5OmniText Qwen2_5OmniTalker", .pairing = kHalf,
     .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen2_5_omni_dit", .class_stems = "Qwen2_5OmniToken2WavDiT", .pairing = kInterleaved, .main = kSoundBlocks,
     .first_head_rotates = true},
    {.name = "qwen3_omni_moe_talker_code_predictor", .class_stems = "Qwen3OmniMoeTalkerCodePredictor",
     .pairing = kHalf, .windows = Windows::late_layers, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_omni_moe_code2wav", .class_stems = "Qwen3OmniMoeCode2Wav", .pairing = kHalf,
     .windows = Windows::every_layer, .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_omni_moe", .model_types = "qwen3_omni_moe_text qwen3_omni_moe_talker_text",
     .class_stems = "Qwen3OmniMoeText Qwen3OmniMoeTalker", .pairing = kHalf, .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

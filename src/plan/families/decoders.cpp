// Decoders of makers with up to three, by name: Command of Cohere, ERNIE and PaddleOCR of Baidu, EXAONE, Hunyuan,
// InternLM, MiniCPM, MiniMax, Nemotron of NVIDIA, Step and others. One row a family. Facts: the transformers 5.23.0
// class named by the stem; but of
//   PanguEmbedded: modular_openpangu_dense.py (LlamaAttention).
//   bailing_moe, baichuan, exaone, internlm2, minicpm, yuan: the modeling_*.py beside their weights.
//   minimax_m3: MiniMaxM3VLTextConfig.
//   nemotron-nas: modeling_decilm.py; vLLM nemotron_nas.py (which pairs, where position_embedding_type is absent).
//   openelm: the modeling_openelm.py beside its weights (OpenELMMultiHeadCausalAttention).
//   step3p5 and step3p7: Step3p7TextConfig.
//   transformer: fla/models and fla/layers/attn.py of flash-linear-attention.
#include "base/formatted.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

// Baichuan's two sizes: its 7B rotates (Llama's shape), its 13B has ALiBi.
constexpr std::int64_t kRotaryWidth = 4096;
constexpr std::int64_t kAlibiWidth = 5120;

SchemeChoice baichuan_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  const Sourced<std::int64_t> width = scope.required_integer(keys::kHidden, {1, kMaxHiddenSize});
  if (width.value == kRotaryWidth) return choose_rotation(width.from);
  if (width.value == kAlibiWidth) return choose_alibi(scope, facts.heads, width.from);
  scope.reader().undecided(formatted("{} is {}: models of {} channels rotate, those of {} have ALiBi, and this "
                                     "is neither.",
                                     width.from, width.value, kRotaryWidth, kAlibiWidth),
                           {width.from});
  return {.from = width.from};
}

constexpr QkNorm kWeightedRmsAfter{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};  // Hunyuan's

}  // namespace

std::span<const Family> decoders_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "PanguEmbedded", .class_stems = "PanguEmbedded", .pairing = kHalf,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "afmoe", .class_stems = "Afmoe", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::but_last_of_n, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "apertus", .class_stems = "Apertus", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "arcee", .class_stems = "Arcee", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "aria_text", .class_stems = "AriaText", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "baichuan", .class_stems = "Baichuan", .pairing = kHalf, .scales = false, .scheme = baichuan_scheme,
     .misleading_keys = kQwenMisleads},
    {.name = "bailing_moe", .class_stems = "BailingMoe", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "bitnet", .class_stems = "BitNet Bitnet", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "cohere", .class_stems = "Cohere", .pairing = kInterleaved,
     .qk_norm = QkNormRule{kLayerNormPerHead, "use_qk_norm"}, .misleading_keys = "partial_rotary_factor",
     .differing_default = DifferingDefault{"rope_theta", "8000000 (command-r)"}},
    {.name = "cohere2", .class_stems = "Cohere2", .pairing = kInterleaved, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::patterned, .default_pattern = 4, .misleading_keys = "partial_rotary_factor"},
    // Two softmaxes of the same scores, apart by a learned factor (arXiv 2410.05258): positions are Llama's.
    {.name = "diffllama", .class_stems = "DiffLlama", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "doge", .class_stems = "Doge", .pairing = kHalf, .windows = Windows::every_layer,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor",
     .undecided = "a number made of each value is added to its key's scores, and the keys with the largest are kept; a "
         "plan cannot hold that"},
    {.name = "dots1", .class_stems = "Dots1", .pairing = kHalf, .windows = Windows::late_layers,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "ernie4_5", .model_types = "ernie4_5 ernie4_5_moe", .class_stems = "Ernie4_5 Ernie4_5_Moe",
     .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    {.name = "evolla", .class_stems = "Evolla", .pairing = kHalf, .misleading_keys = "partial_rotary_factor",
     .undecided = "aligner_num_add_layers of the layers look at what learned queries took from the protein, by attention "
         "of other scales; no rule here reads them"},
    {.name = "exaone", .class_stems = "Exaone", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone4", .class_stems = "Exaone4", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 4, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone_moe", .class_stems = "ExaoneMoe", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 4, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "flint", .class_stems = "Flint", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::patterned, .needs_types = true, .sinks = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "helium", .class_stems = "Helium", .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    {.name = "hunyuan_v1", .model_types = "hunyuan_v1_dense hunyuan_v1_moe",
     .class_stems = "HunYuanDenseV1 HunYuanMoEV1", .pairing = kHalf, .alpha_stretches = true,
     .qk_norm = QkNormRule{kWeightedRmsAfter}, .misleading_keys = "partial_rotary_factor"},
    {.name = "hy_v3", .class_stems = "HYV3", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "hyperclovax", .class_stems = "HyperCLOVAX", .pairing = kHalf, .scale = Scale::multiplier_or_dim,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "internlm2", .class_stems = "InternLM2", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "internlm3", .class_stems = "InternLM3", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    // Llama's class runs its files; clip_qkv and windows are refused there.
    {.name = "iquestcoder", .class_stems = "IQuestCoder", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "jais2", .class_stems = "Jais2", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "jetmoe", .class_stems = "JetMoe", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "kolibri1", .class_stems = "Kolibri1", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 5, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "mellum", .class_stems = "Mellum", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 1, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "minicpm", .class_stems = "MiniCPM", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "minicpm3", .class_stems = "MiniCPM3", .pairing = kHalf, .latent = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax", .class_stems = "MiniMax", .pairing = kHalf, .kinds = Kinds::listed,
     .windows = Windows::every_layer, .default_pattern = 2, .first_of_pattern = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax_m2", .class_stems = "MiniMaxM2", .pairing = kHalf, .width = Width::factor_or_dim,
     .qk_norm = QkNormRule{kRmsAcrossHeads}},
    {.name = "minimax_m3", .model_types = "minimax_m3 minimax_m3_vl_text", .class_stems = "MiniMaxM3 MiniMaxM3VLText",
     .pairing = kHalf, .width = Width::partial_factor, .indexer = IndexerRule{IndexedLayers::marked, kHalf},
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "rotary_dim"},
    // rotate_half is (b, -a).
    {.name = "nanochat", .class_stems = "NanoChat", .pairing = kHalf, .rotation_direction = RotationDirection::clockwise,
     .qk_norm = QkNormRule{QkNorm{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false}},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "nemotron", .class_stems = "Nemotron", .pairing = kHalf, .width = Width::partial_factor},
    {.name = "nemotron-nas", .class_stems = "DeciLM", .pairing = kHalf, .pairing_by_type = true, .kinds = Kinds::blocks,
     .sizes = Sizes::blocks, .misleading_keys = "partial_rotary_factor"},
    {.name = "nemotron_h", .class_stems = "NemotronH", .pairing = kHalf, .kinds = Kinds::listed,
     .recurrent = LayerKind::state_space, .rotary_layers = RotaryLayers::no_layer,
     .misleading_keys = "rope_theta partial_rotary_factor sliding_window"},
    {.name = "openelm", .class_stems = "OpenELM", .pairing = kHalf,
     .own_names = "num_query_heads num_transformer_layers rope_freq_constant", .scales = false, .sizes = Sizes::listed,
     .qk_norm = QkNormRule{kRmsPerHead, "normalize_qk_projections"}, .misleading_keys = kQwenMisleads},
    {.name = "paddleocr_vl", .model_types = "paddleocr_vl_text", .class_stems = "PaddleOCRText", .pairing = kHalf,
     .axes = kQwen2Axes, .misleading_keys = "partial_rotary_factor"},
    {.name = "seed_oss", .class_stems = "SeedOss", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "smollm3", .class_stems = "SmolLM3", .pairing = kHalf, .rotary_layers = RotaryLayers::listed,
     .windows = Windows::nope_layers, .window_switch = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "solar_open", .class_stems = "SolarOpen", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "step3p5", .class_stems = "Step3p5", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},
    {.name = "step3p7", .class_stems = "Step3p7", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},
    {.name = "transformer", .class_stems = "Transformer", .pairing = kHalf,
     .own_names = "num_heads num_kv_heads window_size", .scales = false, .windows = Windows::every_layer,
     .qk_norm = QkNormRule{kRmsPerHead, "qk_norm"}, .misleading_keys = kQwenMisleads},
    {.name = "unlimited_ocr", .model_types = "unlimited_ocr unlimited_ocr_text unlimited-ocr",
     .class_stems = "UnlimitedOcr UnlimitedOcrText", .pairing = kHalf, .windows = Windows::every_layer,
     .keeps_prompt = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "yuan", .class_stems = "Yuan", .pairing = kHalf, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

// Gemma, of Google. One row a family: pairing, pattern of local layers, what is read. Facts: the transformers 5.23.0
// class named by the stem. Bases, windows and patterns are the config's, or, where it leaves them out, those of
// class_defaults.cpp, which scripts/class_defaults.py makes of the class: a row states what no default of a class does.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kRecurrentGemmaKeys[] = {{&keys::kWindow, "sliding_window attention_window_size"}};
// RG-LRU (arXiv 2402.19427) multiplies what enters its state by sqrt(1 - a^2), at position 0 by 1.
constexpr StackRule kRecurrentGemmaStack{.own_keys = kRecurrentGemmaKeys, .begins_apart = true};
constexpr StackRule kGemmaEncoder{.name = "encoder", .mask = kBothWays};
constexpr StackRule kGemmaCrossDecoder{.cross = kEach};
constexpr MaskRule kLeansAhead{.kind = MaskKind::bidirectional, .window_leans_ahead = true};
constexpr StackRule kMergedDecoder{
    .mask = {.kind = MaskKind::sparse,
             .detail = {"causal; and in the same softmax all of the encoder's tokens, whose keys do not rotate",
                        Sees::beyond_window},
             .window_of_past = true}};
constexpr StackRule kT5Gemma2Encoder{.name = "encoder", .mask = kLeansAhead};
// The state of the robot, then actions: layer by layer behind the KV cache of the text stack.
constexpr StackRule kActions{
    .name = "actions",
    .mask = {
        .kind = MaskKind::sparse,
        .detail = {"all of the text stack's keys of the same layer; causal, but the actions see each other both ways",
                   Sees::beyond_window}}};

constexpr OwnKey kRnj1Keys[] = {{&keys::kChunk, "sliding_window"}};
constexpr StackRule kRnj1Stack{.own_keys = kRnj1Keys};

}  // namespace

std::span<const Family> gemma_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    // Where use_bidirectional_attention is true, its eager attention stays causal, and its SDPA may not.
    {.name = "gemma", .class_stems = "Gemma", .pairing = kHalf, .misleading_keys = "partial_rotary_factor",
     .undecided_keys = "use_bidirectional_attention"},
    {.name = "gemma2", .class_stems = "Gemma2", .pairing = kHalf, .windows = Windows::patterned, .default_pattern = 2,
     .scale = Scale::query_scalar, .soft_cap = true,
     .misleading_keys = "partial_rotary_factor use_bidirectional_attention"},
    // Of each 6 layers 5 slide over 4096 tokens (published files: 512 or 1024), the last is full, unless layer_types or
    // sliding_window_pattern differ (plan/layers/layer_pattern.cpp). Bases: sliding rope_local_base_freq (10000), full
    // rope_theta (1000000; plan/rope/draft.cpp); a flat rope_scaling (published from 4B on: linear, factor 8) is for
    // the full ones (plan/rope/dicts.cpp). Scale: 1 / sqrt(query_pre_attn_scalar), 256, of 27B 168
    // (plan/layers/layer_scores.cpp). What a file leaves out has these numbers from class_defaults.cpp. Of GGUF files:
    // plan/gguf/architectures.cpp; of presets: plan/read/presets.cpp.
    {.name = "gemma3", .model_types = "gemma3 gemma3_text", .class_stems = "Gemma3 Gemma3Text EmbeddingGemma",
     .pairing = kHalf,
     .names_beside_class = "sliding_window_attention_size",  // ExecuTorch, for MediaTek
     .ropes_per_type = true, .windows = Windows::patterned, .reads_bidirectional = true,
     .scale = Scale::query_scalar, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor attn_logit_softcapping"},
    {.name = "rnj1", .class_stems = "Rnj1", .pairing = kHalf, .main = kRnj1Stack, .ropes_per_type = true,
     .windows = Windows::chunked_rotary, .chunk_before_own = true, .scale = Scale::query_scalar,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "gemma3n", .model_types = "gemma3n gemma3n_text", .class_stems = "Gemma3n Gemma3nText", .pairing = kHalf,
     .ropes_per_type = true, .shares_kv = true, .windows = Windows::patterned, .default_pattern = 5,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor",
     .undecided_keys = "use_bidirectional_attention"},
    {.name = "gemma4", .model_types = "gemma4 gemma4_text gemma4_unified_text diffusion_gemma_text",
     .class_stems = "Gemma4 Gemma4Text Gemma4UnifiedText DiffusionGemmaText", .pairing = kHalf,
     .ropes_per_type = true, .sizes = Sizes::full_own, .fills_layer_config = true, .shares_kv = true,
     .windows = Windows::patterned,
     .default_pattern = 6, .last_layer_full = true, .reads_bidirectional = true, .bidirectional_words = true,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "gemma4_assistant", .model_types = "gemma4_assistant_text", .class_stems = {}, .pairing = kHalf,
     .ropes_per_type = true, .sizes = Sizes::full_own, .fills_layer_config = true,
     .windows = Windows::patterned, .default_pattern = 6,
     .last_layer_full = true, .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "num_kv_shared_layers",
     .undecided = "all its layers take the keys and values of the model that it drafts for, whose layers these are is not "
         "in the file"},
    {.name = "embedding_gemma2", .model_types = "embedding_gemma2_text", .class_stems = "EmbeddingGemma2Text",
     .pairing = kHalf, .main = kGemmaEncoder, .ropes_per_type = true, .sizes = Sizes::full_own,
     .fills_layer_config = true, .windows = Windows::patterned, .last_layer_full = true, .scale = Scale::one,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "t5gemma", .model_types = "t5_gemma_module", .class_stems = "T5GemmaModule", .pairing = kHalf,
     .main = kGemmaCrossDecoder, .windows = Windows::patterned, .default_pattern = 2, .scale = Scale::query_scalar,
     .soft_cap = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "t5gemma_encoder", .class_stems = "T5GemmaEncoder", .pairing = kHalf, .main = kGemmaEncoder,
     .windows = Windows::patterned, .default_pattern = 2, .scale = Scale::query_scalar, .soft_cap = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "t5gemma2_decoder", .class_stems = "T5Gemma2Decoder", .pairing = kHalf, .main = kMergedDecoder,
     .ropes_per_type = true,
     .windows = Windows::patterned, .scale = Scale::query_scalar,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor attn_logit_softcapping",
     .undecided_keys = "use_bidirectional_attention"},
    {.name = "t5gemma2_text", .class_stems = "T5Gemma2Text", .pairing = kHalf, .main = kT5Gemma2Encoder,
     .ropes_per_type = true, .windows = Windows::patterned, .scale = Scale::query_scalar,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor attn_logit_softcapping",
     .undecided_keys = "use_bidirectional_attention"},
    {.name = "vaultgemma", .class_stems = "VaultGemma", .pairing = kHalf, .windows = Windows::patterned,
     .default_pattern = 2, .scale = Scale::query_scalar, .soft_cap = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "pi0_actions", .pairing = kHalf, .main = kActions, .misleading_keys = "partial_rotary_factor use_bidirectional_attention"},
    {.name = "recurrent_gemma", .class_stems = "RecurrentGemma", .pairing = kHalf, .main = kRecurrentGemmaStack,
     .width = Width::partial_factor, .kinds = Kinds::repeating, .recurrent = kStateSpace,
     .windows = Windows::every_layer, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

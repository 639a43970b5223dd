// More decoders whose layers differ, in what they see, whether they turn, or whether they attend at all; one row a
// family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

// ---- keys under names of their own ----
constexpr OwnKey kRecurrentGemmaKeys[] = {{&keys::kWindow, "attention_window_size"}};
constexpr OwnKey kZambaKeys[] = {{&keys::kHeadDim, "attention_head_dim"}};
constexpr StackRule kRecurrentGemmaStack{.own_keys = kRecurrentGemmaKeys};
constexpr StackRule kZambaStack{.own_keys = kZambaKeys};

constexpr LayerKind kStateSpace = LayerKind::state_space;

// clang-format off
constexpr Family kVariedFamilies[] = {
    // ---- windows in some layers ----
    {.name = "cwm", .class_stems = "Cwm", .pairing = kHalf, .windows = Windows::patterned, .default_pattern = 4,
     .first_of_pattern = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "dots1", .class_stems = "Dots1", .pairing = kHalf, .windows = Windows::late_layers,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "ministral", .class_stems = "Ministral", .pairing = kHalf, .windows = Windows::listed_or_every,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "vaultgemma", .class_stems = "VaultGemma", .pairing = kHalf, .windows = Windows::patterned,
     .default_pattern = 2, .scale = Scale::query_scalar, .soft_cap = true, .misleading_keys = "partial_rotary_factor"},

    // ---- and another rotation there, or none ----
    {.name = "afmoe", .class_stems = "Afmoe", .pairing = kHalf, .turning = Turning::sliding_layers,
     .windows = Windows::but_last_of_n, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone_moe", .class_stems = "ExaoneMoe", .pairing = kHalf, .turning = Turning::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 4, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "flint", .class_stems = "Flint", .pairing = kHalf, .turning = Turning::sliding_layers,
     .windows = Windows::patterned, .needs_types = true, .sinks = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "gemma3n", .model_types = "gemma3n gemma3n_text", .class_stems = "Gemma3n Gemma3nText", .pairing = kHalf,
     .ropes_per_type = true, .shares_kv = true, .windows = Windows::patterned, .default_pattern = 5,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "granite_swa", .model_types = "granite_swa granitemoe_swa", .class_stems = "GraniteSWA GraniteMoeSWA",
     .pairing = kHalf, .layer_bases = true, .windows = Windows::patterned, .default_pattern = 4,
     .first_of_pattern = true, .scale = Scale::multiplier, .sinks = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "kolibri1", .class_stems = "Kolibri1", .pairing = kHalf, .turning = Turning::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 5, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "mellum", .class_stems = "Mellum", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 1, .qk_norm = QkNormRule{kRmsPerHead}},

    // ---- other layers than attention between ----
    {.name = "bamba", .class_stems = "Bamba", .pairing = kHalf, .width = Width::partial_factor,
     .kinds = Kinds::indexed_only, .recurrent = kStateSpace},
    {.name = "falcon_h1", .class_stems = "FalconH1", .pairing = kHalf, .scale = Scale::key_multiplier,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "jamba", .class_stems = "Jamba", .pairing = kHalf, .kinds = Kinds::periodic, .recurrent = kStateSpace,
     .turning = Turning::no_layer},
    {.name = "lfm2", .model_types = "lfm2 lfm2_moe", .class_stems = "Lfm2 Lfm2Moe", .pairing = kHalf,
     .kinds = Kinds::indexed, .recurrent = LayerKind::convolution, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax", .class_stems = "MiniMax", .pairing = kHalf, .kinds = Kinds::listed,
     .windows = Windows::every_layer, .default_pattern = 2, .first_of_pattern = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo_hybrid", .class_stems = "OlmoHybrid", .pairing = kHalf, .kinds = Kinds::listed,
     .scheme = Scheme::rotation_by_base, .default_pattern = 4, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_next", .class_stems = "Qwen3Next", .pairing = kHalf, .width = Width::partial_factor,
     .dual_chunk = true, .kinds = Kinds::listed, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "recurrent_gemma", .class_stems = "RecurrentGemma", .pairing = kHalf, .main = kRecurrentGemmaStack,
     .width = Width::partial_factor, .kinds = Kinds::repeating, .recurrent = kStateSpace,
     .windows = Windows::every_layer, .needs_length = false},
    {.name = "zamba", .class_stems = "Zamba", .pairing = kHalf, .main = kZambaStack, .double_width = true,
     .kinds = Kinds::listed, .recurrent = kStateSpace, .turning = Turning::no_layer, .needs_types = true,
     .scale = Scale::half_head_dim},
    {.name = "zamba2", .class_stems = "Zamba2", .pairing = kHalf, .main = kZambaStack, .double_width = true,
     .kinds = Kinds::listed, .recurrent = kStateSpace, .scheme = Scheme::rotation_by_flag, .needs_types = true,
     .scale = Scale::half_head_dim, .misleading_keys = "partial_rotary_factor"},
};
// clang-format on

}  // namespace

std::span<const Family> varied_families() noexcept { return kVariedFamilies; }

}  // namespace posenc::plan

// More decoders whose layers differ, in what they see, whether they turn, or whether they attend at all; one row a
// family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kAfmoe[] = {"afmoe"}, kAfmoeClass[] = {"Afmoe"};
constexpr std::string_view kBamba[] = {"bamba"}, kBambaClass[] = {"Bamba"};
constexpr std::string_view kCwm[] = {"cwm"}, kCwmClass[] = {"Cwm"};
constexpr std::string_view kDots1[] = {"dots1"}, kDots1Class[] = {"Dots1"};
constexpr std::string_view kExaoneMoe[] = {"exaone_moe"}, kExaoneMoeClass[] = {"ExaoneMoe"};
constexpr std::string_view kFalconH1[] = {"falcon_h1"}, kFalconH1Class[] = {"FalconH1"};
constexpr std::string_view kFlint[] = {"flint"}, kFlintClass[] = {"Flint"};
constexpr std::string_view kGemma3n[] = {"gemma3n", "gemma3n_text"}, kGemma3nClass[] = {"Gemma3n", "Gemma3nText"};
constexpr std::string_view kGraniteSwa[] = {"granite_swa", "granitemoe_swa"};
constexpr std::string_view kGraniteSwaClass[] = {"GraniteSWA", "GraniteMoeSWA"};
constexpr std::string_view kJamba[] = {"jamba"}, kJambaClass[] = {"Jamba"};
constexpr std::string_view kKolibri[] = {"kolibri1"}, kKolibriClass[] = {"Kolibri1"};
constexpr std::string_view kLfm2[] = {"lfm2", "lfm2_moe"}, kLfm2Class[] = {"Lfm2", "Lfm2Moe"};
constexpr std::string_view kMellum[] = {"mellum"}, kMellumClass[] = {"Mellum"};
constexpr std::string_view kMinimax[] = {"minimax"}, kMinimaxClass[] = {"MiniMax"};
constexpr std::string_view kMinistral[] = {"ministral"}, kMinistralClass[] = {"Ministral"};
constexpr std::string_view kOlmoHybrid[] = {"olmo_hybrid"}, kOlmoHybridClass[] = {"OlmoHybrid"};
constexpr std::string_view kQwen3Next[] = {"qwen3_next"}, kQwen3NextClass[] = {"Qwen3Next"};
constexpr std::string_view kRecurrentGemma[] = {"recurrent_gemma"}, kRecurrentGemmaClass[] = {"RecurrentGemma"};
constexpr std::string_view kVaultgemma[] = {"vaultgemma"}, kVaultgemmaClass[] = {"VaultGemma"};
constexpr std::string_view kZamba[] = {"zamba"}, kZambaClass[] = {"Zamba"};
constexpr std::string_view kZamba2[] = {"zamba2"}, kZamba2Class[] = {"Zamba2"};

constexpr std::string_view kNoPartialFactor[] = {"partial_rotary_factor"};

// ---- keys under names of their own ----
constexpr std::string_view kAttentionWindow[] = {"attention_window_size"};
constexpr std::string_view kAttentionHeadDim[] = {"attention_head_dim"};
constexpr OwnKey kRecurrentGemmaKeys[] = {{&keys::kWindow, kAttentionWindow}};
constexpr OwnKey kZambaKeys[] = {{&keys::kHeadDim, kAttentionHeadDim}};
constexpr StackRule kRecurrentGemmaStack{.own_keys = kRecurrentGemmaKeys};
constexpr StackRule kZambaStack{.own_keys = kZambaKeys};

constexpr Pairing kHalf = Pairing::half;
constexpr LayerKind kStateSpace = LayerKind::state_space;

// clang-format off
constexpr Family kFamilies[] = {
    // ---- windows in some layers ----
    {.name = "cwm", .model_types = kCwm, .class_stems = kCwmClass, .pairing = kHalf,
     .windows = Windows::patterned, .default_pattern = 4, .first_of_pattern = true,
     .misleading_keys = kNoPartialFactor},
    {.name = "dots1", .model_types = kDots1, .class_stems = kDots1Class, .pairing = kHalf,
     .windows = Windows::late_layers, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "ministral", .model_types = kMinistral, .class_stems = kMinistralClass, .pairing = kHalf,
     .windows = Windows::listed_or_every, .misleading_keys = kNoPartialFactor},
    {.name = "vaultgemma", .model_types = kVaultgemma, .class_stems = kVaultgemmaClass, .pairing = kHalf,
     .windows = Windows::patterned, .default_pattern = 2, .scale = Scale::query_scalar, .soft_cap = true,
     .misleading_keys = kNoPartialFactor},

    // ---- and another rotation there, or none ----
    {.name = "afmoe", .model_types = kAfmoe, .class_stems = kAfmoeClass, .pairing = kHalf,
     .turning = Turning::sliding_layers, .windows = Windows::but_last_of_n, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = kNoPartialFactor},
    {.name = "exaone_moe", .model_types = kExaoneMoe, .class_stems = kExaoneMoeClass, .pairing = kHalf,
     .turning = Turning::sliding_or_windowless, .windows = Windows::patterned, .default_pattern = 4,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "flint", .model_types = kFlint, .class_stems = kFlintClass, .pairing = kHalf,
     .turning = Turning::sliding_layers, .windows = Windows::patterned, .needs_types = true, .sinks = true,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "gemma3n", .model_types = kGemma3n, .class_stems = kGemma3nClass, .pairing = kHalf,
     .ropes_per_type = true, .shares_kv = true, .windows = Windows::patterned, .default_pattern = 5,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "granite_swa", .model_types = kGraniteSwa, .class_stems = kGraniteSwaClass, .pairing = kHalf,
     .layer_bases = true, .windows = Windows::patterned, .default_pattern = 4, .first_of_pattern = true,
     .scale = Scale::multiplier, .sinks = true, .misleading_keys = kNoPartialFactor},
    {.name = "kolibri1", .model_types = kKolibri, .class_stems = kKolibriClass, .pairing = kHalf,
     .turning = Turning::sliding_or_windowless, .windows = Windows::patterned, .default_pattern = 5,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "mellum", .model_types = kMellum, .class_stems = kMellumClass, .pairing = kHalf,
     .width = Width::partial_factor, .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 1,
     .qk_norm = QkNormRule{kRmsPerHead}},

    // ---- other layers than attention between ----
    {.name = "bamba", .model_types = kBamba, .class_stems = kBambaClass, .pairing = kHalf,
     .width = Width::partial_factor, .kinds = Kinds::indexed_only, .recurrent = kStateSpace},
    {.name = "falcon_h1", .model_types = kFalconH1, .class_stems = kFalconH1Class, .pairing = kHalf,
     .scale = Scale::key_multiplier, .misleading_keys = kNoPartialFactor},
    {.name = "jamba", .model_types = kJamba, .class_stems = kJambaClass, .pairing = kHalf,
     .kinds = Kinds::periodic, .recurrent = kStateSpace, .turning = Turning::no_layer},
    {.name = "lfm2", .model_types = kLfm2, .class_stems = kLfm2Class, .pairing = kHalf, .kinds = Kinds::indexed,
     .recurrent = LayerKind::convolution, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "minimax", .model_types = kMinimax, .class_stems = kMinimaxClass, .pairing = kHalf,
     .kinds = Kinds::listed, .windows = Windows::every_layer, .default_pattern = 2, .first_of_pattern = true,
     .misleading_keys = kNoPartialFactor},
    {.name = "olmo_hybrid", .model_types = kOlmoHybrid, .class_stems = kOlmoHybridClass, .pairing = kHalf,
     .kinds = Kinds::listed, .scheme = Scheme::rotation_by_base, .default_pattern = 4,
     .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = kNoPartialFactor},
    {.name = "qwen3_next", .model_types = kQwen3Next, .class_stems = kQwen3NextClass, .pairing = kHalf,
     .width = Width::partial_factor, .dual_chunk = true, .kinds = Kinds::listed, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "recurrent_gemma", .model_types = kRecurrentGemma, .class_stems = kRecurrentGemmaClass,
     .pairing = kHalf, .main = kRecurrentGemmaStack, .width = Width::partial_factor, .kinds = Kinds::repeating,
     .recurrent = kStateSpace, .windows = Windows::every_layer, .needs_length = false},
    {.name = "zamba", .model_types = kZamba, .class_stems = kZambaClass, .pairing = kHalf, .main = kZambaStack,
     .double_width = true, .kinds = Kinds::listed, .recurrent = kStateSpace, .turning = Turning::no_layer,
     .needs_types = true, .scale = Scale::half_head_dim},
    {.name = "zamba2", .model_types = kZamba2, .class_stems = kZamba2Class, .pairing = kHalf, .main = kZambaStack,
     .double_width = true, .kinds = Kinds::listed, .recurrent = kStateSpace, .scheme = Scheme::rotation_by_flag,
     .needs_types = true, .scale = Scale::half_head_dim, .misleading_keys = kNoPartialFactor},
};
// clang-format on

}  // namespace

std::span<const Family> varied_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

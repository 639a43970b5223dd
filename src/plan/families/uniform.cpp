// More decoders whose layers all turn alike, one row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kApertus[] = {"apertus"}, kApertusClass[] = {"Apertus"};
constexpr std::string_view kArcee[] = {"arcee"}, kArceeClass[] = {"Arcee"};
constexpr std::string_view kAria[] = {"aria_text"}, kAriaClass[] = {"AriaText"};
constexpr std::string_view kBitnet[] = {"bitnet"}, kBitnetClass[] = {"BitNet", "Bitnet"};
constexpr std::string_view kDiffllama[] = {"diffllama"}, kDiffllamaClass[] = {"DiffLlama"};
constexpr std::string_view kDoge[] = {"doge"}, kDogeClass[] = {"Doge"};
constexpr std::string_view kErnie[] = {"ernie4_5", "ernie4_5_moe"}, kErnieClass[] = {"Ernie4_5", "Ernie4_5_Moe"};
constexpr std::string_view kFlexOlmo[] = {"flex_olmo"}, kFlexOlmoClass[] = {"FlexOlmo"};
constexpr std::string_view kGlm4MoeLite[] = {"glm4_moe_lite"}, kGlm4MoeLiteClass[] = {"Glm4MoeLite"};
constexpr std::string_view kGraniteShared[] = {"granitemoeshared"}, kGraniteSharedClass[] = {"GraniteMoeShared"};
constexpr std::string_view kHelium[] = {"helium"}, kHeliumClass[] = {"Helium"};
constexpr std::string_view kHunyuan[] = {"hunyuan_v1_dense", "hunyuan_v1_moe"};
constexpr std::string_view kHunyuanClass[] = {"HunYuanDenseV1", "HunYuanMoEV1"};
constexpr std::string_view kHyV3[] = {"hy_v3"}, kHyV3Class[] = {"HYV3"};
constexpr std::string_view kHyperclovax[] = {"hyperclovax"}, kHyperclovaxClass[] = {"HyperCLOVAX"};
constexpr std::string_view kIquestcoder[] = {"iquestcoder"}, kIquestcoderClass[] = {"IQuestCoder"};
constexpr std::string_view kJais2[] = {"jais2"}, kJais2Class[] = {"Jais2"};
constexpr std::string_view kJetmoe[] = {"jetmoe"}, kJetmoeClass[] = {"JetMoe"};
constexpr std::string_view kMistral4[] = {"mistral4"}, kMistral4Class[] = {"Mistral4"};
constexpr std::string_view kNanochat[] = {"nanochat"}, kNanochatClass[] = {"NanoChat"};
constexpr std::string_view kNemotron[] = {"nemotron"}, kNemotronClass[] = {"Nemotron"};
constexpr std::string_view kNeoxJapanese[] = {"gpt_neox_japanese"}, kNeoxJapaneseClass[] = {"GPTNeoXJapanese"};
constexpr std::string_view kPersimmon[] = {"persimmon"}, kPersimmonClass[] = {"Persimmon"};
constexpr std::string_view kPhi4[] = {"phi4_multimodal"}, kPhi4Class[] = {"Phi4Multimodal"};
constexpr std::string_view kGlm4vMoe[] = {"glm4v_moe_text"}, kGlm4vMoeClass[] = {"Glm4vMoeText"};
constexpr std::string_view kGlmOcr[] = {"glm_ocr_text"}, kGlmOcrClass[] = {"GlmOcrText"};
constexpr std::string_view kPaddleOcr[] = {"paddleocr_vl_text"}, kPaddleOcrClass[] = {"PaddleOCRText"};
constexpr std::string_view kQwen25Omni[] = {"qwen2_5_omni_text"}, kQwen25OmniClass[] = {"Qwen2_5OmniText"};
constexpr std::string_view kQwen3Omni[] = {"qwen3_omni_moe_text"}, kQwen3OmniClass[] = {"Qwen3OmniMoeText"};
constexpr std::string_view kSeedOss[] = {"seed_oss"}, kSeedOssClass[] = {"SeedOss"};
constexpr std::string_view kSolarOpen[] = {"solar_open"}, kSolarOpenClass[] = {"SolarOpen"};
constexpr std::string_view kStarcoder2[] = {"starcoder2"}, kStarcoder2Class[] = {"Starcoder2"};
constexpr std::string_view kYoutu[] = {"youtu"}, kYoutuClass[] = {"Youtu"};

constexpr std::string_view kNeoxNames[] = {"rotary_emb_base", "rotary_pct"};
constexpr std::string_view kNoPartialFactor[] = {"partial_rotary_factor"};
constexpr std::string_view kNoLayerTypes[] = {"partial_rotary_factor", "layer_types"};

constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr StackRule kEqualHeads{.own_keys = kPlainHeads};

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kInterleaved = Pairing::interleaved;
constexpr QkNorm kWeightedRmsAfter{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};

// Where a file has no mrope_section, the class deals out these pairs of t, h and w.
constexpr AxesRule kQwen2Axes{.layout = AxisLayout::chunked, .sections = {16, 24, 24}};
constexpr AxesRule kQwen3Axes{.layout = AxisLayout::interleaved, .sections = {24, 20, 20}};
constexpr AxesRule kGlmAxes{.layout = AxisLayout::chunked, .sections = {8, 12, 12}};

// clang-format off
constexpr Family kFamilies[] = {
    // ---- Llama, but for the norm of q and k, the pairing or the scale ----
    {.name = "apertus", .model_types = kApertus, .class_stems = kApertusClass, .pairing = kHalf,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "arcee", .model_types = kArcee, .class_stems = kArceeClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "aria_text", .model_types = kAria, .class_stems = kAriaClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "bitnet", .model_types = kBitnet, .class_stems = kBitnetClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    // Two softmaxes of the same scores, apart by a learned factor (arXiv 2410.05258): positions are Llama's.
    {.name = "diffllama", .model_types = kDiffllama, .class_stems = kDiffllamaClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "doge", .model_types = kDoge, .class_stems = kDogeClass, .pairing = kHalf,
     .windows = Windows::every_layer, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor,
     .undecided = "a number made of each value is added to its key's scores, and the keys with the largest are kept; a "
                  "plan cannot hold that"},
    {.name = "ernie4_5", .model_types = kErnie, .class_stems = kErnieClass, .pairing = kInterleaved,
     .misleading_keys = kNoPartialFactor},
    {.name = "flex_olmo", .model_types = kFlexOlmo, .class_stems = kFlexOlmoClass, .pairing = kHalf,
     .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = kNoPartialFactor},
    {.name = "granitemoeshared", .model_types = kGraniteShared, .class_stems = kGraniteSharedClass, .pairing = kHalf,
     .scale = Scale::multiplier, .misleading_keys = kNoPartialFactor},
    {.name = "helium", .model_types = kHelium, .class_stems = kHeliumClass, .pairing = kInterleaved,
     .misleading_keys = kNoPartialFactor},
    {.name = "hunyuan_v1", .model_types = kHunyuan, .class_stems = kHunyuanClass, .pairing = kHalf,
     .alpha_stretches = true, .qk_norm = QkNormRule{kWeightedRmsAfter}, .misleading_keys = kNoPartialFactor},
    {.name = "hy_v3", .model_types = kHyV3, .class_stems = kHyV3Class, .pairing = kHalf,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "hyperclovax", .model_types = kHyperclovax, .class_stems = kHyperclovaxClass, .pairing = kHalf,
     .scale = Scale::multiplier_or_dim, .misleading_keys = kNoPartialFactor},
    // Llama's class runs its files; clip_qkv and windows are refused there.
    {.name = "iquestcoder", .model_types = kIquestcoder, .class_stems = kIquestcoderClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "jais2", .model_types = kJais2, .class_stems = kJais2Class, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    // rotate_half is (b, -a).
    {.name = "nanochat", .model_types = kNanochat, .class_stems = kNanochatClass, .pairing = kHalf,
     .rotation_direction = RotationDirection::clockwise,
     .qk_norm = QkNormRule{QkNorm{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false}},
     .misleading_keys = kNoPartialFactor},
    {.name = "jetmoe", .model_types = kJetmoe, .class_stems = kJetmoeClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "seed_oss", .model_types = kSeedOss, .class_stems = kSeedOssClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "solar_open", .model_types = kSolarOpen, .class_stems = kSolarOpenClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "starcoder2", .model_types = kStarcoder2, .class_stems = kStarcoder2Class, .pairing = kHalf,
     .windows = Windows::every_layer, .misleading_keys = kNoLayerTypes},

    // ---- a part of each head turns ----
    {.name = "gpt_neox_japanese", .model_types = kNeoxJapanese, .class_stems = kNeoxJapaneseClass, .pairing = kHalf,
     .own_names = kNeoxNames, .main = kEqualHeads, .width = Width::partial_factor},
    {.name = "nemotron", .model_types = kNemotron, .class_stems = kNemotronClass, .pairing = kHalf,
     .width = Width::partial_factor},
    {.name = "persimmon", .model_types = kPersimmon, .class_stems = kPersimmonClass, .pairing = kHalf,
     .main = kEqualHeads, .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
    {.name = "phi4_multimodal", .model_types = kPhi4, .class_stems = kPhi4Class, .pairing = kHalf,
     .width = Width::partial_factor, .windows = Windows::every_layer},

    // ---- several axes ----
    {.name = "glm4v_moe", .model_types = kGlm4vMoe, .class_stems = kGlm4vMoeClass, .pairing = kHalf,
     .width = Width::partial_factor, .axes = kGlmAxes},
    {.name = "glm_ocr", .model_types = kGlmOcr, .class_stems = kGlmOcrClass, .pairing = kInterleaved,
     .width = Width::partial_factor, .axes = kGlmAxes},
    {.name = "paddleocr_vl", .model_types = kPaddleOcr, .class_stems = kPaddleOcrClass, .pairing = kHalf,
     .axes = kQwen2Axes, .misleading_keys = kNoPartialFactor},
    {.name = "qwen2_5_omni", .model_types = kQwen25Omni, .class_stems = kQwen25OmniClass, .pairing = kHalf,
     .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = kNoPartialFactor},
    {.name = "qwen3_omni_moe", .model_types = kQwen3Omni, .class_stems = kQwen3OmniClass, .pairing = kHalf,
     .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},

    // ---- latent attention ----
    {.name = "glm4_moe_lite", .model_types = kGlm4MoeLite, .class_stems = kGlm4MoeLiteClass, .pairing = kInterleaved,
     .latent = true, .reads_interleave = true, .misleading_keys = kNoPartialFactor},
    {.name = "mistral4", .model_types = kMistral4, .class_stems = kMistral4Class, .pairing = kInterleaved,
     .latent = true, .reads_interleave = true, .query_scaling = QueryScaling::beta,
     .misleading_keys = kNoPartialFactor},
    {.name = "youtu", .model_types = kYoutu, .class_stems = kYoutuClass, .pairing = kInterleaved,
     .latent = true, .reads_interleave = true, .misleading_keys = kNoPartialFactor},
};
// clang-format on

}  // namespace

std::span<const Family> uniform_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

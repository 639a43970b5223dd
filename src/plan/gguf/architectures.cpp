// One row an architecture: every name in llama.cpp's llama_model_rope_type, in the order of its list of names.
// Facts: kGgufRulesFrom; llama-model.cpp (llama_model_rope_type, load_hparams) and models/NAME.cpp.
#include <algorithm>

#include "base/formatted.h"
#include "plan/gguf/architecture.h"

namespace posenc::plan {
namespace {

constexpr GgufQkNorm kRmsPerHead{.norm = {.kind = QkNorm::Kind::rms}};
constexpr GgufQkNorm kRmsIfThere{.norm = {.kind = QkNorm::Kind::rms}, .presence = GgufPresence::by_tensor};
constexpr GgufQkNorm kRmsAcrossHeads{.norm = {.kind = QkNorm::Kind::rms, .over = QkNorm::Over::all_heads}};
constexpr GgufQkNorm kRmsAfter{.norm = {.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after}};
constexpr GgufQkNorm kRmsAfterUnweighted{
    .norm = {.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false}};
constexpr GgufQkNorm kLayerPerHead{.norm = {.kind = QkNorm::Kind::layer}};
constexpr GgufQkNorm kLayerPerHeadIfThere{.norm = {.kind = QkNorm::Kind::layer}, .presence = GgufPresence::by_tensor};
constexpr GgufQkNorm kLayerAcrossIfThere{.norm = {.kind = QkNorm::Kind::layer, .over = QkNorm::Over::all_heads},
                                         .presence = GgufPresence::by_tensor};
constexpr GgufPresence kAlways = GgufPresence::always;
constexpr GgufPresence kByTensor = GgufPresence::by_tensor;

constexpr std::string_view kNoCode = "llama.cpp knows the name and has no code for it";
constexpr std::string_view kTargetsKeys = "which layers of the target model its keys come from";
constexpr std::string_view kCompressed = "its compressed keys and their rotation";
constexpr std::string_view kConvolutions = "its convolutional stacks";
constexpr std::string_view kPictures = "its picture or sound encoder";
constexpr std::string_view kBlocks = "which blocks of keys its indexer leaves";
constexpr std::string_view kDraft = "how the draft model shares positions with its target";

// clang-format off
constexpr GgufArchitecture kArchitectures[] = {
    {.name = "llama", .rotation = GgufRotation::norm, .factors = true},
    {.name = "llama4", .rotation = GgufRotation::norm, .windows = GgufWindows::unless_zero, .period = 4,
     .chunks = true, .default_window = 8192, .rotary = GgufRotary::rests_last_if_chunked,
     .qk_norm = kRmsAfterUnweighted, .temperature = GgufTemperature::llama4, .factors = true},
    {.name = "deci", .rotation = GgufRotation::norm, .zero_heads_rest = true, .factors = true},
    {.name = "falcon", .rotation = GgufRotation::neox},
    {.name = "grok", .rotation = GgufRotation::neox, .scale = GgufScale::output_key, .soft_cap = 30,
     .reads_betas = true},
    {.name = "gpt2", .rotation = GgufRotation::none, .learned = kAlways},
    {.name = "gptj", .rotation = GgufRotation::none, .undecided = kNoCode},
    {.name = "gptneox", .rotation = GgufRotation::neox},
    {.name = "mpt", .rotation = GgufRotation::none, .qk_norm = kLayerAcrossIfThere, .alibi = GgufAlibi::key,
     .learned = kByTensor},
    {.name = "baichuan", .rotation = GgufRotation::norm, .alibi = GgufAlibi::baichuan_13b},
    {.name = "starcoder", .rotation = GgufRotation::none, .learned = kAlways},
    {.name = "refact", .rotation = GgufRotation::none, .alibi = GgufAlibi::always},
    {.name = "bert", .rotation = GgufRotation::none, .encoder = true,
     .learned = kAlways},
    {.name = "modern-bert", .rotation = GgufRotation::neox, .encoder = true, .windows = GgufWindows::given,
     .period = 3, .full_first = true, .symmetric = true, .own_sliding_base = true, .sliding_unscaled = true},
    {.name = "nomic-bert", .rotation = GgufRotation::neox, .encoder = true},
    {.name = "nomic-bert-moe", .rotation = GgufRotation::neox, .encoder = true},
    {.name = "neo-bert", .rotation = GgufRotation::norm, .encoder = true},
    {.name = "jina-bert-v2", .rotation = GgufRotation::none, .encoder = true, .qk_norm = kLayerAcrossIfThere,
     .alibi = GgufAlibi::always},
    {.name = "jina-bert-v3", .rotation = GgufRotation::neox, .encoder = true},
    {.name = "eurobert", .rotation = GgufRotation::neox, .encoder = true},
    {.name = "bloom", .rotation = GgufRotation::none, .alibi = GgufAlibi::always},
    {.name = "stablelm", .rotation = GgufRotation::neox, .qk_norm = kLayerPerHeadIfThere},
    {.name = "qwen", .rotation = GgufRotation::neox},
    {.name = "qwen2", .rotation = GgufRotation::neox},
    {.name = "qwen2moe", .rotation = GgufRotation::neox},
    {.name = "qwen2vl", .rotation = GgufRotation::mrope},
    {.name = "qwen3", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead},
    {.name = "qwen3moe", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead},
    {.name = "qwen3next", .rotation = GgufRotation::neox, .period = 4, .qk_norm = kRmsPerHead,
     .states = GgufStates::interval, .state_kind = LayerKind::linear_attention},
    {.name = "qwen3vl", .rotation = GgufRotation::imrope, .qk_norm = kRmsPerHead},
    {.name = "qwen3vlmoe", .rotation = GgufRotation::imrope, .qk_norm = kRmsPerHead},
    {.name = "qwen35", .rotation = GgufRotation::imrope, .period = 4, .qk_norm = kRmsPerHead,
     .states = GgufStates::interval, .state_kind = LayerKind::linear_attention},
    {.name = "qwen35moe", .rotation = GgufRotation::imrope, .period = 4, .qk_norm = kRmsPerHead,
     .states = GgufStates::interval, .state_kind = LayerKind::linear_attention},
    {.name = "phi2", .rotation = GgufRotation::neox},
    {.name = "phi3", .rotation = GgufRotation::neox, .factors = true},
    {.name = "phimoe", .rotation = GgufRotation::neox, .factors = true},
    {.name = "plamo", .rotation = GgufRotation::neox},
    {.name = "plamo2", .rotation = GgufRotation::neox, .scale = GgufScale::value_dim, .qk_norm = kRmsPerHead,
     .states = GgufStates::no_kv_heads},
    {.name = "plamo3", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 8,
     .own_sliding_base = true, .sliding_unscaled = true, .qk_norm = kRmsPerHead},
    {.name = "codeshell", .rotation = GgufRotation::neox},
    {.name = "orion", .rotation = GgufRotation::neox},
    {.name = "internlm2", .rotation = GgufRotation::norm},
    {.name = "minicpm", .rotation = GgufRotation::norm, .factors = true},
    {.name = "minicpm3", .rotation = GgufRotation::neox, .rotary_at_end = true, .factors = true},
    {.name = "gemma", .rotation = GgufRotation::neox},
    {.name = "gemma2", .rotation = GgufRotation::neox, .windows = GgufWindows::fixed, .period = 2,
     .default_window = 4096, .scale = GgufScale::large_hidden, .large_at_layers = 46, .soft_cap = 50},
    {.name = "gemma3", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 6,
     .own_sliding_base = true, .sliding_unscaled = true, .scale = GgufScale::large_hidden, .large_at_layers = 62,
     .qk_norm = kRmsPerHead},
    {.name = "gemma3n", .rotation = GgufRotation::neox, .windows = GgufWindows::required, .period = 5,
     .own_sliding_base = true, .sliding_unscaled = true, .kv_shared_from = 20, .scale = GgufScale::one,
     .qk_norm = kRmsPerHead},
    {.name = "gemma4", .rotation = GgufRotation::neox, .windows = GgufWindows::required, .pattern_required = true,
     .own_sliding_base = true,
     .sliding_unscaled = true, .reads_shared_kv = true, .scale = GgufScale::one, .qk_norm = kRmsPerHead,
     .factors = true},
    {.name = "gemma4-assistant", .rotation = GgufRotation::neox, .windows = GgufWindows::required,
     .pattern_required = true,
     .own_sliding_base = true, .sliding_unscaled = true, .scale = GgufScale::one, .qk_norm = kRmsPerHead,
     .undecided = kTargetsKeys},
    {.name = "gemma-embedding", .rotation = GgufRotation::neox, .encoder = true, .bidirectional = true,
     .windows = GgufWindows::required, .period = 6, .symmetric = true, .own_sliding_base = true,
     .sliding_unscaled = true, .qk_norm = kRmsPerHead},
    {.name = "starcoder2", .rotation = GgufRotation::neox},
    {.name = "mamba", .rotation = GgufRotation::none, .states = GgufStates::every_layer},
    {.name = "mamba2", .rotation = GgufRotation::none, .states = GgufStates::every_layer},
    {.name = "jamba", .rotation = GgufRotation::none, .states = GgufStates::no_kv_heads},
    {.name = "falcon-h1", .rotation = GgufRotation::neox, .mixing = {.beside = LayerKind::state_space}},
    {.name = "xverse", .rotation = GgufRotation::norm},
    {.name = "command-r", .rotation = GgufRotation::norm, .qk_norm = kLayerPerHeadIfThere},
    {.name = "cohere2", .rotation = GgufRotation::norm, .windows = GgufWindows::required, .period = 4,
     .rotary = GgufRotary::sliding_layers, .factors = true},
    {.name = "cohere2moe", .rotation = GgufRotation::norm, .windows = GgufWindows::required, .period = 4,
     .pattern_required = true,
     .full_first = true, .rotary = GgufRotary::sliding_layers, .factors = true},
    {.name = "dbrx", .rotation = GgufRotation::neox},
    {.name = "olmo", .rotation = GgufRotation::norm},
    {.name = "olmo2", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 4,
     .sliding_unscaled = true, .qk_norm = kRmsAcrossHeads},
    {.name = "olmoe", .rotation = GgufRotation::neox, .qk_norm = kRmsAcrossHeads},
    {.name = "muse-glimmer", .rotation = GgufRotation::norm, .windows = GgufWindows::required, .period = 4,
     .pattern_required = true,
     .rotary = GgufRotary::sliding_layers, .qk_norm = kRmsPerHead},
    {.name = "openelm", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead},
    {.name = "arctic", .rotation = GgufRotation::norm},
    {.name = "deepseek", .rotation = GgufRotation::norm, .factors = true},
    {.name = "deepseek2", .rotation = GgufRotation::norm, .latent = true, .temperature = GgufTemperature::ministral,
     .log_multiplier = 0.1F},
    {.name = "deepseek2-ocr", .rotation = GgufRotation::neox},
    {.name = "deepseek32", .rotation = GgufRotation::norm, .latent = true, .indexer = true, .log_multiplier = 0.1F},
    {.name = "deepseek4", .rotation = GgufRotation::norm, .undecided = kCompressed},
    {.name = "chatglm", .rotation = GgufRotation::norm},
    {.name = "glm4", .rotation = GgufRotation::norm_or_mrope},
    {.name = "glm4moe", .rotation = GgufRotation::neox_or_mrope, .qk_norm = kRmsIfThere},
    {.name = "glm-dsa", .rotation = GgufRotation::norm, .latent = true, .indexer = true},
    {.name = "bitnet", .rotation = GgufRotation::neox},
    {.name = "t5", .rotation = GgufRotation::none, .scale = GgufScale::one},
    {.name = "t5encoder", .rotation = GgufRotation::none, .encoder = true, .scale = GgufScale::one},
    {.name = "jais", .rotation = GgufRotation::none, .scale = GgufScale::inverse_head_dim, .alibi = GgufAlibi::key},
    {.name = "jais2", .rotation = GgufRotation::neox},
    {.name = "nemotron", .rotation = GgufRotation::neox},
    {.name = "nemotron_h", .rotation = GgufRotation::none, .states = GgufStates::no_kv_nor_feed},
    {.name = "nemotron_h_moe", .rotation = GgufRotation::none, .states = GgufStates::no_kv_nor_feed},
    {.name = "exaone", .rotation = GgufRotation::neox, .factors = true},
    {.name = "exaone4", .rotation = GgufRotation::neox, .windows = GgufWindows::fixed, .period = 4,
     .default_window = 4096, .windows_at_layers = 64, .rotary = GgufRotary::sliding_or_windowless,
     .qk_norm = kRmsPerHead, .factors = true},
    {.name = "exaone-moe", .rotation = GgufRotation::neox, .windows = GgufWindows::fixed, .period = 4,
     .default_window = 128, .rotary = GgufRotary::sliding_layers, .qk_norm = kRmsPerHead, .factors = true},
    {.name = "rwkv6", .rotation = GgufRotation::none, .states = GgufStates::every_layer,
     .state_kind = LayerKind::linear_attention},
    {.name = "rwkv6qwen2", .rotation = GgufRotation::none, .states = GgufStates::every_layer,
     .state_kind = LayerKind::linear_attention},
    {.name = "rwkv7", .rotation = GgufRotation::none, .states = GgufStates::every_layer,
     .state_kind = LayerKind::linear_attention},
    {.name = "arwkv7", .rotation = GgufRotation::none, .states = GgufStates::every_layer,
     .state_kind = LayerKind::linear_attention},
    {.name = "granite", .rotation = GgufRotation::norm, .rotary = GgufRotary::unless_finetuned_false,
     .scale = GgufScale::scale_key, .factors = true},
    {.name = "granitemoe", .rotation = GgufRotation::norm, .rotary = GgufRotary::unless_finetuned_false,
     .scale = GgufScale::scale_key, .factors = true},
    {.name = "granitehybrid", .rotation = GgufRotation::norm, .rotary = GgufRotary::unless_finetuned_false,
     .scale = GgufScale::scale_key, .states = GgufStates::no_kv_heads, .factors = true},
    {.name = "graniteswitch", .rotation = GgufRotation::norm, .scale = GgufScale::scale_key, .factors = true},
    {.name = "chameleon", .rotation = GgufRotation::norm, .qk_norm = kLayerPerHead},
    {.name = "wavtokenizer-dec", .rotation = GgufRotation::none, .undecided = kConvolutions},
    {.name = "clip", .rotation = GgufRotation::none, .undecided = kPictures},
    {.name = "plm", .rotation = GgufRotation::norm, .rotary_at_end = true},
    {.name = "bailingmoe", .rotation = GgufRotation::norm, .scale = GgufScale::rotated_channels, .factors = true},
    {.name = "bailingmoe2", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead},
    {.name = "bailingmoe3", .rotation = GgufRotation::norm, .latent = true, .states = GgufStates::no_kv_heads,
     .state_kind = LayerKind::linear_attention},
    {.name = "dots1", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead},
    {.name = "arcee", .rotation = GgufRotation::norm, .factors = true},
    {.name = "afmoe", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 4,
     .rotary = GgufRotary::rests_last_of_4, .qk_norm = kRmsPerHead},
    {.name = "laguna", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 4, .full_first = true,
     .sliding_unscaled = true, .qk_norm = kRmsPerHead},
    {.name = "ernie4_5", .rotation = GgufRotation::norm},
    {.name = "ernie4_5-moe", .rotation = GgufRotation::norm},
    {.name = "hunyuan-moe", .rotation = GgufRotation::neox, .qk_norm = kRmsAfter, .factors = true},
    {.name = "hunyuan-dense", .rotation = GgufRotation::neox, .qk_norm = kRmsAfter, .factors = true},
    {.name = "hunyuan_vl", .rotation = GgufRotation::neox_or_mrope, .qk_norm = kRmsAfter, .factors = true},
    {.name = "hy_v3", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead, .factors = true},
    {.name = "smollm3", .rotation = GgufRotation::norm, .rotary = GgufRotary::rests_last_of_4},
    {.name = "gpt-oss", .rotation = GgufRotation::neox, .windows = GgufWindows::required, .period = 2,
     .scale = GgufScale::rotated_channels, .sinks = kAlways},
    {.name = "lfm2", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .qk_norm = kRmsPerHead,
     .states = GgufStates::no_kv_heads, .state_kind = LayerKind::convolution},
    {.name = "lfm2moe", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead, .states = GgufStates::no_kv_heads,
     .state_kind = LayerKind::convolution},
    {.name = "dream", .rotation = GgufRotation::neox, .bidirectional = true},
    {.name = "smallthinker", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 4,
     .full_first = true, .default_window = 4096, .rotary = GgufRotary::rests_first_of_4},
    {.name = "llada", .rotation = GgufRotation::norm, .bidirectional = true},
    {.name = "llada-moe", .rotation = GgufRotation::neox, .bidirectional = true, .qk_norm = kRmsPerHead},
    {.name = "seed_oss", .rotation = GgufRotation::neox},
    {.name = "grovemoe", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead},
    {.name = "apertus", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead, .factors = true},
    {.name = "minimax-01", .rotation = GgufRotation::neox, .period = 8, .states = GgufStates::interval,
     .state_kind = LayerKind::linear_attention},
    {.name = "minimax-m2", .rotation = GgufRotation::neox, .qk_norm = kRmsAcrossHeads},
    {.name = "minimax-m3", .rotation = GgufRotation::neox, .qk_norm = kRmsPerHead, .undecided = kBlocks},
    {.name = "cogvlm", .rotation = GgufRotation::neox},
    {.name = "rnd1", .rotation = GgufRotation::neox, .bidirectional = true, .qk_norm = kRmsPerHead},
    {.name = "pangu-embedded", .rotation = GgufRotation::neox},
    {.name = "mistral3", .rotation = GgufRotation::norm, .temperature = GgufTemperature::ministral, .factors = true,
     .reads_betas = true, .log_multiplier = 1},
    {.name = "eagle3", .rotation = GgufRotation::norm, .undecided = kDraft},
    {.name = "dflash", .rotation = GgufRotation::neox, .undecided = kDraft},
    {.name = "mistral4", .rotation = GgufRotation::norm, .latent = true, .temperature = GgufTemperature::ministral,
     .log_multiplier = 0.1F},
    {.name = "paddleocr", .rotation = GgufRotation::mrope},
    {.name = "mimo2", .rotation = GgufRotation::neox, .windows = GgufWindows::required, .pattern_required = true,
     .own_sliding_base = true,
     .sliding_unscaled = true, .sinks = kByTensor},
    {.name = "step35", .rotation = GgufRotation::neox, .windows = GgufWindows::required, .pattern_required = true,
     .own_sliding_base = true,
     .sliding_unscaled = true, .full_rotates_half = true, .qk_norm = kRmsIfThere, .factors = true},
    {.name = "llama-embed", .rotation = GgufRotation::norm, .factors = true},
    {.name = "maincoder", .rotation = GgufRotation::norm, .qk_norm = kRmsAfter},
    {.name = "kimi-linear", .rotation = GgufRotation::none, .latent = true, .states = GgufStates::no_kv_heads,
     .state_kind = LayerKind::linear_attention},
    {.name = "kimi-k3", .rotation = GgufRotation::none, .latent = true, .states = GgufStates::no_kv_heads,
     .state_kind = LayerKind::linear_attention},
    {.name = "talkie", .rotation = GgufRotation::neox, .qk_norm = kRmsAfterUnweighted},
    {.name = "mellum", .rotation = GgufRotation::neox, .windows = GgufWindows::given, .period = 4,
     .pattern_required = true,
     .sliding_unscaled = true, .qk_norm = kRmsPerHead},
    {.name = "nanbeige", .rotation = GgufRotation::norm, .factors = true},
    {.name = "qwen3tts", .rotation = GgufRotation::imrope, .qk_norm = kRmsPerHead},
    {.name = "pockettts", .rotation = GgufRotation::norm},
};
// clang-format on

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() noexcept { return kArchitectures; }

const GgufArchitecture* find_gguf_architecture(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  return found == std::end(kArchitectures) ? nullptr : found;
}

std::string_view name(GgufRotation rotation) noexcept {
  switch (rotation) {
    case GgufRotation::none: return "none";
    case GgufRotation::norm: return "interleaved";
    case GgufRotation::neox: return "half";
    case GgufRotation::mrope: return "half, sections";
    case GgufRotation::imrope: return "half, interleaved sections";
    case GgufRotation::norm_or_mrope: return "interleaved; with sections half";
    case GgufRotation::neox_or_mrope: return "half; sections where given";
  }
  return "unknown";
}

std::string gguf_default(const GgufArchitecture& architecture) {
  return formatted("default: {} in llama.cpp", architecture.name);
}

}  // namespace posenc::plan

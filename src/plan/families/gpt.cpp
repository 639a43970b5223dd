// GPT, and the decoders of its time. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   gptj-native: mesh-transformer-jax: layers.py, fixed_pos_embedding and apply_rotary_pos_emb.
//   rugpt3xl: llama.cpp src/models/rugpt3xl.cpp; ai-forever/ru-gpts (DeepSpeed's fixed pattern).
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr StackRule kEqualHeads{.own_keys = kPlainHeads};
// Their modules have a causal mask of their own, whatever is_causal says.
constexpr OwnKey kGptNeoKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kIsCausal}, {&keys::kWindow, keys::kWindowSize.names}};
constexpr OwnKey kImageGptKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kIsCausal}};
constexpr InputRule kTableFrom2{.kind = InputKind::learned, .offset = 2, .rows = Rows::beside};
constexpr InputRule kSinesFrom2{.kind = InputKind::sinusoidal,
                                .convention = SinusoidConvention::tensor2tensor,
                                .offset = 2,
                                .rows = Rows::unlimited,
                                .scaled = true};
constexpr InputRule kCtrlSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::marian, .always_scaled = true};
constexpr StackRule kCtrlStack{.input = kCtrlSines, .own_keys = kPlainHeads};
constexpr StackRule kFilterStack{.name = "encoder", .mask = kBothWays};
constexpr MaskRule kImageFirst{
    .kind = MaskKind::prefix,
    .detail = {"image tokens first, they see each other, text is causal", Sees::beyond_window}};
constexpr ScoreRule kAlibiColumn{.kind = ScoreKind::alibi, .form = AlibiForm::column};
constexpr StackRule kBloomStack{.score = kAlibiColumn, .own_keys = kPlainHeads};
constexpr StackRule kGpt2Stack{.input = kTable, .cross = CrossAttention::by_flag, .own_keys = kPlainHeads};
constexpr StackRule kImageGptStack{.input = kTable, .cross = CrossAttention::by_flag, .own_keys = kImageGptKeys};
constexpr StackRule kGptNeoStack{.input = kTable, .own_keys = kGptNeoKeys};
constexpr StackRule kOptStack{.input = kTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kGitStack{.mask = kImageFirst, .input = kTable, .own_keys = kPlainHeads};
constexpr StackRule kXglmStack{.input = kSinesFrom2, .cross = CrossAttention::by_flag, .own_keys = kPlainHeads};
constexpr StackRule kBiogptStack{.input = kScaledTableFrom2, .own_keys = kPlainHeads};

constexpr StackRule kPlainGptStack{.own_keys = kPlainHeads};

SchemeChoice refact_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  return choose_alibi(scope, facts.heads, family_default(scope.family()));
}

// ALiBi where position_embedding_type says so; else a table.
SchemeChoice jais_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  const auto type = scope.find(keys::kPositionType);
  if (type && scope.reader().string(*type) == "alibi") return choose_alibi(scope, facts.heads, type->from);
  return choose_table(facts.trained_length, type ? type->from : family_default(scope.family()));
}

// 1 / head_dim where mup_scale_qk_dot_by_d, or scale_qk_dot_by_d, is true.
std::optional<Sourced<double>> jais_scale(ConfigScope& scope, const AttentionShape& shape) {
  const Setting<bool> by_width = scope.flag(keys::kScaleByWidth);
  if (!by_width.value.value_or(false)) return {};
  return Sourced<double>{1 / static_cast<double>(shape.head_dim.value), by_width.from};
}

SchemeChoice rugpt_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  return choose_table(facts.trained_length, family_default(scope.family()));
}

}  // namespace

std::span<const Family> gpt_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "gpt2", .model_types = "gpt2 openai-gpt", .class_stems = "GPT2 OpenAIGPT",
     .own_names = "n_embd n_head n_layer n_positions", .main = kGpt2Stack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scale = Scale::switched},
    {.name = "imagegpt", .class_stems = "ImageGPT", .own_names = "n_embd n_head n_layer n_positions",
     .main = kImageGptStack, .scales = false, .rotary_layers = kNoRotaryLayer, .scale = Scale::switched},
    {.name = "gpt_bigcode", .class_stems = "GPTBigCode", .own_names = "n_embd n_head n_layer n_positions",
     .main = kGpt2Stack, .kv_heads = KvHeads::one_where_multi_query, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scale = Scale::switched},
    {.name = "gpt_refact", .class_stems = "GPTRefact", .own_names = "n_embd n_head n_layer n_positions",
     .kv_heads = KvHeads::one_where_multi_query, .scales = false, .scheme = refact_scheme},
    {.name = "jais", .class_stems = "JAIS", .own_names = "n_embd n_head n_layer n_positions", .main = kPlainGptStack,
     .scales = false, .scheme = jais_scheme, .softmax_scale = jais_scale, .undecided_keys = "alibi_scaling"},
    {.name = "gpt_neo", .class_stems = "GPTNeo", .main = kGptNeoStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .windows = Windows::attention_types, .scale = Scale::one},
    {.name = "gpt_neox", .model_types = "gpt_neox gpt_neox_reward_model", .class_stems = "GPTNeoX GPTNeoXReward",
     .pairing = kHalf, .own_names = "rotary_emb_base rotary_pct", .width = Width::partial_factor,
     .undecided_keys = "head_dim"},  // its rotation reads it, its heads do not
    {.name = "gpt_neox_japanese", .class_stems = "GPTNeoXJapanese", .pairing = kHalf,
     .own_names = "rotary_emb_base rotary_pct", .main = kEqualHeads, .width = Width::partial_factor},
    {.name = "gptj", .class_stems = "GPTJ", .pairing = kInterleaved, .own_names = "n_embd n_head n_layer n_positions",
     .width = Width::rotary_dim, .base = BaseRule::class_own, .scales = false, .misleading_keys = kNoDictionaries},
    {.name = "gptj-native", .pairing = kInterleaved, .own_names = "layers d_model n_heads seq pe_rotary_dims",
     .width = Width::rotary_dim, .scales = false, .scheme = scheme_by_type},
    {.name = "codegen", .class_stems = "CodeGen", .pairing = kInterleaved,
     .own_names = "n_embd n_head n_layer n_positions", .width = Width::rotary_dim, .base = BaseRule::class_own,
     .scales = false, .misleading_keys = kNoDictionaries},
    {.name = "gpt_oss", .class_stems = "GptOss", .pairing = kHalf, .windows = Windows::patterned, .default_pattern = 2,
     .sinks = true, .misleading_keys = "partial_rotary_factor initial_context_length"},
    {.name = "openai_privacy_filter", .class_stems = "OpenAIPrivacyFilter", .pairing = kInterleaved, .main = kFilterStack,
     .windows = Windows::every_layer, .sinks = true, .misleading_keys = "partial_rotary_factor initial_context_length"},
    {.name = "ctrl", .class_stems = "CTRL", .own_names = "n_embd n_head n_layer n_positions", .main = kCtrlStack,
     .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "rugpt3xl", .class_stems = "RuGPT3XL", .pairing = kHalf, .block_sparse = BlockSparse::alternating,
     .scheme = rugpt_scheme},
    {.name = "opt", .class_stems = "OPT", .main = kOptStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "xglm", .class_stems = "XGLM", .main = kXglmStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "biogpt", .class_stems = "BioGpt", .main = kBiogptStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "git", .class_stems = "Git", .main = kGitStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "bloom", .class_stems = "Bloom", .own_names = "n_embed", .main = kBloomStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .misleading_keys = "offset_alibi", .needs_length = false},
    {.name = "starcoder2", .class_stems = "Starcoder2", .pairing = kHalf, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "stablelm", .model_types = "stablelm stablelm_epoch", .class_stems = "StableLm StableLMEpoch", .pairing = kHalf, .width = Width::partial_factor,
     .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
    {.name = "persimmon", .class_stems = "Persimmon", .pairing = kHalf, .main = kEqualHeads,
     .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

// Decoders of makers with up to three, by name: Command of Cohere, ERNIE and PaddleOCR of Baidu, EXAONE, Hunyuan,
// InternLM, MiniCPM, MiniMax, Nemotron of NVIDIA, Step and others. One row a family. Facts: the transformers 5.23.0
// class named by the stem; but of
//   arctic, solar, step3_text: vLLM arctic.py, solar.py, step3_text.py. kormo: llama.cpp conversion/qwen.py.
//   codeshell, llada, maincoder, smallthinker: llama.cpp conversion/NAME.py and the graphs of its models (codeshell,
//     llada, llada-moe, maincoder, smallthinker), which convert without exchanging channels or undo their own exchange.
//   cogvlm: lmdeploy pytorch/models/cogvlm.py. grok-1: SGLang grok.py, llama.cpp conversion/grok.py.
//   jet_nemotron, spark2_5: SGLang jet_nemotron.py, spark2_5.py; its kernels count tokens before a token's own.
//   jina_embeddings_v5, k2_horizon, molmo: vLLM jina.py, k2_horizon.py, molmo.py. xllm: SGLang xllm.py.
//   plamo2: its makers' code as ml-explore/mlx-examples has it, llms/mlx_lm/models/plamo2.py; the engines see no
//   window. baichuan_m1: mlx-lm baichuan_m1.py. dory: vLLM dory.py. talkie: llama.cpp conversion/talkie.py and its
//   graph. domyn_edge, openpangu_vl_text: vLLM domyn_edge.py, openpangu.py and mrope_interleaved.py. moss_vl_text:
//   SGLang moss_vl.py. nemotron_h_puzzle: SGLang configs/nemotron_h.py. hunyuan: mlx-lm hunyuan.py. internlm:
//   modeling_internlm.py beside its weights. afm7, klear, lille-130m: mlx-lm afm7.py, Klear.py, lille-130m.py.
//   minimax_text_01: vLLM 0.22 minimax_text_01.py. llada2_moe: SGLang llada2.py and srt/dllm (its blocks). ouro,
//   nanbeige: vLLM 0.25 ouro.py, SGLang nanbeige.py. param2moe, sarvam_moe: vLLM param2moe.py, sarvam.py;
//   bailing_moe_v2: vLLM bailing_moe.py. plamo3: vLLM plamo3.py. PanguEmbedded: modular_openpangu_dense.py
//   (LlamaAttention). bailing_moe, baichuan, exaone, internlm2, minicpm, yuan: the modeling_*.py beside their weights.
//   minimax_m3: MiniMaxM3VLTextConfig.
//   nemotron-nas: modeling_decilm.py; vLLM nemotron_nas.py (which pairs, where position_embedding_type is absent).
//   openelm: the modeling_openelm.py beside its weights (OpenELMMultiHeadCausalAttention).
//   step3p5 and step3p7: Step3p7TextConfig.
//   transformer: fla/models and fla/layers/attn.py of flash-linear-attention.
#include <cmath>

#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"
#include "plan/rope/keys.h"
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

constexpr OwnKey kAfmKeys[] = {{&keys::kHidden, "hidden_dim"}};
constexpr StackRule kAfmStack{.own_keys = kAfmKeys};
constexpr OwnKey kCodeShellKeys[] = {{&keys::kKvHeads, "num_query_groups"}, {&keys::kHeadDim}};
constexpr StackRule kCodeShellStack{.own_keys = kCodeShellKeys};
constexpr OwnKey kPlamo2Keys[] = {{&keys::kWindow, "attention_window_size"}, {&keys::kHeadDim, "hidden_size_per_head"}};
constexpr StackRule kPlamo2Stack{.own_keys = kPlamo2Keys};
constexpr OwnKey kPlamoKeys[] = {{&keys::kWindow, "window_size", "sliding_window"}};
constexpr StackRule kPlamoStack{.own_keys = kPlamoKeys};
constexpr OwnKey kStep3Keys[] = {{&keys::kLength, "max_position_embedding max_seq_len max_position_embeddings"}};
// partial_rotary_factors, one for each layer, alone has an effect.
constexpr OwnKey kStep35Keys[] = {{&keys::kPartialFactor}};
constexpr StackRule kStep35Stack{.own_keys = kStep35Keys};
constexpr StackRule kStep3Stack{.own_keys = kStep3Keys};

constexpr double kInternlmBase = 10000;

// rotary: {"type": "origin" or "dynamic", "base", "scaling_factor"}; without it the class rotates plainly.
Scaling internlm_scaling(RopeKeys& keys, std::int64_t) {
  ConfigReader& reader = keys.reader();
  const auto object = reader.look(keys.scope().object(), "rotary");
  if (!object || object->value.kind() != io::JsonKind::object) {
    keys.note("scaling/rule", family_default(keys.scope().family()));
    return {};
  }
  reader.mark_read(*object);
  reader.enter(object->value);
  const auto type = reader.look(object->value, "type");
  const std::string word = type ? std::string(reader.string(*type).value_or("")) : "origin";
  keys.note("scaling/rule", type ? *type : *object);
  const auto base = reader.look(object->value, "base");
  if (base && reader.number(*base) != kInternlmBase) {
    reader.undecided(formatted("{} is not {}.", base->from, kInternlmBase), {base->from});
  }
  if (word == "origin") return {};
  if (word != "dynamic") {
    reader.fail(*type, ErrorKind::out_of_range, "\"origin\" or \"dynamic\"");
    return {};
  }
  DynamicScaling rule{.factor = 1.0, .max_position_embeddings = keys.trained_length().value};
  keys.note("scaling/max_position_embeddings", keys.trained_length().from);
  if (const auto factor = reader.look(object->value, "scaling_factor")) {
    rule.factor = reader.number(*factor).value_or(1.0);
    keys.note("scaling/factor", *factor);
  }
  return rule;
}

constexpr QkNorm kWeightedRmsAfter{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};             // Hunyuan's
constexpr QkNorm kPlainRms{.kind = QkNorm::Kind::rms, .weighted = false};                                 // Muse's
constexpr QkNorm kUnitAfter{.kind = QkNorm::Kind::l2, .order = QkNorm::Order::after, .weighted = false};  // Dory's
// Zaya: each head's keys have one weight, queries have none.
constexpr QkNorm kOnlyKeysWeighted{.kind = QkNorm::Kind::rms, .weighted_queries = false};

constexpr OwnKey kLagunaKeys[] = {{&keys::kHeads, "num_attention_heads_per_layer", "num_attention_heads"}};
constexpr StackRule kLagunaStack{.own_keys = kLagunaKeys};
// The whole model writes its local_attention_window_len over a sliding_window of its encoder.
constexpr Names kByteWindow{"local_attention_window_len"};
constexpr OwnKey kBltKeys[] = {{&keys::kWindow, kByteWindow}, {&keys::kByteWindow, kByteWindow}};
// The whole model makes the masks of its patches; and those of its bytes, by local_attention_window_len.
constexpr OwnKey kBltGlobalKeys[] = {{&keys::kWindow}, {&keys::kIsCausal}};
constexpr StackRule kBltGlobal{.own_keys = kBltGlobalKeys};
constexpr MaskRule kBytes{.by_call_without = &keys::kByteWindow};
constexpr StackRule kBltEncoder{.mask = kBytes,
                                .cross = CrossAttention::last_block,
                                .cross_detail = "patches ask, each the bytes that it is made of",
                                .own_keys = kBltKeys};
constexpr StackRule kBltDecoder{.mask = kBytes,
                                .cross = CrossAttention::first_block,
                                .cross_detail = "bytes ask, each the patch before its own",
                                .own_keys = kBltKeys};
// Four short convolutions, of as many tokens as a key of the file says: of keys, of values, behind attention and the
// MLP.
constexpr StackRule kInklingStack{.score = {.kind = ScoreKind::distance_logits},
                                  .mixing = {.tokens_before = std::nullopt, .outputs = true}};

// q and k are normalised: 1 / head_dim.
std::optional<Sourced<double>> over_head_dim(ConfigScope& scope, const AttentionShape& shape) {
  return Sourced<double>{1.0 / static_cast<double>(shape.head_dim.value), family_default(scope.family())};
}

// Dynamic mask attention, arXiv 2508.02124.
constexpr StackRule kDogeStack{
    .mask = {.kind = MaskKind::sparse,
             .detail = {"causal; a number made of each value is added to its key's scores, and of more than "
                        "keep_window_size keys those with the largest are seen",
                        Sees::beyond_window},
             .window_of_past = true}};
constexpr StackRule kPrefixStack{.mask = {.prefix_if = &keys::kPrefix}};
// Keys and values are made of a token and the one before it, by a convolution, before they rotate.
constexpr StackRule kBaichuanM1Stack{.mixing = {.tokens_before = 1}};
// Two convolutions of queries and keys; half of each value's channels are of the token before (v_proj_delayed).
constexpr StackRule kZayaStack{.mixing = {.tokens_before = 2}};

// qk_scale_factor / sqrt(head_dim): queries and keys are normalised, queries are multiplied by it.
std::optional<Sourced<double>> muse_scale(ConfigScope& scope, const AttentionShape& shape) {
  const Sourced<double> factor = scope.required_positive(keys::kQueryFactor);
  return Sourced<double>{factor.value / std::sqrt(static_cast<double>(shape.head_dim.value)), factor.from};
}

AttentionShape mimo_shape(ConfigScope& scope, AttentionShape shape) {
  shape.value_dim = scope.required_integer(keys::kValueDim, {1, kMaxHeadDim});
  return shape;
}

// first_k_dense_replace makes lists of both kinds where the file has none of dense layers.
SchemeChoice cohere2_moe_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto dense = scope.look("first_k_dense_replace");
  if (dense && !scope.peek(keys::kMlpTypes) && scope.reader().integer(*dense, {0, kMaxLayers}).value_or(0) > 0) {
    scope.reader().undecided(
        formatted("{} is given, and no mlp_layer_types: which layers rotate is not read.", dense->from), {dense->from});
  }
  return choose_rotation(family_default(scope.family()));
}

// Inkling's class knows "hybrid_sliding" by its heads and "hybrid" by its mask: of another word the one is a full
// layer's, and the other a sliding layer's.
AttentionShape inkling_shape(ConfigScope& scope, AttentionShape shape) {
  const auto types = scope.peek(keys::kLayerTypes);
  if (!types || types->value.kind() != io::JsonKind::array) return shape;
  for (const io::JsonValue& word : types->value.items()) {
    if (word.kind() != io::JsonKind::string || word.text().starts_with("hybrid")) continue;
    scope.reader().undecided(formatted("{} has the word {}: the class takes such a layer's heads for those of a full "
                                       "layer, and lets its mask slide.",
                                       types->from, shown(word)),
                             {types->from});
    break;
  }
  return shape;
}

// JetMoE (arXiv 2404.07413): each of the experts that a token is sent to has a query for every head of keys.
AttentionShape jetmoe_shape(ConfigScope& scope, AttentionShape shape) {
  constexpr std::int64_t kClassExperts = 2;
  ConfigReader& reader = scope.reader();
  const auto given = reader.look(scope.object(), "num_experts_per_tok");
  const std::int64_t experts = given ? reader.integer(*given, {1, kMaxHeads}).value_or(1) : kClassExperts;
  if (given) reader.mark_read(*given);
  shape.heads = {shape.kv_heads.value * experts, given ? given->from : family_default(scope.family())};
  return shape;
}

// Puzzle: an entry of block_configs may overrule any key in its layer.
AttentionShape puzzle_shape(ConfigScope& scope, AttentionShape shape) {
  ConfigReader& reader = scope.reader();
  const auto blocks = reader.look(scope.object(), keys::kBlocks.name());
  if (!blocks || blocks->value.kind() != io::JsonKind::array) return shape;
  reader.mark_read(*blocks);
  for (const io::JsonValue& block : blocks->value.items()) {
    if (block.kind() != io::JsonKind::object) continue;
    for (std::string_view key : {"num_attention_heads", "num_key_value_heads", "head_dim", "attention_head_dim"}) {
      const auto own = reader.look(block, key);
      if (!own) continue;
      reader.undecided(formatted("{} is of this layer alone: no rule here reads it.", own->from), {own->from});
      return shape;
    }
  }
  return shape;
}

// The first rope_head_dim / 2 pairs rotate, of those that the whole head would have; a rule besides is not read.
SchemeChoice k2_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto narrow = scope.peek(keys::kNarrowHead);
  for (std::string_view name : {"rope_parameters", "rope_scaling"}) {
    const auto object = scope.look(name);
    if (!narrow || !object || object->value.kind() != io::JsonKind::object) continue;
    auto type = scope.reader().look(object->value, "rope_type");
    if (!type) type = scope.reader().look(object->value, "type");
    if (!type || type->value.text() == "default") continue;
    scope.reader().undecided(formatted("{} and {}: how both go together is not read.", narrow->from, type->from),
                             {narrow->from, type->from});
  }
  return choose_rotation(family_default(scope.family()));
}

Scaling k2_scaling(RopeKeys& keys, std::int64_t dim) {
  const Setting<std::int64_t> narrow = keys.scope().integer(keys::kNarrowHead, {2, dim});
  if (!narrow.value || *narrow.value == dim) return {};
  keys.note("scaling/partial_rotary_factor", narrow.from);
  return ProportionalScaling{.partial_rotary_factor = static_cast<double>(*narrow.value) / static_cast<double>(dim)};
}

// qk_norm_type "olmo" is a norm across heads; rope_scaling_layers leave some layers without the rule of the others.
SchemeChoice molmo2_scheme(ConfigScope& scope, const SchemeFacts&) {
  ConfigReader& reader = scope.reader();
  if (const auto norm = scope.look("qk_norm_type"); norm && reader.string(*norm) != "qwen3") {
    reader.undecided(formatted("{} is given: which norm of queries and keys it is is not read.", norm->from),
                     {norm->from});
  }
  if (const auto rule = scope.look("rope_scaling"); rule && !rule->value.is_null()) {
    reader.undecided(formatted("{} is given: which layers it is for is not read.", rule->from), {rule->from});
  }
  return choose_rotation(family_default(scope.family()));
}

// At what the resampler's queries took from it.
constexpr StackRule kLooksAtProtein{.cross = CrossAttention::aligned, .cross_by_heads = true};
constexpr StackRule kLooksAtImages{.cross = CrossAttention::each_nth};
constexpr QkNorm kRmsWeightedAfter{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};

}  // namespace

std::span<const Family> decoders_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "PanguEmbedded", .class_stems = "PanguEmbedded", .pairing = kHalf,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "afmoe", .class_stems = "Afmoe", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::but_last_of_n, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "afm7", .pairing = kInterleaved, .main = kAfmStack, .scales = false,
     .shares_kv = true, .qk_norm = QkNormRule{kWeightedRmsAfter}, .misleading_keys = kQwenMisleads,
     .needs_length = false},
    {.name = "baichuan_m1", .class_stems = "BaichuanM1", .pairing = kHalf, .main = kBaichuanM1Stack,
     .sizes = Sizes::sliding_whole, .windows = Windows::numbered, .misleading_keys = "partial_rotary_factor",
     .needs_length = false},
    {.name = "apertus", .class_stems = "Apertus", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "arcee", .class_stems = "Arcee", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "arctic", .model_types = "arctic kormo solar", .class_stems = "Arctic KORMo Solar", .pairing = kHalf,
     .misleading_keys = "partial_rotary_factor", .undecided_keys = "sliding_window"},
    {.name = "aria_text", .class_stems = "AriaText", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "baichuan", .class_stems = "Baichuan", .pairing = kHalf, .scales = false, .scheme = baichuan_scheme,
     .misleading_keys = kQwenMisleads},
    {.name = "bailing_moe", .model_types = "bailing_moe bailing_moe_v2 param2moe sarvam_moe",
     .class_stems = "BailingMoe BailingMoeV2 Param2MoE SarvamMoE", .pairing = kHalf, .width = Width::factor_or_dim,
     .qk_norm = QkNormRule{kRmsPerHead, "use_qk_norm"}},
    {.name = "beam", .class_stems = "Beam", .pairing = kHalf, .ropes_per_type = true, .windows = Windows::patterned,
     .default_pattern = 6, .last_layer_full = true, .last_full_by_pattern = true, .query_scaling = QueryScaling::beam,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "bitnet", .class_stems = "BitNet Bitnet", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    // Beside blt_patcher: hashes of the bytes before a byte; patches of the encoder's bytes; bytes beside those.
    // blt_patcher cuts bytes into patches where a byte is hard to tell.
    {.name = "blt_patcher", .class_stems = "BltPatcher", .pairing = kInterleaved, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "blt_global_transformer", .class_stems = "BltGlobalTransformer", .pairing = kInterleaved,
     .main = kBltGlobal, .mixed_input = "blt_global_transformer", .misleading_keys = "partial_rotary_factor"},
    {.name = "blt_local_encoder", .class_stems = "BltLocalEncoder", .pairing = kInterleaved, .main = kBltEncoder,
     .mixed_input = "blt_local_encoder", .windows = Windows::every_layer, .misleading_keys = "partial_rotary_factor"},
    {.name = "blt_local_decoder", .class_stems = "BltLocalDecoder", .pairing = kInterleaved, .main = kBltDecoder,
     .mixed_input = "blt_local_decoder", .windows = Windows::every_layer, .misleading_keys = "partial_rotary_factor"},
    {.name = "chameleon", .class_stems = "Chameleon", .pairing = kHalf, .qk_norm = QkNormRule{kLayerNormPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "codeshell", .class_stems = "CodeShell", .pairing = kHalf,
     .own_names = "n_embd n_head n_layer n_positions", .main = kCodeShellStack, .base = BaseRule::class_own},
    {.name = "cogvlm", .class_stems = "CogVLM", .pairing = kHalf, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
    {.name = "cohere", .class_stems = "Cohere", .pairing = kInterleaved,
     .qk_norm = QkNormRule{kLayerNormPerHead, "use_qk_norm"}, .misleading_keys = "partial_rotary_factor",
     .differing_default = DifferingDefault{"rope_theta", "8000000 (command-r)"}},
    {.name = "cohere2", .class_stems = "Cohere2", .pairing = kInterleaved, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::patterned, .misleading_keys = "partial_rotary_factor"},
    {.name = "cohere2_moe", .class_stems = "Cohere2Moe", .pairing = kInterleaved,
     .rotary_layers = RotaryLayers::sliding_or_dense, .windows = Windows::patterned,
     .scheme = cohere2_moe_scheme, .misleading_keys = "partial_rotary_factor"},
    {.name = "cohere_compass_text", .class_stems = "CohereCompassText", .pairing = kHalf, .ropes_per_type = true,
     .axes = kQwen3Axes, .windows = Windows::patterned, .needs_types = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "cosmos3_edge_text", .class_stems = "Cosmos3EdgeText", .pairing = kHalf, .axes = kQwen3Axes,
     .misleading_keys = "partial_rotary_factor"},
    // Two softmaxes of the same scores, apart by a learned factor (arXiv 2410.05258): positions are Llama's.
    {.name = "diffllama", .class_stems = "DiffLlama", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "doge", .class_stems = "Doge", .pairing = kHalf, .main = kDogeStack, .windows = Windows::every_layer,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    // Queries are multiplied by a learned factor for each channel of each head.
    {.name = "dory", .class_stems = "Dory", .pairing = kHalf, .width = Width::partial_factor, .ropes_per_type = true,
     .channel_scale = true, .kinds = Kinds::listed, .windows = Windows::patterned, .needs_types = true,
     .qk_norm = QkNormRule{kUnitAfter}, .undecided_keys = "n_recurrent_loops"},
    {.name = "domyn_edge", .class_stems = "DomynEdge", .pairing = kHalf, .rotary_layers = RotaryLayers::listed,
     .windows = Windows::left_sides, .qk_norm = QkNormRule{kOnlyKeysWeighted}, .misleading_keys = "partial_rotary_factor"},
    {.name = "dots1", .class_stems = "Dots1", .pairing = kHalf, .windows = Windows::late_layers,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "dots3_note_text", .class_stems = "Dots3NoteText", .pairing = kInterleaved, .latent = true,
     .ropes_per_type = true, .indexer = IndexerRule{IndexedLayers::typed, kInterleaved}, .windows = Windows::patterned,
     .needs_types = true, .scheme = rotation_of_layers, .misleading_keys = "partial_rotary_factor",
     .undecided_keys = "use_dsa"},
    {.name = "ernie4_5", .model_types = "ernie4_5 ernie4_5_moe", .class_stems = "Ernie4_5 Ernie4_5_Moe",
     .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    {.name = "ernie4_5_vl_moe", .model_types = "ernie4_5_vl_moe_text", .class_stems = "Ernie4_5_VLMoeText",
     .pairing = kInterleaved, .axes = AxesRule{.layout = AxisLayout::hw_before_t, .sections = {22, 22, 20}},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "evolla", .class_stems = "Evolla", .pairing = kHalf, .main = kLooksAtProtein,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone", .class_stems = "Exaone", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone4", .class_stems = "Exaone4", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone_moe", .class_stems = "ExaoneMoe", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "flint", .class_stems = "Flint", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::patterned, .needs_types = true, .sinks = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "grok-1", .model_types = "grok-1 grok", .class_stems = "Grok1Model Grok", .pairing = kHalf,
     .base = BaseRule::class_own, .scales = false, .scale = Scale::multiplier_or_dim, .soft_cap = true,
     .misleading_keys = kNoDictionaries, .undecided_keys = "rope_type rope_rotate_half_dims attn_temperature_len"},
    {.name = "helium", .class_stems = "Helium", .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    // Its layers are two modules of num_layers_per_stack, run in turn; the cache counts each run.
    {.name = "hrm_text", .class_stems = "HrmText", .pairing = kHalf, .main = kPrefixStack, .cycles = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "hunyuan_vl_text", .class_stems = "HunYuanVLText", .pairing = kHalf, .alpha_stretches = true,
     .axes = AxesRule{.layout = AxisLayout::images_apart, .sections = {}}, .qk_norm = QkNormRule{kWeightedRmsAfter},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "hunyuan", .class_stems = "HunYuan HunYuanMoEV1 HunYuanDenseV1", .pairing = kHalf, .alpha_stretches = true,
     .shares_kv = true, .qk_norm = QkNormRule{kWeightedRmsAfter, "use_qk_norm"},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "hunyuan_v1", .model_types = "hunyuan_v1_dense hunyuan_v1_moe",
     .class_stems = "HunYuanDenseV1 HunYuanMoEV1", .pairing = kHalf, .alpha_stretches = true,
     .qk_norm = QkNormRule{kWeightedRmsAfter}, .misleading_keys = "partial_rotary_factor"},
    {.name = "hy_v3", .class_stems = "HYV3", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "hyperclovax", .class_stems = "HyperCLOVAX", .pairing = kHalf, .scale = Scale::multiplier_or_dim,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "idefics", .class_stems = "Idefics", .pairing = kHalf, .main = kLooksAtImages,
     .qk_norm = QkNormRule{kRmsWeightedAfter, "qk_layer_norms"}, .misleading_keys = "partial_rotary_factor",
     .undecided_keys = "use_resampler"},
    {.name = "internlm", .class_stems = "InternLM", .pairing = kHalf, .scales = false, .own_scaling = internlm_scaling,
     .misleading_keys = kQwenMisleads},
    {.name = "internlm2", .class_stems = "InternLM2 InternLM2VE InternLM2ForReward", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "internlm3", .class_stems = "InternLM3", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    // Llama's class runs its files; clip_qkv and windows are refused there.
    {.name = "iquestcoder", .class_stems = "IQuestCoder", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "inkling_text", .class_stems = "InklingText", .main = kInklingStack, .scales = false,
     .sizes = Sizes::sliding_own, .rotary_layers = kNoRotaryLayer, .windows = Windows::patterned, .default_pattern = 6,
     .query_scaling = QueryScaling::full_layers, .qk_norm = QkNormRule{kRmsPerHead}, .own_shape = inkling_shape,
     .softmax_scale = over_head_dim, .undecided_keys = "local_layer_ids"},
    {.name = "inkling2_text", .class_stems = "Inkling2Text", .main = kInklingStack, .scales = false,
     .sizes = Sizes::sliding_own, .rotary_layers = kNoRotaryLayer, .windows = Windows::patterned, .default_pattern = 6,
     .query_scaling = QueryScaling::full_layers,
     .undecided = "each query token makes a sink of its own for every head; a plan has only learned ones"},
    {.name = "jais2", .class_stems = "Jais2", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "jet_nemotron", .class_stems = "JetNemotron", .pairing = kHalf, .kinds = Kinds::listed,
     .windows = Windows::patterned, .window_object = "efficient_attention_config/swa", .window_beside_own = true,
     .needs_types = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "jina_embeddings_v5", .class_stems = "JinaEmbeddingsV5", .pairing = kHalf,
     .main = {.mask = kCausalIfDecoder}, .qk_norm = QkNormRule{kRmsPerHead, "is_decoder"},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "jetmoe", .class_stems = "JetMoe", .pairing = kHalf, .own_shape = jetmoe_shape,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "k2_horizon", .model_types = "k2_horizon xllm", .class_stems = "K2Horizon Xllm", .pairing = kHalf,
     .base = BaseRule::narrower, .qk_norm = QkNormRule{kRmsPerHead, "query_key_norm"}, .scheme = k2_scheme,
     .own_scaling = k2_scaling, .misleading_keys = "partial_rotary_factor", .undecided_keys = "sliding_window"},
    {.name = "klear", .model_types = "Klear klear", .class_stems = "Klear KlearMoe", .pairing = kHalf, .scales = false,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kQwenMisleads},
    {.name = "kolibri1", .class_stems = "Kolibri1", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 5, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "laguna", .class_stems = "Laguna", .pairing = kHalf, .main = kLagunaStack, .width = Width::partial_factor,
     .ropes_per_type = true, .sizes = Sizes::listed, .windows = Windows::patterned, .default_pattern = 1,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "lille-130m", .class_stems = "Lille130m", .pairing = kInterleaved,
     .own_names = "n_embd n_head n_layer n_kv_heads", .scales = false, .misleading_keys = kQwenMisleads,
     .needs_length = false},
    {.name = "llada", .class_stems = "LLaDAModelLM LLaDAMoEModelLM LLaDAMoE", .pairing = kHalf,
     .own_names = "d_model n_heads n_layers n_kv_heads max_sequence_length", .main = kUnmaskedStack,
     .width = Width::partial_factor, .qk_norm = QkNormRule{kRmsPerHead, "qk_layernorm"},
     .undecided_keys = "attention_layer_norm alibi multi_query_attention"},
    {.name = "llada2_moe", .class_stems = "LLaDA2MoeModelLM", .pairing = kHalf, .main = kBlockwiseStack,
     .width = Width::factor_or_dim, .qk_norm = QkNormRule{kRmsPerHead, "use_qk_norm"}},
    {.name = "maincoder", .class_stems = "Maincoder", .pairing = kInterleaved, .qk_norm = QkNormRule{kWeightedRmsAfter},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "mellum", .class_stems = "Mellum", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 1, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "mimo_v2_flash", .class_stems = "MiMoV2Flash", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .sizes = Sizes::sliding_double_kv, .windows = Windows::patterned, .needs_types = true,
     .sinks = true, .sinks_in_windows = true, .own_shape = mimo_shape, .undecided_keys = "sliding_window_size"},
    {.name = "minicpm", .class_stems = "MiniCPM", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "minicpm3", .class_stems = "MiniCPM3", .pairing = kHalf, .latent = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax", .class_stems = "MiniMax", .pairing = kHalf, .kinds = Kinds::listed,
     .windows = Windows::every_layer, .default_pattern = 2, .first_of_pattern = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax_text_01", .model_types = "minimax_text_01 minimax_m1", .class_stems = "MiniMaxText01 MiniMaxM1",
     .pairing = kHalf, .width = Width::rotary_dim, .kinds = Kinds::flagged},
    {.name = "minimax_m2", .class_stems = "MiniMaxM2", .pairing = kHalf, .width = Width::factor_or_dim,
     .qk_norm = QkNormRule{kRmsAcrossHeads}},
    {.name = "minimax_m3", .model_types = "minimax_m3 minimax_m3_vl_text", .class_stems = "MiniMaxM3 MiniMaxM3VLText",
     .pairing = kHalf, .width = Width::partial_factor, .indexer = IndexerRule{IndexedLayers::marked, kHalf},
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "rotary_dim"},
    {.name = "molmo", .class_stems = "Molmo", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads, "attention_layer_norm"},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "molmo2_text", .class_stems = "Molmo2Text", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .scheme = molmo2_scheme, .misleading_keys = "partial_rotary_factor"},
    {.name = "moss_vl_text", .class_stems = {}, .pairing = kHalf, .axes = kQwen3Axes, .kinds = Kinds::crossing,
     .rotates_crossing = true, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "muse_glimmer_assistant", .class_stems = "MuseGlimmerAssistant", .pairing = kHalf,
     .windows = Windows::patterned, .default_pattern = 1, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor",
     .undecided = "the tokens of a block are drafted at once: what they see of it and of the other model's hidden states"},
    {.name = "muse_glimmer_text", .model_types = "muse_glimmer_text muse_spark_text",
     .class_stems = "MuseGlimmerText MuseSparkText", .pairing = kHalf, .layer_bases = true, .rests_every = 4,
     .windows = Windows::patterned, .needs_types = true, .qk_norm = QkNormRule{kPlainRms}, .softmax_scale = muse_scale,
     .misleading_keys = "partial_rotary_factor"},
    // rotate_half is (b, -a).
    {.name = "nanochat", .class_stems = "NanoChat", .pairing = kHalf, .rotation_direction = RotationDirection::clockwise,
     .qk_norm = QkNormRule{QkNorm{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false}},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "nemotron", .class_stems = "Nemotron", .pairing = kHalf, .width = Width::partial_factor},
    {.name = "nemotron-nas", .class_stems = "DeciLM", .pairing = kHalf, .pairing_by_type = true, .kinds = Kinds::blocks,
     .sizes = Sizes::blocks, .misleading_keys = "partial_rotary_factor"},
    {.name = "nemotron_h", .model_types = "nemotron_h nemotron_h_puzzle", .class_stems = "NemotronH NemotronHPuzzle", .pairing = kHalf, .kinds = Kinds::listed,
     .recurrent = LayerKind::state_space, .rotary_layers = RotaryLayers::no_layer, .own_shape = puzzle_shape,
     .misleading_keys = "rope_theta partial_rotary_factor sliding_window"},
    {.name = "openelm", .class_stems = "OpenELM", .pairing = kHalf,
     .own_names = "num_query_heads num_transformer_layers rope_freq_constant", .scales = false, .sizes = Sizes::listed,
     .qk_norm = QkNormRule{kRmsPerHead, "normalize_qk_projections"}, .misleading_keys = kQwenMisleads},
    {.name = "openpangu_vl_text", .class_stems = {}, .pairing = kHalf,
     .axes = AxesRule{.layout = AxisLayout::least_served, .sections = {16, 24, 24}},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "ouro", .model_types = "ouro nanbeige", .class_stems = "Ouro Nanbeige", .pairing = kHalf, .loops = true,
     .misleading_keys = "partial_rotary_factor", .undecided_keys = "sliding_window"},
    {.name = "plamo2", .class_stems = "Plamo2 PLaMo2", .pairing = kHalf, .main = kPlamo2Stack,
     .base = BaseRule::class_own, .scales = false, .kinds = Kinds::middle, .recurrent = LayerKind::state_space,
     .windows = Windows::but_numbered, .window_beside_own = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = kNoDictionaries},
    {.name = "plamo3", .class_stems = "Plamo3 PLaMo3", .pairing = kHalf, .main = kPlamoStack, .ropes_per_type = true,
     .windows = Windows::patterned, .default_pattern = 8, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "paddleocr_vl", .model_types = "paddleocr_vl_text", .class_stems = "PaddleOCRText", .pairing = kHalf,
     .axes = kQwen2Axes, .misleading_keys = "partial_rotary_factor"},
    {.name = "seed_oss", .class_stems = "SeedOss", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "smallthinker", .class_stems = "SmallThinker", .pairing = kHalf, .rotary_layers = RotaryLayers::listed,
     .windows = Windows::flagged, .misleading_keys = "partial_rotary_factor"},
    {.name = "smollm3", .class_stems = "SmolLM3", .pairing = kHalf, .rotary_layers = RotaryLayers::listed,
     .windows = Windows::nope_layers, .window_switch = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "solar_open", .class_stems = "SolarOpen", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "spark2_5", .class_stems = "Spark2_5", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 4},
    // Queries are made of a narrower state that is normalised; their heads are not.
    {.name = "step3_text", .class_stems = "Step3Text", .pairing = kHalf, .main = kStep3Stack,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "step3p5", .class_stems = "Step3p5", .pairing = kHalf, .main = kStep35Stack, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own,
     .fills_layer_config = true, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"},
     .undecided_keys = "use_bidirectional_attention"},
    {.name = "step3p7", .class_stems = "Step3p7", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own,
     .fills_layer_config = true, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"},
     .undecided_keys = "use_bidirectional_attention"},
    // Queries are multiplied by a learned factor for each head, the same for each of its channels.
    {.name = "talkie", .class_stems = "Talkie", .pairing = kHalf, .channel_scale = true,
     .qk_norm = QkNormRule{kRmsAfterRotation}, .misleading_keys = "partial_rotary_factor"},
    {.name = "transformer", .class_stems = "Transformer", .pairing = kHalf,
     .own_names = "num_heads num_kv_heads window_size", .scales = false, .windows = Windows::every_layer,
     .qk_norm = QkNormRule{kRmsPerHead, "qk_norm"}, .misleading_keys = kQwenMisleads},
    {.name = "unlimited_ocr", .model_types = "unlimited_ocr unlimited_ocr_text unlimited-ocr",
     .class_stems = "UnlimitedOcr UnlimitedOcrText", .pairing = kHalf, .windows = Windows::every_layer,
     .keeps_prompt = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "yuan", .class_stems = "Yuan", .pairing = kHalf, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
    {.name = "zaya", .class_stems = "Zaya", .pairing = kHalf, .main = kZayaStack, .width = Width::partial_factor,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 1,
     .qk_norm = QkNormRule{kOnlyKeysWeighted}},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

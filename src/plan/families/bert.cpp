// BERT, and encoders of text after it. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   neobert: llama.cpp conversion/bert.py and its graph neo-bert.
//   new: vLLM bert_with_rope.py (GteNewModel) and layers/rotary_embedding/ntk_scaling_rope.py.
//   nomic_bert: nomic-ai/contrastors src/contrastors/models/huggingface/modeling_hf_nomic_bert.py.
#include <cmath>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/keys.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kModernbertKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kWindow, keys::kLocalAttention.names}};
constexpr OwnKey kNomicKeys[] = {{&keys::kKvHeads}};
constexpr OwnKey kXlnetKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim, "d_head"}};
constexpr InputRule kTypedTable{.kind = InputKind::learned, .token_types = true};
constexpr InputRule kPaddedTable{.kind = InputKind::learned, .offset_after_padding = true};
// The class fixes the padding index to 1, whatever the file says.
constexpr InputRule kMpnetTable{.kind = InputKind::learned, .offset = 2};
constexpr InputRule kBiasedTable{.kind = InputKind::learned, .present_if = &keys::kBiasedInput};
constexpr InputRule kSinesOrTable{.kind = InputKind::sinusoidal, .learned_unless = &keys::kSines};
constexpr MaskRule kModernbertMask{.kind = MaskKind::bidirectional, .window_spans_both = true};
constexpr MaskRule kCausalIfSaid{.kind = MaskKind::bidirectional, .causal_if = &keys::kCausal};
constexpr MaskRule kXlnetMask{.kind = MaskKind::bidirectional,
                              .detail = {"a permutation mask may be given per call", Sees::beyond_window},
                              .causal_if = &keys::kAttentionKind,
                              .evenly_if = &keys::kSameLength};
constexpr StackRule kBertStack{.name = "encoder",
                               .mask = kCausalIfDecoder,
                               .input = kTypedTable,
                               .cross = CrossAttention::by_flag,
                               .own_keys = kPlainHeads};
constexpr StackRule kUntypedBertStack{.name = "encoder",
                                      .mask = kCausalIfDecoder,
                                      .input = kTable,
                                      .cross = CrossAttention::by_flag,
                                      .own_keys = kPlainHeads};
constexpr StackRule kAlbertStack{.name = "encoder", .mask = kBothWays, .input = kTypedTable, .own_keys = kPlainHeads};
constexpr StackRule kDistilbertStack{
    .name = "encoder", .mask = kBothWays, .input = kSinesOrTable, .own_keys = kPlainHeads};
constexpr StackRule kRobertaStack{.name = "encoder",
                                  .mask = kCausalIfDecoder,
                                  .input = kPaddedTypedTable,
                                  .cross = CrossAttention::by_flag,
                                  .own_keys = kPlainHeads};
constexpr StackRule kMpnetStack{.name = "encoder",
                                .mask = kBothWays,
                                .input = kMpnetTable,
                                .score = {.kind = ScoreKind::t5, .fixed_distance = 128},
                                .own_keys = kPlainHeads};
constexpr StackRule kDebertaStack{.name = "encoder",
                                  .mask = kBothWays,
                                  .input = kBiasedTable,
                                  .score = {.kind = ScoreKind::deberta},
                                  .own_keys = kPlainHeads};
constexpr StackRule kDebertaV2Stack{.name = "encoder",
                                    .mask = kBothWays,
                                    .input = kBiasedTable,
                                    .score = {.kind = ScoreKind::deberta, .buckets = true},
                                    .own_keys = kSizedHeads};
constexpr StackRule kEsmStack{.name = "encoder",
                              .mask = kCausalIfDecoder,
                              .input = kPaddedTable,
                              .cross = CrossAttention::by_flag,
                              .own_keys = kPlainHeads};
constexpr StackRule kModernbertStack{.name = "encoder", .mask = kModernbertMask, .own_keys = kModernbertKeys};
constexpr StackRule kModernbertDecoderStack{.mask = {.window_spans_both = true}, .own_keys = kModernbertKeys};
constexpr StackRule kNomicStack{.name = "encoder", .mask = kCausalIfSaid, .input = kTable, .own_keys = kNomicKeys};
constexpr StackRule kXlnetStack{
    .name = "encoder", .mask = kXlnetMask, .score = {.kind = ScoreKind::xlnet}, .own_keys = kXlnetKeys};
constexpr StackRule kRotatingStack{.name = "encoder", .mask = kBothWays};
constexpr StackRule kRoformerStack{
    .name = "encoder", .mask = kCausalIfDecoder, .cross = CrossAttention::by_flag, .own_keys = kPlainHeads};
// Queries have no positions; text beside them has a table.
constexpr InputRule kTextBesideQueries{.kind = InputKind::learned, .present_if = &keys::kTextQueries};
constexpr StackRule kQFormerStack{.name = "qformer",
                                  .mask = kBothWays,
                                  .input = kTextBesideQueries,
                                  .cross = CrossAttention::each_nth,
                                  .own_keys = kPlainHeads};
constexpr StackRule kInstructedStack{
    .name = "qformer", .mask = kBothWays, .input = kTable, .cross = CrossAttention::each_nth, .own_keys = kPlainHeads};
// Text looks at the image, and the image at the text.
constexpr StackRule kTextToImage{.name = "text", .mask = kBothWays, .cross = kEach, .own_keys = kPlainHeads};
constexpr StackRule kImageToText{.name = "image", .mask = kBothWays, .cross = kEach, .own_keys = kPlainHeads};
constexpr const StackRule* kImagesToo[] = {&kImageToText};
constexpr StackRule kClipTextStack{.name = "text", .input = kTable, .own_keys = kPlainHeads};
constexpr StackRule kSiglipTextStack{.name = "text", .mask = kBothWays, .input = kTable, .own_keys = kPlainHeads};

// By position_embedding_type: "rotary", or "absolute" for what the stack adds.
// transformers 4 also had relative_key and relative_key_query here; its version 5 does without.
SchemeChoice esm_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto place = scope.find(keys::kPositionType);
  if (!place) return {.from = family_default(scope.family())};
  const auto type = scope.reader().string(*place);
  if (type && type != "rotary" && type != "absolute") {
    scope.reader().fail(*place, ErrorKind::out_of_range, "\"rotary\" or \"absolute\"");
  }
  return {.rotates = type == "rotary", .input = type != "rotary", .from = place->from};
}

// ALiBi over |i - j| in place of the table: MosaicBERT and DNABERT-2 say it by alibi_starting_size, JinaBert by
// position_embedding_type. Slopes are the paper's (_get_alibi_head_slopes of their published code).
SchemeChoice symmetric_alibi(const SchemeFacts& facts, std::string from) {
  return {.alibi = Alibi{.heads = facts.heads, .symmetric = true}, .input = false, .from = std::move(from)};
}

// Version 4 of transformers, by whose class such checkpoints were trained, added Shaw's terms to the scores.
void warn_of_relative_type(ConfigScope& scope, const Place& place, std::string_view type) {
  scope.reader().warn(
      "misleading-key",
      formatted("{} is {}: the class of transformers 5 adds nothing to the scores; a checkpoint that was "
                "trained with that of version 4 had learned distances in them.",
                place.from, type),
      {place.from});
}

// What the stack adds, or ALiBi.
SchemeChoice bert_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  if (const auto start = scope.find(keys::kAlibiStart); start && start->value.kind() == io::JsonKind::number) {
    return symmetric_alibi(facts, start->from);
  }
  const auto place = scope.find(keys::kPositionType);
  if (!place) return {.from = family_default(scope.family())};
  const std::string_view type = scope.reader().string(*place).value_or("absolute");
  if (type == "alibi") return symmetric_alibi(facts, place->from);
  if (type == "relative_key" || type == "relative_key_query") {
    warn_of_relative_type(scope, *place, type);
  } else if (type != "absolute") {
    scope.reader().undecided(formatted("{} is {}: what it does to positions is not known.", place->from, type),
                             {place->from});
  }
  return {.from = place->from};
}

// A rotation, unless rotary_emb_fraction is 0: then what the stack adds.
SchemeChoice nomic_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto place = scope.peek(keys::kPartialFactor);
  if (!place) return {.rotates = true, .input = false, .from = family_default(scope.family())};
  if (scope.reader().number(*place) != 0.0) return {.rotates = true, .input = false, .from = place->from};
  scope.reader().mark_read(*place);
  return {.from = place->from};
}

// "rope"; anything else is a table that only its first files have.
SchemeChoice new_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto type = scope.find(keys::kPositionType);
  if (!type) return choose_rotation(family_default(scope.family()));
  const auto word = scope.reader().string(*type);
  if (word != "rope") scope.reader().undecided(formatted("{} is not \"rope\".", type->from), {type->from});
  return choose_rotation(type->from);
}

// rope_scaling: {"type": "ntk", "factor": k}. A base k times as large, and each frequency divided by k^(2/dim) besides:
//   f_j = (k base)^(-2j/dim) k^(-2/dim) = base^(-2j/dim) / k^(2(j+1)/dim)
// so pair j has a divisor of its own, whatever the length.
Scaling new_scaling(RopeKeys& keys, std::int64_t dim) {
  ConfigReader& reader = keys.reader();
  const auto object = reader.look(keys.scope().object(), "rope_scaling");
  if (!object || object->value.is_null()) {
    keys.note("scaling/rule", family_default(keys.scope().family()));
    return {};
  }
  keys.note("scaling/rule", *object);
  if (object->value.kind() != io::JsonKind::object) {
    reader.fail(*object, ErrorKind::type, "an object");
    return {};
  }
  reader.mark_read(*object);
  reader.enter(object->value);
  const auto type = reader.look(object->value, "type");
  const auto factor = reader.look(object->value, "factor");
  const auto mixed = reader.look(object->value, "mixed_b");
  if (!type || reader.string(*type) != "ntk" || !factor || (mixed && !mixed->value.is_null())) {
    reader.undecided(formatted("{}: only \"ntk\" with a factor, and without mixed_b, is read.", object->from),
                     {object->from});
    return {};
  }
  const double k = reader.number(*factor).value_or(1.0);
  keys.note("scaling/factor", *factor);
  keys.note("scaling/original_max_position_embeddings", keys.trained_length().from);
  LongRopeScaling rule{.original_max_position_embeddings = keys.trained_length().value, .factor = k};
  for (std::int64_t j = 0; j < dim / 2; ++j) {
    rule.short_factor.push_back(std::pow(k, 2.0 * static_cast<double>(j + 1) / static_cast<double>(dim)));
  }
  rule.long_factor = rule.short_factor;
  rule.attention_factor = 1.0;
  return rule;
}

// The length beyond which the base grows is a key of its own here, not the trained length.
Scaling nomic_scaling(RopeKeys& keys, std::int64_t) {
  const Setting<double> factor = keys.scope().number(keys::kNtkFactor);
  if (factor.value.value_or(0) == 0) return {};
  if (const auto place = keys.scope().peek(keys::kNtkFactor)) keys.note("scaling/factor", *place);
  const Sourced<std::int64_t> length = keys.scope().required_integer(keys::kNtkLength, {1, kMaxPosition});
  keys.note("scaling/max_position_embeddings", length.from);
  return DynamicScaling{.factor = *factor.value, .max_position_embeddings = length.value};
}

}  // namespace

std::span<const Family> bert_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "bert", .model_types = "bert ernie rembert roc_bert splinter squeezebert chinese_clip_text_model",
     .class_stems = "Bert Ernie RemBert RoCBert Splinter SqueezeBert ChineseCLIPText", .main = kBertStack,
     .scales = false, .rotary_layers = kNoRotaryLayer, .scheme = bert_scheme},
    {.name = "dpr", .class_stems = "DPR", .main = kBertStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "albert", .class_stems = "Albert", .main = kAlbertStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "electra", .class_stems = "Electra", .main = kBertStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "megatron-bert", .class_stems = "MegatronBert", .main = kBertStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "bert-generation", .class_stems = "BertGeneration", .main = kUntypedBertStack, .scales = false,
     .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "distilbert", .class_stems = "DistilBert", .main = kDistilbertStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "roberta",
     .model_types = "roberta roberta-prelayernorm ibert luke xmod altclip_text_model bridgetower_text_model "
         "clap_text_model",
     .class_stems = "Roberta RobertaPreLayerNorm IBert Luke Xmod AltCLIPText BridgeTowerText ClapText", .main = kRobertaStack,
     .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "xlm-roberta", .model_types = "xlm-roberta xlm-roberta-xl", .class_stems = "XLMRoberta XLMRobertaXL",
     .main = kRobertaStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "camembert", .class_stems = "Camembert", .main = kRobertaStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "data2vec-text", .class_stems = "Data2VecText", .main = kRobertaStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = bert_scheme},
    {.name = "mpnet", .class_stems = "MPNet", .main = kMpnetStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "deberta", .class_stems = "Deberta", .main = kDebertaStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scale = Scale::shared_by_parts},
    // conv_kernel_size: a convolution over neighbouring tokens after the first layer, which no stage of a plan can say.
    {.name = "deberta-v2", .class_stems = "DebertaV2", .main = kDebertaV2Stack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scale = Scale::shared_by_parts, .undecided_keys = "conv_kernel_size"},
    {.name = "esm", .class_stems = "Esm", .pairing = kHalf, .main = kEsmStack, .scales = false, .scheme = esm_scheme},
    {.name = "modernbert", .class_stems = "ModernBert", .pairing = kHalf, .main = kModernbertStack,
     .ropes_per_type = true, .flat_rope_for_all_types = true, .windows = Windows::but_each_nth,
     .misleading_keys = "position_embedding_type",
     .undecided_keys = "sliding_window"},  // another name of half of local_attention, or of a window
    {.name = "modernbert-decoder", .class_stems = "ModernBertDecoder", .pairing = kHalf,
     .main = kModernbertDecoderStack, .ropes_per_type = true, .flat_rope_for_all_types = true,
     .windows = Windows::but_each_nth, .misleading_keys = "position_embedding_type",
     .undecided_keys = "sliding_window"},  // another name of half of local_attention, or of a window
    {.name = "nomic_bert", .class_stems = "NomicBert", .pairing = kHalf,
     .own_names = "n_embd n_head n_layer n_positions", .main = kNomicStack, .reads_interleave = true,
     .width = Width::partial_factor, .parts_in_own_code = true, .decays = true, .scheme = nomic_scheme, .own_scaling = nomic_scaling},
    {.name = "xlnet", .class_stems = "XLNet", .main = kXlnetStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "esmc", .class_stems = "Esmc", .pairing = kHalf, .main = kRotatingStack,
     .qk_norm = QkNormRule{kLayerNormAcrossHeads}},
    {.name = "eurobert", .class_stems = "EuroBert", .pairing = kHalf, .main = kRotatingStack},
    {.name = "ultrabert", .class_stems = "Ultrabert", .pairing = kHalf, .main = kRotatingStack, .ropes_per_type = true,
     .windows = Windows::patterned, .default_pattern = 3},
    {.name = "neomme", .class_stems = "NeoMME", .pairing = kHalf, .main = kRotatingStack,
     .width = Width::partial_factor, .ropes_per_type = true, .axes = AxesRule{.layout = AxisLayout::rows_columns, .sections = {}},
     .windows = Windows::patterned, .needs_types = true,
     .qk_norm = QkNormRule{QkNorm{.kind = QkNorm::Kind::rms, .weighted = false}}, .scheme = rotation_of_layers},
    {.name = "gte", .model_types = "gte jina_embeddings_v3", .class_stems = "Gte JinaEmbeddingsV3", .pairing = kHalf,
     .main = kRotatingStack},
    {.name = "neobert", .class_stems = "NeoBERT NeoBERTLMHead", .pairing = kInterleaved, .main = kRotatingStack,
     .base = BaseRule::class_own, .scales = false, .misleading_keys = kNoDictionaries, .needs_length = false},
    {.name = "new", .class_stems = "New GteNew", .pairing = kHalf, .main = kRotatingStack, .scales = false,
     .scheme = new_scheme, .own_scaling = new_scaling, .misleading_keys = "partial_rotary_factor"},
    {.name = "roformer", .class_stems = "RoFormer", .pairing = Pairing::interleaved, .main = kRoformerStack,
     .base = BaseRule::class_own, .scales = false,
     .misleading_keys = "rope_scaling rope_parameters rope_theta partial_rotary_factor",
     .undecided_keys = "rotary_value"},
    {.name = "blip_2_qformer", .class_stems = "Blip2QFormer", .main = kQFormerStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "instructblip_qformer", .model_types = "instructblip_qformer instructblipvideo_qformer",
     .class_stems = "InstructBlipQFormer InstructBlipVideoQFormer", .main = kInstructedStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "bridgetower_cross", .main = kTextToImage, .more_stacks = kImagesToo, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "clip_text",
     .model_types = "clip_text_model clipseg_text_model groupvit_text_model metaclip_2_text_model owlv2_text_model "
         "owlvit_text_model xclip_text_model",
     .class_stems = "CLIPText CLIPSegText GroupViTText MetaClip2Text Owlv2Text OwlViTText XCLIPText", .main = kClipTextStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "siglip_text", .model_types = "siglip_text_model siglip2_text_model",
     .class_stems = "SiglipText Siglip2Text", .main = kSiglipTextStack, .scales = false, .rotary_layers = kNoRotaryLayer},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

// Encoders, one row a family. Facts: the transformers 5.23.0 class named by the stem; Nomic BERT: its published code,
// nomic-ai/contrastors src/contrastors/models/huggingface/modeling_hf_nomic_bert.py.
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kBert[] = {
    "bert", "ernie", "rembert", "roc_bert", "splinter", "squeezebert", "chinese_clip_text_model"};
constexpr std::string_view kBertClass[] = {"Bert",     "Ernie",       "RemBert",        "RoCBert",
                                           "Splinter", "SqueezeBert", "ChineseCLIPText"};
constexpr std::string_view kDpr[] = {"dpr"}, kDprClass[] = {"DPR"};
constexpr std::string_view kAlbert[] = {"albert"}, kAlbertClass[] = {"Albert"};
constexpr std::string_view kElectra[] = {"electra"}, kElectraClass[] = {"Electra"};
constexpr std::string_view kMegatronBert[] = {"megatron-bert"}, kMegatronBertClass[] = {"MegatronBert"};
constexpr std::string_view kBertGeneration[] = {"bert-generation"};
constexpr std::string_view kBertGenerationClass[] = {"BertGeneration"};
constexpr std::string_view kDistilbert[] = {"distilbert"}, kDistilbertClass[] = {"DistilBert"};
constexpr std::string_view kRoberta[] = {
    "roberta", "roberta-prelayernorm", "ibert", "luke", "xmod", "altclip_text_model", "bridgetower_text_model"};
constexpr std::string_view kRobertaClass[] = {"Roberta", "RobertaPreLayerNorm", "IBert",          "Luke",
                                              "Xmod",    "AltCLIPText",         "BridgeTowerText"};
constexpr std::string_view kXlmRoberta[] = {"xlm-roberta", "xlm-roberta-xl"};
constexpr std::string_view kXlmRobertaClass[] = {"XLMRoberta", "XLMRobertaXL"};
constexpr std::string_view kCamembert[] = {"camembert"}, kCamembertClass[] = {"Camembert"};
constexpr std::string_view kData2vecText[] = {"data2vec-text"}, kData2vecTextClass[] = {"Data2VecText"};
constexpr std::string_view kLongformer[] = {"longformer"}, kLongformerClass[] = {"Longformer"};
constexpr std::string_view kMpnet[] = {"mpnet"}, kMpnetClass[] = {"MPNet"};
constexpr std::string_view kDeberta[] = {"deberta"}, kDebertaClass[] = {"Deberta"};
constexpr std::string_view kDebertaV2[] = {"deberta-v2"}, kDebertaV2Class[] = {"DebertaV2"};
constexpr std::string_view kEsm[] = {"esm"}, kEsmClass[] = {"Esm"};
constexpr std::string_view kModernbert[] = {"modernbert"}, kModernbertClass[] = {"ModernBert"};
constexpr std::string_view kModernbertDecoder[] = {"modernbert-decoder"},
                           kModernbertDecoderClass[] = {"ModernBertDecoder"};
constexpr std::string_view kNomicBert[] = {"nomic_bert"}, kNomicBertClass[] = {"NomicBert"};
constexpr std::string_view kXlnet[] = {"xlnet"}, kXlnetClass[] = {"XLNet"};
constexpr std::string_view kReformer[] = {"reformer"}, kReformerClass[] = {"Reformer"};

constexpr std::string_view kEurobert[] = {"eurobert"}, kEurobertClass[] = {"EuroBert"};
constexpr std::string_view kGte[] = {"gte", "jina_embeddings_v3"}, kGteClass[] = {"Gte", "JinaEmbeddingsV3"};
constexpr std::string_view kEsmc[] = {"esmc"}, kEsmcClass[] = {"Esmc"};
constexpr std::string_view kRoformer[] = {"roformer"}, kRoformerClass[] = {"RoFormer"};
constexpr std::string_view kClipText[] = {"clip_text_model", "clipseg_text_model", "metaclip_2_text_model",
                                          "owlv2_text_model", "owlvit_text_model"};
constexpr std::string_view kClipTextClass[] = {"CLIPText", "CLIPSegText", "MetaClip2Text", "Owlv2Text", "OwlViTText"};
constexpr std::string_view kSiglipText[] = {"siglip_text_model", "siglip2_text_model"};
constexpr std::string_view kSiglipTextClass[] = {"SiglipText", "Siglip2Text"};

constexpr std::string_view kNomicNames[] = {"n_embd", "n_head", "n_layer", "n_positions"};
constexpr std::string_view kXlnetHeadDim[] = {"d_head"};
constexpr std::string_view kReformerHeadDim[] = {"attention_head_size"};

constexpr std::string_view kNoDictionaries[] = {"rope_scaling", "rope_parameters", "rope_theta",
                                                "partial_rotary_factor"};
constexpr std::string_view kRotaryValue[] = {"rotary_value"};
// A convolution over neighbouring tokens after the first layer: no stage of a plan.
constexpr std::string_view kDebertaUndecided[] = {"conv_kernel_size"};
constexpr std::string_view kNoTypeChoice[] = {"position_embedding_type"};

// ---- keys that a class does not read, or reads under fewer names ----
constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kModernbertKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kWindow, key_names::kLocalAttention}};
constexpr OwnKey kNomicKeys[] = {{&keys::kKvHeads}};
constexpr OwnKey kXlnetKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim, kXlnetHeadDim}};
constexpr OwnKey kSizedHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim, kReformerHeadDim}};

// ---- what is added, and what is seen ----
constexpr InputRule kTypedTable{.kind = InputKind::learned, .token_types = true};
constexpr InputRule kTable{.kind = InputKind::learned};
constexpr InputRule kPaddedTable{.kind = InputKind::learned, .offset_after_padding = true};
constexpr InputRule kPaddedTypedTable{.kind = InputKind::learned, .offset_after_padding = true, .token_types = true};
// The class fixes the padding index to 1, whatever the file says.
constexpr InputRule kMpnetTable{.kind = InputKind::learned, .offset = 2};
constexpr InputRule kBiasedTable{.kind = InputKind::learned, .present_if = &keys::kBiasedInput};
constexpr InputRule kSinesOrTable{.kind = InputKind::sinusoidal, .learned_unless = &keys::kSines};
constexpr InputRule kAxesOrTable{.kind = InputKind::axial, .learned_unless = &keys::kAxial};

constexpr MaskRule kBothWays{.kind = MaskKind::bidirectional};
constexpr MaskRule kCausalIfDecoder{.kind = MaskKind::bidirectional, .causal_if = &keys::kIsDecoder};
constexpr MaskRule kLongformerMask{
    .kind = MaskKind::sparse,
    .detail = "window to both sides, tokens chosen per call see and are seen by all, with their own projections",
    .window_spans_both = true};
constexpr MaskRule kModernbertMask{.kind = MaskKind::bidirectional, .window_spans_both = true};
constexpr MaskRule kCausalIfSaid{.kind = MaskKind::bidirectional, .causal_if = &keys::kCausal};
constexpr MaskRule kXlnetMask{.kind = MaskKind::bidirectional,
                              .detail = "a permutation mask may be given per call",
                              .causal_if = &keys::kAttentionKind,
                              .evenly_if = &keys::kSameLength};

// ---- stacks ----
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
constexpr StackRule kLongformerStack{
    .name = "encoder", .mask = kLongformerMask, .input = kPaddedTypedTable, .own_keys = kPlainHeads};
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
constexpr StackRule kReformerStack{
    .name = "encoder", .mask = kCausalIfDecoder, .input = kAxesOrTable, .own_keys = kSizedHeads};
constexpr StackRule kTurningStack{.name = "encoder", .mask = kBothWays};
constexpr StackRule kRoformerStack{
    .name = "encoder", .mask = kCausalIfDecoder, .cross = CrossAttention::by_flag, .own_keys = kPlainHeads};
constexpr StackRule kClipTextStack{.name = "text", .input = kTable, .own_keys = kPlainHeads};
constexpr StackRule kSiglipTextStack{.name = "text", .mask = kBothWays, .input = kTable, .own_keys = kPlainHeads};

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kUnused = Pairing::half;  // of families that do not turn
constexpr Turning kStill = Turning::no_layer;
constexpr QkNorm kRmsOfKeys{.kind = QkNorm::Kind::rms, .weighted = false, .of = QkNorm::Of::keys};

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "bert", .model_types = kBert, .class_stems = kBertClass, .pairing = kUnused, .main = kBertStack,
     .scales = false, .turning = kStill},
    {.name = "dpr", .model_types = kDpr, .class_stems = kDprClass, .pairing = kUnused, .main = kBertStack,
     .scales = false, .turning = kStill},
    {.name = "albert", .model_types = kAlbert, .class_stems = kAlbertClass, .pairing = kUnused, .main = kAlbertStack,
     .scales = false, .turning = kStill},
    {.name = "electra", .model_types = kElectra, .class_stems = kElectraClass, .pairing = kUnused, .main = kBertStack,
     .scales = false, .turning = kStill},
    {.name = "megatron-bert", .model_types = kMegatronBert, .class_stems = kMegatronBertClass, .pairing = kUnused,
     .main = kBertStack, .scales = false, .turning = kStill},
    {.name = "bert-generation", .model_types = kBertGeneration, .class_stems = kBertGenerationClass, .pairing = kUnused,
     .main = kUntypedBertStack, .scales = false, .turning = kStill},
    {.name = "distilbert", .model_types = kDistilbert, .class_stems = kDistilbertClass, .pairing = kUnused,
     .main = kDistilbertStack, .scales = false, .turning = kStill},
    {.name = "roberta", .model_types = kRoberta, .class_stems = kRobertaClass, .pairing = kUnused,
     .main = kRobertaStack, .scales = false, .turning = kStill},
    {.name = "xlm-roberta", .model_types = kXlmRoberta, .class_stems = kXlmRobertaClass, .pairing = kUnused,
     .main = kRobertaStack, .scales = false, .turning = kStill},
    {.name = "camembert", .model_types = kCamembert, .class_stems = kCamembertClass, .pairing = kUnused,
     .main = kRobertaStack, .scales = false, .turning = kStill},
    {.name = "data2vec-text", .model_types = kData2vecText, .class_stems = kData2vecTextClass, .pairing = kUnused,
     .main = kRobertaStack, .scales = false, .turning = kStill},
    {.name = "longformer", .model_types = kLongformer, .class_stems = kLongformerClass, .pairing = kUnused,
     .main = kLongformerStack, .scales = false, .turning = kStill, .windows = Windows::window_list},
    {.name = "mpnet", .model_types = kMpnet, .class_stems = kMpnetClass, .pairing = kUnused, .main = kMpnetStack,
     .scales = false, .turning = kStill},
    {.name = "deberta", .model_types = kDeberta, .class_stems = kDebertaClass, .pairing = kUnused,
     .main = kDebertaStack, .scales = false, .turning = kStill, .scale = Scale::shared_by_parts},
    {.name = "deberta-v2", .model_types = kDebertaV2, .class_stems = kDebertaV2Class, .pairing = kUnused,
     .main = kDebertaV2Stack, .scales = false, .turning = kStill, .scale = Scale::shared_by_parts,
     .undecided_keys = kDebertaUndecided},
    {.name = "esm", .model_types = kEsm, .class_stems = kEsmClass, .pairing = kHalf, .main = kEsmStack,
     .scales = false, .scheme = Scheme::rotation_or_input},
    {.name = "modernbert", .model_types = kModernbert, .class_stems = kModernbertClass, .pairing = kHalf,
     .main = kModernbertStack, .ropes_per_type = true, .flat_rope_for_all_types = true,
     .windows = Windows::but_each_nth, .misleading_keys = kNoTypeChoice},
    {.name = "modernbert-decoder", .model_types = kModernbertDecoder, .class_stems = kModernbertDecoderClass,
     .pairing = kHalf, .main = kModernbertDecoderStack, .ropes_per_type = true, .flat_rope_for_all_types = true,
     .windows = Windows::but_each_nth, .misleading_keys = kNoTypeChoice},
    {.name = "nomic_bert", .model_types = kNomicBert, .class_stems = kNomicBertClass, .pairing = kHalf,
     .own_names = kNomicNames, .main = kNomicStack, .reads_interleave = true,
     .width = Width::partial_factor, .ntk_switch = true, .decays = true, .scheme = Scheme::rotation_or_none},
    {.name = "xlnet", .model_types = kXlnet, .class_stems = kXlnetClass, .pairing = kUnused, .main = kXlnetStack,
     .scales = false, .turning = kStill, .needs_length = false},
    {.name = "reformer", .model_types = kReformer, .class_stems = kReformerClass, .pairing = kUnused,
     .main = kReformerStack, .scales = false, .turning = kStill, .windows = Windows::chunk_types,
     .qk_norm = QkNormRule{.norm = kRmsOfKeys, .hashed_layers_only = true}},
    {.name = "esmc", .model_types = kEsmc, .class_stems = kEsmcClass, .pairing = kHalf, .main = kTurningStack,
     .qk_norm = QkNormRule{kLayerNormAcrossHeads}},
    {.name = "eurobert", .model_types = kEurobert, .class_stems = kEurobertClass, .pairing = kHalf,
     .main = kTurningStack},
    {.name = "gte", .model_types = kGte, .class_stems = kGteClass, .pairing = kHalf, .main = kTurningStack},
    {.name = "roformer", .model_types = kRoformer, .class_stems = kRoformerClass, .pairing = Pairing::interleaved,
     .main = kRoformerStack, .base = BaseRule::class_own, .scales = false, .misleading_keys = kNoDictionaries,
     .undecided_keys = kRotaryValue},

    // ---- beside a vision encoder ----
    {.name = "clip_text", .model_types = kClipText, .class_stems = kClipTextClass, .pairing = kUnused,
     .main = kClipTextStack, .scales = false, .turning = kStill},
    {.name = "siglip_text", .model_types = kSiglipText, .class_stems = kSiglipTextClass, .pairing = kUnused,
     .main = kSiglipTextStack, .scales = false, .turning = kStill},
};
// clang-format on

}  // namespace

std::span<const Family> encoder_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

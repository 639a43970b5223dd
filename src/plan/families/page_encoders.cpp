// Encoders of pages and tables (LayoutLM, MarkupLM, TAPAS and others), encoders of text with a twist of their own, and
// text halves of models of images. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include <algorithm>

#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

constexpr InputRule kTypedRows{.kind = InputKind::learned, .token_types = true};
constexpr InputRule kBoxes[] = {{.kind = InputKind::boxes}};
constexpr StackRule kTypedStack{.name = "encoder", .mask = kBothWays, .input = kTypedRows, .own_keys = kPlainHeads};
constexpr OwnKey kBesideRegionsKeys[] = {{&keys::kLayers, "l_layers"}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr StackRule kBesideRegions{
    .name = "encoder", .mask = kBothWays, .input = kTypedRows, .own_keys = kBesideRegionsKeys};
constexpr StackRule kBoxedStack{
    .name = "encoder", .mask = kBothWays, .input = kTypedRows, .more_input = kBoxes, .own_keys = kPlainHeads};
constexpr StackRule kTapasStack{.name = "encoder",
                                .mask = kBothWays,  // of a decoder too
                                .input = kTable,
                                .cross = CrossAttention::by_flag,
                                .own_keys = kPlainHeads};
constexpr StackRule kPaddedStack{
    .name = "encoder", .mask = kBothWays, .input = kPaddedTypedTable, .own_keys = kPlainHeads};

// ---- text, and behind it what is seen ----
constexpr InputRule kImagePatches[] = {{.kind = InputKind::patches, .tokens = "patches"}};
constexpr StackRule kTextAndPatches{
    .name = "encoder", .mask = kBothWays, .input = kTypedRows, .more_input = kImagePatches, .own_keys = kPlainHeads};
// Frames are averaged; rows and columns of their grid are resized where it is larger.
constexpr InputRule kImageCells[] = {{.kind = InputKind::grid,
                                      .table_rows = &keys::kCellRows,
                                      .table_columns = &keys::kCellColumns,
                                      .tokens = "cells of the image"}};
constexpr StackRule kTextAndCells{
    .name = "encoder", .mask = kBothWays, .input = kTypedRows, .more_input = kImageCells, .own_keys = kPlainHeads};

constexpr InputRule kBoxesAndPatches[] = {{.kind = InputKind::boxes},
                                          {.kind = InputKind::patches,
                                           .present_if = &keys::kVisualEmbed,
                                           .table_rows = &keys::kInputSize,
                                           .tokens = "patches"}};
constexpr StackRule kPage{.name = "encoder",
                          .mask = kBothWays,
                          .input = kPaddedTypedTable,
                          .more_input = kBoxesAndPatches,
                          .score = {.kind = ScoreKind::t5_page},
                          .own_keys = kPlainHeads};

// ---- XLM and FlauBERT ----
constexpr OwnKey kXlmKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kHidden, "emb_dim"}};
constexpr InputRule kSinesOrRows{.kind = InputKind::sinusoidal, .learned_unless = &keys::kSines};
constexpr StackRule kXlmStack{.name = "encoder",
                              .mask = {.kind = MaskKind::bidirectional, .causal_if = &keys::kCausal},
                              .input = kSinesOrRows,
                              .own_keys = kXlmKeys};

// ---- MobileBERT and ConvBERT ----
// Each token's embedding is made of itself and of the two beside it (trigram_input).
constexpr OwnKey kMobilebertKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kHidden, "true_hidden_size intra_bottleneck_size"}};
constexpr StackRule kMobilebertStack{
    .name = "encoder", .mask = kBothWays, .input = kTypedRows, .own_keys = kMobilebertKeys};
constexpr MaskRule kBesideConvolution{.kind = MaskKind::bidirectional,
                                      .detail = {"as many heads more are a convolution of values, whose kernel is made "
                                                 "of each token",
                                                 Sees::beyond_window}};
constexpr StackRule kConvbertStack{
    .name = "encoder", .mask = kBesideConvolution, .input = kTypedRows, .own_keys = kPlainHeads};

// Of num_attention_heads one in head_ratio attends; the channels of a head are half of what is then there.
AttentionShape convbert_shape(ConfigScope& scope, AttentionShape shape) {
  const Sourced<std::int64_t> ratio = scope.required_integer(keys::kHeadRatio, {1, kMaxHeads});
  const std::int64_t hidden = scope.required_integer(keys::kHidden, {1, kMaxHiddenSize}).value;
  shape.heads = {std::max<std::int64_t>(shape.heads.value / ratio.value, 1), ratio.from};
  shape.kv_heads = shape.heads;
  shape.head_dim = {std::max<std::int64_t>(hidden / shape.heads.value / 2, 1), ratio.from};
  shape.value_dim = shape.rotary_width = shape.head_dim;
  return shape;
}

// ---- CANINE: characters, one layer in chunks; molecules of downsampling_rate characters; characters again ----
constexpr OwnKey kCharacterKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength, "num_hash_buckets"}};
constexpr MaskRule kCharacterChunks{
    .kind = MaskKind::sparse,
    .detail = {"both ways, within chunks of local_transformer_stride characters", Sees::by_blocks}};
constexpr StackRule kCharacters{
    .name = "characters", .mask = kCharacterChunks, .input = kTypedRows, .own_keys = kCharacterKeys, .fixed_layers = 1};
constexpr MaskRule kCharactersAgain{.kind = MaskKind::bidirectional};
constexpr StackRule kLastCharacters{
    .name = "last_characters", .mask = kCharactersAgain, .own_keys = kPlainHeads, .fixed_layers = 1};
constexpr StackRule kMolecules{.name = "encoder", .mask = kBothWays, .own_keys = kPlainHeads};
constexpr const StackRule* kBothCharacters[] = {&kCharacters, &kLastCharacters};

// ---- text halves ----
constexpr StackRule kPlainCausal{.name = "text", .input = kTable, .own_keys = kPlainHeads};
constexpr OwnKey kBlipKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kAddCross, "is_decoder"}};
constexpr MaskRule kBlipMask{.kind = MaskKind::bidirectional,
                             .detail = {"causal where the class generates (BlipTextLMHeadModel, "
                                        "BlipForConditionalGeneration)",
                                        Sees::as_masked}};
constexpr StackRule kBlipStack{
    .name = "text", .mask = kBlipMask, .input = kTable, .cross = CrossAttention::by_flag, .own_keys = kBlipKeys};
constexpr StackRule kBlipGenerator{
    .name = "text", .input = kTable, .cross = CrossAttention::by_flag, .own_keys = kBlipKeys};
constexpr const StackRule* kBlipGenerators[] = {&kBlipGenerator};
constexpr ClassStacks kBlipStacks[] = {{"BlipTextLMHeadModel", kBlipGenerators}};
// The first and the last layer are convolutions where use_repmixer_blocks is true.
constexpr StackRule kSam3TextStack{.name = "text", .mask = kBothWays, .input = kTable, .own_keys = kPlainHeads};
constexpr OwnKey kTipsKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kScaleEmbedding, "scale_sqrt_depth"}};
constexpr InputRule kTipsSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::tensor2tensor, .scaled = true};
constexpr StackRule kTipsStack{.name = "text", .mask = kBothWays, .input = kTipsSines, .own_keys = kTipsKeys};
constexpr InputRule kPrismSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::marian, .always_scaled = true};
constexpr OwnKey kPrismKeys[] = {{&keys::kKvHeads}};
constexpr StackRule kPrismStack{.name = "text", .input = kPrismSines, .own_keys = kPrismKeys};
constexpr OwnKey kKosmosKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kHidden, "embed_dim"}};
constexpr StackRule kKosmosStack{
    .name = "text", .input = kPaddedSines, .cross = CrossAttention::by_flag, .own_keys = kKosmosKeys};

}  // namespace

std::span<const Family> page_encoders_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "layoutlm", .class_stems = "LayoutLM", .main = kBoxedStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    // Rows for segments, columns and rows of a table, and ranks are added too; a position counts within a cell where
    // reset_position_index_per_cell is true.
    {.name = "tapas", .class_stems = "Tapas", .main = kTapasStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    // Visual tokens come behind the text and see it, as it sees them.
    {.name = "visual_bert", .class_stems = "VisualBert", .main = kTypedStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    // Rows by the tag and place of each node on a token's way down are added too: of a tree, not of an order.
    {.name = "markuplm", .class_stems = "MarkupLM", .main = kPaddedStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "bros", .class_stems = "Bros", .main = kTypedStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .undecided = "each query also asks sines of how far apart two boxes lie, which no score term of a plan does"},
    {.name = "lxmert", .class_stems = "Lxmert", .main = kBesideRegions, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "layoutlmv3", .class_stems = "LayoutLMv3", .main = kPage, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "lilt", .class_stems = "Lilt", .main = kPaddedStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .undecided = "scores of the text and of the layout, a stack of its own beside it, are added up in each layer"},
    {.name = "vilt", .class_stems = "Vilt", .main = kTextAndPatches, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "tvp", .class_stems = "Tvp", .main = kTextAndCells, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "xlm", .model_types = "xlm flaubert", .class_stems = "XLM XLMWithLMHead Flaubert FlaubertWithLMHead",
     .own_names = "n_layers n_heads", .main = kXlmStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "mobilebert", .class_stems = "MobileBert", .main = kMobilebertStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "convbert", .class_stems = "ConvBert", .main = kConvbertStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .own_shape = convbert_shape},
    {.name = "canine", .class_stems = "Canine", .main = kMolecules, .more_stacks = kBothCharacters, .scales = false,
     .rotary_layers = kNoRotaryLayer},

    {.name = "align_text", .model_types = "align_text_model flava_text_model", .class_stems = "AlignText FlavaText",
     .main = kTypedStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "aimv2_text", .model_types = "aimv2_text_model", .class_stems = "Aimv2Text", .main = kPlainCausal,
     .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "blip_text", .model_types = "blip_text_model", .class_stems = "BlipText BlipTextLMHead", .main = kBlipStack,
     .class_stacks = kBlipStacks, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "sam3_lite_text", .model_types = "sam3_lite_text_text_model", .class_stems = "Sam3LiteTextText",
     .main = kSam3TextStack, .scales = false, .kinds = Kinds::inner, .recurrent = LayerKind::convolution,
     .rotary_layers = kNoRotaryLayer},
    {.name = "tipsv2_text", .model_types = "tipsv2_text_model", .class_stems = "Tipsv2Text", .main = kTipsStack,
     .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "videoprism_text", .model_types = "videoprism_text_model", .class_stems = "VideoPrismText",
     .main = kPrismStack, .scales = false, .rotary_layers = kNoRotaryLayer, .soft_cap = true},
    {.name = "kosmos_text", .model_types = "kosmos_2_text_model kosmos_2_5_text_model",
     .class_stems = "Kosmos2Text Kosmos2_5Text", .main = kKosmosStack, .scales = false, .rotary_layers = kNoRotaryLayer},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

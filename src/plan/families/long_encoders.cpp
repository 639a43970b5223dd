// Encoders that see by a pattern or attend only approximately, and the decoders beside them. One row a family. Facts:
// the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr InputRule kAxesOrTable{.kind = InputKind::axial, .learned_unless = &keys::kAxial};
constexpr MaskRule kLongformerMask{
    .kind = MaskKind::sparse,
    .detail = {"window to both sides, tokens chosen per call see and are seen by all, with their own projections",
               Sees::beyond_window},
    .window_spans_both = true};
constexpr StackRule kLongformerStack{
    .name = "encoder", .mask = kLongformerMask, .input = kPaddedTypedTable, .own_keys = kPlainHeads};
constexpr StackRule kReformerStack{
    .name = "encoder", .mask = kCausalIfDecoder, .input = kAxesOrTable, .own_keys = kSizedHeads};
constexpr QkNorm kRmsOfKeys{.kind = QkNorm::Kind::rms, .weighted = false, .of = QkNorm::Of::keys};
constexpr OwnKey kBigBirdKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kScaleEmbedding, "rescale_embeddings"}};
constexpr OwnKey kLedEncoderKeys[] = {{&keys::kLayers, "encoder_layers num_hidden_layers"},
                                      {&keys::kHeads, "encoder_attention_heads num_attention_heads"},
                                      {&keys::kKvHeads},
                                      {&keys::kHeadDim},
                                      {&keys::kLength, "max_encoder_position_embeddings"}};
constexpr OwnKey kLedDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                      {&keys::kHeads, "decoder_attention_heads"},
                                      {&keys::kKvHeads},
                                      {&keys::kHeadDim},
                                      {&keys::kLength, "max_decoder_position_embeddings"}};
constexpr InputRule kScaledTypedTable{.kind = InputKind::learned, .token_types = true, .scaled = true};
constexpr InputRule kTypedTableFrom2{
    .kind = InputKind::learned, .offset = 2, .rows = Rows::beside, .token_types = true};
constexpr SparseWord kBigBirdBlocks{
    .key = &keys::kPattern,
    .word = "block_sparse",
    .detail = {
        "blocks of block_size tokens: the own, the two beside it, the first, the last, and num_random_blocks drawn "
        "at random; the first and the last see all",
        Sees::by_blocks}};
constexpr MaskRule kBigBirdMask{
    .kind = MaskKind::bidirectional, .causal_if = &keys::kIsDecoder, .sparse_if = kBigBirdBlocks};
constexpr MaskRule kBigBirdPegasusMask{.kind = MaskKind::bidirectional, .sparse_if = kBigBirdBlocks};
constexpr MaskRule kLedMask{
    .kind = MaskKind::sparse,
    .detail = {"window to both sides, tokens chosen per call see and are seen by all, with their own projections",
               Sees::beyond_window},
    .window_spans_both = true};
constexpr MaskRule kLandmarks{
    .kind = MaskKind::bidirectional,
    .detail = {"approximated by landmarks, with a convolution over values beside it", Sees::beyond_window}};
constexpr MaskRule kHashes{
    .kind = MaskKind::bidirectional,
    .detail = {"approximated by hashing; where conv_window is given, a convolution over values too",
               Sees::beyond_window}};
constexpr MaskRule kResolutions{.kind = MaskKind::bidirectional,
                                .detail = {"approximated by blocks at two resolutions", Sees::by_blocks}};
constexpr StackRule kBigBirdStack{.name = "encoder",
                                  .mask = kBigBirdMask,
                                  .input = kScaledTypedTable,
                                  .cross = CrossAttention::by_flag,
                                  .own_keys = kBigBirdKeys};
constexpr StackRule kBigBirdPegasusEncoder{
    .name = "encoder", .mask = kBigBirdPegasusMask, .input = kScaledTable, .own_keys = kEncoderKeys};
constexpr StackRule kBigBirdPegasusDecoder{.input = kScaledTable, .cross = kEach, .own_keys = kDecoderKeys};
constexpr StackRule kLedEncoder{.name = "encoder", .mask = kLedMask, .input = kTable, .own_keys = kLedEncoderKeys};
constexpr StackRule kLedDecoder{.input = kTable, .cross = kEach, .own_keys = kLedDecoderKeys, .sees_no_window = true};
constexpr StackRule kNystromformerStack{
    .name = "encoder", .mask = kLandmarks, .input = kTypedTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kYosoStack{.name = "encoder", .mask = kHashes, .input = kTypedTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kMraStack{
    .name = "encoder", .mask = kResolutions, .input = kTypedTableFrom2, .own_keys = kPlainHeads};

}  // namespace

std::span<const Family> long_encoders_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "longformer", .class_stems = "Longformer", .main = kLongformerStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .windows = Windows::window_list},
    {.name = "led", .class_stems = "LED", .main = kLedDecoder, .encoder = &kLedEncoder, .scales = false,
     .rotary_layers = kNoRotaryLayer, .windows = Windows::window_list},
    {.name = "big_bird", .class_stems = "BigBird", .main = kBigBirdStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "bigbird_pegasus", .class_stems = "BigBirdPegasus", .main = kBigBirdPegasusDecoder,
     .encoder = &kBigBirdPegasusEncoder, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "reformer", .class_stems = "Reformer", .main = kReformerStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .windows = Windows::chunk_types, .qk_norm = QkNormRule{.norm = kRmsOfKeys, .hashed_layers_only = true}},
    {.name = "mra", .class_stems = "Mra", .main = kMraStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "nystromformer", .class_stems = "Nystromformer", .main = kNystromformerStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "yoso", .class_stems = "Yoso", .main = kYosoStack, .scales = false, .rotary_layers = kNoRotaryLayer},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

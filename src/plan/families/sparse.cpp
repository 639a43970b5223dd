// Encoders that see by a pattern or attend only approximately, and the decoders beside them; one row a family. Facts:
// the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kBigBird[] = {"big_bird"}, kBigBirdClass[] = {"BigBird"};
constexpr std::string_view kBigBirdPegasus[] = {"bigbird_pegasus"}, kBigBirdPegasusClass[] = {"BigBirdPegasus"};
constexpr std::string_view kLed[] = {"led"}, kLedClass[] = {"LED"};
constexpr std::string_view kLongT5[] = {"longt5"}, kLongT5Class[] = {"LongT5"},
                           kLongT5Encoder[] = {"LongT5EncoderModel"};
constexpr std::string_view kMra[] = {"mra"}, kMraClass[] = {"Mra"};
constexpr std::string_view kNystromformer[] = {"nystromformer"}, kNystromformerClass[] = {"Nystromformer"};
constexpr std::string_view kYoso[] = {"yoso"}, kYosoClass[] = {"Yoso"};

constexpr std::string_view kRescale[] = {"rescale_embeddings"};
constexpr std::string_view kEncoderLayers[] = {"encoder_layers", "num_hidden_layers"};
constexpr std::string_view kEncoderHeads[] = {"encoder_attention_heads", "num_attention_heads"};
constexpr std::string_view kDecoderLayers[] = {"decoder_layers"}, kDecoderHeads[] = {"decoder_attention_heads"};
constexpr std::string_view kEncoderLength[] = {"max_encoder_position_embeddings"};
constexpr std::string_view kDecoderLength[] = {"max_decoder_position_embeddings"};
constexpr std::string_view kT5EncoderLayers[] = {"num_layers", "num_hidden_layers"};
constexpr std::string_view kT5DecoderLayers[] = {"num_decoder_layers"};
constexpr std::string_view kEncoderPattern[] = {"encoder_attention_type"};

// ---- keys of one of two stacks, and keys that a class does not read ----
constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kBigBirdKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kScaleEmbedding, kRescale}};
constexpr OwnKey kEncoderKeys[] = {
    {&keys::kLayers, kEncoderLayers}, {&keys::kHeads, kEncoderHeads}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kDecoderKeys[] = {
    {&keys::kLayers, kDecoderLayers}, {&keys::kHeads, kDecoderHeads}, {&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kLedEncoderKeys[] = {{&keys::kLayers, kEncoderLayers},
                                      {&keys::kHeads, kEncoderHeads},
                                      {&keys::kKvHeads},
                                      {&keys::kHeadDim},
                                      {&keys::kLength, kEncoderLength}};
constexpr OwnKey kLedDecoderKeys[] = {{&keys::kLayers, kDecoderLayers},
                                      {&keys::kHeads, kDecoderHeads},
                                      {&keys::kKvHeads},
                                      {&keys::kHeadDim},
                                      {&keys::kLength, kDecoderLength}};
constexpr OwnKey kLongT5EncoderKeys[] = {{&keys::kLayers, kT5EncoderLayers},
                                         {&keys::kKvHeads},
                                         {&keys::kWindow, key_names::kLocalRadius},
                                         {&keys::kPattern, kEncoderPattern}};
constexpr OwnKey kLongT5DecoderKeys[] = {{&keys::kLayers, kT5DecoderLayers, kT5EncoderLayers}, {&keys::kKvHeads}};

// ---- what is added ----
constexpr InputRule kTable{.kind = InputKind::learned};
constexpr InputRule kScaledTable{.kind = InputKind::learned, .scaled = true};
constexpr InputRule kScaledTypedTable{.kind = InputKind::learned, .token_types = true, .scaled = true};
constexpr InputRule kTypedTableFrom2{
    .kind = InputKind::learned, .offset = 2, .rows = Rows::beside, .token_types = true};
constexpr ScoreRule kSharedT5{.kind = ScoreKind::t5};

// ---- what is seen ----
constexpr SparseWord kBlocks{
    .key = &keys::kPattern,
    .word = "block_sparse",
    .detail =
        "blocks of block_size tokens: the own, the two beside it, the first, the last, and num_random_blocks drawn "
        "at random; the first and the last see all"};
constexpr SparseWord kSummaries{
    .key = &keys::kPattern,
    .word = "transient-global",
    .detail =
        "a window to both sides, and a summary of each block of global_block_size tokens, whose scores have a table "
        "of their own"};
constexpr MaskRule kBigBirdMask{.kind = MaskKind::bidirectional, .causal_if = &keys::kIsDecoder, .sparse_if = kBlocks};
constexpr MaskRule kBigBirdPegasusMask{.kind = MaskKind::bidirectional, .sparse_if = kBlocks};
constexpr MaskRule kLongT5Mask{.kind = MaskKind::bidirectional, .sparse_if = kSummaries};
constexpr MaskRule kLedMask{
    .kind = MaskKind::sparse,
    .detail = "window to both sides, tokens chosen per call see and are seen by all, with their own projections",
    .window_spans_both = true};
constexpr MaskRule kLandmarks{.kind = MaskKind::bidirectional,
                              .detail = "approximated by landmarks, with a convolution over values beside it"};
constexpr MaskRule kHashes{
    .kind = MaskKind::bidirectional,
    .detail = "approximated by hashing; where conv_window is given, a convolution over values too"};
constexpr MaskRule kResolutions{.kind = MaskKind::bidirectional, .detail = "approximated by blocks at two resolutions"};

// ---- stacks ----
constexpr CrossAttention kEach = CrossAttention::every_block;
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
constexpr StackRule kLongT5EncoderStack{
    .name = "encoder", .mask = kLongT5Mask, .score = kSharedT5, .own_keys = kLongT5EncoderKeys};
constexpr StackRule kLongT5Decoder{
    .score = kSharedT5, .cross = kEach, .own_keys = kLongT5DecoderKeys, .sees_no_window = true};
constexpr StackRule kNystromformerStack{
    .name = "encoder", .mask = kLandmarks, .input = kTypedTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kYosoStack{.name = "encoder", .mask = kHashes, .input = kTypedTableFrom2, .own_keys = kPlainHeads};
constexpr StackRule kMraStack{
    .name = "encoder", .mask = kResolutions, .input = kTypedTableFrom2, .own_keys = kPlainHeads};

constexpr Pairing kUnused = Pairing::half;  // nothing turns
constexpr Turning kStill = Turning::no_layer;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "big_bird", .model_types = kBigBird, .class_stems = kBigBirdClass, .pairing = kUnused,
     .main = kBigBirdStack, .scales = false, .turning = kStill},
    {.name = "bigbird_pegasus", .model_types = kBigBirdPegasus, .class_stems = kBigBirdPegasusClass,
     .pairing = kUnused, .main = kBigBirdPegasusDecoder, .encoder = &kBigBirdPegasusEncoder, .scales = false,
     .turning = kStill},
    {.name = "led", .model_types = kLed, .class_stems = kLedClass, .pairing = kUnused, .main = kLedDecoder,
     .encoder = &kLedEncoder, .scales = false, .turning = kStill, .windows = Windows::window_list},
    {.name = "longt5", .model_types = kLongT5, .class_stems = kLongT5Class, .pairing = kUnused,
     .main = kLongT5Decoder, .encoder = &kLongT5EncoderStack, .encoder_classes = kLongT5Encoder, .scales = false,
     .turning = kStill, .windows = Windows::every_layer, .scale = Scale::one, .needs_length = false},
    {.name = "mra", .model_types = kMra, .class_stems = kMraClass, .pairing = kUnused, .main = kMraStack,
     .scales = false, .turning = kStill},
    {.name = "nystromformer", .model_types = kNystromformer, .class_stems = kNystromformerClass, .pairing = kUnused,
     .main = kNystromformerStack, .scales = false, .turning = kStill},
    {.name = "yoso", .model_types = kYoso, .class_stems = kYosoClass, .pairing = kUnused, .main = kYosoStack,
     .scales = false, .turning = kStill},
};
// clang-format on

}  // namespace

std::span<const Family> sparse_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

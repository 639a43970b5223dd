// T5. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr Names kT5Encoders{
    "T5EncoderModel T5ForTokenClassification MT5EncoderModel MT5ForTokenClassification "
    "UMT5EncoderModel UMT5ForTokenClassification"};
constexpr OwnKey kT5EncoderKeys[] = {{&keys::kLayers, "num_layers num_hidden_layers"}, {&keys::kKvHeads}};
constexpr OwnKey kT5DecoderKeys[] = {{&keys::kLayers, "num_decoder_layers", "num_layers num_hidden_layers"},
                                     {&keys::kKvHeads}};
constexpr ScoreRule kT5PerLayer{.kind = ScoreKind::t5, .table_per_layer = true};
constexpr StackRule kT5Encoder{.name = "encoder", .mask = kBothWays, .score = kSharedT5, .own_keys = kT5EncoderKeys};
constexpr StackRule kT5Decoder{.score = kSharedT5, .cross = kEach, .own_keys = kT5DecoderKeys};
constexpr StackRule kUmt5Encoder{
    .name = "encoder", .mask = kBothWays, .score = kT5PerLayer, .own_keys = kT5EncoderKeys};
constexpr StackRule kUmt5Decoder{.score = kT5PerLayer, .cross = kEach, .own_keys = kT5DecoderKeys};
constexpr OwnKey kPix2StructKeys[] = {{&keys::kKvHeads}};
constexpr MaskRule kPix2StructMask{.both_ways_without = &keys::kIsDecoder};
constexpr StackRule kPix2StructDecoder{
    .mask = kPix2StructMask, .score = kSharedT5, .cross = kEach, .own_keys = kPix2StructKeys};
constexpr OwnKey kLongT5EncoderKeys[] = {{&keys::kLayers, "num_layers num_hidden_layers"},
                                         {&keys::kKvHeads},
                                         {&keys::kWindow, keys::kLocalRadius.names},
                                         {&keys::kPattern, "encoder_attention_type"}};
constexpr OwnKey kLongT5DecoderKeys[] = {{&keys::kLayers, "num_decoder_layers", "num_layers num_hidden_layers"},
                                         {&keys::kKvHeads}};
constexpr SparseWord kSummaries{
    .key = &keys::kPattern,
    .word = "transient-global",
    .detail = {
        "a window to both sides, and a summary of each block of global_block_size tokens, whose scores have a table "
        "of their own",
        Sees::by_blocks}};
constexpr MaskRule kLongT5Mask{.kind = MaskKind::bidirectional, .sparse_if = kSummaries};
constexpr StackRule kLongT5EncoderStack{
    .name = "encoder", .mask = kLongT5Mask, .score = kSharedT5, .own_keys = kLongT5EncoderKeys};
constexpr StackRule kLongT5Decoder{
    .score = kSharedT5, .cross = kEach, .own_keys = kLongT5DecoderKeys, .sees_no_window = true};

}  // namespace

std::span<const Family> t5_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "t5", .model_types = "t5 switch_transformers", .class_stems = "T5 T5With SwitchTransformers",
     .main = kT5Decoder, .encoder = &kT5Encoder, .encoder_classes = kT5Encoders, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scale = Scale::one, .needs_length = false},
    {.name = "mt5", .class_stems = "MT5", .main = kT5Decoder, .encoder = &kT5Encoder, .encoder_classes = kT5Encoders,
     .scales = false, .rotary_layers = kNoRotaryLayer, .scale = Scale::one, .needs_length = false},
    {.name = "umt5", .class_stems = "UMT5", .main = kUmt5Decoder, .encoder = &kUmt5Encoder,
     .encoder_classes = kT5Encoders, .scales = false, .rotary_layers = kNoRotaryLayer, .scale = Scale::one, .needs_length = false},
    {.name = "longt5", .class_stems = "LongT5", .main = kLongT5Decoder, .encoder = &kLongT5EncoderStack,
     .encoder_classes = "LongT5EncoderModel", .scales = false, .rotary_layers = kNoRotaryLayer, .windows = Windows::every_layer,
     .scale = Scale::one, .needs_length = false},
    {.name = "udop", .class_stems = "Udop", .main = kT5Decoder, .encoder = &kT5Encoder, .scales = false,
     .rotary_layers = kNoRotaryLayer, .scale = Scale::one,
     .undecided = "the encoder's buckets of distances across and down the page, and its rows for boxes and patches",
     .needs_length = false},
    {.name = "pix2struct_text", .model_types = "pix2struct_text_model", .class_stems = "Pix2StructText",
     .main = kPix2StructDecoder, .scales = false, .rotary_layers = kNoRotaryLayer, .scale = Scale::one,
     .needs_length = false},
    {.name = "pop2piano", .class_stems = "Pop2Piano", .main = kT5Decoder, .encoder = &kT5Encoder, .scales = false,
     .rotary_layers = kNoRotaryLayer, .scale = Scale::one, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

// Seamless M4T. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr Names kSpeechToSpeech{"SeamlessM4TForSpeechToSpeech SeamlessM4Tv2ForSpeechToSpeech"};
constexpr Names kSpeechToText{"SeamlessM4TForSpeechToText SeamlessM4Tv2ForSpeechToText"};
constexpr Names kTextToSpeech{"SeamlessM4TForTextToSpeech SeamlessM4Tv2ForTextToSpeech"};
constexpr Names kTextToText{"SeamlessM4TForTextToText SeamlessM4Tv2ForTextToText"};
constexpr OwnKey kTextEncoderKeys[] = {{&keys::kLayers, "encoder_layers"},
                                       {&keys::kHeads, "encoder_attention_heads"},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength, "max_position_embeddings"}};
constexpr OwnKey kTextDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                       {&keys::kHeads, "decoder_attention_heads"},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength, "max_position_embeddings"}};
constexpr OwnKey kSpeechEncoderKeys[] = {{&keys::kLayers, keys::kSpeechLayers.names},
                                         {&keys::kHeads, keys::kSpeechHeads.names},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength},
                                         {&keys::kBase, keys::kRotaryEmbeddingBase.names}};
constexpr OwnKey kSpeechAdapterKeys[] = {{&keys::kLayers, keys::kAdapterLayers.names},
                                         {&keys::kHeads, keys::kSpeechHeads.names},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength}};
constexpr OwnKey kUnitEncoderKeys[] = {{&keys::kLayers, keys::kUnitEncoderLayers.names},
                                       {&keys::kHeads, keys::kUnitEncoderHeads.names},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength}};
constexpr OwnKey kUnitDecoderKeys[] = {{&keys::kLayers, keys::kUnitDecoderLayers.names},
                                       {&keys::kHeads, keys::kUnitDecoderHeads.names},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength, keys::kUnitLength.names},
                                       {&keys::kPadding, keys::kUnitPadding.names}};
// Characters are given positions first; units, into which they are stretched, get theirs after that.
constexpr InputRule kCharacterSines{.kind = InputKind::sinusoidal,
                                    .convention = SinusoidConvention::tensor2tensor,
                                    .offset_after_padding = true,
                                    .rows = Rows::unlimited,
                                    .scaled = true,
                                    .axis = "character",
                                    .learned_scale = true};
constexpr InputRule kUnitSines[] = {{.kind = InputKind::sinusoidal,
                                     .convention = SinusoidConvention::tensor2tensor,
                                     .offset_after_padding = true,
                                     .rows = Rows::unlimited,
                                     .learned_scale = true}};
constexpr MaskRule kInChunks{
    .kind = MaskKind::bidirectional, .chunk = &keys::kSpeechChunk, .chunks_before = &keys::kSpeechChunksBefore};
constexpr RelativeTypes kKeysOnly{.relative_key = true};
constexpr StackRule kTextEncoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kTextEncoderKeys};
constexpr StackRule kTextDecoder{.input = kPaddedSines, .cross = kEach, .own_keys = kTextDecoderKeys};
constexpr StackRule kSpeechEncoder{
    .name = "audio", .mask = kBothWays, .types = kRotatesOrSines, .own_keys = kSpeechEncoderKeys};
constexpr StackRule kSpeechEncoderV2{
    .name = "audio", .mask = kInChunks, .types = kKeysOnly, .own_keys = kSpeechEncoderKeys};
constexpr StackRule kSpeechAdapter{
    .name = "audio_adapter", .mask = kBothWays, .own_keys = kSpeechAdapterKeys, .present_if = &keys::kAdapter};
// It goes on from the decoder's output and adds nothing.
constexpr StackRule kUnitEncoder{.name = "unit_encoder", .mask = kBothWays, .own_keys = kUnitEncoderKeys};
constexpr StackRule kUnitDecoder{
    .name = "unit_decoder", .input = kPaddedSines, .cross = kEach, .own_keys = kUnitDecoderKeys};
constexpr StackRule kUnitDecoderV2{.name = "unit_decoder",
                                   .mask = kBothWays,
                                   .input = kCharacterSines,
                                   .more_input = kUnitSines,
                                   .own_keys = kUnitDecoderKeys};
constexpr const StackRule* kSpeechAndUnits[] = {&kSpeechEncoder, &kSpeechAdapter, &kUnitEncoder, &kUnitDecoder};
constexpr const StackRule* kSpeechAndUnitsV2[] = {&kSpeechEncoderV2, &kSpeechAdapter, &kUnitEncoder, &kUnitDecoderV2};
constexpr const StackRule* kText[] = {&kTextDecoder, &kTextEncoder};
constexpr const StackRule* kSpeech[] = {&kTextDecoder, &kSpeechEncoder, &kSpeechAdapter};
constexpr const StackRule* kSpeechV2[] = {&kTextDecoder, &kSpeechEncoderV2, &kSpeechAdapter};
constexpr const StackRule* kTextUnits[] = {&kTextDecoder, &kTextEncoder, &kUnitEncoder, &kUnitDecoder};
constexpr const StackRule* kTextUnitsV2[] = {&kTextDecoder, &kTextEncoder, &kUnitEncoder, &kUnitDecoderV2};
constexpr const StackRule* kSpeechUnits[] = {&kTextDecoder, &kSpeechEncoder, &kSpeechAdapter, &kUnitEncoder,
                                             &kUnitDecoder};
constexpr const StackRule* kSpeechUnitsV2[] = {&kTextDecoder, &kSpeechEncoderV2, &kSpeechAdapter, &kUnitEncoder,
                                               &kUnitDecoderV2};
constexpr ClassStacks kSeamlessStacks[] = {
    {kTextToText, kText}, {kSpeechToText, kSpeech}, {kTextToSpeech, kTextUnits}, {kSpeechToSpeech, kSpeechUnits}};
constexpr ClassStacks kSeamlessV2Stacks[] = {
    {kTextToText, kText}, {kSpeechToText, kSpeechV2}, {kTextToSpeech, kTextUnitsV2}, {kSpeechToSpeech, kSpeechUnitsV2}};

}  // namespace

std::span<const Family> seamless_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "seamless_m4t",
     .class_stems = "SeamlessM4T SeamlessM4TForTextToText SeamlessM4TForSpeechToText SeamlessM4TForTextToSpeech "
         "SeamlessM4TForSpeechToSpeech", .pairing = kHalf, .main = kTextDecoder, .encoder = &kTextEncoder,
     .more_stacks = kSpeechAndUnits, .class_stacks = kSeamlessStacks, .scales = false, .scheme = relative_scheme,
     .needs_length = false},
    {.name = "seamless_m4t_v2",
     .class_stems = "SeamlessM4Tv2 SeamlessM4Tv2ForTextToText SeamlessM4Tv2ForSpeechToText "
         "SeamlessM4Tv2ForTextToSpeech SeamlessM4Tv2ForSpeechToSpeech", .pairing = kHalf, .main = kTextDecoder,
     .encoder = &kTextEncoder, .more_stacks = kSpeechAndUnitsV2, .class_stacks = kSeamlessV2Stacks, .scales = false,
     .scheme = relative_scheme, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

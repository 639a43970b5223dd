// Models that hear or speak with an encoder and a decoder, one row a family. Facts: the transformers 5.23.0 class named
// by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr Names kSpeechToSpeech{"SeamlessM4TForSpeechToSpeech SeamlessM4Tv2ForSpeechToSpeech"};
constexpr Names kSpeechToText{"SeamlessM4TForSpeechToText SeamlessM4Tv2ForSpeechToText"};
constexpr Names kTextToSpeech{"SeamlessM4TForTextToSpeech SeamlessM4Tv2ForTextToSpeech"};
constexpr Names kTextToText{"SeamlessM4TForTextToText SeamlessM4Tv2ForTextToText"};

// ---- keys of one of several stacks, and keys that a class does not read ----
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
constexpr OwnKey kFastEncoderKeys[] = {{&keys::kLayers, "encoder_layers"},
                                       {&keys::kHeads, keys::kEncoderHeads.names},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength}};
constexpr OwnKey kFastDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                       {&keys::kHeads, keys::kDecoderHeads.names},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength}};
constexpr OwnKey kT5SpeechEncoderKeys[] = {{&keys::kLayers, "encoder_layers"},
                                           {&keys::kHeads, "encoder_attention_heads"},
                                           {&keys::kKvHeads},
                                           {&keys::kHeadDim},
                                           {&keys::kLength, keys::kSpeechRows.names}};
constexpr OwnKey kT5TextEncoderKeys[] = {{&keys::kLayers, "encoder_layers"},
                                         {&keys::kHeads, "encoder_attention_heads"},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength, keys::kTextRows.names}};
constexpr OwnKey kT5SpeechDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                           {&keys::kHeads, "decoder_attention_heads"},
                                           {&keys::kKvHeads},
                                           {&keys::kHeadDim},
                                           {&keys::kLength, keys::kSpeechRows.names}};
constexpr OwnKey kT5TextDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                         {&keys::kHeads, "decoder_attention_heads"},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength, keys::kTextRows.names}};

// ---- what is added, and what is seen ----
// The class counts a padding row and has two rows more than that; the table grows with the text.
constexpr InputRule kFrameSines[] = {{.kind = InputKind::sinusoidal,
                                      .convention = SinusoidConvention::tensor2tensor,
                                      .offset_after_padding = true,
                                      .rows = Rows::unlimited}};
constexpr InputRule kScaledSines{.kind = InputKind::sinusoidal, .learned_scale = true};
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

// ---- stacks ----

constexpr StackRule kTextEncoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kTextEncoderKeys};
constexpr StackRule kTextDecoder{.input = kPaddedSines, .cross = kEach, .own_keys = kTextDecoderKeys};
constexpr StackRule kSpeechEncoder{
    .name = "audio", .mask = kBothWays, .types = kTurnsOrSines, .own_keys = kSpeechEncoderKeys};
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

constexpr StackRule kFastEncoder{
    .name = "encoder", .mask = kBothWays, .score = kSinesOfDistances, .own_keys = kFastEncoderKeys};
constexpr StackRule kFastDecoder{.mask = kBothWays, .score = kSinesOfDistances, .own_keys = kFastDecoderKeys};

constexpr ScoreRule kShawRows{.kind = ScoreKind::shaw_rows};
constexpr StackRule kT5SpeechEncoder{.name = "encoder",
                                     .mask = kBothWays,
                                     .input = kConvolution,
                                     .more_input = kFrameSines,
                                     .score = kShawRows,
                                     .own_keys = kT5SpeechEncoderKeys};
constexpr StackRule kT5TextEncoder{
    .name = "encoder", .mask = kBothWays, .input = kScaledSines, .score = kShawRows, .own_keys = kT5TextEncoderKeys};
constexpr StackRule kT5SpeechDecoder{.input = kScaledSines, .cross = kEach, .own_keys = kT5SpeechDecoderKeys};
constexpr StackRule kT5TextDecoder{.input = kPaddedSines, .cross = kEach, .own_keys = kT5TextDecoderKeys};
// Without the class of a task nothing says what comes in: the same blocks serve speech and text.
constexpr std::string_view kEitherInput = "what is added to the embeddings, which the class of the task decides";
constexpr StackRule kSpeechT5Encoder{
    .name = "encoder", .mask = kBothWays, .score = kShawRows, .own_keys = kT5SpeechEncoderKeys};
constexpr StackRule kSpeechT5Decoder{.cross = kEach, .own_keys = kT5SpeechDecoderKeys, .undecided = kEitherInput};
constexpr const StackRule* kT5FromSpeech[] = {&kT5TextDecoder, &kT5SpeechEncoder};
constexpr const StackRule* kT5FromText[] = {&kT5SpeechDecoder, &kT5TextEncoder};
constexpr const StackRule* kT5BothSpeech[] = {&kT5SpeechDecoder, &kT5SpeechEncoder};
constexpr ClassStacks kT5Stacks[] = {{"SpeechT5ForSpeechToText", kT5FromSpeech},
                                     {"SpeechT5ForTextToSpeech", kT5FromText},
                                     {"SpeechT5ForSpeechToSpeech", kT5BothSpeech}};

// clang-format off
constexpr Family kSpokenFamilies[] = {
    {.name = "seamless_m4t",
     .class_stems = "SeamlessM4T SeamlessM4TForTextToText SeamlessM4TForSpeechToText SeamlessM4TForTextToSpeech "
         "SeamlessM4TForSpeechToSpeech", .pairing = kHalf, .main = kTextDecoder, .encoder = &kTextEncoder,
     .more_stacks = kSpeechAndUnits, .class_stacks = kSeamlessStacks, .scales = false, .scheme = Scheme::relative_type,
     .needs_length = false},
    {.name = "seamless_m4t_v2",
     .class_stems = "SeamlessM4Tv2 SeamlessM4Tv2ForTextToText SeamlessM4Tv2ForSpeechToText SeamlessM4Tv2ForTextToSpeech " "SeamlessM4Tv2ForSpeechToSpeech",
     .pairing = kHalf, .main = kTextDecoder, .encoder = &kTextEncoder, .more_stacks = kSpeechAndUnitsV2,
     .class_stacks = kSeamlessV2Stacks, .scales = false, .scheme = Scheme::relative_type, .needs_length = false},
    {.name = "fastspeech2_conformer", .class_stems = "FastSpeech2Conformer", .pairing = kHalf, .main = kFastDecoder,
     .encoder = &kFastEncoder, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "speecht5",
     .class_stems = "SpeechT5 SpeechT5ForSpeechToText SpeechT5ForTextToSpeech SpeechT5ForSpeechToSpeech",
     .pairing = kHalf, .main = kSpeechT5Decoder, .encoder = &kSpeechT5Encoder, .class_stacks = kT5Stacks, .scales = false,
     .turning = kStill, .needs_length = false},
};
// clang-format on

}  // namespace

std::span<const Family> spoken_families() noexcept { return kSpokenFamilies; }

}  // namespace posenc::plan

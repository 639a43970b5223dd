// Models that hear or speak with an encoder and a decoder, one row a family. Facts: the transformers 5.23.0 class named
// by the stem.
#include "plan/families/family_tables.h"
#include "plan/keys/speech_keys.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kSeamless[] = {"seamless_m4t"};
constexpr std::string_view kSeamlessV2[] = {"seamless_m4t_v2"};
constexpr std::string_view kSeamlessClass[] = {"SeamlessM4T", "SeamlessM4TForTextToText", "SeamlessM4TForSpeechToText",
                                               "SeamlessM4TForTextToSpeech", "SeamlessM4TForSpeechToSpeech"};
constexpr std::string_view kSeamlessV2Class[] = {"SeamlessM4Tv2", "SeamlessM4Tv2ForTextToText",
                                                 "SeamlessM4Tv2ForSpeechToText", "SeamlessM4Tv2ForTextToSpeech",
                                                 "SeamlessM4Tv2ForSpeechToSpeech"};
constexpr std::string_view kFastSpeech[] = {"fastspeech2_conformer"}, kFastSpeechClass[] = {"FastSpeech2Conformer"};
constexpr std::string_view kSpeechT5[] = {"speecht5"};
constexpr std::string_view kSpeechT5Class[] = {"SpeechT5", "SpeechT5ForSpeechToText", "SpeechT5ForTextToSpeech",
                                               "SpeechT5ForSpeechToSpeech"};

constexpr std::string_view kTextToText[] = {"SeamlessM4TForTextToText", "SeamlessM4Tv2ForTextToText"};
constexpr std::string_view kSpeechToText[] = {"SeamlessM4TForSpeechToText", "SeamlessM4Tv2ForSpeechToText"};
constexpr std::string_view kTextToSpeech[] = {"SeamlessM4TForTextToSpeech", "SeamlessM4Tv2ForTextToSpeech"};
constexpr std::string_view kSpeechToSpeech[] = {"SeamlessM4TForSpeechToSpeech", "SeamlessM4Tv2ForSpeechToSpeech"};
constexpr std::string_view kT5SpeechToText[] = {"SpeechT5ForSpeechToText"};
constexpr std::string_view kT5TextToSpeech[] = {"SpeechT5ForTextToSpeech"};
constexpr std::string_view kT5SpeechToSpeech[] = {"SpeechT5ForSpeechToSpeech"};

constexpr std::string_view kEncoderLayers[] = {"encoder_layers"}, kDecoderLayers[] = {"decoder_layers"};
constexpr std::string_view kEncoderHeads[] = {"encoder_attention_heads"};
constexpr std::string_view kDecoderHeads[] = {"decoder_attention_heads"};

// ---- keys of one of several stacks, and keys that a class does not read ----
constexpr std::string_view kTextLength[] = {"max_position_embeddings"};
constexpr OwnKey kTextEncoderKeys[] = {{&keys::kLayers, kEncoderLayers},
                                       {&keys::kHeads, kEncoderHeads},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength, kTextLength}};
constexpr OwnKey kTextDecoderKeys[] = {{&keys::kLayers, kDecoderLayers},
                                       {&keys::kHeads, kDecoderHeads},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength, kTextLength}};
constexpr OwnKey kSpeechEncoderKeys[] = {{&keys::kLayers, key_names::kSpeechLayers},
                                         {&keys::kHeads, key_names::kSpeechHeads},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength},
                                         {&keys::kBase, key_names::kRotaryEmbeddingBase}};
constexpr OwnKey kSpeechAdapterKeys[] = {{&keys::kLayers, key_names::kAdapterLayers},
                                         {&keys::kHeads, key_names::kSpeechHeads},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength}};
constexpr OwnKey kUnitEncoderKeys[] = {{&keys::kLayers, key_names::kUnitEncoderLayers},
                                       {&keys::kHeads, key_names::kUnitEncoderHeads},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength}};
constexpr OwnKey kUnitDecoderKeys[] = {{&keys::kLayers, key_names::kUnitDecoderLayers},
                                       {&keys::kHeads, key_names::kUnitDecoderHeads},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength, key_names::kUnitLength},
                                       {&keys::kPadding, key_names::kUnitPadding}};
constexpr OwnKey kFastEncoderKeys[] = {{&keys::kLayers, kEncoderLayers},
                                       {&keys::kHeads, key_names::kEncoderHeads},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength}};
constexpr OwnKey kFastDecoderKeys[] = {{&keys::kLayers, kDecoderLayers},
                                       {&keys::kHeads, key_names::kDecoderHeads},
                                       {&keys::kKvHeads},
                                       {&keys::kHeadDim},
                                       {&keys::kLength}};
constexpr OwnKey kT5SpeechEncoderKeys[] = {{&keys::kLayers, kEncoderLayers},
                                           {&keys::kHeads, kEncoderHeads},
                                           {&keys::kKvHeads},
                                           {&keys::kHeadDim},
                                           {&keys::kLength, key_names::kSpeechRows}};
constexpr OwnKey kT5TextEncoderKeys[] = {{&keys::kLayers, kEncoderLayers},
                                         {&keys::kHeads, kEncoderHeads},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength, key_names::kTextRows}};
constexpr OwnKey kT5SpeechDecoderKeys[] = {{&keys::kLayers, kDecoderLayers},
                                           {&keys::kHeads, kDecoderHeads},
                                           {&keys::kKvHeads},
                                           {&keys::kHeadDim},
                                           {&keys::kLength, key_names::kSpeechRows}};
constexpr OwnKey kT5TextDecoderKeys[] = {{&keys::kLayers, kDecoderLayers},
                                         {&keys::kHeads, kDecoderHeads},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength, key_names::kTextRows}};

// ---- what is added, and what is seen ----
constexpr InputRule kConvolution{.kind = InputKind::convolution, .kernel = &keys::kConvPositions};
// The class counts a padding row and has two rows more than that; the table grows with the text.
constexpr InputRule kPaddedSines{.kind = InputKind::sinusoidal,
                                 .convention = SinusoidConvention::tensor2tensor,
                                 .offset_after_padding = true,
                                 .rows = Rows::unlimited,
                                 .scaled = true};
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

constexpr MaskRule kBothWays{.kind = MaskKind::bidirectional};
constexpr MaskRule kInChunks{
    .kind = MaskKind::bidirectional, .chunk = &keys::kSpeechChunk, .chunks_before = &keys::kSpeechChunksBefore};

constexpr RelativeTypes kTurnsOrSines{.rotary = true, .relative = true};
constexpr RelativeTypes kKeysOnly{.relative_key = true};

// ---- stacks ----
constexpr CrossAttention kEach = CrossAttention::every_block;

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

constexpr ScoreRule kSinesOfDistances{.kind = ScoreKind::transformer_xl};
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
constexpr StackRule kT5Encoder{
    .name = "encoder", .mask = kBothWays, .score = kShawRows, .own_keys = kT5SpeechEncoderKeys};
constexpr StackRule kT5Decoder{.cross = kEach, .own_keys = kT5SpeechDecoderKeys, .undecided = kEitherInput};
constexpr const StackRule* kT5FromSpeech[] = {&kT5TextDecoder, &kT5SpeechEncoder};
constexpr const StackRule* kT5FromText[] = {&kT5SpeechDecoder, &kT5TextEncoder};
constexpr const StackRule* kT5BothSpeech[] = {&kT5SpeechDecoder, &kT5SpeechEncoder};
constexpr ClassStacks kT5Stacks[] = {
    {kT5SpeechToText, kT5FromSpeech}, {kT5TextToSpeech, kT5FromText}, {kT5SpeechToSpeech, kT5BothSpeech}};

constexpr Pairing kHalf = Pairing::half;
constexpr Turning kStill = Turning::no_layer;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "seamless_m4t", .model_types = kSeamless, .class_stems = kSeamlessClass, .pairing = kHalf,
     .main = kTextDecoder, .encoder = &kTextEncoder, .more_stacks = kSpeechAndUnits, .class_stacks = kSeamlessStacks,
     .scales = false, .scheme = Scheme::relative_type, .needs_length = false},
    {.name = "seamless_m4t_v2", .model_types = kSeamlessV2, .class_stems = kSeamlessV2Class, .pairing = kHalf,
     .main = kTextDecoder, .encoder = &kTextEncoder, .more_stacks = kSpeechAndUnitsV2,
     .class_stacks = kSeamlessV2Stacks, .scales = false, .scheme = Scheme::relative_type, .needs_length = false},
    {.name = "fastspeech2_conformer", .model_types = kFastSpeech, .class_stems = kFastSpeechClass, .pairing = kHalf,
     .main = kFastDecoder, .encoder = &kFastEncoder, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "speecht5", .model_types = kSpeechT5, .class_stems = kSpeechT5Class, .pairing = kHalf,
     .main = kT5Decoder, .encoder = &kT5Encoder, .class_stacks = kT5Stacks, .scales = false, .turning = kStill,
     .needs_length = false},
};
// clang-format on

}  // namespace

std::span<const Family> spoken_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

// SpeechT5 and FastSpeech 2. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

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
// The class counts a padding row and has two rows more than that; the table grows with the text.
constexpr InputRule kFrameSines[] = {{.kind = InputKind::sinusoidal,
                                      .convention = SinusoidConvention::tensor2tensor,
                                      .offset_after_padding = true,
                                      .rows = Rows::unlimited}};
constexpr InputRule kScaledSines{.kind = InputKind::sinusoidal, .learned_scale = true};
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

}  // namespace

std::span<const Family> speecht5_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "speecht5",
     .class_stems = "SpeechT5 SpeechT5ForSpeechToText SpeechT5ForTextToSpeech SpeechT5ForSpeechToSpeech",
     .pairing = kHalf, .main = kSpeechT5Decoder, .encoder = &kSpeechT5Encoder, .class_stacks = kT5Stacks,
     .scales = false, .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "fastspeech2_conformer", .class_stems = "FastSpeech2Conformer", .pairing = kHalf, .main = kFastDecoder,
     .encoder = &kFastEncoder, .scales = false, .rotary_layers = kNoRotaryLayer, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

// Decoders of audio codes: Bark, MusicGen, Higgs Audio, Moshi and others with its codec, Mimi. One row a family. Facts:
// the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kHeadWidth[] = {{&keys::kKvHeads}};
constexpr InputRule kMusicgenSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::musicgen, .rows = Rows::unlimited, .scaled = true};
constexpr StackRule kMusicgenStack{.input = kMusicgenSines, .cross = kEach, .own_keys = kHeadWidth};
// The prompt stands before the codes and is counted with them.
constexpr StackRule kMelodyStack{.input = kMusicgenSines, .own_keys = kHeadWidth};
constexpr OwnKey kBarkKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength, keys::kBlockRows.names}};
constexpr StackRule kBarkCausal{.input = kTable, .own_keys = kBarkKeys};
constexpr StackRule kBarkBothWays{.mask = kBothWays, .input = kTable, .own_keys = kBarkKeys};
constexpr StackRule kDepthDecoder{.name = "depth_decoder"};
constexpr StackRule kCodecEncoder{.name = "encoder"};
constexpr StackRule kCodecDecoder{.name = "decoder"};
constexpr const StackRule* kCodecAfter[] = {&kCodecDecoder};

}  // namespace

std::span<const Family> audio_decoders_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "semantic", .class_stems = "BarkSemantic", .main = kBarkCausal, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "coarse_acoustics", .class_stems = "BarkCoarse", .main = kBarkCausal, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "fine_acoustics", .class_stems = "BarkFine", .main = kBarkBothWays, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "musicgen_decoder", .class_stems = "Musicgen", .main = kMusicgenStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "musicgen_melody_decoder", .class_stems = "MusicgenMelody", .main = kMelodyStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "higgs_audio_v2", .class_stems = "HiggsAudioV2", .pairing = kHalf},
    {.name = "moshi", .class_stems = "Moshi", .pairing = kHalf, .windows = Windows::every_layer},
    {.name = "moshi_depth", .class_stems = "MoshiDepthDecoder", .main = kDepthDecoder, .scales = false,
     .rotary_layers = kNoRotaryLayer, .windows = Windows::every_layer},
    {.name = "mimi", .class_stems = "Mimi", .pairing = kHalf, .main = kCodecEncoder, .more_stacks = kCodecAfter,
     .windows = Windows::every_layer},
    {.name = "kyutai_speech_to_text", .class_stems = "KyutaiSpeechToText", .pairing = kHalf,
     .windows = Windows::every_layer},
    {.name = "csm", .class_stems = "Csm", .pairing = kHalf},
    {.name = "csm_depth_decoder_model", .class_stems = "CsmDepthDecoder", .pairing = kHalf, .main = kDepthDecoder},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

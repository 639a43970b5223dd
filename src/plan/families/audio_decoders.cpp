// Decoders of audio codes: Bark, MusicGen, Higgs Audio, Moshi and others with its codec, Mimi. One row a family. Facts:
// the transformers 5.23.0 class named by the stem; but of fireredlid: vLLM 0.27 fireredlid.py.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

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
// NeMo divides the sines by the root of the width and normalises the sum: as if the embedding were multiplied by it.
constexpr InputRule kCanarySines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::marian, .always_scaled = true};
constexpr StackRule kCanaryStack{.input = kCanarySines, .cross = kEach};
constexpr OwnKey kLidEncoderKeys[] = {{&keys::kLayers, "n_layers_enc"},
                                      {&keys::kHeads, "n_head"},
                                      {&keys::kHidden, "d_model"},
                                      {&keys::kKvHeads},
                                      {&keys::kHeadDim},
                                      {&keys::kLength, "pe_maxlen"}};
constexpr OwnKey kLidDecoderKeys[] = {{&keys::kLayers, "n_layers_lid_dec"},
                                      {&keys::kHeads, "n_head"},
                                      {&keys::kHidden, "d_model"},
                                      {&keys::kKvHeads},
                                      {&keys::kHeadDim},
                                      {&keys::kLength, "pe_maxlen"}};
constexpr InputRule kLidSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::paper, .always_scaled = true};
constexpr StackRule kLidEncoder{
    .name = "encoder", .mask = kBothWays, .score = kSinesOfDistances, .own_keys = kLidEncoderKeys};
constexpr StackRule kLidDecoder{.input = kLidSines, .cross = kEach, .own_keys = kLidDecoderKeys};
constexpr StackRule kDiaEncoder{.name = "encoder", .mask = kBothWays};
constexpr StackRule kDiaDecoder{.cross = kEach, .cross_sizes = true};
SchemeChoice clvp_scheme(ConfigScope& scope, const SchemeFacts&) {
  const Setting<bool> rotates = scope.flag(keys::kUseRotary);
  return {.rotates = rotates.value.value_or(true),
          .from = rotates.value ? rotates.from : family_default(scope.family())};
}

constexpr StackRule kClvpEncoder{.name = "encoder", .mask = kBothWays, .own_keys = kNoLengthKeys};
constexpr StackRule kClvpDecoder{.input = kTable, .own_keys = kPlainHeads};
constexpr StackRule kBothWaysDecoder{.mask = kBothWays};
// Without a cache the class masks nothing but what comes later; its cache keeps the window.
constexpr StackRule kCachedWindow{
    .mask = {.detail = {"the window is that of the cache: tokens that are given at once see all that come before them",
                        Sees::beyond_window}}};
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
    // Codecs: convolutions of the sound come first, or of its codes.
    {.name = "mimi", .model_types = "mimi pocket_tts_audio_tokenizer", .class_stems = "Mimi PocketTTSAudioTokenizer", .pairing = kHalf, .main = kCodecEncoder, .more_stacks = kCodecAfter,
     .mixed_input = "mimi pocket_tts_audio_tokenizer",
     .windows = Windows::every_layer},
    {.name = "kyutai_speech_to_text", .class_stems = "KyutaiSpeechToText", .pairing = kHalf, .main = kCachedWindow,
     .windows = Windows::every_layer},
    {.name = "mimi_encoder", .model_types = "mimi_encoder pocket_tts_audio_tokenizer_encoder",
     .class_stems = "MimiEncoder PocketTTSAudioTokenizerEncoder", .pairing = kHalf, .main = kCodecEncoder,
     .mixed_input = "mimi_encoder pocket_tts_audio_tokenizer_encoder", .windows = Windows::every_layer},
    {.name = "mimi_decoder", .model_types = "mimi_decoder pocket_tts_audio_tokenizer_decoder",
     .class_stems = "MimiDecoder PocketTTSAudioTokenizerDecoder", .pairing = kHalf, .main = kCodecDecoder,
     .mixed_input = "mimi_decoder pocket_tts_audio_tokenizer_decoder", .windows = Windows::every_layer},
    {.name = "pocket_tts", .class_stems = "PocketTTS", .pairing = kHalf},
    {.name = "gradium_phonon_tts", .class_stems = "GradiumPhononTTS", .pairing = kHalf},
    {.name = "canary_decoder", .class_stems = "CanaryDecoder", .main = kCanaryStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "fireredlid", .class_stems = "FireRedLID", .main = kLidDecoder, .encoder = &kLidEncoder, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "dia_encoder", .class_stems = "DiaEncoder", .pairing = kHalf, .main = kDiaEncoder, .scale = Scale::one},
    {.name = "dia_decoder", .class_stems = "DiaDecoder", .pairing = kHalf, .main = kDiaDecoder, .scale = Scale::one},
    // Values rotate like keys, and what comes out is not rotated back.
    {.name = "clvp_encoder", .class_stems = "ClvpEncoder", .pairing = kHalf, .main = kClvpEncoder,
     .width = Width::half_projection, .base = BaseRule::class_own, .scales = false, .rotates_values = true,
     .leaves_values_rotated = true, .scheme = clvp_scheme, .misleading_keys = kNoDictionaries, .needs_length = false},
    {.name = "clvp_decoder", .class_stems = "ClvpDecoder", .main = kClvpDecoder, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "voxtral_realtime_text", .class_stems = "VoxtralRealtimeText", .pairing = kHalf,
     .windows = Windows::every_layer},
    {.name = "vits", .class_stems = "Vits", .main = kClvpEncoder, .scales = false, .rotary_layers = kNoRotaryLayer,
     .undecided = "Shaw's terms in scores and values are nothing beyond window_size, and not those of the last "
         "distance; a plan cannot hold that", .needs_length = false},
    {.name = "xcodec2", .model_types = "xcodec2 neucodec", .class_stems = "Xcodec2 NeuCodec", .pairing = kHalf,
     .main = kBothWaysDecoder, .mixed_input = "xcodec2 neucodec"},
    {.name = "csm", .class_stems = "Csm", .pairing = kHalf},
    {.name = "csm_depth_decoder_model", .class_stems = "CsmDepthDecoder", .pairing = kHalf, .main = kDepthDecoder},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

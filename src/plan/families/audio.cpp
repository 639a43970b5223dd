// Decoders of audio codes, their codecs, and encoders of sound that turn, one row a family. Facts: the transformers
// 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

// ---- keys that a class does not read, or reads under other names ----
constexpr OwnKey kBarkKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength, keys::kBlockRows.names}};
constexpr OwnKey kMoonshineEncoderKeys[] = {{&keys::kLayers, keys::kNumEncoderLayers.names},
                                            {&keys::kHeads, keys::kEncoderHeads.names},
                                            {&keys::kKvHeads, keys::kEncoderKvHeads.names}};
constexpr OwnKey kMoonshineDecoderKeys[] = {{&keys::kLayers, keys::kNumDecoderLayers.names},
                                            {&keys::kHeads, keys::kDecoderHeads.names},
                                            {&keys::kKvHeads, keys::kDecoderKvHeads.names}};

// ---- stacks ----

constexpr StackRule kDepthDecoder{.name = "depth_decoder"};
constexpr StackRule kCodecEncoder{.name = "encoder"};
constexpr StackRule kCodecDecoder{.name = "decoder"};
constexpr const StackRule* kCodecAfter[] = {&kCodecDecoder};
constexpr StackRule kBarkCausal{.input = kTable, .own_keys = kBarkKeys};
constexpr StackRule kBarkBothWays{.mask = kBothWays, .input = kTable, .own_keys = kBarkKeys};
constexpr StackRule kParakeetStack{
    .name = "encoder", .mask = kBothWays, .score = kSinesOfDistances, .own_keys = kNoLengthKeys};
constexpr StackRule kTurningEncoder{.name = "encoder", .mask = kBothWays, .own_keys = kPlainHeads};
constexpr StackRule kGroupedEncoder{.name = "encoder", .mask = kBothWays};
constexpr StackRule kCohereAsrStack{.input = kTable, .cross = CrossAttention::every_block};
constexpr StackRule kMoonshineEncoder{.name = "encoder", .mask = kBothWays, .own_keys = kMoonshineEncoderKeys};
constexpr StackRule kMoonshineDecoder{.cross = CrossAttention::every_block, .own_keys = kMoonshineDecoderKeys};

// clang-format off
constexpr Family kAudioFamilies[] = {
    {.name = "csm", .class_stems = "Csm", .pairing = kHalf},
    {.name = "csm_depth_decoder_model", .class_stems = "CsmDepthDecoder", .pairing = kHalf, .main = kDepthDecoder},
    {.name = "higgs_audio_v2", .class_stems = "HiggsAudioV2", .pairing = kHalf},
    {.name = "kyutai_speech_to_text", .class_stems = "KyutaiSpeechToText", .pairing = kHalf,
     .windows = Windows::every_layer},
    {.name = "moshi", .class_stems = "Moshi", .pairing = kHalf, .windows = Windows::every_layer},
    {.name = "moshi_depth", .class_stems = "MoshiDepthDecoder", .main = kDepthDecoder, .scales = false,
     .turning = kStill, .windows = Windows::every_layer},
    {.name = "mimi", .class_stems = "Mimi", .pairing = kHalf, .main = kCodecEncoder, .more_stacks = kCodecAfter,
     .windows = Windows::every_layer},
    {.name = "semantic", .class_stems = "BarkSemantic", .main = kBarkCausal, .scales = false, .turning = kStill},
    {.name = "coarse_acoustics", .class_stems = "BarkCoarse", .main = kBarkCausal, .scales = false, .turning = kStill},
    {.name = "fine_acoustics", .class_stems = "BarkFine", .main = kBarkBothWays, .scales = false, .turning = kStill},
    {.name = "parakeet_encoder", .class_stems = "ParakeetEncoder", .main = kParakeetStack, .scales = false,
     .turning = kStill, .needs_length = false},
    {.name = "lasr_encoder", .class_stems = "LasrEncoder", .pairing = kHalf, .main = kTurningEncoder},
    {.name = "glmasr_encoder", .class_stems = "GlmAsrEncoder", .pairing = kHalf, .main = kGroupedEncoder,
     .width = Width::partial_factor},
    {.name = "cohere_asr", .class_stems = "CohereAsr", .main = kCohereAsrStack, .scales = false, .turning = kStill},
    {.name = "moonshine", .class_stems = "Moonshine", .pairing = Pairing::interleaved, .main = kMoonshineDecoder,
     .encoder = &kMoonshineEncoder, .width = Width::partial_factor},
};
// clang-format on

}  // namespace

std::span<const Family> audio_families() noexcept { return kAudioFamilies; }

}  // namespace posenc::plan

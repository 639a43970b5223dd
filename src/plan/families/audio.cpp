// Decoders of audio codes, their codecs, and encoders of sound that turn, one row a family. Facts: the transformers
// 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/keys/speech_keys.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kCsm[] = {"csm"}, kCsmClass[] = {"Csm"};
constexpr std::string_view kCsmDepth[] = {"csm_depth_decoder_model"}, kCsmDepthClass[] = {"CsmDepthDecoder"};
constexpr std::string_view kHiggs[] = {"higgs_audio_v2"}, kHiggsClass[] = {"HiggsAudioV2"};
constexpr std::string_view kKyutai[] = {"kyutai_speech_to_text"}, kKyutaiClass[] = {"KyutaiSpeechToText"};
constexpr std::string_view kMoshi[] = {"moshi"}, kMoshiClass[] = {"Moshi"};
constexpr std::string_view kMoshiDepth[] = {"moshi_depth"}, kMoshiDepthClass[] = {"MoshiDepthDecoder"};
constexpr std::string_view kMimi[] = {"mimi"}, kMimiClass[] = {"Mimi"};
constexpr std::string_view kBarkSemantic[] = {"semantic"}, kBarkSemanticClass[] = {"BarkSemantic"};
constexpr std::string_view kBarkCoarse[] = {"coarse_acoustics"}, kBarkCoarseClass[] = {"BarkCoarse"};
constexpr std::string_view kBarkFine[] = {"fine_acoustics"}, kBarkFineClass[] = {"BarkFine"};
constexpr std::string_view kParakeet[] = {"parakeet_encoder"}, kParakeetClass[] = {"ParakeetEncoder"};
constexpr std::string_view kLasr[] = {"lasr_encoder"}, kLasrClass[] = {"LasrEncoder"};
constexpr std::string_view kGlmAsr[] = {"glmasr_encoder"}, kGlmAsrClass[] = {"GlmAsrEncoder"};
constexpr std::string_view kCohereAsr[] = {"cohere_asr"}, kCohereAsrClass[] = {"CohereAsr"};
constexpr std::string_view kMoonshine[] = {"moonshine"}, kMoonshineClass[] = {"Moonshine"};

// ---- keys that a class does not read, or reads under other names ----
constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}};
constexpr OwnKey kBarkKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength, key_names::kBlockRows}};
constexpr OwnKey kEqualHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}};
constexpr OwnKey kMoonshineEncoderKeys[] = {{&keys::kLayers, key_names::kNumEncoderLayers},
                                            {&keys::kHeads, key_names::kEncoderHeads},
                                            {&keys::kKvHeads, key_names::kEncoderKvHeads}};
constexpr OwnKey kMoonshineDecoderKeys[] = {{&keys::kLayers, key_names::kNumDecoderLayers},
                                            {&keys::kHeads, key_names::kDecoderHeads},
                                            {&keys::kKvHeads, key_names::kDecoderKvHeads}};

// ---- stacks ----
constexpr InputRule kTable{.kind = InputKind::learned};
constexpr MaskRule kBothWays{.kind = MaskKind::bidirectional};
constexpr ScoreRule kSinesOfDistances{.kind = ScoreKind::transformer_xl};

constexpr StackRule kDepthDecoder{.name = "depth_decoder"};
constexpr StackRule kCodecEncoder{.name = "encoder"};
constexpr StackRule kCodecDecoder{.name = "decoder"};
constexpr const StackRule* kCodecAfter[] = {&kCodecDecoder};
constexpr StackRule kBarkCausal{.input = kTable, .own_keys = kBarkKeys};
constexpr StackRule kBarkBothWays{.mask = kBothWays, .input = kTable, .own_keys = kBarkKeys};
constexpr StackRule kParakeetStack{
    .name = "encoder", .mask = kBothWays, .score = kSinesOfDistances, .own_keys = kPlainHeads};
constexpr StackRule kTurningEncoder{.name = "encoder", .mask = kBothWays, .own_keys = kEqualHeads};
constexpr StackRule kGroupedEncoder{.name = "encoder", .mask = kBothWays};
constexpr StackRule kCohereAsrStack{.input = kTable, .cross = CrossAttention::every_block};
constexpr StackRule kMoonshineEncoder{.name = "encoder", .mask = kBothWays, .own_keys = kMoonshineEncoderKeys};
constexpr StackRule kMoonshineDecoder{.cross = CrossAttention::every_block, .own_keys = kMoonshineDecoderKeys};

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kUnused = Pairing::half;  // nothing turns
constexpr Turning kStill = Turning::no_layer;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "csm", .model_types = kCsm, .class_stems = kCsmClass, .pairing = kHalf},
    {.name = "csm_depth_decoder_model", .model_types = kCsmDepth, .class_stems = kCsmDepthClass, .pairing = kHalf,
     .main = kDepthDecoder},
    {.name = "higgs_audio_v2", .model_types = kHiggs, .class_stems = kHiggsClass, .pairing = kHalf},
    {.name = "kyutai_speech_to_text", .model_types = kKyutai, .class_stems = kKyutaiClass, .pairing = kHalf,
     .windows = Windows::every_layer},
    {.name = "moshi", .model_types = kMoshi, .class_stems = kMoshiClass, .pairing = kHalf,
     .windows = Windows::every_layer},
    {.name = "moshi_depth", .model_types = kMoshiDepth, .class_stems = kMoshiDepthClass, .pairing = kUnused,
     .main = kDepthDecoder, .scales = false, .turning = kStill, .windows = Windows::every_layer},
    {.name = "mimi", .model_types = kMimi, .class_stems = kMimiClass, .pairing = kHalf, .main = kCodecEncoder,
     .more_stacks = kCodecAfter, .windows = Windows::every_layer},
    {.name = "semantic", .model_types = kBarkSemantic, .class_stems = kBarkSemanticClass, .pairing = kUnused,
     .main = kBarkCausal, .scales = false, .turning = kStill},
    {.name = "coarse_acoustics", .model_types = kBarkCoarse, .class_stems = kBarkCoarseClass, .pairing = kUnused,
     .main = kBarkCausal, .scales = false, .turning = kStill},
    {.name = "fine_acoustics", .model_types = kBarkFine, .class_stems = kBarkFineClass, .pairing = kUnused,
     .main = kBarkBothWays, .scales = false, .turning = kStill},
    {.name = "parakeet_encoder", .model_types = kParakeet, .class_stems = kParakeetClass, .pairing = kUnused,
     .main = kParakeetStack, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "lasr_encoder", .model_types = kLasr, .class_stems = kLasrClass, .pairing = kHalf,
     .main = kTurningEncoder},
    {.name = "glmasr_encoder", .model_types = kGlmAsr, .class_stems = kGlmAsrClass, .pairing = kHalf,
     .main = kGroupedEncoder, .width = Width::partial_factor},
    {.name = "cohere_asr", .model_types = kCohereAsr, .class_stems = kCohereAsrClass, .pairing = kUnused,
     .main = kCohereAsrStack, .scales = false, .turning = kStill},
    {.name = "moonshine", .model_types = kMoonshine, .class_stems = kMoonshineClass, .pairing = Pairing::interleaved,
     .main = kMoonshineDecoder, .encoder = &kMoonshineEncoder, .width = Width::partial_factor},
};
// clang-format on

}  // namespace

std::span<const Family> audio_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

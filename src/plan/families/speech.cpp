// Speech encoders, one row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/keys/speech_keys.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kWav2vec2[] = {"wav2vec2"}, kWav2vec2Class[] = {"Wav2Vec2"};
constexpr std::string_view kHubert[] = {"hubert"}, kHubertClass[] = {"Hubert"};
constexpr std::string_view kUnispeech[] = {"unispeech"}, kUnispeechClass[] = {"UniSpeech"};
constexpr std::string_view kUnispeechSat[] = {"unispeech-sat"}, kUnispeechSatClass[] = {"UniSpeechSat"};
constexpr std::string_view kWavlm[] = {"wavlm"}, kWavlmClass[] = {"WavLM"};
constexpr std::string_view kSew[] = {"sew"}, kSewClass[] = {"SEW"};
constexpr std::string_view kSewD[] = {"sew-d"}, kSewDClass[] = {"SEWD"};
constexpr std::string_view kData2vecAudio[] = {"data2vec-audio"}, kData2vecAudioClass[] = {"Data2VecAudio"};
constexpr std::string_view kWav2vec2Bert[] = {"wav2vec2-bert"}, kWav2vec2BertClass[] = {"Wav2Vec2Bert"};
constexpr std::string_view kConformer[] = {"wav2vec2-conformer"}, kConformerClass[] = {"Wav2Vec2Conformer"};
constexpr std::string_view kHidden[] = {"hidden_size"};
// As in DeBERTa v2: a convolution after the first layer, which no stage of a plan can say.
constexpr std::string_view kSewDUndecided[] = {"conv_kernel_size"};

// ---- keys that a class does not read, or reads under other names ----
constexpr OwnKey kPlainHeads[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}};
constexpr OwnKey kWavlmKeys[] = {{&keys::kKvHeads},
                                 {&keys::kHeadDim},
                                 {&keys::kLength},
                                 {&keys::kBuckets, key_names::kHashBuckets},
                                 {&keys::kMaxDistance, key_names::kMaxBucketDistance}};
constexpr std::string_view kSewHeadDim[] = {"attention_head_size"};
constexpr OwnKey kSewDKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim, kSewHeadDim}};
constexpr OwnKey kConformerKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}, {&keys::kBase, key_names::kRotaryEmbeddingBase}};
constexpr OwnKey kAdapterKeys[] = {{&keys::kKvHeads},
                                   {&keys::kHeadDim},
                                   {&keys::kLength},
                                   {&keys::kLayers, key_names::kAdapterLayers},
                                   {&keys::kHidden, key_names::kOutputHidden, kHidden}};

// ---- what is added, and what is seen ----
constexpr InputRule kConvolution{.kind = InputKind::convolution, .kernel = &keys::kConvPositions};
constexpr InputRule kSqueezing{
    .kind = InputKind::convolution, .kernel = &keys::kConvPositions, .stride = &keys::kSqueeze};
constexpr InputRule kStackedConvolutions{
    .kind = InputKind::convolution, .kernel = &keys::kConvKernel, .layers = &keys::kConvPositions};

constexpr MaskRule kBothWays{.kind = MaskKind::bidirectional};
constexpr RelativeTypes kTurnsOrSines{.rotary = true, .relative = true};
constexpr RelativeTypes kAllTypes{.rotary = true, .relative = true, .relative_key = true};

// ---- stacks ----
constexpr StackRule kConvolutionStack{
    .name = "encoder", .mask = kBothWays, .input = kConvolution, .own_keys = kPlainHeads};
constexpr StackRule kData2vecStack{
    .name = "encoder", .mask = kBothWays, .input = kStackedConvolutions, .own_keys = kPlainHeads};
constexpr StackRule kSewStack{.name = "encoder", .mask = kBothWays, .input = kSqueezing, .own_keys = kPlainHeads};
constexpr StackRule kSewDStack{.name = "encoder",
                               .mask = kBothWays,
                               .input = kSqueezing,
                               .score = {.kind = ScoreKind::deberta, .buckets = true},
                               .own_keys = kSewDKeys};
constexpr StackRule kWavlmStack{.name = "encoder",
                                .mask = kBothWays,
                                .input = kConvolution,
                                .score = {.kind = ScoreKind::t5, .gated = true},
                                .own_keys = kWavlmKeys};

constexpr StackRule kConformerStack{
    .name = "encoder", .mask = kBothWays, .input = kConvolution, .types = kTurnsOrSines, .own_keys = kConformerKeys};
constexpr StackRule kConformerBertStack{
    .name = "encoder", .mask = kBothWays, .types = kAllTypes, .own_keys = kConformerKeys};
// Layers that shorten the sequence tell no positions.
constexpr StackRule kAdapterStack{
    .name = "adapter", .mask = kBothWays, .own_keys = kAdapterKeys, .present_if = &keys::kAdapter};
constexpr const StackRule* kAdapterAfter[] = {&kAdapterStack};

constexpr Pairing kHalf = Pairing::half;
constexpr Turning kStill = Turning::no_layer;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "wav2vec2", .model_types = kWav2vec2, .class_stems = kWav2vec2Class, .pairing = kHalf,
     .main = kConvolutionStack, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "hubert", .model_types = kHubert, .class_stems = kHubertClass, .pairing = kHalf,
     .main = kConvolutionStack, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "unispeech", .model_types = kUnispeech, .class_stems = kUnispeechClass, .pairing = kHalf,
     .main = kConvolutionStack, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "unispeech-sat", .model_types = kUnispeechSat, .class_stems = kUnispeechSatClass, .pairing = kHalf,
     .main = kConvolutionStack, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "data2vec-audio", .model_types = kData2vecAudio, .class_stems = kData2vecAudioClass, .pairing = kHalf,
     .main = kData2vecStack, .scales = false, .turning = kStill, .needs_length = false},
    {.name = "sew", .model_types = kSew, .class_stems = kSewClass, .pairing = kHalf, .main = kSewStack,
     .scales = false, .turning = kStill, .needs_length = false},
    {.name = "sew-d", .model_types = kSewD, .class_stems = kSewDClass, .pairing = kHalf, .main = kSewDStack,
     .scales = false, .turning = kStill, .scale = Scale::shared_by_parts, .undecided_keys = kSewDUndecided},
    {.name = "wavlm", .model_types = kWavlm, .class_stems = kWavlmClass, .pairing = kHalf, .main = kWavlmStack,
     .scales = false, .turning = kStill, .needs_length = false},
    {.name = "wav2vec2-conformer", .model_types = kConformer, .class_stems = kConformerClass, .pairing = kHalf,
     .main = kConformerStack, .scales = false, .scheme = Scheme::relative_type, .needs_length = false},
    {.name = "wav2vec2-bert", .model_types = kWav2vec2Bert, .class_stems = kWav2vec2BertClass, .pairing = kHalf,
     .main = kConformerBertStack, .more_stacks = kAdapterAfter, .scales = false, .scheme = Scheme::relative_type,
     .needs_length = false},
};
// clang-format on

}  // namespace

std::span<const Family> speech_families() noexcept { return kFamilies; }

}  // namespace posenc::plan

// wav2vec 2, and encoders of sound after it. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kWavlmKeys[] = {{&keys::kKvHeads},
                                 {&keys::kHeadDim},
                                 {&keys::kLength},
                                 {&keys::kBuckets, keys::kHashBuckets.names},
                                 {&keys::kMaxDistance, keys::kMaxBucketDistance.names}};
constexpr OwnKey kSewDKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim, "attention_head_size"}};
constexpr OwnKey kConformerKeys[] = {
    {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}, {&keys::kBase, keys::kRotaryEmbeddingBase.names}};
constexpr OwnKey kAdapterKeys[] = {{&keys::kKvHeads},
                                   {&keys::kHeadDim},
                                   {&keys::kLength},
                                   {&keys::kLayers, keys::kAdapterLayers.names},
                                   {&keys::kHidden, keys::kOutputHidden.names, "hidden_size"}};
constexpr InputRule kSqueezing{
    .kind = InputKind::convolution, .kernel = &keys::kConvPositions, .stride = &keys::kSqueeze};
constexpr InputRule kStackedConvolutions{
    .kind = InputKind::convolution, .kernel = &keys::kConvKernel, .layers = &keys::kConvPositions};
constexpr RelativeTypes kAllTypes{.rotary = true, .relative = true, .relative_key = true};
constexpr StackRule kConvolutionStack{
    .name = "encoder", .mask = kBothWays, .input = kConvolution, .own_keys = kNoLengthKeys};
constexpr StackRule kData2vecStack{
    .name = "encoder", .mask = kBothWays, .input = kStackedConvolutions, .own_keys = kNoLengthKeys};
constexpr StackRule kSewStack{.name = "encoder", .mask = kBothWays, .input = kSqueezing, .own_keys = kNoLengthKeys};
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
    .name = "encoder", .mask = kBothWays, .input = kConvolution, .types = kRotatesOrSines, .own_keys = kConformerKeys};
constexpr StackRule kConformerBertStack{
    .name = "encoder", .mask = kBothWays, .types = kAllTypes, .own_keys = kConformerKeys};
// Layers that shorten the sequence tell no positions.
constexpr StackRule kAdapterStack{
    .name = "adapter", .mask = kBothWays, .own_keys = kAdapterKeys, .present_if = &keys::kAdapter};
constexpr const StackRule* kAdapterAfter[] = {&kAdapterStack};

}  // namespace

std::span<const Family> wav2vec2_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "wav2vec2", .class_stems = "Wav2Vec2", .pairing = kHalf, .main = kConvolutionStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "hubert", .class_stems = "Hubert", .pairing = kHalf, .main = kConvolutionStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "unispeech", .class_stems = "UniSpeech", .pairing = kHalf, .main = kConvolutionStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "unispeech-sat", .class_stems = "UniSpeechSat", .pairing = kHalf, .main = kConvolutionStack,
     .scales = false, .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "data2vec-audio", .class_stems = "Data2VecAudio", .pairing = kHalf, .main = kData2vecStack,
     .scales = false, .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "sew", .class_stems = "SEW", .pairing = kHalf, .main = kSewStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    // conv_kernel_size: as in DeBERTa v2.
    {.name = "sew-d", .class_stems = "SEWD", .pairing = kHalf, .main = kSewDStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scale = Scale::shared_by_parts, .undecided_keys = "conv_kernel_size"},
    {.name = "wavlm", .class_stems = "WavLM", .pairing = kHalf, .main = kWavlmStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "wav2vec2-conformer", .class_stems = "Wav2Vec2Conformer", .pairing = kHalf, .main = kConformerStack,
     .scales = false, .scheme = relative_scheme, .needs_length = false},
    {.name = "wav2vec2-bert", .class_stems = "Wav2Vec2Bert", .pairing = kHalf, .main = kConformerBertStack,
     .more_stacks = kAdapterAfter, .scales = false, .scheme = relative_scheme, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

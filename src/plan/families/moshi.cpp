// Moshi, and decoders of the codes of its codec, Mimi. One row a family. Facts: the transformers 5.23.0 class named by
// the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr StackRule kDepthDecoder{.name = "depth_decoder"};
constexpr StackRule kCodecEncoder{.name = "encoder"};
constexpr StackRule kCodecDecoder{.name = "decoder"};
constexpr const StackRule* kCodecAfter[] = {&kCodecDecoder};

}  // namespace

std::span<const Family> moshi_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
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

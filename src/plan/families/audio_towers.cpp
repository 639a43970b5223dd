// Audio encoders, one row a class. Facts: the transformers 5.23.0 class of the model type that names the row.
#include "plan/families/tower.h"

namespace posenc::plan {
namespace {

using Kind = TowerInput::Kind;

// Frozen, and in the checkpoint: the classes make no sines themselves.
constexpr TowerInput kSourceRows[] = {{.kind = Kind::rows, .rows = &keys::kSourceRows}};

constexpr Family of(Names types) {
  return {.name = types.front(), .model_types = types, .class_stems = {}, .pairing = Pairing::half};
}

// clang-format off
constexpr Tower kAudioTowers[] = {
    {.family = of("gemma4_audio"), .stack = "audio", .mask = TowerMask::audio_chunks,
     .score = TowerScore::transformer_xl, .scale = TowerScale::per_channel, .soft_cap = &keys::kLogitCap},
    {.family = of("qwen2_audio_encoder"), .stack = "audio", .input = kSourceRows},
    {.family = of("voxtral_encoder"), .stack = "audio", .input = kSourceRows},
    {.family = of("audioflamingo3_encoder"), .stack = "audio", .input = kSourceRows},
};
// clang-format on

}  // namespace

std::span<const Tower> audio_towers() noexcept { return kAudioTowers; }

}  // namespace posenc::plan

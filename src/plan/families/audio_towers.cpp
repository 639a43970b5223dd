// Audio encoders, one row a class. Facts: the transformers 5.23.0 class of the model type that names the row.
#include "plan/families/tower.h"

namespace posenc::plan {
namespace {

using Kind = TowerInput::Kind;

constexpr std::string_view kGemma4[] = {"gemma4_audio"};
constexpr std::string_view kQwen2Audio[] = {"qwen2_audio_encoder"};
constexpr std::string_view kVoxtral[] = {"voxtral_encoder"};
constexpr std::string_view kFlamingo[] = {"audioflamingo3_encoder"};

// Frozen, and in the checkpoint: the classes make no sines themselves.
constexpr TowerInput kSourceRows[] = {{.kind = Kind::rows, .rows = &keys::kSourceRows}};

constexpr Family of(Names types) {
  return {.name = types.front(), .model_types = types, .class_stems = {}, .pairing = Pairing::half};
}

// clang-format off
constexpr Tower kTowers[] = {
    {.family = of(kGemma4), .stack = "audio", .mask = TowerMask::audio_chunks, .score = TowerScore::transformer_xl,
     .scale = TowerScale::per_channel, .soft_cap = &keys::kLogitCap},
    {.family = of(kQwen2Audio), .stack = "audio", .input = kSourceRows},
    {.family = of(kVoxtral), .stack = "audio", .input = kSourceRows},
    {.family = of(kFlamingo), .stack = "audio", .input = kSourceRows},
};
// clang-format on

}  // namespace

std::span<const Tower> audio_towers() noexcept { return kTowers; }

}  // namespace posenc::plan

// Vision and audio encoders, one row a class. Facts: the transformers 5.23.0 class of the model type that names the
// row.
#include <algorithm>

#include "plan/families/row_parts.h"
#include "plan/families/tower.h"

namespace posenc::plan {
namespace {

using Kind = TowerInput::Kind;

// ---- inputs ----
constexpr TowerInput kPatches[] = {{.kind = Kind::patches}};
constexpr TowerInput kPatchesAndClass[] = {{.kind = Kind::patches, .extra = 1}};
constexpr TowerInput kPatchesAndTwo[] = {{.kind = Kind::patches, .extra = 2}};
constexpr TowerInput kOptionalPatches[] = {{.kind = Kind::patches, .needs = &keys::kAbsoluteTable}};
constexpr TowerInput kOptionalPatchesAndClass[] = {{.kind = Kind::patches, .extra = 1, .needs = &keys::kAbsoluteTable}};
constexpr TowerInput kPositionRows[] = {{.kind = Kind::rows, .rows = &keys::kPositionRows}};
constexpr TowerInput kPatchRows[] = {{.kind = Kind::rows, .rows = &keys::kPatchRows}};
constexpr TowerInput kPatchTables[] = {{.kind = Kind::axes, .rows = &keys::kMostPatches}};
constexpr TowerInput kTables[] = {{.kind = Kind::axes, .rows = &keys::kAxisRows}};
constexpr TowerInput kGridAndFrames[] = {{.kind = Kind::grid}, {.kind = Kind::frames}};
constexpr TowerInput kTiles[] = {
    {.kind = Kind::patches, .extra = 1}, {.kind = Kind::tiles, .extra = 1}, {.kind = Kind::tile_rows}};
constexpr TowerInput kPatchesAndFrames[] = {{.kind = Kind::patches, .extra = 1},
                                            {.kind = Kind::rows, .rows = &keys::kFrameRows}};
constexpr TowerInput kUnknownTable[] = {{.kind = Kind::unknown}};
// Frozen, and in the checkpoint: the classes make no sines themselves.
constexpr TowerInput kSourceRows[] = {{.kind = Kind::rows, .rows = &keys::kSourceRows}};

// ---- rotations ----
constexpr TowerRotation kHThenW{TowerAxes::h_then_w};
constexpr TowerRotation kStrided{TowerAxes::h_then_w_strided};
constexpr TowerRotation kWBesideH{TowerAxes::w_beside_h};
constexpr TowerRotation kAlternating{TowerAxes::w_h_alternating};
constexpr TowerRotation kFromOne{TowerAxes::w_then_h, 1};

constexpr QkNormRule kSwitchedLayerNorm{kLayerNormAcrossHeads, "use_qk_norm"};
constexpr QkNormRule kSwitchedNorm{kRmsAcrossHeads, "use_qk_norm"};

constexpr Family of(Names types, Pairing pairing = kHalf) {
  return {.name = types.front(), .model_types = types, .class_stems = {}, .pairing = pairing};
}

// A part of another class: its model type is this table's own.
constexpr Family part_of(Names whole, Names types) {
  return {.name = whole.front(), .model_types = types, .class_stems = {}, .pairing = kHalf};
}

// clang-format off
constexpr Tower kTowers[] = {
    // Some files say the whole model's type where they mean the tower's.
    {.family = of("siglip_vision_model siglip"), .input = kPatches},
    {.family = of("siglip2_vision_model"), .input = kPatchRows},
    // A class token, and a row for it, before the patches.
    {.family = of("clip_vision_model altclip_vision_model blip_vision_model chinese_clip_vision_model "
                  "clipseg_vision_model flava_image_model kosmos_2_vision_model metaclip_2_vision_model "
                  "owlv2_vision_model owlvit_vision_model"),
     .input = kPatchesAndClass},
    {.family = of("git_vision_model"), .input = kPatchesAndClass},
    {.family = of("dinov2"), .input = kPatchesAndClass},
    {.family = of("dinov2_with_registers"), .input = kPatchesAndClass},
    {.family = of("deit"), .input = kPatchesAndTwo},
    {.family = of("ijepa phi4_multimodal_vision"), .input = kPatches},
    {.family = of("janus_vision_model"), .input = kPatches, .qk_norm = kSwitchedLayerNorm},
    {.family = of("timesformer"), .more_layers = &keys::kLayers, .input = kPatchesAndFrames,
     .mask = TowerMask::space_and_time},
    {.family = of("vit vit_msn"), .input = kPatchesAndClass},
    {.family = of("blip_2_vision_model instructblip_vision_model instructblipvideo_vision_model"),
     .input = kPatchesAndClass},
    {.family = of("idefics2_vision"), .input = kPatches},
    {.family = of("idefics3_vision"), .input = kPatches},
    {.family = of("smolvlm_vision"), .input = kPatches},
    {.family = of("internvl_vision"), .input = kOptionalPatchesAndClass, .qk_norm = kSwitchedNorm},
    {.family = of("llama4_vision_model", kInterleaved), .input = kPatchesAndClass, .rotation = kFromOne},
    {.family = of("mllama_vision_model"), .more_layers = &keys::kGlobalLayers, .input = kTiles},
    {.family = of("qwen2_vl_vision"), .width = &keys::kEmbedDim, .rotation = kHThenW},
    {.family = of("qwen2_5_vl_vision qwen2_5_omni_vision_encoder"), .rotation = kHThenW, .mask = TowerMask::pixel_windows},
    {.family = of("qwen3_vl_vision"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("qwen3_vl_moe_vision qwen3_omni_moe_vision_encoder"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("qwen3_5_vision"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("qwen3_5_moe_vision"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("glm4v_vision"), .input = kPatches, .rotation = kHThenW},
    {.family = of("glm4v_moe_vision"), .input = kPatches, .rotation = kHThenW},
    {.family = of("gemma4_vision"), .kv_heads = &keys::kKvHeads, .head_dim = &keys::kHeadDim, .input = kTables,
     .rotation = kWBesideH, .scale = TowerScale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.family = of("kosmos_2_5_vision_model"), .head_dim = &keys::kHeadDim, .input = kPatchTables},
    {.family = of("pixtral"), .rotation = kStrided},
    // The class stores q and k permuted to halves; checkpoints, and this row, have neighbours.
    {.family = of("kimi_k25_vision", kInterleaved), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kGridAndFrames, .rotation = kAlternating},
    {.family = of("minicpmv4_6_vision"), .input = kPatches, .also = "minicpmv4_6_vision_merger"},
    {.family = part_of("minicpmv4_6_vision", "minicpmv4_6_vision_merger"), .stack = "vision_merger", .layers = nullptr,
     .mask = TowerMask::kernel_windows},
    {.family = of("unlimited_ocr_sam_vision_model"), .stack = "vision_sam", .layers = &keys::kTowerLayers,
     .heads = &keys::kTowerHeads, .width = &keys::kTowerWidth, .input = kOptionalPatches,
     .mask = TowerMask::patch_windows, .score = TowerScore::decomposed_hw},
    {.family = of("unlimited_ocr_vision_encoder"), .stack = "vision_clip", .layers = &keys::kTowerLayers,
     .heads = &keys::kTowerHeads, .width = &keys::kTowerWidth, .input = kPatchesAndClass},

    {.family = of("beit data2vec-vision"), .input = kOptionalPatchesAndClass,
     .undecided = "what its tables of distances in rows and columns add to the scores"},
    {.family = of("dinov3_vit"), .undecided = "its rotation by parts of the image's height and width"},
    {.family = of("aimv2"), .mask = TowerMask::undecided,
     .undecided = "what its keys make of the tables, the rotation and the mask"},
    {.family = of("intern_vit_6b"), .mask = TowerMask::undecided, .undecided = "its scheme of positions, and its mask"},
    {.family = of("moonvit"), .mask = TowerMask::undecided, .undecided = "its scheme of positions, and its mask"},
    {.family = of("kimi_k3_vision"), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads, .width = nullptr,
     .mask = TowerMask::undecided, .undecided = "the channels of its heads, its scheme of positions, and its mask"},
    {.family = of("vision"), .layers = &keys::kTowerLayers, .heads = nullptr, .width = nullptr, .input = kUnknownTable,
     .undecided = "its heads and the rows of its table, which the file leaves to a name"},

    // ---- audio ----
    {.family = of("gemma4_audio"), .stack = "audio", .mask = TowerMask::audio_chunks,
     .score = TowerScore::transformer_xl, .scale = TowerScale::per_channel, .soft_cap = &keys::kLogitCap},
    {.family = of("qwen2_audio_encoder"), .stack = "audio", .input = kSourceRows},
    {.family = of("voxtral_encoder moss_transcribe_diarize_audio"), .stack = "audio", .input = kSourceRows},
    {.family = of("audioflamingo3_encoder"), .stack = "audio", .input = kSourceRows},
};
// clang-format on

}  // namespace

const Tower* find_tower(std::string_view model_type) noexcept {
  const auto* const row =
      std::ranges::find_if(kTowers, [&](const Tower& tower) { return tower.family.model_types.contains(model_type); });
  return row == std::ranges::end(kTowers) ? nullptr : row;
}

}  // namespace posenc::plan

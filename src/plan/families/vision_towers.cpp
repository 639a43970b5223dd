// Vision encoders, one row a class. Facts: the transformers 5.23.0 class of the model type that names the row.
#include "plan/families/family_norms.h"
#include "plan/families/tower.h"

namespace posenc::plan {
namespace {

using Kind = TowerInput::Kind;

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kInterleaved = Pairing::interleaved;

// ---- model types; some files say the whole model's type where they mean the tower's ----
constexpr std::string_view kSiglip[] = {"siglip_vision_model", "siglip"};
constexpr std::string_view kSiglip2[] = {"siglip2_vision_model"};
// A class token, and a row for it, before the patches.
constexpr std::string_view kClip[] = {"clip_vision_model",         "altclip_vision_model",    "blip_vision_model",
                                      "chinese_clip_vision_model", "clipseg_vision_model",    "flava_image_model",
                                      "kosmos_2_vision_model",     "metaclip_2_vision_model", "owlv2_vision_model",
                                      "owlvit_vision_model"};
constexpr std::string_view kDeit[] = {"deit"};
constexpr std::string_view kIjepa[] = {"ijepa", "phi4_multimodal_vision"};
constexpr std::string_view kJanus[] = {"janus_vision_model"};
constexpr std::string_view kBeit[] = {"beit", "data2vec-vision"};
constexpr std::string_view kDinov3[] = {"dinov3_vit"};
constexpr std::string_view kGit[] = {"git_vision_model"};
constexpr std::string_view kDinov2[] = {"dinov2"};
constexpr std::string_view kDinov2Registers[] = {"dinov2_with_registers"};
constexpr std::string_view kVit[] = {"vit", "vit_msn"};
constexpr std::string_view kBlip2[] = {"blip_2_vision_model", "instructblip_vision_model",
                                       "instructblipvideo_vision_model"};
constexpr std::string_view kIdefics2[] = {"idefics2_vision"};
constexpr std::string_view kIdefics3[] = {"idefics3_vision"};
constexpr std::string_view kSmolvlm[] = {"smolvlm_vision"};
constexpr std::string_view kInternvl[] = {"internvl_vision"};
constexpr std::string_view kLlama4[] = {"llama4_vision_model"};
constexpr std::string_view kMllama[] = {"mllama_vision_model"};
constexpr std::string_view kQwen2Vl[] = {"qwen2_vl_vision"};
constexpr std::string_view kQwen25Vl[] = {"qwen2_5_vl_vision"};
constexpr std::string_view kQwen3Vl[] = {"qwen3_vl_vision"};
constexpr std::string_view kQwen3VlMoe[] = {"qwen3_vl_moe_vision"};
constexpr std::string_view kQwen35[] = {"qwen3_5_vision"};
constexpr std::string_view kQwen35Moe[] = {"qwen3_5_moe_vision"};
constexpr std::string_view kGlm4v[] = {"glm4v_vision"};
constexpr std::string_view kGlm4vMoe[] = {"glm4v_moe_vision"};
constexpr std::string_view kGemma4[] = {"gemma4_vision"};
constexpr std::string_view kPixtral[] = {"pixtral"};
constexpr std::string_view kKimiK25[] = {"kimi_k25_vision"};
constexpr std::string_view kMiniCpm[] = {"minicpmv4_6_vision"};
constexpr std::string_view kMiniCpmMerger[] = {"minicpmv4_6_vision_merger"};
constexpr std::string_view kSam[] = {"unlimited_ocr_sam_vision_model"};
constexpr std::string_view kOcrClip[] = {"unlimited_ocr_vision_encoder"};
constexpr std::string_view kAimv2[] = {"aimv2"};
constexpr std::string_view kInternVit[] = {"intern_vit_6b"};
constexpr std::string_view kMoonVit[] = {"moonvit"};
constexpr std::string_view kKimiK3[] = {"kimi_k3_vision"};
constexpr std::string_view kTimm[] = {"vision"};

// ---- inputs ----
constexpr TowerInput kPatches[] = {{.kind = Kind::patches}};
constexpr TowerInput kPatchesAndClass[] = {{.kind = Kind::patches, .extra = 1}};
constexpr TowerInput kPatchesAndTwo[] = {{.kind = Kind::patches, .extra = 2}};
constexpr TowerInput kOptionalPatches[] = {{.kind = Kind::patches, .needs = &keys::kAbsoluteTable}};
constexpr TowerInput kOptionalPatchesAndClass[] = {{.kind = Kind::patches, .extra = 1, .needs = &keys::kAbsoluteTable}};
constexpr TowerInput kPositionRows[] = {{.kind = Kind::rows, .rows = &keys::kPositionRows}};
constexpr TowerInput kPatchRows[] = {{.kind = Kind::rows, .rows = &keys::kPatchRows}};
constexpr TowerInput kTables[] = {{.kind = Kind::axes, .rows = &keys::kAxisRows}};
constexpr TowerInput kGridAndFrames[] = {{.kind = Kind::grid}, {.kind = Kind::frames}};
constexpr TowerInput kTiles[] = {
    {.kind = Kind::patches, .extra = 1}, {.kind = Kind::tiles, .extra = 1}, {.kind = Kind::tile_rows}};
constexpr TowerInput kUnknownTable[] = {{.kind = Kind::unknown}};

// ---- rotations ----
constexpr TowerTurn kHThenW{TowerAxes::h_then_w};
constexpr TowerTurn kStrided{TowerAxes::h_then_w_strided};
constexpr TowerTurn kWBesideH{TowerAxes::w_beside_h};
constexpr TowerTurn kAlternating{TowerAxes::w_h_alternating};
constexpr TowerTurn kFromOne{TowerAxes::w_then_h, 1};

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
    {.family = of(kSiglip), .input = kPatches},
    {.family = of(kSiglip2), .input = kPatchRows},
    {.family = of(kClip), .input = kPatchesAndClass},
    {.family = of(kGit), .input = kPatchesAndClass},
    {.family = of(kDinov2), .input = kPatchesAndClass},
    {.family = of(kDinov2Registers), .input = kPatchesAndClass},
    {.family = of(kDeit), .input = kPatchesAndTwo},
    {.family = of(kIjepa), .input = kPatches},
    {.family = of(kJanus), .input = kPatches, .qk_norm = kSwitchedLayerNorm},
    {.family = of(kVit), .input = kPatchesAndClass},
    {.family = of(kBlip2), .input = kPatchesAndClass},
    {.family = of(kIdefics2), .input = kPatches},
    {.family = of(kIdefics3), .input = kPatches},
    {.family = of(kSmolvlm), .input = kPatches},
    {.family = of(kInternvl), .input = kOptionalPatchesAndClass, .qk_norm = kSwitchedNorm},
    {.family = of(kLlama4, kInterleaved), .input = kPatchesAndClass, .turn = kFromOne},
    {.family = of(kMllama), .more_layers = &keys::kGlobalLayers, .input = kTiles},
    {.family = of(kQwen2Vl), .width = &keys::kEmbedDim, .turn = kHThenW},
    {.family = of(kQwen25Vl), .turn = kHThenW, .mask = TowerMask::pixel_windows},
    {.family = of(kQwen3Vl), .input = kPositionRows, .turn = kHThenW},
    {.family = of(kQwen3VlMoe), .input = kPositionRows, .turn = kHThenW},
    {.family = of(kQwen35), .input = kPositionRows, .turn = kHThenW},
    {.family = of(kQwen35Moe), .input = kPositionRows, .turn = kHThenW},
    {.family = of(kGlm4v), .input = kPatches, .turn = kHThenW},
    {.family = of(kGlm4vMoe), .input = kPatches, .turn = kHThenW},
    {.family = of(kGemma4), .kv_heads = &keys::kKvHeads, .head_dim = &keys::kHeadDim, .input = kTables,
     .turn = kWBesideH, .scale = TowerScale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.family = of(kPixtral), .turn = kStrided},
    // The class stores q and k permuted to halves; checkpoints, and this row, have neighbours.
    {.family = of(kKimiK25, kInterleaved), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kGridAndFrames, .turn = kAlternating},
    {.family = of(kMiniCpm), .input = kPatches},
    {.family = part_of(kMiniCpm, kMiniCpmMerger), .stack = "vision_merger", .layers = nullptr, .mask = TowerMask::kernel_windows},
    {.family = of(kSam), .stack = "vision_sam", .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kOptionalPatches, .mask = TowerMask::patch_windows,
     .score = TowerScore::decomposed_hw},
    {.family = of(kOcrClip), .stack = "vision_clip", .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kPatchesAndClass},

    {.family = of(kBeit), .input = kOptionalPatchesAndClass,
     .undecided = "what its tables of distances in rows and columns add to the scores"},
    {.family = of(kDinov3), .undecided = "its rotation by parts of the image's height and width"},
    {.family = of(kAimv2), .mask = TowerMask::undecided,
     .undecided = "what its keys make of the tables, the rotation and the mask"},
    {.family = of(kInternVit), .mask = TowerMask::undecided, .undecided = "its scheme of positions, and its mask"},
    {.family = of(kMoonVit), .mask = TowerMask::undecided, .undecided = "its scheme of positions, and its mask"},
    {.family = of(kKimiK3), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads, .width = nullptr,
     .mask = TowerMask::undecided, .undecided = "the channels of its heads, its scheme of positions, and its mask"},
    {.family = of(kTimm), .layers = &keys::kTowerLayers, .heads = nullptr, .width = nullptr, .input = kUnknownTable,
     .undecided = "its heads and the rows of its table, which the file leaves to a name"},
};
// clang-format on

}  // namespace

std::span<const Tower> vision_towers() noexcept { return kTowers; }

}  // namespace posenc::plan

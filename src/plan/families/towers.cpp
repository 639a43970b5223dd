// Vision and audio encoders, one row a class. Facts: the transformers 5.23.0 class of the model type that names the
// row; but of
//   dots_vit, intern_vit_6b, interns1_vision: vLLM dots_ocr.py, intern_vit.py, interns1_vit.py.
//   keye_vision, moonvit, step3_vision_encoder: vLLM keye.py, moonvit.py, step3_vl.py.
//   radio/NAME: vLLM radio.py and configs/radio.py. kimi_k3_vision: SGLang kimi_k3_vl.py. perception_encoder: vLLM
//   step_vl.py. dinosiglip-vit-so-224px, vit_so400m_patch14_siglip_224: vLLM openvla.py, and timm's models that it
//   names. molmo_vision, molmo_adapter: vLLM molmo.py. phi4mm_vision: vLLM phi4mm.py. kimi_audio_whisper: vLLM
//   kimi_audio.py, and the sizes of the encoder that it names. youtu_vl_vision: mlx-vlm youtu_vl/vision.py.
//   kanana_v_abstractor: vLLM kanana_v.py (two stages of as many blocks). eva2_clip: vLLM glm4v.py (EVA2CLIPModel),
//   lmdeploy cogvlm.py. phi3_v_vision: the CLIP of vLLM phi3v.py. siglip2_navit: vLLM siglip2navit.py.
//   siglip_so400m_patch14_384, siglip_large_patch16_384: SGLang configs/deepseekvl2.py and deepseek_janus_pro.py.
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
constexpr TowerInput kTrainedAndClass[] = {{.kind = Kind::trained, .extra = 1, .needs = &keys::kAbsoluteTable}};
constexpr TowerInput kTrainedPatches[] = {{.kind = Kind::trained}};  // tiled to a larger image
constexpr TowerInput kBackgroundAndWindow[] = {{.kind = Kind::sides, .rows = &keys::kBackground},
                                               {.kind = Kind::tile, .rows = &keys::kStageWindows}};
constexpr TowerInput kStridedPatches[] = {{.kind = Kind::strided}};
constexpr TowerInput kIfAbsolute[] = {{.kind = Kind::patches, .needs = &keys::kAbsolutePatches}};
constexpr TowerInput kPreservedPatches[] = {{.kind = Kind::patches, .needs = &keys::kPreservedTable}};
constexpr TowerInput kPositionRows[] = {{.kind = Kind::rows, .rows = &keys::kPositionRows}};
constexpr TowerInput kAbstractorTable[] = {
    {.kind = Kind::rows, .rows = &keys::kAbstractorRows, .needs = &keys::kAbstractorTable}};
constexpr TowerInput kImageTable[] = {{.kind = Kind::rows, .rows = &keys::kImageRows}};
constexpr TowerInput kPatchRows[] = {{.kind = Kind::rows, .rows = &keys::kPatchRows}};
constexpr TowerInput kPatchTables[] = {{.kind = Kind::axes, .rows = &keys::kMostPatches}};
constexpr TowerInput kTables[] = {{.kind = Kind::axes, .rows = &keys::kAxisRows}};
constexpr TowerInput kGridAndFrames[] = {{.kind = Kind::grid}, {.kind = Kind::frames}};
constexpr TowerInput kTiles[] = {
    {.kind = Kind::patches, .extra = 1}, {.kind = Kind::tiles, .extra = 1}, {.kind = Kind::tile_rows}};
constexpr TowerInput kPatchesAndFrames[] = {{.kind = Kind::patches, .extra = 1},
                                            {.kind = Kind::rows, .rows = &keys::kClipFrames}};
constexpr TowerInput kPatchesAndTokens[] = {{.kind = Kind::patches, .extra_rows = &keys::kClassTokens}};
constexpr TowerInput kPatchesAndDetections[] = {
    {.kind = Kind::patches, .extra = 1, .extra_rows = &keys::kDetectionTokens}};
constexpr TowerInput kLargestAndClass[] = {{.kind = Kind::patches, .extra = 1, .image = &keys::kLargestImage}};
constexpr TowerInput kLargest[] = {{.kind = Kind::patches, .image = &keys::kLargestImage}};
constexpr TowerInput kTubesAndClass[] = {{.kind = Kind::tubes, .extra = 1}};
constexpr TowerInput kTubeFaces[] = {{.kind = Kind::tube_faces}};
constexpr TowerInput kFrameRows[] = {{.kind = Kind::rows, .rows = &keys::kClipFrames}};
constexpr TowerInput kTubeSines[] = {{.kind = Kind::tube_sines}};
constexpr TowerInput kGrid[] = {{.kind = Kind::grid}};
constexpr TowerInput kSquareAndClass[] = {{.kind = Kind::square, .rows = &keys::kGridSide}};
constexpr TowerInput kRegionBox[] = {{.kind = Kind::box, .rows = &keys::kRegionNumbers}};
constexpr TowerInput kKeypoint[] = {{.kind = Kind::keypoint}};
constexpr TowerInput kUnknownTable[] = {{.kind = Kind::unknown}};
// Frozen, and in the checkpoint: the classes make no sines themselves.
constexpr TowerInput kSourceRows[] = {{.kind = Kind::rows, .rows = &keys::kSourceRows}};

// ---- rotations ----
constexpr TowerRotation kHThenW{TowerAxes::h_then_w};
constexpr TowerRotation kHThenWIfSaid{.axes = TowerAxes::h_then_w, .needs = &keys::kTowerRope};
constexpr TowerRotation kStrided{TowerAxes::h_then_w_strided};
constexpr TowerRotation kWBesideH{TowerAxes::w_beside_h};
constexpr TowerRotation kAlternating{TowerAxes::w_h_alternating};
constexpr TowerRotation kFromWindow{.axes = TowerAxes::w_then_h, .image_over_window = true};
constexpr TowerRotation kWThenH{TowerAxes::w_then_h};
constexpr TowerRotation kFromOne{TowerAxes::w_then_h, 1};
// The class token and registers do not rotate: they stand in the middle.
constexpr TowerRotation kCentred{TowerAxes::centred_h_then_w};
constexpr TowerRotation kTimeToo{TowerAxes::t_then_h_then_w};

// ---- pyramids ----
constexpr StageRule kSwin{.sight = StageSight::shifted_where_smaller};
constexpr StageRule kSwin2{.sight = StageSight::fitted_windows};
constexpr StageRule kSwin2OneGrid{.sight = StageSight::fitted_windows, .one_grid = true};
constexpr StageRule kWindowsAndChannels{.sight = StageSight::windows_and_channels};
constexpr StageRule kShifted{.sight = StageSight::shifted_windows};
constexpr StageRule kReducedKeys{.reductions = &keys::kKeyReductions};
constexpr StageRule kReducedKeysAndTables{.reductions = &keys::kKeyReductions, .tables = true};
constexpr std::int64_t kMobileVitBlocks[] = {2, 4, 3};
constexpr StageRule kMobileVit{.blocks = kMobileVitBlocks, .sight = StageSight::places};
constexpr StageRule kListedWindows{.heads = &keys::kListedHeads, .sight = StageSight::listed_windows};
constexpr StageRule kMaskUnits{.sight = StageSight::mask_units};

constexpr QkNormRule kSwitchedLayerNorm{kLayerNormAcrossHeads, "use_qk_norm"};
constexpr QkNormRule kSwitchedNorm{kRmsAcrossHeads, "use_qk_norm"};
constexpr QkNormRule kHeadNorm{kRmsPerHead};
constexpr QkNormRule kCosines{{.kind = QkNorm::Kind::l2, .weighted = false}};
constexpr QkNormRule kSwitchedHeadNorm{kRmsPerHead, "use_qk_norm"};

constexpr Family of(Names types, Pairing pairing = kHalf, Names undecided = {}) {
  return {
      .name = types.front(), .model_types = types, .class_stems = {}, .pairing = pairing, .undecided_keys = undecided};
}
constexpr Names kTablesOfDifferences{"use_relative_position_bias use_shared_relative_position_bias"};

// RADIO: the sizes stand for a name, the others under args.
constexpr Family radio_of(Names types) {
  Family family = of(types, kHalf, "vitdet_window_size qk_normalization");
  family.nested = "args";
  return family;
}

// What its class makes of other keys, and its files carry.
constexpr Family with_made(Names types, Names made) {
  Family family = of(types);
  family.names_beside_class = made;
  return family;
}

// A part of another class: its model type is this table's own.
constexpr Family part_of(Names whole, Names types) {
  return {.name = whole.front(), .model_types = types, .class_stems = {}, .pairing = kHalf};
}

// clang-format off
constexpr Tower kTowers[] = {
    // Some files say the whole model's type where they mean the tower's.
    {.family = of("siglip_vision_model siglip"), .input = kPatches},
    {.family = of("siglip2_vision_model cosmos3_edge_vision"), .input = kPatchRows},
    // A class token, and a row for it, before the patches.
    {.family = of("clip_vision_model altclip_vision_model blip_vision_model chinese_clip_vision_model "
                  "clipseg_vision_model flava_image_model kosmos_2_vision_model metaclip_2_vision_model "
                  "owlv2_vision_model owlvit_vision_model"),
     .input = kPatchesAndClass},
    {.family = of("groupvit_vision_model"), .layers = nullptr, .groups = true, .input = kPatches},
    {.family = of("git_vision_model"), .input = kPatchesAndClass},
    {.family = of("dinov2"), .input = kPatchesAndClass},
    {.family = of("dinov2_with_registers tipsv2_vision_model"), .input = kPatchesAndClass},
    {.family = of("pixio"), .input = kPatchesAndTokens},
    {.family = of("radio"), .input = kLargest},
    {.family = radio_of("radio/vit_base_patch16_224"), .input = kLargest},
    {.family = radio_of("radio/vit_large_patch16_224"), .input = kLargest},
    {.family = radio_of("radio/vit_huge_patch16_224"), .input = kLargest},
    {.family = radio_of("radio/vit_so400m_patch16_224"), .input = kLargest},
    {.family = of("deit"), .input = kPatchesAndTwo},
    {.family = of("mgp-str"), .input = kPatchesAndClass},
    {.family = of("dpt", kHalf, "backbone_config backbone is_hybrid"), .input = kPatchesAndClass},
    // The row before those of the patches is added to every patch.
    {.family = of("vitpose_backbone"), .input = kPatchesAndClass},
    {.family = of("eomt"), .input = kPatches, .mask = TowerMask::predicted},
    {.family = of("videomt"), .input = kPatches},
    {.family = of("sam3_vit_model", kInterleaved), .input = kTrainedPatches, .rotation = kFromWindow,
     .mask = TowerMask::patch_windows},
    {.family = of("idefics2_perceiver"), .stack = "perceiver", .layers = &keys::kResamplerLayers,
     .heads = &keys::kResamplerHeads, .kv_heads = &keys::kKvHeads, .head_dim = &keys::kResamplerHeadDim,
     .mask = TowerMask::latents},
    {.family = of("vitdet"), .input = kTrainedAndClass, .mask = TowerMask::listed_windows,
     .score = TowerScore::decomposed_hw},
    {.family = with_made("lw_detr_vit", "num_windows_side"), .input = kTrainedAndClass, .mask = TowerMask::image_parts},
    {.family = with_made("rf_detr_dinov2", "window_block_indexes"), .input = kPatchesAndClass, .mask = TowerMask::image_parts},
    {.family = of("phi4mm_vision"), .input = kPatches},
    {.family = of("ijepa phi4_multimodal_vision"), .input = kPatches},
    {.family = of("aimv2_vision_model"), .input = kPatches, .undecided = "its sines over rows and columns",
     .undecided_if = &keys::kNativeSize},
    {.family = of("ovis2_vision granite_docling_vision"), .input = kPatches},
    {.family = of("molmo2_vision"), .kv_heads = &keys::kKvHeads, .head_dim = &keys::kHeadDim, .input = kPositionRows},
    {.family = of("pix2struct_vision_model"), .head_dim = &keys::kHeadDim, .input = kTables,
     .scale = TowerScale::one},
    {.family = of("flava_multimodal_model"), .stack = "multimodal"},
    {.family = of("janus_vision_model"), .input = kPatches, .qk_norm = kSwitchedLayerNorm},
    {.family = of("timesformer"), .more_layers = &keys::kLayers, .input = kPatchesAndFrames,
     .mask = TowerMask::space_and_time},
    // ViT-MAE's table is made of sines, and frozen; it is in the checkpoint.
    {.family = of("vit vit_msn vit_mae"), .input = kPatchesAndClass},
    {.family = of("videomae"), .input = kTubeSines},
    {.family = of("vivit"), .input = kTubesAndClass},
    {.family = of("blip_2_vision_model instructblip_vision_model instructblipvideo_vision_model"),
     .input = kPatchesAndClass},
    {.family = of("idefics2_vision"), .input = kPatches},
    {.family = of("idefics3_vision"), .input = kPatches},
    {.family = of("smolvlm_vision"), .input = kPatches},
    // A message of each frame looks at those of the others before patches look at it.
    {.family = of("xclip_vision_model"), .input = kPatchesAndClass, .also = "xclip_messages"},
    {.family = part_of("xclip_vision_model", "xclip_messages"), .stack = "vision_messages"},
    {.family = part_of("xclip_vision_model", "xclip_frames"), .stack = "vision_frames", .layers = &keys::kFrameLayers,
     .heads = &keys::kFrameHeads, .width = &keys::kFrameWidth, .input = kFrameRows},
    {.family = part_of("xclip", "xclip_prompts"), .stack = "prompts", .layers = &keys::kPromptLayers,
     .heads = &keys::kPromptHeads, .width = &keys::kProjection, .crosses = true},
    {.family = of("videoprism_vision_model"), .layers = &keys::kSpatialLayers, .input = kTubeFaces,
     .soft_cap = &keys::kSoftCap, .also = "videoprism_temporal"},
    {.family = part_of("videoprism_vision_model", "videoprism_temporal"), .stack = "vision_temporal",
     .layers = &keys::kTemporalLayers, .input = kFrameRows, .soft_cap = &keys::kSoftCap},
    {.family = part_of("videoprism_vision_model", "videoprism_auxiliary"), .stack = "vision_auxiliary",
     .layers = &keys::kAuxiliaryLayers, .soft_cap = &keys::kSoftCap},
    {.family = of("bridgetower_vision_model"), .heads = nullptr, .fixed_head_dim = 64, .input = kPatchesAndClass,
     .undecided = "how many of its layers its whole model leaves out", .undecided_if = &keys::kLastLayerLeft},
    {.family = of("idefics_vision"), .width = &keys::kEmbedDim, .input = kPatchesAndClass},
    {.family = of("evolla_resampler"), .stack = "resampler", .layers = &keys::kResamplerLayers,
     .heads = &keys::kResamplerHeads, .width = nullptr, .head_dim = &keys::kResamplerHeadDim,
     .mask = TowerMask::latents},
    {.family = of("molmo_vision"), .layers = &keys::kImageLayers, .heads = &keys::kImageHeads,
     .kv_heads = &keys::kImageKvHeads, .width = &keys::kImageWidth, .input = kImageTable},
    {.family = of("molmo_adapter"), .stack = "adapter", .layers = nullptr, .heads = &keys::kImageHeads,
     .kv_heads = &keys::kImageKvHeads, .width = &keys::kImageWidth, .crosses = true},
    // One attention from the mean of neighbouring patches to them.
    {.family = of("molmo2_adapter"), .stack = "adapter", .layers = nullptr, .kv_heads = &keys::kKvHeads,
     .head_dim = &keys::kHeadDim, .crosses = true},
    {.family = of("internvl_vision qianfan_ocr_vision interns1_vision"), .input = kOptionalPatchesAndClass, .qk_norm = kSwitchedNorm},
    {.family = of("intern_vit_6b"), .input = kPatchesAndClass, .qk_norm = QkNormRule{kRmsAcrossHeads, "qk_normalization"}},
    {.family = of("step3_vision_encoder"), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kPatchesAndClass},
    {.family = of("phi3_v_vision"), .input = kPatchesAndClass},
    {.family = of("siglip2_navit", kHalf, "fullatt_block_indexes"), .input = kPreservedPatches,
     .rotation = kHThenWIfSaid},
    {.family = of("eva2_clip"), .heads = &keys::kTowerHeads, .input = kPositionRows},
    {.family = of("dots_vit"), .width = &keys::kEmbedDim, .rotation = kHThenW},
    {.family = of("keye_vision"), .input = kPatches, .rotation = kHThenW},
    {.family = of("moonvit", kInterleaved), .input = kGrid, .rotation = kAlternating},
    // Named, and otherwise not described: model_name, mm_vision_tower.
    {.family = of("openai/clip-vit-large-patch14"), .input = kPatchesAndClass},
    {.family = of("openai/clip-vit-large-patch14-336"), .input = kPatchesAndClass},
    {.family = of("./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-6B-448 ./vit/clip-vit-H-14-laion2B-s32B-b79K-yi-vl-34B-448"),
     .input = kPatchesAndClass},
    {.family = of("google/siglip-so400m-patch14-384"), .input = kPatches},
    {.family = of("google/siglip2-so400m-patch16-naflex"), .input = kPatchRows},
    // DINOv2 with registers, which have no rows, beside SigLIP: their features are joined patch by patch.
    {.family = of("dinosiglip-vit-so-224px"), .input = kPatches, .also = "vit_so400m_patch14_siglip_224"},
    {.family = of("vit_so400m_patch14_siglip_224"), .stack = "vision_siglip", .input = kPatches},
    {.family = of("siglip_so400m_patch14_384"), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kPatches},
    {.family = of("siglip_large_patch16_384"), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kPatches},
    {.family = of("llama4_vision_model", kInterleaved), .input = kPatchesAndClass, .rotation = kFromOne},
    {.family = of("mllama_vision_model"), .more_layers = &keys::kGlobalLayers, .input = kTiles},
    {.family = of("qwen2_vl_vision"), .width = &keys::kEmbedDim, .rotation = kHThenW},
    {.family = of("youtu_vl_vision"), .rotation = kHThenW, .mask = TowerMask::pixel_windows},
    {.family = of("kanana_v_abstractor"), .stack = "abstractor", .more_layers = &keys::kLayers, .heads = nullptr,
     .width = nullptr, .input = kAbstractorTable, .convolves = true},
    {.family = of("ernie4_5_vl_moe_vision video_llama_3_vision"), .rotation = kHThenW},
    {.family = of("qwen2_5_vl_vision qwen2_5_omni_vision_encoder Qwen2_5_VisionTransformer"), .rotation = kHThenW, .mask = TowerMask::pixel_windows},
    {.family = of("exaone4_5_vision"), .kv_heads = &keys::kKvHeads, .rotation = kHThenW,
     .mask = TowerMask::pixel_windows},
    {.family = of("qwen3_vl_vision"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("qwen3_vl_moe_vision qwen3_omni_moe_vision_encoder Qwen3MoeVisionTransformer Qwen3_VisionTransformer qwen3_vl_moe qwen3_moe_vit"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("qwen3_5_vision"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("qwen3_5_moe_vision cohere_compass_vision qwen4_exp_vision"), .input = kPositionRows, .rotation = kHThenW},
    {.family = of("glm4v_vision"), .input = kPatches, .rotation = kHThenW},
    {.family = of("glm4v_moe_vision"), .input = kPatches, .rotation = kHThenW},
    {.family = of("glm_image_vision"), .input = kPatches},
    {.family = of("glm_ocr_vision glm5_next_vision dots3_note_vision_encoder"), .rotation = kHThenW,
     .qk_norm = kHeadNorm},
    {.family = of("paddleocr_vl_vision"), .input = kPatches, .rotation = kHThenW},
    {.family = of("lfm3_vl_vision"), .kv_heads = &keys::kKvHeads, .rotation = kHThenW, .qk_norm = kHeadNorm,
     .listed_kinds = true},
    {.family = of("minimax_m3_vl_vision", kHalf, "head_dim"), .rotation = kTimeToo},
    {.family = of("step3p5_vision"), .input = kPatches, .rotation = kWThenH},
    {.family = of("perception_encoder", kInterleaved, "use_cls_token"), .layers = &keys::kTowerLayers,
     .heads = &keys::kTowerHeads, .width = &keys::kTowerWidth, .input = kIfAbsolute, .rotation = kWThenH},
    {.family = of("hunyuan_vl_vision"), .head_dim = &keys::kHeadDim, .input = kLargestAndClass},
    // The class token stands at 0, patches count from 1; its row of the table is a parameter beside it.
    {.family = of("inkling2_vision", kInterleaved), .input = kSquareAndClass, .rotation = kFromOne},
    {.family = of("muse_glimmer_vision muse_spark_vision"), .input = kGrid, .rotation = kFromOne,
     .mask = TowerMask::grid_windows},
    // The angles of the class token are learned.
    {.family = of("mlcd mlcd_vision_model"), .rotation = kHThenW,
     .undecided = "the angles by which its class token rotates, which are learned"},
    // Each pair of neighbours has the angles of two: cos and sin stand as for halves, what they turn as for neighbours.
    {.family = of("vjepa2"), .undecided = "its maps of neighbouring channels, which are no rotations"},
    {.family = of("gemma4_vision"), .kv_heads = &keys::kKvHeads, .head_dim = &keys::kHeadDim, .input = kTables,
     .rotation = kWBesideH, .scale = TowerScale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.family = of("kosmos_2_5_vision_model"), .head_dim = &keys::kHeadDim, .input = kPatchTables},
    {.family = of("pixtral"), .rotation = kStrided},
    // The class stores q and k permuted to halves; checkpoints, and this row, have neighbours.
    {.family = of("kimi_k25_vision", kInterleaved), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kGridAndFrames, .rotation = kAlternating},
    {.family = of("minicpmv4_6_vision minicpm_ocr_vision minicpmv4_7_vision"), .input = kPatches, .also = "minicpmv4_6_vision_merger"},
    {.family = part_of("minicpmv4_6_vision", "minicpmv4_6_vision_merger"), .stack = "vision_merger", .layers = nullptr,
     .mask = TowerMask::kernel_windows},
    {.family = of("sam_vision_model sam_hq_vision_model deepseek_ocr2_sam_vision_model pp_chart2table_vision "
                  "pp_formulanet_vision slanext_vision"),
     .input = kOptionalPatches, .mask = TowerMask::patch_windows, .score = TowerScore::decomposed_hw},
    {.family = of("unlimited_ocr_sam_vision_model"), .stack = "vision_sam", .layers = &keys::kTowerLayers,
     .heads = &keys::kTowerHeads, .width = &keys::kTowerWidth, .input = kOptionalPatches,
     .mask = TowerMask::patch_windows, .score = TowerScore::decomposed_hw},
    {.family = of("got_ocr2_vision"), .input = kOptionalPatches, .mask = TowerMask::patch_windows,
     .score = TowerScore::decomposed_hw},
    {.family = of("unlimited_ocr_vision_encoder"), .stack = "vision_clip", .layers = &keys::kTowerLayers,
     .heads = &keys::kTowerHeads, .width = &keys::kTowerWidth, .input = kPatchesAndClass},

    // A pyramid has a stack for each stage.
    {.family = of("clap_audio_model"), .stack = "audio", .stages = &kSwin},
    {.family = of("swin"), .input = kOptionalPatches, .stages = &kSwin},
    // A perceptron makes the table of the differences' logarithms.
    {.family = of("swinv2"), .input = kOptionalPatches, .scale = TowerScale::per_head, .qk_norm = kCosines,
     .stages = &kSwin2},
    {.family = of("swin2sr"), .input = kOptionalPatches, .scale = TowerScale::per_head, .qk_norm = kCosines,
     .stages = &kSwin2OneGrid},
    {.family = of("florence_vision"), .stages = &kWindowsAndChannels},
    {.family = of("donut-swin"), .input = kOptionalPatches, .stages = &kSwin},
    {.family = of("maskformer-swin"), .input = kOptionalPatches, .stages = &kShifted},
    {.family = of("segformer"), .stages = &kReducedKeys},
    {.family = of("glpn"), .stages = &kReducedKeys},
    {.family = of("pvt"), .stages = &kReducedKeysAndTables},
    {.family = of("pvt_v2"), .stages = &kReducedKeys},
    {.family = of("cvt"), .scale = TowerScale::width, .stages = &kReducedKeys},
    {.family = of("mobilevit"), .stages = &kMobileVit},
    {.family = of("hiera"), .input = kStridedPatches, .stages = &kMaskUnits},
    {.family = of("sam2_hiera_det_model"), .input = kBackgroundAndWindow, .stages = &kListedWindows},

    // With tables of differences in rows and columns go three rows for the class token, which no score term has.
    {.family = of("beit", kHalf, kTablesOfDifferences), .input = kOptionalPatchesAndClass},
    {.family = of("data2vec-vision", kHalf, kTablesOfDifferences), .input = kOptionalPatchesAndClass},
    {.family = of("dinov3_vit"), .rotation = kCentred},
    {.family = of("eomt_dinov3"), .rotation = kCentred, .mask = TowerMask::predicted},
    {.family = of("sapiens2"), .kv_heads_by_layer = true, .rotation = kCentred, .qk_norm = kSwitchedHeadNorm},
    {.family = of("yolos"), .input = kPatchesAndDetections, .again = &keys::kMiddleTables},
    {.family = of("sam2_video_mask_decoder edgetam_video_mask_decoder sam3_tracker_video_mask_decoder"),
     .undecided = "its memory of earlier frames, which the whole model's keys describe", .is_unread = true},
    {.family = of("sam3_detr_decoder sam3_lite_text_detr_decoder"), .undecided = "its bias by a perceptron of how far boxes are from cells",
     .is_unread = true},
    // The image looks at what it is asked for.
    {.family = of("sam3_mask_decoder sam3_lite_text_mask_decoder"), .stack = "mask_decoder", .layers = nullptr,
     .crosses = true},
    // Half of what is behind regions: the box's part, after a norm of its own, is added to theirs.
    {.family = part_of("lxmert", "lxmert_regions"), .stack = "regions", .layers = &keys::kRegionLayers,
     .input = kRegionBox},
    {.family = of("superglue"), .stack = "matcher", .layers = nullptr, .words = &keys::kMatcherLayers, .input = kKeypoint},
    {.family = of("pp_doclayout_v2"), .undecided = "the biases of the model that orders what it found", .is_unread = true},
    {.family = of("levit"), .undecided = "its tables of how far rows and columns are apart", .is_unread = true},
    {.family = of("zoedepth"), .undecided = "its backbone's rows for the class token", .is_unread = true},
    {.family = of("lightglue"), .undecided = "its frequencies, which are learned",
     .is_unread = true},
    {.family = of("seggpt"), .undecided = "its tables of row and column differences, which are not of one size",
     .is_unread = true},
    {.family = of("perceiver"), .undecided = "its positions, which a preprocessor outside of the configuration makes",
     .is_unread = true},
    {.family = of("qwen_vl_vision"), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kTowerWidth, .input = kUnknownTable,
     .undecided = "the rows of its table, and the queries that look at its patches behind it"},
    {.family = of("bagel_vit"), .input = kPatches,
     .undecided = "the table that its connector adds, and what the tokens of an image see in the text stack"},
    {.family = of("aimv2"), .mask = TowerMask::undecided,
     .undecided = "what its keys make of the tables, the rotation and the mask"},
    {.family = of("kimi_k3_vision", kInterleaved), .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .width = &keys::kHeadsWidth, .input = kGridAndFrames, .rotation = kAlternating},
    {.family = of("vision"), .layers = &keys::kTowerLayers, .heads = nullptr, .width = nullptr, .input = kUnknownTable,
     .undecided = "its heads and the rows of its table, which the file leaves to a name"},

    // ---- audio ----
    {.family = of("gemma4_audio"), .stack = "audio", .mask = TowerMask::audio_chunks,
     .score = TowerScore::transformer_xl, .scale = TowerScale::per_channel, .soft_cap = &keys::kLogitCap},
    {.family = of("gemma3n_audio"), .stack = "audio", .layers = &keys::kTowerLayers, .heads = &keys::kTowerHeads,
     .mask = TowerMask::audio_frames, .score = TowerScore::frames, .scale = TowerScale::per_query,
     .soft_cap = &keys::kLogitCap},
    {.family = of("kimi_audio_whisper"), .stack = "audio", .input = kSourceRows},
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

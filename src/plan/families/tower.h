// What the class of a vision or audio encoder, a tower beside the text decoder, does with positions, as data: one row
// per class in towers.cpp.
//
// A row says which keys give its sizes and which of the rules in src/plan/towers hold (input, rotation, masks, scores).
// A new tower is a row, unless it needs a new rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plan/families/family.h"
#include "plan/keys/config_keys.h"

namespace posenc::plan {

// What is added to the patches or frames.
struct TowerInput {
  enum class Kind : std::uint8_t {
    patches,     // learned: a row for each patch of the trained image, and `extra` rows for tokens beside them
    trained,     // the same, where kTrainedImage is the image and not kImageSize
    strided,     // the same, where kPatchStride is the patch
    tile,        // learned: a side of the first entry of the list `rows`; laid over the grid again and again
    sides,       // learned: a height and a width of `rows`; resized to the grid
    rows,        // learned: as many rows as `rows` says
    grid,        // learned: kGridHeight x kGridWidth
    axes,        // learned: a table for w and one for h, both of `rows`, added up
    tiles,       // Mllama: for each tile of each aspect ratio its patches and `extra` rows
    tile_rows,   // Mllama: for each tile of each aspect ratio one row
    frames,      // sines over the frames of a clip
    sines,       // Whisper's sines, as many rows as `rows` says
    tubes,       // learned: a row for each tube of the trained clip, and `extra` rows
    tube_faces,  // learned: a row for each tube of one frame
    square,      // learned: the square of that
    box,         // a learned map of the numbers of a box, as many as `rows` says
    keypoint,    // a learned map of a keypoint's coordinates (and of how sure the detector was of it)
    tube_sines,  // the paper's sines, a row for each tube of the trained clip
    unknown,     // learned, of a size that the file does not give
  };
  Kind kind;
  std::int64_t extra = 0;
  const Key* rows = nullptr;
  const Key* needs = nullptr;       // there is no such table where this key is false
  const Key* extra_rows = nullptr;  // as many more
  const Key* image = &keys::kImageSize;
};

// Which coordinates rotate which pairs. The axes' frequencies f_j are base^(-2j/w) over w channels of d in a head.
enum class TowerAxes : std::uint8_t {
  none,
  h_then_w,          // blocks of d/4 pairs, f_j(d/2) in each
  w_then_h,          //
  t_then_h_then_w,   // blocks of floor(d/6) pairs, f_j of their 2 floor(d/6) channels in each; the last channels rest
  h_then_w_strided,  // blocks of d/4 pairs; h has f_0, f_2, ... of f_j(d), w the others
  w_h_alternating,   // pair 2j takes w, pair 2j + 1 takes h, both f_j(d/2)
  w_beside_h,        // two rotations, each over one half of the head
  centred_h_then_w,  // blocks of d/4 pairs, 2 pi f_j(d/2) in each; of n rows the i-th stands at (2 i + 1) / n - 1
};

struct TowerRotation {
  TowerAxes axes = TowerAxes::none;
  std::int64_t offset = 0;         // coordinates count from here
  const Key* needs = nullptr;      // there is no rotation where this key is false
  bool image_over_window = false;  // in layers that see the image its side counts as that of a window (SAM 3)
};

enum class TowerMask : std::uint8_t {
  image,           // all of one image, both ways
  pixel_windows,   // windows of kPatchWindow pixels, but in the layers of kFullBlocks
  patch_windows,   // the same, in patches
  grid_windows,    // windows as large as the learned grid, in the layers that kLayerTypes calls "window_attention"
  kernel_windows,  // windows of kWindowKernel patches in every layer
  listed_windows,  // windows of kPatchWindow patches, in the layers of kWindowBlocks
  predicted,       // in the last kQueryBlocks layers, queries see what the layers before took for their segment
  latents,         // learned queries look at the image, and at each other
  image_parts,     // the image cut kWindowsOfSide times each way, in the layers of kWindowBlocks
  space_and_time,  // each block attends twice: over the frames of one patch, then over the patches of one frame
  audio_chunks,    // Gemma 4: kContextLeft - 2 frames back, kContextRight - 1 ahead
  audio_frames,    // Gemma 3n: kContextLeft - 1 frames back, kContextRight ahead
  undecided,
};

enum class TowerScore : std::uint8_t {
  none,
  decomposed_hw,   // SAM
  transformer_xl,  // Gemma 4 audio: sines over the distances of a chunk, no biases
  frames,          // Gemma 3n audio: the same over those that a frame sees
};

enum class TowerScale : std::uint8_t {
  head_dim,     // 1/sqrt(head_dim)
  one,          //
  width,        // 1/sqrt(channels of all heads)
  per_channel,  // Gemma 4 audio: ln(1 + e) / (ln(2)^2 sqrt(head_dim)), and a learned factor per channel
  per_query,    // Gemma 3n audio: 1 / (ln(2) sqrt(head_dim)), and a learned factor per channel
  per_head,     // Swin v2: a learned factor, of each head for all of its channels
};

// What the blocks of a pyramid's stage see of the stage's grid.
enum class StageSight : std::uint8_t {
  grid,
  shifted_windows,  // Swin: kPatchWindow patches a side; in each second block windows are half a window further on
  shifted_where_smaller,  // the same, where the grid is larger than a window
  fitted_windows,         // Swin v2: the same; a smaller grid has a window, and a table, of its own size
  windows_and_channels,   // DaViT: each block attends twice: in windows, then channels of a group to one another
  places,                 // MobileViT: patches at one place of the kPatchSize x kPatchSize that are cut out together
  listed_windows,         // SAM 2: kStageWindows
  mask_units,             // Hiera
};

// A pyramid: stages of blocks, each over a coarser grid of patches than the one before, and so a stack of its own.
struct StageRule {
  std::span<const std::int64_t> blocks = {};  // of each stage; empty: kStageBlocks
  const Key* heads = &keys::kStageHeads;
  const Key* reductions = nullptr;  // kKeyReductions
  StageSight sight = StageSight::grid;
  bool tables = false;    // PVT: each stage adds a learned table of its own
  bool one_grid = false;  // all stages have the same grid and width (Swin2SR)
};

struct Tower {
  Family family;  // its name, by which class defaults are found, its model types and pairing
  std::string_view stack = "vision";

  const Key* layers = &keys::kLayers;
  const Key* more_layers = nullptr;
  const Key* heads = &keys::kHeads;   // null: not known
  const Key* kv_heads = nullptr;      // null: as many as heads
  bool kv_heads_by_layer = false;     // kLayerKvHeads
  const Key* width = &keys::kHidden;  // null: the channels of a head are not known
  const Key* head_dim = nullptr;      // null: width over heads
  std::int64_t fixed_head_dim = 0;    // not 0: there are as many heads of so many channels as the width has
  bool crosses = false;               // its layers look at another stack's output
  const Key* words = nullptr;         // in place of `layers`: a list; those called "cross" look at another's
  bool groups = false;                // GroupViT: after each stage of kStageBlocks, group tokens look at patches

  std::span<const TowerInput> input = {};
  const Key* again = nullptr;  // where this flag is true every layer but the first adds such tables, each its own
  TowerRotation rotation = {};
  TowerMask mask = TowerMask::image;
  TowerScore score = TowerScore::none;
  TowerScale scale = TowerScale::head_dim;
  std::optional<QkNormRule> qk_norm = {};
  const Key* soft_cap = nullptr;
  bool convolves = false;             // all its layers are convolutions; heads and width are not looked at
  bool listed_kinds = false;          // layers that kLayerTypes calls "conv" do not attend
  const StageRule* stages = nullptr;  // then `layers`, `heads`, `width`, `mask` and `score` are not looked at

  std::string_view undecided = {};    // what nothing decides
  const Key* undecided_if = nullptr;  // only where this flag is true
  bool is_unread = false;             // its layers are not read then: what is not decided is in all of them
  std::string_view also = {};         // the type of a second stack that the same object describes
};

// The row of a model type; null when there is none.
const Tower* find_tower(std::string_view model_type) noexcept;

}  // namespace posenc::plan

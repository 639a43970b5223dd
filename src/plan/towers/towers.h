// Stacks beside the text decoder's, and those of a family that has several: what the files of this folder read, each in
// a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/facts/stack_facts.h"
#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// ---- encoder_decoder.cpp: the stacks that a family's class builds from one object: a decoder, an encoder, or both
// ----

struct FamilyObject {
  const io::JsonValue& object;
  const Family& family;
  std::string_view model_type;    // whose class defaults hold
  std::string_view architecture;  // may be empty
  Names top_keys{};               // ConfigScope::read_at_top
  bool encoder_only = false;      // whatever the architecture
  std::int64_t room = 0;          // layers, both attentions of a block counted, of all its stacks; 0: as always
};

// The main stack first. An architecture that has the encoder only makes that the main one.
std::vector<StackFacts> read_family_stacks(ConfigReader& reader, const FamilyObject& of);

// ---- convolution_stacks.cpp ----
// Tokenizers of sound that are convolutions throughout: their layers are counted, and no position is told.

// Which blocks attend, linearly, which is without a product of queries and keys.
enum class LinearBlocks : std::uint8_t { none, last_of_stage, all };

struct Convolutions {
  Family family;
  std::string_view encoder;  // names of the stacks
  std::string_view decoder;  // empty: there is none
  LinearBlocks linear = LinearBlocks::none;
  const Key* blocks = &keys::kDepths;
};

// The row of a model type; null when there is none.
const Convolutions* find_convolutions(std::string_view model_type) noexcept;

// `room`: how many layers the plan may still get. After an error (scope.reader().failed()) the result is void.
std::vector<StackFacts> read_convolution_stacks(ConfigScope& scope, const Convolutions& row, std::int64_t room);

// ---- image_tokenizers.cpp: encoders and decoders of images, convolutions of which some attend without positions ----

struct ImageTokenizer;

// The row of a model type; null when there is none.
const ImageTokenizer* find_image_tokenizer(std::string_view model_type) noexcept;

// The same of `room` and of errors.
std::vector<StackFacts> read_image_tokenizer(ConfigReader& reader, const io::JsonValue& object,
                                             const ImageTokenizer& row, std::int64_t room);

// ---- detectors.cpp: encoders of images and decoders of objects or masks, which add positions in every layer ----

struct Detector;

// The row of a model type; null when there is none.
const Detector* find_detector(std::string_view model_type) noexcept;
// Whether its class makes its image's features by another model, which its configuration names.
bool has_backbone(const Detector& row) noexcept;

// The same of `room` and of errors. Class defaults are those of `model_type`.
std::vector<StackFacts> read_detector(ConfigReader& reader, const io::JsonValue& object, std::string_view model_type,
                                      const Detector& row, std::int64_t room);

// ---- stack.cpp: the stack of a vision or audio tower: its facts, from one object of the config ----

// The same of `room` and of errors.
StackFacts read_tower_stack(ConfigScope& scope, const Tower& tower, std::int64_t room);

// ---- stages.cpp: the stacks of a pyramid, one for each stage ----

// One number each, of a list, or of a number that stands for all of them; `count` 0: as many as the list has.
Sourced<std::vector<std::int64_t>> read_each(ConfigScope& scope, const Key& key, std::size_t count, Bounds bounds);

// Called "NAME_stage1" and so on. The same of `room` and of errors.
std::vector<StackFacts> read_stages(ConfigScope& scope, const Tower& tower, const std::string& name, std::int64_t room);

// ---- shape.cpp: layers, heads and channels of a tower ----

struct TowerShape {
  std::int64_t layers = 1;
  std::string layers_from;
  std::vector<bool> crosses{};  // [layers]; empty: by Tower::crosses
  Sourced<std::int64_t> heads;  // 0: not known
  Sourced<std::int64_t> kv_heads;
  Sourced<std::vector<std::int64_t>> layer_kv_heads{};  // [layers]; empty: all layers have as many
  Sourced<std::int64_t> head_dim;                       // 0: not known
  const Key* width_key = nullptr;                       // the key to blame when the channels do not suit
};

// `room`: how many layers the plan may still get.
TowerShape read_tower_shape(ConfigScope& scope, const Tower& tower, std::int64_t room);

// ---- rotation.cpp: how a tower rotates its heads: one or two rotations over the coordinates of patches ----

// `factor`: positions are divided by it.
void read_tower_rotation(ConfigScope& scope, const Tower& tower, const TowerShape& shape, double factor,
                         LayerFacts& layer);

// ---- masks.cpp: what the tokens of a tower's layers see ----

// A mask, the side in patches of what it leaves of the image, and where that came from.
struct TowerSight {
  Mask mask;
  std::int64_t side = 0;             // 0: it leaves everything
  std::vector<FieldSource> sources;  // "mask/kind"
  Mixing mixing{};                   // of pooled keys
};

struct TowerMasks {
  TowerSight whole;
  TowerSight window;
  std::vector<bool> windowed;  // [layers]
  std::vector<bool> attends;   // [layers]; empty: all do
};

TowerMasks read_tower_masks(ConfigScope& scope, const Tower& tower, std::int64_t layers);

// ---- scores.cpp: the scores of a tower's layers: their scale, cap, norm of q and k, and terms by distance ----

// Terms by distance differ between layers.
struct TowerTerms {
  std::vector<ScoreTerm> whole;   // of layers that see the whole image
  std::vector<ScoreTerm> window;  // of layers with windows
};

TowerTerms read_tower_scores(ConfigScope& scope, const Tower& tower, const TowerShape& shape, const TowerMasks& masks,
                             LayerFacts& layer);

// ---- input.cpp: what is added to a tower's patches or frames ----

struct TowerInputs {
  std::vector<InputScheme> input;
  std::vector<FieldSource> sources;  // "input/0/positions"
};

TowerInputs read_tower_input(ConfigScope& scope, const Tower& tower);

}  // namespace posenc::plan

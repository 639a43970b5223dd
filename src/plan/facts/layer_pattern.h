// What a config says of its attention layers: their heads and channels, and layer by layer which rotate and which see
// only a part of the sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/facts/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Heads and channels of an attention layer, and which of its channels may rotate.
struct AttentionShape {
  Sourced<std::int64_t> heads;
  Sourced<std::int64_t> kv_heads;
  Sourced<std::int64_t> head_dim;   // channels of q and k
  Sourced<std::int64_t> value_dim;  // channels of v
  bool latent = false;

  // The part of a head that a rotation is laid over. Latent attention: the qk_rope_head_dim channels after the
  // qk_nope_head_dim ones; else the whole head.
  Sourced<std::int64_t> first_channel;
  Sourced<std::int64_t> rotary_width;
  Sourced<Pairing> pairing{Pairing::half, {}};
  std::optional<Place> width_place;  // the key to blame when the width does not suit a rotation
};

enum class LayerType : std::uint8_t { full, sliding, chunked, nearby_chunks, hashed_chunks };

// "sliding_attention", as in layer_types and in dictionaries per layer type.
std::string_view name(LayerType type) noexcept;
std::optional<LayerType> layer_type(std::string_view name) noexcept;

// Whether a layer sees only keys that an indexer chooses: its own, or an earlier layer's.
enum class Choice : std::uint8_t { none, own, earlier };

struct LayerTraits {
  LayerKind kind = LayerKind::attention;
  LayerType type = LayerType::full;
  bool rotates = true;
  std::int64_t width = 0;          // of the layer's own window; 0: that of the stack
  std::int64_t ahead = -1;         // beside it, tokens ahead that the window holds; -1: by the mask's kind
  std::int64_t scale_divisor = 1;  // the softmax scale is divided by it
  std::int64_t shape = 0;          // which of the stack's shapes (layer_sizes)
  std::int64_t list_entry = 0;     // where lists give rotations layer by layer: the first layer with the same entries
  std::int64_t compression = 0;    // tokens of a key that is made of several; 0: there are none
  Choice choice = Choice::none;
  std::int64_t chosen_by = -1;     // that earlier layer
  std::int64_t kv_from = -1;       // the layer whose keys and values are reused; -1: its own
  std::int64_t blocks_before = 0;  // so many of LayerMasks::block are seen besides the own
  std::int64_t blocks_after = 0;
  bool block_sparse = false;  // sees blocks of keys by a fixed pattern (sparse_masks.cpp)
  bool operator==(const LayerTraits&) const = default;
};

struct LayerPattern {
  std::vector<LayerTraits> layers;
  std::string kinds_from;
  std::string blocks_detail;  // what layers that are block-sparse see
  std::string blocks_from;
  std::string types_from;
  std::string rotary_from;
  std::string choice_from;
  std::string compression_from;
  std::string kv_from;
  Setting<std::int64_t> window;  // tokens that a sliding layer sees, itself included
  Setting<std::int64_t> chunk;   // tokens of a chunk
};

}  // namespace posenc::plan

// What a layer is to a cache whose tokens are moved: its schemes' traits put together.
#pragma once

#include <cstdint>
#include <optional>

#include "posenc/plan.h"

namespace posenc::reuse {

enum class Keeps : std::uint8_t {
  keys,          // of its own tokens
  encoder_keys,  // of another stack's
  state,         // one of all tokens so far
  nothing,
};

// What the layer's scores and values are where all positions move by the same.
struct Relative {
  std::int64_t period = 1;                    // the same at multiples of it; 0: at none
  std::optional<std::int64_t> exact_below{};  // of period 0: the same while every position is below it
};
// Of a layer that follows another: what both leave.
Relative both(const Relative& a, const Relative& b);

struct LayerTraits {
  Keeps keeps = Keeps::nothing;

  // What the layer does to hidden states.
  std::optional<std::int64_t> reach = 0;  // tokens that it mixes in, before the token or after; nothing: all
  bool sees_after = false;                // tokens see those after them
  Relative by_position{};
  std::int64_t order_period = 1;  // masks in chunks, groups of tokens: by places in the sequence; 0: too long for both
  bool by_length = false;         // a rotation's rule depends on the length
  bool by_each_length = false;    // and beyond a length every length has its own (dynamic NTK)
  bool begins_apart = false;      // a state takes the token at position 0 otherwise than all others
  bool adds_place = false;        // positions are added to the hidden states themselves

  // What its own keys and values hold.
  bool rotates = false;       // RoPE, on keys or values as they are stored or read
  bool adds_to_keys = false;  // positions, before or after the projection
  bool rotated_before_projection = false;
  bool one_rotation = true;                  // a key is rotated in one way, whatever the query
  std::optional<bool> norm_commutes{};       // a norm follows the rotation; whether it might come before
  std::int64_t group = 1;                    // tokens of which a key is made
  std::optional<std::int64_t> same_up_to{};  // where by_length: the length of the first switch
  bool gates = false;
  bool terms_read_keys = false;             // as they are before the rotation
  bool by_index = false;                    // an indexer picks keys
  std::optional<std::int64_t> made_of = 0;  // tokens before its own that a key is made of; nothing: not known
  std::optional<std::int64_t> window{};     // tokens that it keeps
  bool state_beside = false;                // and a state of every token
};

LayerTraits traits_of(const LayerPlan& layer);

}  // namespace posenc::reuse

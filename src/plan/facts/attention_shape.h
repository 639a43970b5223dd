// Heads and channels of an attention layer, and which of its channels may rotate.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/facts/sourced.h"
#include "posenc/rope.h"

namespace posenc::plan {

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

}  // namespace posenc::plan

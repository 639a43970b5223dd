// Falcon. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   falcon_perception: falcon_perception/rope.py of tiiuae/Falcon-Perception.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> falcon_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "falcon", .class_stems = "Falcon RW", .pairing = kHalf, .kv_heads = KvHeads::falcon,
     .scheme = Scheme::rotation_or_alibi, .misleading_keys = "partial_rotary_factor"},
    {.name = "falcon_h1", .class_stems = "FalconH1", .pairing = kHalf, .scale = Scale::key_multiplier,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "falcon_perception", .class_stems = "FalconPerception", .pairing = kInterleaved, .width = Width::half_head,
     .scales = false,
     .undecided = "the second half of a head turns by learned frequencies of two axes, and image tokens see each "
         "other both ways; a plan cannot hold that"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan

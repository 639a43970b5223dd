// The names of a comparison's enumerators, for its JSON.
#pragma once

#include "plan/json/plan_names.h"
#include "posenc/compare.h"

namespace posenc::plan {

template <>
struct EnumNames<Verdict> {
  static constexpr NameArray<3> kNames{"same", "same_but_pairing", "differ"};
};
template <>
struct EnumNames<DifferenceKind> {
  static constexpr NameArray<2> kNames{"substance", "note"};
};
template <>
struct EnumNames<KeyUse> {
  static constexpr NameArray<5> kNames{"as_they_are", "rotated", "reordered", "reordered_and_rotated", "not_at_all"};
};
template <>
struct EnumNames<KeyReason> {
  static constexpr NameArray<16> kNames{
      "absent",   "kind",     "kv_from", "compression", "kv_heads", "head_dim",    "values",           "qk_norm",
      "rotation", "channels", "axes",    "pairing",     "offset",   "frequencies", "attention_factor", "norm_after"};
};

}  // namespace posenc::plan

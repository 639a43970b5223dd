// The names of a verdict's enumerators, for JSON, the command line and Python.
#pragma once

#include "plan/json/plan_names.h"
#include "posenc/cache/reuse.h"
#include "posenc/cache/study_cache.h"

namespace posenc::plan {

template <>
struct EnumNames<CacheOperation> {
  static constexpr NameArray<kCacheOperations> kNames{"shift", "front_trim", "splice",      "reorder", "merge",
                                                      "evict", "sinks",      "switch_rule", "share"};
};
template <>
struct EnumNames<StoredKeys> {
  static constexpr NameArray<2> kNames{"unrotated", "rotated"};
};
template <>
struct EnumNames<Reuse> {
  static constexpr NameArray<3> kNames{"exact", "approximate", "no"};
};
template <>
struct EnumNames<KvFormat> {
  static constexpr NameArray<kKvFormats> kNames{"f32",  "f16",  "bf16", "fp8_e4m3", "fp8_e5m2",
                                                "int8", "q8_0", "q5_1", "q4_0"};
};
template <>
struct EnumNames<ReuseFact> {
  static constexpr NameArray<kReuseFacts> kNames{
      "no_position",    "rotated_on_load", "norm_commutes",   "rounded_again",
      "whole_groups",   "input_positions", "added_positions", "rotated_before_project",
      "norm_after",     "regions",         "content_terms",   "state",
      "state_start",    "key_context",     "another_cache",   "mixed_context",
      "absolute_below", "period_below",    "input_context",   "other_below",
      "gates_move",     "rule_by_length",  "window_kept",     "indexer_too",
      "owner",          "encoder_keys",    "both_ways"};
};

}  // namespace posenc::plan

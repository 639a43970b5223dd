// What the writer and the reader of a plan's JSON agree on, besides the fields.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/json/json.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Counts up when a document of the older version would be misread. 2: other names, of the same things (version_1.h).
inline constexpr std::int64_t kSchemaVersion = 2;

// Linear attention may rotate and scale its q and k as well (RoFormer), so it may have the attention fields.
constexpr bool may_attend(LayerKind kind) noexcept {
  return kind == LayerKind::attention || kind == LayerKind::cross_attention || kind == LayerKind::linear_attention;
}
constexpr bool must_attend(LayerKind kind) noexcept {
  return kind == LayerKind::attention || kind == LayerKind::cross_attention;
}

// What to_json wrote, or claims to be that: none of its keys is a config's.
bool is_saved_plan(const io::JsonValue& root);
Result<Plan> saved_plan(const io::JsonDocument& document, std::string_view name);

// Whether the layer's JSON is index and kind alone.
bool has_index_and_kind_only(const LayerPlan& layer);

}  // namespace posenc::plan

// Keys of an attention that sees chosen keys only; some files have them in an object of their own
// (sparse_attention_config), which comes before what stands beside it.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

std::optional<Place> find_sparse(ConfigScope& scope, const Key& key);
Sourced<std::int64_t> required_sparse(ConfigScope& scope, const Key& key, Bounds bounds);

}  // namespace posenc::plan

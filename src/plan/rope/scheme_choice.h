// Whether a model turns queries and keys, has ALiBi or a learned table, where the files of its family may differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"
#include "posenc/schemes.h"

namespace posenc::plan {

struct SchemeChoice {
  bool rotates = false;
  std::optional<Alibi> alibi{};
  std::optional<LearnedInput> table{};
  bool input = true;  // what the stack's row adds to embeddings, and to scores, counts
  bool score = true;
  std::optional<ScoreKind> relative{};  // this in place of the row's
  std::string from;
  bool known = true;  // false: nothing says, and none of the three is claimed
};

// By Family::scheme.
SchemeChoice read_scheme(ConfigScope& scope, std::int64_t heads, std::int64_t trained_length);

// No layer turns; `from` says why.
void let_rest(LayerPattern& pattern, const std::string& from);

}  // namespace posenc::plan

// Whether a model rotates queries and keys, has ALiBi or a learned table, where the files of its family may differ.
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
};

// A rotation; a learned table of so many rows; ALiBi, its maximum bias a number above 0 under alibi_bias_max, else 8,
// the paper's.
SchemeChoice choose_rotation(std::string from);
SchemeChoice choose_table(std::int64_t positions, std::string from);
Sourced<double> read_max_bias(ConfigScope& scope);
SchemeChoice choose_alibi(ConfigScope& scope, std::int64_t heads, std::string from);

// Choices of several families, for Family::scheme; those of one stand beside its row.
// A rotation only where position_embedding_type is "rope" or "rotary".
SchemeChoice scheme_by_type(ConfigScope& scope, const SchemeFacts& facts);
// A rotation, where per_layer_config is there: without it NeoMME gives every second layer with a window another one, and
// Dots 3 takes sizes of sliding layers from keys of their own and full layers for indexed ones.
SchemeChoice rotation_of_layers(ConfigScope& scope, const SchemeFacts& facts);
// By position_embeddings_type, in stacks that have StackRule::types; the others rest.
SchemeChoice relative_scheme(ConfigScope& scope, const SchemeFacts& facts);
// An unknown family, by the general rules of the plan's contract: a base means rotation, n_positions or the type
// "absolute" a table.
SchemeChoice scheme_by_keys(ConfigScope& scope, const SchemeFacts& facts);

// By Family::scheme; where it has none, a rotation.
SchemeChoice read_scheme(ConfigScope& scope, std::int64_t heads, std::int64_t trained_length);

// No layer rotates; `from` says why.
void let_rest(LayerPattern& pattern, const std::string& from);

}  // namespace posenc::plan

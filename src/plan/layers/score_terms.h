// What a stack adds to its scores: ALiBi (arXiv 2108.12409), T5's buckets (1910.10683), XLNet's terms (1906.08237),
// DeBERTa's (2006.03654, 2111.09543), Transformer-XL's (1901.02860), Shaw's keys (1803.02155). The formulas stand in
// posenc/schemes.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct ScoreTerms {
  std::vector<ScoreTerm> terms;
  std::vector<FieldSource> sources;  // "score/0/buckets"
  // Terms of DeBERTa's sum, the content's included: scores are divided by sqrt(d * parts).
  Sourced<std::int64_t> parts{1, {}};
};

// Of one kind: the stack's own, or the one that its keys chose.
ScoreTerms read_score_terms(ConfigScope& scope, ScoreKind kind, const Sourced<std::int64_t>& heads,
                            const Sourced<MaskKind>& mask, const Sourced<std::int64_t>& trained_length);

}  // namespace posenc::plan

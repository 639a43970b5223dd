// What a stack adds to its scores: ALiBi (arXiv 2108.12409), T5's buckets (1910.10683), XLNet's terms (1906.08237),
// DeBERTa's (2006.03654, 2111.09543). The formulas stand in posenc/schemes.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/config_scope.h"
#include "plan/rope_keys.h"
#include "plan/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct ScoreTerms {
  std::vector<ScoreTerm> terms;
  std::vector<FieldSource> sources;     // "score/0/buckets"
  Sourced<std::int64_t> parts{1, {}};   // terms of DeBERTa's sum, content included: scores are divided by sqrt(d * parts)
};

ScoreTerms read_score_terms(ConfigScope& scope, const Sourced<std::int64_t>& heads, const Sourced<MaskKind>& mask,
                            const Sourced<std::int64_t>& trained_length);

}  // namespace posenc::plan

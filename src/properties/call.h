// One call of reference::attend on a specimen.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/reference_attend.h"
#include "properties/numbers.h"
#include "properties/specimens.h"

namespace posenc::properties {

struct Call {
  Rows q;  // [queries, heads * head_dim]
  Rows k;  // [keys, heads * head_dim]
  Rows v;
  std::vector<std::int64_t> q_places;  // in the sequence, and so their order; not before 0
  std::vector<std::int64_t> k_places;
  MaskKind mask = MaskKind::causal;
  std::vector<double> visible{};     // [queries, keys], besides the mask, or empty
  std::vector<double> log_forget{};  // [keys, heads], of schemes with forget gates
  std::vector<double> row_gate{};    // [queries, heads], of gated ones
  reference::ScoreStage stage = reference::ScoreStage::biased;
};

struct Answer {
  std::vector<double> scores;  // [heads, queries, keys]; -infinity where not seen
  Rows out;                    // [queries, heads * head_dim]
};

// The sequence is as long as the last place demands.
Answer attend(const Specimen& specimen, const Call& call);

}  // namespace posenc::properties

// One call of reference::attend on a specimen: places of queries and keys, gates, and the scores and outputs that come
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/attention.h"
#include "properties/numbers.h"
#include "properties/specimens.h"

namespace posenc::properties {

// The layer of a specimen, asked once. Places stand for positions and for orders alike (call.cpp).
struct Call {
  Rows q;  // [queries, heads * head_dim]
  Rows k;  // [keys, heads * head_dim]
  Rows v;
  std::vector<std::int64_t> q_places;  // in the sequence, and so their order; not before 0
  std::vector<std::int64_t> k_places;
  MaskKind mask = MaskKind::causal;
  std::vector<double> log_forget{};  // [keys, heads], of schemes with forget gates
  std::vector<double> row_gate{};    // [queries, heads], of gated ones
};

// What a layer is told of a call besides its tensors. It stays where it is.
// LayerInputs views the lists that are kept here, so it must not outlive them or be copied away from them.
class CallInputs {
 public:
  CallInputs(const Specimen& specimen, const Call& call);
  CallInputs(const CallInputs&) = delete;
  CallInputs& operator=(const CallInputs&) = delete;
  const LayerInputs& operator*() const { return inputs_; }

 private:
  std::vector<std::int64_t> q_positions_, k_positions_;  // [axes, rows]
  std::vector<std::int64_t> q_order_, k_order_;
  std::vector<std::int32_t> segments_;  // one for all
  LayerInputs inputs_;
};

// One sequence, every head.
struct Answer {
  std::vector<double> scores;  // y, [heads, queries, keys]; -infinity where not seen
  Rows out;                    // [queries, heads * head_dim]
};

// The sequence is as long as the last place demands.
Answer attend(const Specimen& specimen, const Call& call);

}  // namespace posenc::properties

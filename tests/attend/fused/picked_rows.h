// Some tokens of a call of attention, in any order, as a call of their own, of rank 3: positions, orders and whatever
// else belongs to a token come along.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/scheme_call.h"

namespace posenc::test {

// Rows of a sequence among all rows of its call.
struct SequenceRows {
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
};
std::vector<SequenceRows> sequences_of(const SchemeCall& call);

using TokenList = std::vector<std::int64_t>;
// From first to below last.
TokenList tokens(std::int64_t first, std::int64_t last);

class PickedRows {
 public:
  // Tokens of sequence s, counted from its first query and its first key. The call's layer and weights stay its own.
  PickedRows(const SchemeCall& call, std::int64_t s, const TokenList& queries, const TokenList& keys);
  PickedRows(const PickedRows&) = delete;
  PickedRows& operator=(const PickedRows&) = delete;

  SchemeCall::Result by_formulas() const;  // out [queries, heads, value_dim], lse [queries, heads]

 private:
  struct Side {
    std::vector<double> positions;  // [axes, rows]
    std::vector<std::int64_t> order;
  };
  Side picked_side(bool of_queries, const SequenceRows& rows, const TokenList& list) const;

  const SchemeCall& call_;
  Tensor q_, k_, v_, log_forget_, row_gate_, visible_;
  Side of_q_, of_k_;
  std::vector<std::int32_t> q_segments_, k_segments_;
  LayerInputs inputs_;
};

// The same rows of what the whole call gave.
SchemeCall::Result picked(const SchemeCall& call, const SchemeCall::Result& whole, std::int64_t s,
                          const TokenList& queries);

}  // namespace posenc::test

// A call of attention as the command line gives it, for all of its queries or for some: attend and its reference are
// asked the same.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attend/attend_tables.h"
#include "posenc/attend.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

// Tensors are [tokens, heads, channels] or [batch, heads, tokens, channels].
struct AttendCall {
  const LayerPlan& layer;
  const LayerTables& tables;
  ConstTensorView q, k, v;
  std::optional<RowPositions> q_positions{};  // left out: the order
  std::optional<RowPositions> k_positions{};
  // [queries, keys], or with axes for heads and batch before them; nothing: the mask of the layer alone.
  ConstTensorView attn_mask{};
  // Of the sequences, in tokens, for rules that depend on it.
  std::optional<std::int64_t> length{};
  bool q_rotated = false;
  bool k_rotated = false;
  Products products = Products::f32;  // allowed, on an instruction set that has them

  std::int64_t batch() const { return q.rank == 4 ? q.shape[0] : 1; }
  std::int64_t queries() const { return q.shape[q.rank == 4 ? 2 : 0]; }
  std::int64_t keys() const { return k.shape[k.rank == 4 ? 2 : 0]; }
};

// Tokens first, first + step, ... of every sequence.
struct EveryNth {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
// Those tokens of a tensor, whose axis of tokens is given.
ConstTensorView some_tokens(ConstTensorView x, int token_axis, const EveryNth& which);
TensorView some_tokens(TensorView x, int token_axis, const EveryNth& which);
// The axis of tokens of queries and outputs.
inline int token_axis(const ConstTensorView& x) { return x.rank == 4 ? 2 : 0; }

// The inputs of a call for some of its queries: all keys, and of what belongs to queries the rows of those. It owns
// what has to be gathered; inputs() are views of that and of the call, which both must outlive the call of attend.
class QueryInputs {
 public:
  QueryInputs(const AttendCall& call, const EveryNth& which);
  QueryInputs(const QueryInputs&) = delete;
  QueryInputs& operator=(const QueryInputs&) = delete;

  const LayerInputs& inputs() const { return inputs_; }

 private:
  RowPositions::List q_positions_, k_positions_;
  std::vector<std::int64_t> q_order_;
  std::vector<double> row_gate_;
  std::vector<std::int32_t> q_segments_;
  LayerInputs inputs_;
};

}  // namespace posenc::tool

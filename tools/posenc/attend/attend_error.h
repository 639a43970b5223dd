// How far an output of attention is from the float64 reference, reference::attend, and from the bound that
// docs/attention.md states.
#pragma once

#include <cstdint>
#include <functional>

#include "attend/attend_call.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

struct AttendError {
  double largest = 0.0;  // |out - reference|
  // The largest error over its bound. At most 1: as promised. Infinite for what is non-finite and should not be.
  double over_bound = 0.0;
  double bound = 0.0;  // there
  Row row{};
  std::int64_t head = 0;
  std::int64_t channel = 0;
  std::int64_t tokens = 0;      // judged
  std::int64_t not_finite = 0;  // outputs that are not in the reference, or whose bound is not
};

// Products of queries and keys, and of weights and values: what the reference does in about a second.
inline constexpr std::int64_t kJudgedProducts = std::int64_t{1} << 24;

// Queries of each sequence, evenly, the last among them, since it sees most keys; one at least, and as many as
// `products` are enough for.
EveryNth sample_of(const AttendCall& call, std::int64_t products);

// An element of the output, and what it should be. `allowed`: its bound, before it is stored.
struct JudgedElement {
  Row row{};
  std::int64_t head = 0;
  std::int64_t channel = 0;
  double is = 0.0;
  double expected = 0.0;
  double allowed = 0.0;
};
// Counts it in. `meets_non_finite`, asked where the reference or the bound is non-finite: whether what the query sees
// is, so that a finite output is wrong.
void hold(AttendError& worst, const JudgedElement& one, DType stored, const std::function<bool()>& meets_non_finite);

// Of a sample of the queries.
AttendError judge(const AttendCall& call, const ConstTensorView& out, std::int64_t products = kJudgedProducts);

}  // namespace posenc::tool

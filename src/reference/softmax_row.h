// The scores of one row and what its softmax makes of them: what attend() writes of, and attend_backward() computes
// again.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "reference/attention_row.h"
#include "reference/scores.h"

namespace posenc::inline v0_2::reference {

// The score of a key that the query does not see, and the sink of a layer that has none.
inline constexpr double kUnseen = -std::numeric_limits<double>::infinity();

// [keys] each. x is row.x. y and z are kUnseen where not seen, weights are 0 there.
struct SoftmaxRow {
  double scale = 1.0;              // that of x: scale tau_i
  std::vector<double> x_capped{};  // what the bias is added to: x, or cap tanh(x / cap); of seen keys
  std::vector<double> y{};
  std::vector<double> z{};
  std::vector<double> weights{};
  double lse = kUnseen;   // without the sink
  double sink = kUnseen;  // the sink's score
};

// cap tanh(y / cap) where the plan has a soft cap at this place, else y.
double capped(const std::optional<SoftCap>& cap, SoftCap::Order now, double y);

// Sets row.q, row.seen and row.x too. x is made of hidden keys as well; from the bias on, only keys that are seen
// count.
SoftmaxRow softmax_row(Scores& scores, Row& row);

}  // namespace posenc::inline v0_2::reference

// A call of a backward pass of attention: its checks, the forward call that it repeats, and what a row is given.
#pragma once

#include <functional>
#include <vector>

#include "posenc/reference_backward.h"
#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// Its `out` and `lse` are read by nobody: what is checked of them are the shapes of d_out and d_lse.
AttendArgs forward_call(const AttendBackwardArgs& args);

// Throws Error under the name `where`: as check_forward() does, whose out and lse stand for d_out and d_lse, and for
// gradients that do not fit.
void check_backward(const char* where, const LayerPlan& layer, const AttendBackwardArgs& args,
                    const std::function<void()>& check_forward);

// The gradients of a row's output, [value_dim], and of its lse.
struct RowGiven {
  std::vector<double> out;
  double lse = 0.0;
};

RowGiven given_for(const AttendBackwardArgs& args, const Row& row);

}  // namespace posenc::inline v0_2::reference

// How the axes of a port's tensor may stand, and one tensor held against its bound.
#pragma once

#include <string>
#include <vector>

#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

// A port's tensor seen along the axes of the expected one.
struct PortView {
  ConstTensorView view{};
  std::string words;  // "heads, tokens, head_dim"
};

// Every order of axes that fits; the first is the vectors' own, where that does. Empty: none fits.
std::vector<PortView> port_views(const VectorTensor& expected, const ConstTensorView& given);

// What else a tensor may be held to.
struct Held {
  const VectorTensor& expected;
  const VectorBound& bound;
  const VectorTensor* mask = nullptr;  // of scores: nothing is held where it is 0
  // Added to the expected elements of a query and head, [heads, queries], or nothing.
  std::vector<double> shift{};
};

// name, layout, dtype and remark are the caller's.
CheckedTensor hold(const Held& held, const ConstTensorView& port);

}  // namespace posenc::inline v0_2::golden

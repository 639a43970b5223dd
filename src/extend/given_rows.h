// How wide a softmax spreads over given queries and keys, if a sequence of them were as long as is asked.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/plan.h"
#include "posenc/rope.h"
#include "posenc/tensor.h"

namespace posenc::extend {

// Some of the given rows, in double.
class GivenRows {
 public:
  // Throws Error for tensors that do not fit the layer or each other, and for numbers that are not finite.
  GivenRows(const char* where, const LayerPlan& layer, const ConstTensorView& q, const ConstTensorView& k);

  // In nats, of a sequence of `length` tokens, rotated by `frequencies` where `rope` says and as the layer's regions
  // have it. Keys at evenly spread distances stand for all: their mean is that of the sum over every distance.
  double entropy(const LayerPlan& layer, const Rope& rope, const Frequencies& frequencies, std::int64_t length) const;

 private:
  double entropy_of(const LayerPlan& layer, const Rope& rope, const Frequencies& frequencies, std::int64_t length,
                    const double* query, std::int64_t head, std::vector<double>& scores) const;

  std::int64_t channels_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t kv_heads_ = 0;
  std::int64_t queries_ = 0;
  std::int64_t keys_ = 0;
  std::vector<double> q_;  // [queries][heads][channels]
  std::vector<double> k_;  // [keys][kv_heads][channels]
};

}  // namespace posenc::extend

// The learned tables that a layer's score terms read, from a checkpoint's weights.
#pragma once

#include <deque>
#include <string>

#include "models/arithmetic.h"
#include "posenc/attention.h"

namespace posenc::test {

class ScoreTables {
 public:
  // `at`: where the layer's attention has its weights. Both others must live as long.
  ScoreTables(const LayerPlan& layer, const std::string& at, Arithmetic& arithmetic);

  const LayerWeights& weights() const { return weights_; }

 private:
  std::deque<Tensor> made_;  // tables that are not weights as they are
  LayerWeights weights_;
};

}  // namespace posenc::test

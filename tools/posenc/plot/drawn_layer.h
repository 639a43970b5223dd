// A layer that is drawn by asking reference::attend: what it needs besides its plan, and its answer as a matrix.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "posenc/attention.h"
#include "posenc/plan.h"
#include "posenc/reference_attend.h"

namespace posenc::tool {

// Numbers that views look at, kept where they are.
// Each list has its own place in memory: views hold when more are added, and when the whole is moved.
class Tables {
 public:
  std::span<const double> keep(std::vector<double> values);
  ConstTensorView add(std::vector<double> values, std::initializer_list<std::int64_t> shape);

 private:
  std::vector<std::unique_ptr<std::vector<double>>> all_;
};

// Queries and keys are tokens of one sequence, [tokens, heads, head_dim]; left out, they are 0.
// `weights` and `inputs` are views of `tables` and `segments`, so this can be moved, not copied.
struct DrawnLayer {
  LayerPlan layer{};
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::vector<double> q{};
  std::vector<double> k{};
  LayerWeights weights{};
  LayerInputs inputs{};
  Tables tables{};
  std::vector<std::int32_t> segments{};  // of the keys; inputs view them
};

// One head's scores at one stage, [queries, keys]. A masked key has NaN in `biased`, 0 in `weights`, and in `content`
// its score all the same.
std::vector<double> scores_of(const DrawnLayer& drawn, reference::ScoreStage stage, std::int64_t head = 0);

}  // namespace posenc::tool

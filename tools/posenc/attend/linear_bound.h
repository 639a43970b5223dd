// What an output of linear attention may be off: the bound that docs/attention.md states, of one query.
//
//   o = N / Z      N_c = sum_j (R f(q)) . (R f(k_j)) v_jc,  Z = sum_j f(q) . f(k_j)       posenc/reference_linear.h
//
// N and Z are sums of products, each off by no more than its roundings times the magnitudes that it adds up; a quotient
// is off by what both are, relatively. Where cancellation leaves so little of Z that its own error is above a fiftieth
// of it, there is no bound: only `identity` can come to that, as the other maps have no features below 0.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/attend_call.h"
#include "posenc/feature_map.h"

namespace posenc::tool {

// f of one head, and what a float of it is off at most, in roundings, u = 2^-24.
struct Features {
  std::vector<double> values;
  std::vector<double> errors;
  double length = 0.0;        // |f|
  double error_length = 0.0;  // |errors|
  bool are_finite = true;
};

// What the keys that a query sees add up to.
class LinearBound {
 public:
  // `query` has to outlive it. `rotations`: main rotations of the layer.
  LinearBound(const Features& query, std::int64_t value_dim, std::int64_t rotations);

  void add(const Features& key, const double* values);  // [value_dim]
  // Of channel c, before it is stored, whose reference is `out`.
  double output(std::int64_t c, double out) const;

 private:
  const Features& query_;
  double rotated_;                           // roundings of both sides' rotation
  std::int64_t keys_ = 0;                    // that it sees
  double total_ = 0.0;                       // Z
  double of_total_ = 0.0;                    // sum_j sum_c |f(q)_c f(k_j)_c|
  double off_total_ = 0.0;                   // the same times what the features are off
  std::vector<double> size_, off_, values_;  // of N: sum_j |f(q)| |f(k_j)| |v_j|, features' part, sum_j |v_j|
};

// The features of a token's head, [head_dim], of a tensor as posenc attend has it.
Features features_of(const ConstTensorView& x, std::int64_t sequence, std::int64_t token, std::int64_t head,
                     FeatureMap map);

}  // namespace posenc::tool

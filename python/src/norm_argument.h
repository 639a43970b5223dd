// The norm of keys, as a plan says it, with what the model's weights give it.
// posenc::KeyNorm (cache.h) holds views, so the arrays of its weights are kept beside it. For rotate_into_cache and
// reference.normalise, which have the same keyword arguments.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "arrays/arrays.h"
#include "convert.h"
#include "describe/describe_plan.h"
#include "posenc/cache.h"

namespace posenc::python {

struct NormArgument {
  // norm_weight, [head_dim], [heads * head_dim] or [heads, head_dim]; norm_bias, as large, of a LayerNorm alone.
  ConstArray weight;
  ConstArray bias;
  // None where `scheme` is None: no norm is applied, and weights for one are refused with ValueError.
  std::optional<KeyNorm> norm;

  // scheme: LayerPlan.qk_norm, or None. epsilon: added under the root. plus_one: the weight is what is stored and 1
  // (Gemma). where: the function's name, for errors.
  NormArgument(nb::handle scheme, double epsilon, nb::handle weights, nb::handle biases, bool plus_one,
               const char* where)
      : weight(weights, {where, "norm_weight"}), bias(biases, {where, "norm_bias"}) {
    if (scheme.is_none()) {
      if (!weights.is_none()) refuse({where, "norm_weight"}, "have a norm to belong to", "given without one");
      if (!biases.is_none()) refuse({where, "norm_bias"}, "have a norm to belong to", "given without one");
      return;
    }
    norm = KeyNorm{.scheme = Convert<QkNorm>::from_python(scheme, {where, "norm"}),
                   .epsilon = epsilon,
                   .weight = weight.view(),
                   .bias = bias.view(),
                   .weight_plus_one = plus_one};
  }
};

}  // namespace posenc::python

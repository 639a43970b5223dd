// The norm of keys, as a plan says it, with what the model's weights give it.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "arrays/arrays.h"
#include "convert.h"
#include "describe/describe_plan.h"
#include "posenc/cache.h"

namespace posenc::python {

struct NormArgument {
  ConstArray weight;
  ConstArray bias;
  std::optional<KeyNorm> norm;

  NormArgument(nb::handle scheme, double epsilon, nb::handle weights, nb::handle biases, bool plus_one,
               const char* where)
      : weight(weights, {where, "norm_weight"}), bias(biases, {where, "norm_bias"}) {
    if (scheme.is_none()) return;
    norm = KeyNorm{.scheme = Convert<QkNorm>::from_python(scheme, {where, "norm"}),
                   .epsilon = epsilon,
                   .weight = weight.view(),
                   .bias = bias.view(),
                   .weight_plus_one = plus_one};
  }
};

}  // namespace posenc::python

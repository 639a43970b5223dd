// What attend, prepare_layer and reference.attend have in common: q, k, v, weights, and what changes from call to call.
// attend and reference.attend bind q, k, v and **keywords, and take the members of LayerInputs out of the keywords by
// their description (describe/describe_attention.h): what they can be given is said once. Views in weights() and
// inputs() point into arrays that these objects keep; they stay in the binding's frame while the GIL is released.
#pragma once

#include <nanobind/nanobind.h>

#include "arrays/arrays.h"
#include "kept.h"
#include "posenc/attention.h"
#include "posenc/plan.h"
#include "quantised.h"

namespace posenc::python {

// Learned tables, and the arrays that they are in.
class WeightArguments {
 public:
  // score_weights, value_weights and sinks, each of them or None.
  // score: an iterable with one object for each term of LayerPlan::score, None for a term without learned tables.
  // value: a ShawWeights. sinks: an array [heads]. `where`: the function's name, for errors. TypeError for an object of
  // another class; whether shapes fit the layer is for the library to check (ValueError).
  WeightArguments(const char* where, nb::handle score, nb::handle value, nb::handle sinks);

  const LayerWeights& weights() const { return weights_; }

 private:
  Kept kept_;
  LayerWeights weights_;
};

class AttendArguments {
 public:
  // Takes the inputs and weights out of `keywords`.
  // q, k, v: arrays, TypeError where one is None. The layout of each is checked by the library, against the layer.
  // `keywords` is the call's own dict; what is left in it belongs to the caller of this (out, lse, threads ...).
  // k and v may be Quantised where `takes_codes`.
  AttendArguments(const char* where, nb::handle q, nb::handle k, nb::handle v, nb::dict& keywords,
                  bool takes_codes = false);

  const ConstTensorView& q() const { return q_; }
  const ConstTensorView& k() const { return k_; }
  const ConstTensorView& v() const { return v_; }
  // Instead of k and v.
  ConstQuantisedView k_quantised() const { return k_codes_.view(); }
  ConstQuantisedView v_quantised() const { return v_codes_.view(); }
  const LayerWeights& weights() const { return weights_.weights(); }
  const LayerInputs& inputs() const { return inputs_; }

  // q's shape with other channels: that of the output.
  std::vector<std::int64_t> out_shape(std::int64_t channels) const;
  // And without: that of the lse.
  std::vector<std::int64_t> lse_shape() const;

 private:
  Kept kept_;
  ConstTensorView q_, k_, v_;
  QuantisedArgument k_codes_, v_codes_;
  WeightArguments weights_;
  LayerInputs inputs_;
};

// What is left of `keywords` by this name, or None.
// For arguments that one function alone has. The entry is removed.
nb::object popped(nb::dict& keywords, const char* name);
// TypeError for what is left after all.
// Called when everything has been taken: a misspelled keyword must not be ignored.
void require_empty(const nb::dict& keywords, const char* where);

// The parts of signatures and docs that they share: of learned tables, and of what changes from call to call.
extern const char* const kWeightsSignature;
extern const char* const kWeightsDoc;
extern const char* const kInputsSignature;
extern const char* const kInputsDoc;

}  // namespace posenc::python

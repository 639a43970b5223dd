// Gradients of attention by the float64 reference.
// reference.attend_backward (posenc/reference.py) and gradient_names. Gradients come as new float64 arrays of q's
// library, by the names of the members that the library writes.
#include <deque>

#include "arrays/arrays.h"
#include "attend_arguments.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "posenc/named_weights.h"
#include "posenc/reference_backward.h"
#include "signal_watch.h"
#include "signature.h"

namespace posenc::python {
namespace {

nb::list gradient_names_call(const LayerPlan& layer, nb::handle score, nb::handle value, nb::handle sinks) {
  const WeightArguments weights("gradient_names", score, value, sinks);
  nb::list out;
  for (const std::string& name : gradient_names(layer, weights.weights())) out.append(name.c_str());
  return out;
}

// A new array of q's library for the gradient of `like`, kept in `results` by that name; none where there is no `like`.
TensorView new_gradient(nb::dict& results, const char* name, nb::handle q, const ConstTensorView& like) {
  if (like.empty()) return {};
  const NewArray made = new_array(q, DType::f64, std::span(like.shape).first(static_cast<std::size_t>(like.rank)));
  results[name] = made.object;
  return made.view;
}

nb::dict attend_backward_in_double(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v, nb::handle d_out,
                                   const nb::kwargs& given) {
  const char* where = "reference.attend_backward";
  nb::dict keywords;
  keywords.update(given);
  const AttendArguments common(where, q, k, v, keywords);
  const ConstArray of_out(d_out, {where, "d_out"});
  const ConstArray of_lse(popped(keywords, "d_lse"), {where, "d_lse"});
  require_empty(keywords, where);

  nb::dict results;
  reference::AttendBackwardArgs args{.q = common.q(),
                                     .k = common.k(),
                                     .v = common.v(),
                                     .weights = common.weights(),
                                     .inputs = common.inputs(),
                                     .d_out = of_out.view(),
                                     .d_lse = of_lse.view(),
                                     .keep_going = [] { return false; }};
  // Refuses what does not fit, before memory is taken for gradients of such sizes; computes nothing.
  (void)reference::attend_backward(layer, args);
  args.keep_going = SignalWatch();
  args.d_q = new_gradient(results, "d_q", q, args.q);
  args.d_k = new_gradient(results, "d_k", q, args.k);
  args.d_v = new_gradient(results, "d_v", q, args.v);
  args.d_bias = new_gradient(results, "d_bias", q, args.inputs.bias);
  args.d_log_forget = new_gradient(results, "d_log_forget", q, args.inputs.log_forget);
  args.d_row_gate = new_gradient(results, "d_row_gate", q, args.inputs.row_gate);
  nb::dict of_weights;
  const std::vector<std::string> names = gradient_names(layer, args.weights);
  std::vector<NamedGradient> learned;
  for (const std::string& name : names) {
    const NewArray made = new_array(q, DType::f64, gradient_shape(layer, args.weights, name));
    of_weights[name.c_str()] = made.object;
    learned.push_back({name, made.view});
  }
  args.d_weights = learned;
  results["d_weights"] = of_weights;
  finish([&] { return reference::attend_backward(layer, args); });
  return results;
}

}  // namespace

void bind_reference_backward(nb::module_& m) {
  m.def("gradient_names", &gradient_names_call, nb::arg("layer"), nb::kw_only(), nb::arg("score_weights") = nb::tuple(),
        nb::arg("value_weights") = nb::none(), nb::arg("sinks") = nb::none(),
        nb::sig(with_array_types("def gradient_names(layer: LayerPlan, *, score_weights: "
                                 "collections.abc.Iterable[typing.Any] = (), value_weights: ShawWeights | None = None, "
                                 "sinks: ArrayLike | None = None) -> list[str]")
                    .c_str()),
        "All that a layer has learned, by the names of its gradients: those of named_weights for learned tables that "
        "are given, 'slopes' of ALiBi, 'inv_freq' of a rotation ('n.inv_freq' where there are several).");
  const std::string signature =
      std::string(
          "def _reference_attend_backward(layer: LayerPlan, q: ArrayLike, k: ArrayLike, v: ArrayLike, "
          "d_out: ArrayLike, *, d_lse: ArrayLike | None = None, ") +
      kWeightsSignature + kInputsSignature + ") -> dict[str, typing.Any]";
  const std::string doc =
      std::string(
          "Gradients of attention by the formulas, one query and key at a time: of L, where d_out is dL/d out, like "
          "the output of attend, and d_lse dL/d lse, by default 0. float64 comes out.\n\n"
          "Returns a dict: 'd_q', 'd_k', 'd_v'; 'd_bias', 'd_log_forget', 'd_row_gate' of inputs that are given; and "
          "'d_weights', a dict by the names of gradient_names. Each has the shape of what it is the gradient of. "
          "docs/training.md has the formulas, and what is taken where there is no derivative.\n\n") +
      kWeightsDoc + kInputsDoc;
  m.def("_reference_attend_backward", &attend_backward_in_double, nb::arg("layer"), nb::arg("q"), nb::arg("k"),
        nb::arg("v"), nb::arg("d_out"), nb::arg("keywords"), nb::sig(with_array_types(signature).c_str()), doc.c_str());
}

}  // namespace posenc::python

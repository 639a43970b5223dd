// A layer whose weights are prepared once, and what keeps the arrays of those weights.
// prepare_layer, and the class posenc.PreparedLayer that attend takes instead of a LayerPlan (prepared.h).
#include <string>
#include <utility>

#include "attend_arguments.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "prepared.h"
#include "signature.h"

namespace posenc::python {
namespace {

// PreparedLayer looks at arrays that somebody else owns: here they are kept with it, and what was given for them.
struct HeldLayer {
  // Before `prepared`, whose views point into these arrays, and so destroyed after it.
  WeightArguments weights;
  nb::object score_given, value_given, sinks_given;
  PreparedLayer prepared;
};

HeldLayer prepare_layer_call(const LayerPlan& layer, nb::handle score, nb::handle value, nb::handle sinks,
                             nb::handle max_distance, nb::handle threads, nb::handle isa) {
  const char* where = "prepare_layer";
  // TypeError for what is no iterable.
  const nb::tuple score_given(score);  // an iterator can be asked once
  WeightArguments weights(where, score_given, value, sinks);
  const PrepareOptions options{
      .max_distance = Convert<std::int64_t>::from_python(max_distance, {where, "max_distance"}),
      .parallel = {.threads = Convert<std::int64_t>::from_python(threads, {where, "threads"})},
      .isa = Convert<Isa>::from_python(isa, {where, "isa"})};
  PreparedLayer prepared = [&] {
    const nb::gil_scoped_release released;
    return prepare_layer(layer, weights.weights(), options);
  }();
  return {std::move(weights), score_given, nb::borrow(value), nb::borrow(sinks), std::move(prepared)};
}

void bind_class(nb::module_& m) {
  nb::class_<HeldLayer>(m, "PreparedLayer", nb::is_final(),
                        "A layer with prepared weights, for many calls of attend: prepare_layer makes it. It "
                        "does not change; threads may share it. It keeps the arrays of its weights, which must not "
                        "change either as long as calls are made.")
      .def_prop_ro(
          "layer",
          [](nb::handle self) {
            return Convert<LayerPlan>::to_python(nb::inst_ptr<HeldLayer>(self)->prepared.layer(), self);
          },
          nb::for_getter(nb::sig("def layer(self) -> LayerPlan")), "The plan, as it was then.")
      .def_prop_ro(
          "score_weights", [](const HeldLayer& self) { return self.score_given; },
          nb::for_getter(nb::sig("def score_weights(self) -> tuple[typing.Any, ...]")), "As they were given.")
      .def_prop_ro(
          "value_weights", [](const HeldLayer& self) { return self.value_given; },
          nb::for_getter(nb::sig("def value_weights(self) -> ShawWeights | None")), "As they were given.")
      .def_prop_ro(
          "sinks", [](const HeldLayer& self) { return self.sinks_given; },
          nb::for_getter(nb::sig("def sinks(self) -> typing.Any")), "As they were given.")
      .def_prop_ro(
          "isa", [](const HeldLayer& self) { return Convert<Isa>::to_python(self.prepared.isa(), {}); },
          nb::for_getter(nb::sig(("def isa(self) -> " + Convert<Isa>::type()).c_str())),
          "Which kernels calls run on; never 'automatic'.")
      .def_prop_ro(
          "bytes", [](const HeldLayer& self) { return self.prepared.bytes(); }, "Of what is kept.");
}

}  // namespace

const PreparedLayer* prepared_layer(nb::handle layer) {
  return nb::isinstance<HeldLayer>(layer) ? &nb::inst_ptr<HeldLayer>(layer)->prepared : nullptr;
}

void bind_prepared_layer(nb::module_& m) {
  bind_class(m);
  const std::string signature = std::string("def prepare_layer(layer: LayerPlan, *, ") + kWeightsSignature +
                                "max_distance: int = 8191, " + how_signature() + ") -> PreparedLayer";
  const std::string doc =
      std::string(
          "What attend makes of a layer's learned tables before it looks at a token, made once: DeBERTa's position "
          "rows through the projections of keys and queries, biases by distance (T5, KERPLE, Sandwich, learned ones, "
          "perceptrons), vectors as floats. attend(prepared, q, k, v) gives the very bits of attend(layer, q, k, v) "
          "with the same tables, for calls of all lengths, positions and batches.\n\n") +
      kWeightsDoc +
      "max_distance: biases are kept of distances up to here, or to where buckets or a window end; a call that reaches "
      "farther makes its own. isa: of the calls, too.\n\n"
      "ValueError for a layer that attend does not take, for tables that do not fit it, and for distances of which "
      "biases would take more than 1 GiB. The GIL is released.";
  def(m, {signature}, doc.c_str(), &prepare_layer_call, nb::arg("layer"), nb::kw_only(),
      nb::arg("score_weights") = nb::make_tuple(), nb::arg("value_weights") = nb::none(), nb::arg("sinks") = nb::none(),
      nb::arg("max_distance") = PrepareOptions{}.max_distance, nb::arg("threads") = 0, nb::arg("isa") = "automatic");
}

}  // namespace posenc::python

// Two plans side by side. What names a model: posenc/_compare.py, which calls _compare with two plans.
#include "describe/describe_compare.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/compare.h"

namespace posenc::python {

void bind_compare(nb::module_& m) {
  // Values, since a Comparison is compared and pickled with all of its parts. Parts come before the whole.
  bind_value<LayerRun>(m).def(
      "selection", [](const LayerRun& run) { return selection(run); },
      "The blocks, shortly: '0-4, 6-10' or '5, 11, ..., 59 (every 6th)'.");
  bind_value<ComparedLayers>(m);
  bind_value<ComparedValue>(m);
  bind_value<Difference>(m);
  bind_value<CachedKeys>(m);
  bind_value<PairingChange>(m);
  bind_value<AngleChange>(m);
  bind_value<SoftmaxScaleChange>(m);
  bind_value<ComparedPlan>(m);
  bind_value<Comparison>(m)
      .def(
          "describe", [](const Comparison& comparison) { return describe(comparison); },
          "The verdict on the first line, then the differences by runs of layers, then what follows.")
      .def(
          "to_json", [](const Comparison& comparison) { return to_json(comparison); },
          "JSON as docs/compare.schema.json says.");
  m.def(
      "_compare",
      [](const Plan& a, const Plan& b, double tolerance) { return compare(a, b, {.tolerance = tolerance}); },
      nb::arg("a"), nb::arg("b"), nb::kw_only(), nb::arg("tolerance") = CompareOptions{}.tolerance);
  m.def(
      "layer_runs", [](const Stack& stack) { return Convert<std::vector<LayerRun>>::to_python(layer_runs(stack), {}); },
      nb::arg("stack"), nb::sig("def layer_runs(stack: Stack) -> tuple[LayerRun, ...]"),
      "Equal layers together, in the order of each run's first layer; every layer is in exactly one run.");
}

}  // namespace posenc::python

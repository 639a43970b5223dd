// What a port's rotation did. Which rotation of which model is meant: posenc/_diagnose.py.
#include <optional>

#include "arrays/arrays.h"
#include "describe/describe_diagnose.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/diagnose.h"
#include "signature.h"

namespace posenc::python {
namespace {

Diagnosis diagnosis_of(nb::handle before, nb::handle after, const Rotate* rotate, const Plan* plan, nb::handle length,
                       nb::handle start, nb::handle positions) {
  const char* where = "diagnose";
  using Whole = std::optional<std::int64_t>;
  const ConstArray x(given(before, {where, "before"}), {where, "before"});
  const ConstArray y(given(after, {where, "after"}), {where, "after"});
  const Numbers<double> places(positions, {where, "positions"});
  const DiagnoseArgs args{.before = x.view(),
                          .after = y.view(),
                          .rotate = rotate,
                          .plan = plan,
                          .length = Convert<Whole>::from_python(length, {where, "length"}),
                          .start = Convert<Whole>::from_python(start, {where, "start"}),
                          .positions = places.span()};
  const nb::gil_scoped_release released;
  return diagnose(args);
}

}  // namespace

void bind_diagnose(nb::module_& m) {
  bind_value<PortFinding>(m);
  bind_value<Diagnosis>(m)
      .def(
          "describe", [](const Diagnosis& diagnosis) { return describe(diagnosis); },
          "The verdict on the first line, then what was found and how to mend it.")
      .def(
          "to_json", [](const Diagnosis& diagnosis) { return to_json(diagnosis); }, "JSON as docs/diagnose.md says.");
  m.def("_diagnose", &diagnosis_of, nb::arg("before"), nb::arg("after"), nb::kw_only(),
        nb::arg("rotate").none() = nb::none(), nb::arg("plan").none() = nb::none(),
        nb::arg("length").none() = nb::none(), nb::arg("start").none() = nb::none(),
        nb::arg("positions").none() = nb::none(),
        nb::sig(with_array_types("def _diagnose(before: ArrayLike, after: ArrayLike, *, rotate: Rotate | None = None, "
                                 "plan: Plan | None = None, length: int | None = None, start: int | None = None, "
                                 "positions: PositionsLike | None = None) -> Diagnosis")
                    .c_str()));
}

}  // namespace posenc::python

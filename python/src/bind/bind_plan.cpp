// Plans and their parts.
// Values, so that an experiment is a replace(); read_plan, which makes them of files, is bind_read_plan.cpp.
#include "describe/describe_plan.h"
#include "describe/value_type.h"
#include "file_error.h"
#include "module.h"

namespace posenc::python {

void bind_plan(nb::module_& m) {
  // Parts before the whole: each class's defaults are shown in the signature of the next.
  bind_value<Rotate>(m).def_prop_ro(
      "rope", [](nb::handle self) { return Convert<Rope>::to_python(rope(*nb::inst_ptr<Rotate>(self)), self); },
      nb::for_getter(nb::sig("def rope(self) -> Rope")), "The rotation's Rope, whichever scheme it is.");
  bind_value<Window>(m);
  bind_value<Mask>(m);
  bind_value<SoftCap>(m);
  bind_value<QkNorm>(m);
  bind_value<Mixing>(m);
  bind_value<Added>(m);
  bind_value<LayerPlan>(m);
  bind_value<Stack>(m);
  bind_value<PlanSource>(m);
  bind_value<ValueSource>(m);
  bind_value<Warning>(m);
  bind_value<Plan>(m)
      .def(
          "describe", [](const Plan& plan) { return describe(plan); },
          "One paragraph a stack, equal runs of layers merged. Plain ASCII, lines of at most 80 columns.")
      .def(
          "to_json", [](const Plan& plan) { return to_json(plan); },
          "JSON as docs/plan.schema.json says, with each rotation's inv_freq at plan.length. ValueError for a plan "
          "that "
          "JSON cannot hold. plan_from_json(plan.to_json()) == plan.");
  m.def(
      "plan_from_json",
      // The GIL is kept: a plan's JSON is small.
      [](const std::string& json, const std::string& name) { return value_or_raise(plan_from_json(json, name)); },
      nb::arg("json"), nb::kw_only(), nb::arg("name") = "plan.json",
      "A plan from its own JSON. FileError for anything else; `name` stands for the file in it.");
}

}  // namespace posenc::python

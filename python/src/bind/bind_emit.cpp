// Code of a layer. What names a model: posenc/_emit.py, which calls _emit with a plan.
#include <optional>
#include <string>

#include "describe/describe_emit.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/emit.h"

namespace posenc::python {

void bind_emit(nb::module_& m) {
  bind_value<EmittedFunction>(m);
  bind_value<EmittedCode>(m).def(
      "to_json", [](const EmittedCode& code) { return to_json(code); }, "JSON as docs/emit.md says.");
  m.def(
      "_emit",
      [](const Plan& plan, nb::handle as, nb::handle stack, nb::handle layer, bool cross) {
        return emit(plan,
                    {.as = Convert<EmitTarget>::from_python(as, {"emit", "as_"}),
                     .stack = Convert<std::optional<std::string>>::from_python(stack, {"emit", "stack"}),
                     .layer = Convert<std::optional<std::int64_t>>::from_python(layer, {"emit", "layer"}),
                     .cross = cross});
      },
      nb::arg("plan"), nb::arg("as_"), nb::kw_only(), nb::arg("stack").none() = nb::none(),
      nb::arg("layer").none() = nb::none(), nb::arg("cross") = false,
      nb::sig("def _emit(plan: Plan, as_: str, *, stack: str | None = None, layer: int | None = None, "
              "cross: bool = False) -> EmittedCode"));
}

}  // namespace posenc::python

// Ways to a longer context. What names a model: posenc/_extend.py, which calls _study_extension with a plan.
#include <cstdint>
#include <optional>

#include "describe/value_type.h"
#include "module.h"
#include "posenc/extend.h"

namespace posenc::python {

void bind_extend(nb::module_& m) {
  m.def(
      "_study_extension",
      [](const Plan& plan, nb::handle to, nb::handle from) {
        return to_json(study_extension(
            plan, {.to = Convert<std::int64_t>::from_python(to, {"study_extension", "to"}),
                   .from = Convert<std::optional<std::int64_t>>::from_python(from, {"study_extension", "from_"})}));
      },
      nb::arg("plan"), nb::arg("to"), nb::kw_only(), nb::arg("from_").none() = nb::none(),
      nb::sig("def _study_extension(plan: Plan, to: int, *, from_: int | None = None) -> str"));
}

}  // namespace posenc::python

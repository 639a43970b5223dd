// Reports of plans. What names a model: posenc/_report.py, which calls _report with plans.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "describe/value_type.h"
#include "module.h"
#include "posenc/report.h"

namespace posenc::python {

void bind_report(nb::module_& m) {
  m.def(
      "_report",
      [](const nb::list& models, nb::handle length, nb::handle against, bool page) {
        std::vector<Plan> plans;
        for (const nb::handle model : models) plans.push_back(nb::cast<const Plan&>(model));
        std::optional<Plan> other;
        if (!against.is_none()) other = nb::cast<const Plan&>(against);
        const ReportOptions options{
            .length = Convert<std::optional<std::int64_t>>::from_python(length, {"report", "length"}),
            .against = other ? &*other : nullptr};
        return page ? report_html(plans, options) : report_json(plans, options);
      },
      nb::arg("plans"), nb::kw_only(), nb::arg("length").none() = nb::none(), nb::arg("against").none() = nb::none(),
      nb::arg("page") = true,
      nb::sig("def _report(plans: list[Plan], *, length: int | None = None, against: Plan | None = None, "
              "page: bool = True) -> str"));
}

}  // namespace posenc::python

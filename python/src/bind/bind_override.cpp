// Plans with facts set by the user. What names a model: posenc/_override.py, which calls these with a plan.
#include "describe/describe_override.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/override_plan.h"
#include "posenc/read_plan.h"

namespace posenc::python {

void bind_override(nb::module_& m) {
  bind_value<OverridePatch>(m);
  m.def("_preset_config", [](const std::string& name) {
    for (const Preset& preset : presets()) {
      if (preset.name == name) return std::string(preset.config_json);
    }
    return std::string();
  });
  m.def(
      "_override",
      [](const Plan& plan, nb::handle settings) {
        return override_plan(plan, Convert<std::vector<std::string>>::from_python(settings, {"override", "settings"}));
      },
      nb::arg("plan"), nb::arg("settings"));
  m.def(
      "_override_patches",
      [](const Plan& plan, nb::handle settings, const std::string& config) {
        const auto words = Convert<std::vector<std::string>>::from_python(settings, {"override_patches", "settings"});
        return Convert<std::vector<OverridePatch>>::to_python(override_patches(plan, words, config), {});
      },
      nb::arg("plan"), nb::arg("settings"), nb::arg("config"),
      nb::sig("def _override_patches(plan: Plan, settings: object, config: str) -> tuple[OverridePatch, ...]"));
}

}  // namespace posenc::python

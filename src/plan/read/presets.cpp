// Models that are built in, read by the reader of every config.json.
#include <algorithm>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "plan/families/preset_table.h"
#include "plan/keys/nearest_names.h"
#include "plan/read/config_plan.h"
#include "posenc/read_plan.h"

namespace posenc::inline v0_2 {
namespace {

Problem no_such_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  const auto nearest = plan::nearest_names(name, names, 2);
  return {"name", formatted("name a built-in model, such as {} or {},", nearest[0], nearest[1]),
          formatted("\"{}\"", name)};
}

}  // namespace

std::span<const Preset> presets() noexcept { return plan::preset_table(); }

Plan preset_plan(std::string_view name, const ReadOptions& options) {
  plan::require_length(options);
  const auto preset = std::ranges::find(presets(), name, &Preset::name);
  if (preset == presets().end()) throw Error("preset_plan", no_such_preset(name));
  return plan::read_config(preset->config_json, {SourceKind::preset, std::string(name)}, options).value();
}

}  // namespace posenc::inline v0_2

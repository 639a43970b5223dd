// posenc info prints what bug reports need, from posenc/info.h; posenc presets a row for each built-in model, from its
// plan. docs/cli.md shows both.
#include "inspect/facts_commands.h"

#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inspect/brief_row.h"
#include "inspect/layer_groups.h"
#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/info.h"
#include "posenc/read_plan.h"
#include "posenc/rotary_table.h"

namespace posenc::tool {
namespace {

// An empty POSENC_ISA is as none (src/cpu/machine/dispatch.cpp).
std::string why_selected() {
  const char* asked = std::getenv("POSENC_ISA");
  return asked != nullptr && *asked != '\0' ? "set by POSENC_ISA" : "best of this machine";
}

std::vector<std::string> isa_names(const std::vector<Isa>& isas) {
  std::vector<std::string> names;
  for (const Isa isa : isas) names.emplace_back(name(isa));
  return names;
}

std::vector<std::string> quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(json_string(text));
  return out;
}

// The limits are those of posenc/rotary_table.h.
std::string info_json(const Info& i) {
  return json_object({
             {"schema_version", "1"},
             {"version", json_string(i.version)},
             {"compiler", json_string(i.compiler)},
             {"build_type", json_string(i.build_type)},
             {"cpu", json_string(i.cpu)},
             {"cpu_features", json_array(quoted(i.cpu_features))},
             {"kernels", json_array(quoted(isa_names(i.isas)))},
             {"selected", json_string(name(i.selected))},
             {"selected_because", json_string(why_selected())},
             {"limits", json_object({{"exact_position", std::to_string(1LL << 31)},
                                     {"largest_position", std::to_string(1LL << 53)},
                                     {"table_bytes", std::to_string(TableOptions{}.max_bytes)}})},
         }) +
         "\n";
}

std::string info_text(const Info& i) {
  constexpr std::int64_t kAt = 13;
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, "posenc " + i.version));
  page.entry(2, "compiler", kAt, i.compiler + (i.build_type.empty() ? "" : ", " + i.build_type));
  page.entry(2, "cpu", kAt, i.cpu.empty() ? "not named" : printable(i.cpu));
  page.entry(2, "features", kAt, i.cpu_features.empty() ? "none" : join(i.cpu_features, " "));
  page.entry(2, "kernels", kAt, join(isa_names(i.isas), ", "));
  page.entry(2, "selected", kAt, formatted("{} ({})", name(i.selected), why_selected()));
  page.entry(2, "limits", kAt,
             formatted("exact angles within 1 ulp to position 2^31, within 6e-8 to 2^53; tables of at most {} MiB "
                       "by default",
                       TableOptions{}.max_bytes >> 20));
  return page.text();
}

std::string stacks_json(const Plan& plan) {
  std::vector<std::string> stacks;
  for (const Stack& stack : plan.stacks) {
    stacks.push_back(json_object({{"name", json_string(stack.name)}, {"layers", std::to_string(block_count(stack))}}));
  }
  return json_array(stacks);
}

// Blocks of all stacks together: in JSON `layers` is a number.
std::int64_t layers_of_all(const Plan& plan) {
  std::int64_t layers = 0;
  for (const Stack& stack : plan.stacks) layers += block_count(stack);
  return layers;
}

// One row of the table, in the order of its head (run_presets).
std::vector<std::string> preset_row(const Preset& preset, const Plan& plan) {
  return {std::string(preset.name),
          layers_text(plan),
          different_of_ropes(plan, [](const Rope& r) { return pairing_text(r.pairing); }),
          different_of_ropes(plan, [](const Rope& r) { return formatted("{}/{}", r.dim, r.head_dim); }),
          different_of_ropes(plan, [](const Rope& r) { return short_base(r.base); }),
          different_of_ropes(plan, [](const Rope& r) { return short_rule(r.scaling); }),
          plan.trained_length ? std::to_string(*plan.trained_length) : "-"};
}

}  // namespace

int run_info(const InfoArguments& arguments) {
  const Info i = info();
  return write_output(arguments.json ? info_json(i) : info_text(i));
}

int run_presets(const PresetsArguments& arguments) {
  std::vector<std::vector<std::string>> rows{{"preset", "layers", "pairing", "rotated", "base", "scaling", "trained"}};
  // Presets whose plan no test holds against that of the model's own file (Preset::checked).
  std::vector<std::string> unchecked;
  for (const Preset& preset : presets()) {
    rows.push_back(preset_row(preset, preset_plan(preset.name)));
    if (!preset.checked) unchecked.emplace_back(preset.name);
  }
  if (!arguments.json) {
    Page page(output_wants_colour());
    page.table(0, rows);
    page.blank();
    page.entry(0, "half:", 13, "half-split (NeoX, rotate_half)");
    page.entry(0, "interleaved:", 13, "GPT-J");
    if (!unchecked.empty()) {
      page.entry(0, "not checked", 13, "against the model's own file: " + join(unchecked, ", "));
    }
    return write_output(page.text());
  }
  std::vector<std::string> entries;
  for (const Preset& preset : presets()) {
    const Plan plan = preset_plan(preset.name);
    entries.push_back(
        json_object({{"name", json_string(preset.name)},
                     {"family", json_string(plan.family)},
                     {"trained_length", plan.trained_length ? std::to_string(*plan.trained_length) : "null"},
                     {"layers", std::to_string(layers_of_all(plan))},
                     {"stacks", stacks_json(plan)},
                     {"checked", preset.checked ? "true" : "false"}}));
  }
  return write_output(json_object({{"schema_version", "1"}, {"presets", json_array(entries)}}) + "\n");
}

}  // namespace posenc::tool

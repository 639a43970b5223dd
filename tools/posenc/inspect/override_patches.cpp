// A section for each form: the patch or the flags, ready to be copied, then what the form cannot say.
#include "inspect/override_patches.h"

#include <string>
#include <string_view>
#include <vector>

#include "line/exit_code.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/model_argument.h"
#include "line/page.h"
#include "line/text.h"
#include "posenc/override_plan.h"

namespace posenc::tool {
namespace {

std::string patches_json(const std::vector<OverridePatch>& patches, const PlanAndConfig& read, const ModelWord& model) {
  std::vector<std::string> set;
  for (const std::string& words : model.set) set.push_back(json_string(words));
  return json_object({{"schema_version", "1"},
                      {"model", json_string(read.plan.source.name)},
                      {"set", json_array(set)},
                      {"forms", to_json(patches)}}) +
         "\n";
}

}  // namespace

// Lines are not broken: they are there to be copied.
void add_patch(Page& page, const OverridePatch& patch) {
  page.blank();
  page.line(page.paint(Style::bold, std::string(title(patch.form))));
  std::string_view rest = patch.text.empty() ? std::string_view("nothing") : std::string_view(patch.text);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    page.line("  " + printable(std::string(rest.substr(0, end))));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::string_view label = "not said";
  for (const std::string& sentence : patch.unsaid) {
    page.entry(2, label, 12, printable(sentence), Style::warning);
    label = "";
  }
}

int run_override_patches(const InspectArguments& arguments) {
  const PlanAndConfig read = plan_and_config(arguments.models.front(), arguments.length);
  // Settings that cannot be carried out are told as everywhere.
  (void)with_settings(read.plan, arguments.models.front());
  const std::vector<OverridePatch> patches = of_model(
      read.plan.source.name, [&] { return override_patches(read.plan, arguments.models.front().set, read.config); });
  if (arguments.json) return write_output(patches_json(patches, read, arguments.models.front()));
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, printable(read.plan.source.name)) + " with " +
            printable(join(arguments.models.front().set, ", ")));
  for (const OverridePatch& patch : patches) add_patch(page, patch);
  return write_output(page.text());
}

}  // namespace posenc::tool

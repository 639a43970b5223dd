// posenc properties --list: the schemes and what they are measured with.
// A row each: name, stage, and the numbers of the specimen. It stands with the other tables of property_tables.h.
#include "line/json_text.h"
#include "line/page.h"
#include "properties/property_tables.h"

namespace posenc::tool {

std::string scheme_list(const PropertiesArguments& arguments) {
  const std::vector<MeasuredScheme> schemes = asked_schemes(arguments);
  if (arguments.json) {
    std::vector<std::string> list;
    for (const MeasuredScheme& scheme : schemes) list.push_back(scheme_json(scheme, {}));
    return document_json({{"schemes", json_array(list)}});
  }
  std::vector<std::vector<std::string>> rows{{"scheme", "stage", "measured with"}};
  for (const MeasuredScheme& scheme : schemes) {
    rows.push_back({scheme.name, std::string(name(scheme.stage)), scheme.about});
  }
  Page page(output_wants_colour());
  page.table(0, rows);
  return page.text();
}

}  // namespace posenc::tool

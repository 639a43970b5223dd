// From the view that was asked for to its table (property_tables.h).
#include "properties/properties_command.h"

#include <string>

#include "line/page.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

std::string table_of(const PropertiesArguments& arguments) {
  switch (arguments.view) {
    case PropertiesView::properties: return property_table(arguments);
    case PropertiesView::list: return scheme_list(arguments);
    case PropertiesView::cost: return cost_table(arguments);
    case PropertiesView::order: return order_table(arguments);
    case PropertiesView::four_terms: return four_terms_table(arguments);
    case PropertiesView::decay: return decay_table(arguments);
    case PropertiesView::noise: return noise_table(arguments);
  }
  return {};
}

}  // namespace

int run_properties(const PropertiesArguments& arguments) { return write_output(table_of(arguments)); }

}  // namespace posenc::tool

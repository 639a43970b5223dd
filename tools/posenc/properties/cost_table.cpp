// posenc properties --cost: what a scheme costs on top of plain attention.
//
// Counts of operations and bytes, not times: a kernel may be bound by something else. --tokens sets the length; 4 heads
// of 64 channels are CostSizes' defaults.
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

double operations(const Cost& cost) { return cost.additions + cost.products; }

std::string millions(double count) { return number(count / 1e6, 3); }

// The last column is additions and products together, over those of plain attention.
std::vector<std::string> cost_row(std::string_view name, const Cost& cost, const Cost& plain) {
  return {std::string(name),
          millions(cost.additions),
          millions(cost.products),
          number(cost.parameters),
          number(cost.bytes / 1024, 4),
          formatted("{:.1f} %", 100 * operations(cost) / operations(plain))};
}

std::string cost_text(const std::vector<MeasuredScheme>& schemes, const CostSizes& sizes) {
  const Cost plain = plain_attention_cost(sizes);
  std::vector<std::vector<std::string>> rows{
      {"scheme", "additions", "products", "parameters", "KiB read", "of attention"}, {"", "10^6", "10^6", "", "", ""}};
  rows.push_back(cost_row("(plain attention)", plain, plain));
  for (const MeasuredScheme& scheme : schemes) rows.push_back(cost_row(scheme.name, cost(scheme.name, sizes), plain));
  Page page(output_wants_colour());
  page.line(
      page.paint(Style::bold, formatted("Cost over plain attention, {} tokens, bidirectional, {} heads of {} channels",
                                        sizes.tokens, sizes.heads, sizes.head_dim)));
  page.table(0, rows);
  page.blank();
  page.entry(
      0, "", 0,
      "One sequence, one layer; a scheme of the input stage once for all layers. A product that is summed counts "
      "as both. Tables that no token changes are made once, and not counted; KiB read: those in f32, of "
      "plain attention keys and values. Parameters: learned numbers.");
  return page.text();
}

std::string cost_json(const Cost& cost) {
  return json_object({{"additions", json_number(cost.additions)},
                      {"products", json_number(cost.products)},
                      {"parameters", json_number(cost.parameters)},
                      {"bytes", json_number(cost.bytes)}});
}

std::string cost_json(const std::vector<MeasuredScheme>& schemes, const CostSizes& sizes) {
  std::vector<std::string> list;
  for (const MeasuredScheme& scheme : schemes) {
    list.push_back(scheme_json(scheme, {{"cost", cost_json(cost(scheme.name, sizes))}}));
  }
  return document_json({{"sizes", json_object({{"tokens", std::to_string(sizes.tokens)},
                                               {"heads", std::to_string(sizes.heads)},
                                               {"head_dim", std::to_string(sizes.head_dim)}})},
                        {"plain_attention", cost_json(plain_attention_cost(sizes))},
                        {"schemes", json_array(list)}});
}

}  // namespace

std::string cost_table(const PropertiesArguments& arguments) {
  const std::vector<MeasuredScheme> schemes = asked_schemes(arguments);
  const CostSizes sizes{.tokens = arguments.tokens};
  return arguments.json ? cost_json(schemes, sizes) : cost_text(schemes, sizes);
}

}  // namespace posenc::tool

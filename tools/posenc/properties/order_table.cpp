// posenc properties --order: whether outputs tell in which order the tokens stood.
//
// Attention without positions and without a mask cannot tell: outputs are permuted with their queries, and do not
// change when keys and values are permuted together. src/properties/order.cpp has the sentences.
#include <algorithm>

#include "line/json_text.h"
#include "line/page.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

struct OrderRow {
  MeasuredScheme scheme;
  OrderExperiment found;
};

std::vector<OrderRow> experiments(const std::vector<MeasuredScheme>& schemes) {
  std::vector<OrderRow> out;
  for (const MeasuredScheme& scheme : schemes) out.push_back({scheme, order_experiment(scheme.name)});
  return out;
}

// `mask` picks one of the experiment's two: under a bidirectional or a causal mask.
void add_table(Page& page, std::string_view title, const std::vector<OrderRow>& all, OrderSeen OrderExperiment::*mask) {
  std::vector<std::vector<std::string>> rows{{"scheme", "dogs", "sentences", "queries", "keys and values"}};
  for (const OrderRow& one : all) {
    const OrderSeen& seen = one.found.*mask;
    rows.push_back({one.scheme.name, measured_number(seen.dogs), measured_number(seen.sentences),
                    measured_number(seen.equivariance), measured_number(seen.invariance)});
  }
  page.line(page.paint(Style::bold, title));
  page.table(0, rows);
  page.blank();
}

std::string order_text(const std::vector<OrderRow>& all) {
  // The longest label has 15 columns, with two before it and two behind it.
  constexpr std::int64_t kAt = 19;
  Page page(output_wants_colour());
  page.entry(
      0, "", 0,
      "Largest differences between outputs of attention, over channels of variance 1, for words whose embeddings "
      "are random by their ids. 0: no difference, so attention is blind to order.");
  page.entry(2, "dogs", kAt, "the two dogs of \"the dog chased another dog\"");
  page.entry(2, "sentences", kAt, "equal words of \"I love you\" and \"you love I\"");
  page.entry(2, "queries", kAt, "queries permuted: outputs against outputs permuted alike (equivariance)");
  page.entry(2, "keys and values", kAt, "permuted together: outputs against those before (invariance)");
  page.blank();
  add_table(page, "Bidirectional", all, &OrderExperiment::all_see_all);
  add_table(page, "Causal mask", all, &OrderExperiment::causal);
  const bool has_nope =
      std::any_of(all.begin(), all.end(), [](const OrderRow& one) { return one.scheme.name == "nope"; });
  if (!has_nope) return page.text();
  page.entry(0, "", 0, "nope has no positions at all: what it shows under the causal mask is the mask.");
  return page.text();
}

std::string seen_json(const OrderSeen& seen) {
  return json_object({{"dogs", json_number(seen.dogs)},
                      {"sentences", json_number(seen.sentences)},
                      {"equivariance", json_number(seen.equivariance)},
                      {"invariance", json_number(seen.invariance)}});
}

std::string order_json(const std::vector<OrderRow>& all) {
  std::vector<std::string> list;
  for (const OrderRow& one : all) {
    list.push_back(scheme_json(
        one.scheme, {{"all_see_all", seen_json(one.found.all_see_all)}, {"causal", seen_json(one.found.causal)}}));
  }
  return document_json({{"schemes", json_array(list)}});
}

}  // namespace

std::string order_table(const PropertiesArguments& arguments) {
  const std::vector<OrderRow> all = experiments(asked_schemes(arguments));
  return arguments.json ? order_json(all) : order_text(all);
}

}  // namespace posenc::tool

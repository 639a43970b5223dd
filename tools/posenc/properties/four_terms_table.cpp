// posenc properties --four-terms: (x_i + p_i) W_Q W_K^T (x_j + p_j)^T, multiplied out.
//
// Of the input stage alone, where a position p is added to a token x. arXiv 1901.02860, section 3.3, starts from these
// terms to make each absolute part relative. Measured by src/properties/four_terms.cpp.
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

std::string four_terms_text(const std::vector<MeasuredScheme>& schemes) {
  std::vector<std::vector<std::string>> rows{{"scheme", "x_i W x_j", "x_i W p_j", "p_i W x_j", "p_i W p_j"}};
  for (const MeasuredScheme& scheme : schemes) {
    const FourTerms terms = four_terms(scheme.name);
    rows.push_back({scheme.name, measured_number(terms.token_token), measured_number(terms.token_position),
                    measured_number(terms.position_token), measured_number(terms.position_position)});
  }
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, "(x_i + p_i) W (x_j + p_j)^T, multiplied out; W = W_Q W_K^T"));
  page.table(0, rows);
  page.blank();
  page.entry(
      0, "", 0,
      formatted("Root mean squares over random tokens x of variance 1 and the first {} places, over "
                "sqrt(head_dim). Rows of W_Q and W_K have a length of 1 on average, so the first term is near 1.",
                kTrainedPlaces));
  return page.text();
}

std::string four_terms_json(const std::vector<MeasuredScheme>& schemes) {
  std::vector<std::string> list;
  for (const MeasuredScheme& scheme : schemes) {
    const FourTerms terms = four_terms(scheme.name);
    list.push_back(scheme_json(scheme, {{"token_token", json_number(terms.token_token)},
                                        {"token_position", json_number(terms.token_position)},
                                        {"position_token", json_number(terms.position_token)},
                                        {"position_position", json_number(terms.position_position)}}));
  }
  return document_json({{"schemes", json_array(list)}});
}

}  // namespace

std::string four_terms_table(const PropertiesArguments& arguments) {
  const std::vector<MeasuredScheme> schemes = asked_input_schemes(arguments);
  return arguments.json ? four_terms_json(schemes) : four_terms_text(schemes);
}

}  // namespace posenc::tool

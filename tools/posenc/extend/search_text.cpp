// What a search by loss found, in words and as JSON.
#include <string>
#include <vector>

#include "extend/evaluation.h"
#include "inspect/override_patches.h"
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

std::vector<std::string> numbers(const std::vector<double>& values) {
  std::vector<std::string> out;
  out.reserve(values.size());
  for (const double value : values) out.push_back(json_number(value));
  return out;
}

}  // namespace

std::string search_text(const Search& search, const std::vector<OverridePatch>& patches) {
  Page page(output_wants_colour());
  page.blank();
  page.line(formatted("searched: {} lists of a factor a pair, on {} from token {} on:", search.found.tried,
                      count(search.windows, "window"), search.first_token));
  page.line("the mean loss over positions. The table above judges it on other windows");
  for (const Search::Start& start : search.starts) page.line(formatted("{:<12} {:>7.3f}", start.way, start.loss));
  page.line(formatted("{:<12} {:>7.3f}", search.way.name, search.found.loss));
  page.entry(0, "factors", 13, join(numbers(search.found.best.factors), " "));
  page.entry(0, "of cos, sin", 13, json_number(search.found.best.attention_factor));
  for (const OverridePatch& patch : patches) add_patch(page, patch);
  return page.text();
}

std::string search_json(const Search& search, const std::vector<OverridePatch>& patches) {
  std::vector<std::string> starts;
  starts.reserve(search.starts.size());
  for (const Search::Start& start : search.starts) {
    starts.push_back(json_object({{"name", json_string(start.way)}, {"loss", json_number(start.loss)}}));
  }
  return json_object({{"tried", formatted("{}", search.found.tried)},
                      {"windows", formatted("{}", search.windows)},
                      {"first_token", formatted("{}", search.first_token)},
                      {"starts", json_array(starts)},
                      {"loss", json_number(search.found.loss)},
                      {"factors", json_array(numbers(search.found.best.factors))},
                      {"attention_factor", json_number(search.found.best.attention_factor)},
                      {"set", json_string(search.way.settings.at(0))},
                      {"patches", to_json(patches)}});
}

}  // namespace posenc::tool

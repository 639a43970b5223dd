// The page: the template with a report's numbers in it.
#include <span>
#include <string>

#include "posenc/report.h"
#include "report/page_text.h"

namespace posenc::inline v0_2 {

std::string report_html(std::span<const Plan> plans, const ReportOptions& options) {
  const std::string numbers = report_json(plans, options);
  std::string page(report::kBefore);
  page.reserve(page.size() + numbers.size() + report::kAfter.size());
  // Nothing in the JSON may end the element that it stands in.
  for (const char letter : numbers) {
    if (letter == '<') {
      page += "\\u003c";
    } else {
      page += letter;
    }
  }
  page += report::kAfter;
  return page;
}

}  // namespace posenc::inline v0_2

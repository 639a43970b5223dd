// Reports of plans for C: posenc_report (posenc/report.h), in the caller's memory.
#include "posenc/report.h"

#include <string>
#include <vector>

#include "c/handles.h"
#include "c/status.h"
#include "c/text.h"

namespace c = posenc::c;

posenc_status posenc_report(const posenc_plan* const* plans, int64_t count, const posenc_report_options* options,
                            char* text, size_t* size) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_report";
    constexpr std::int64_t kMostModels = 4096;
    const posenc_report_options& given = c::sized(kWhere, "options", options);
    c::require_reserved(kWhere, "options->reserved", given.reserved);
    if (count < 1 || count > kMostModels) {
      throw posenc::Error(kWhere, {"count", "be from 1 to 4096", std::to_string(count)});
    }
    c::required(kWhere, "plans", plans);
    std::vector<posenc::Plan> models;
    for (std::int64_t at = 0; at < count; ++at) {
      const std::string name = "plans[" + std::to_string(at) + "]";
      models.push_back(c::required(kWhere, name.c_str(), plans[at]).plan);
    }
    posenc::ReportOptions wanted;
    if (given.length != 0) wanted.length = given.length;
    if (given.against != nullptr) wanted.against = &given.against->plan;
    std::size_t& room = c::required(kWhere, "size", size);
    c::give_text(kWhere, given.json != 0 ? report_json(models, wanted) : report_html(models, wanted), text, room);
  });
}

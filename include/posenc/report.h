// What models do with positions as one page to look at, and the numbers on it as JSON.
//
//   write_file("report.html", report_html({&plan, 1}, {.length = 32768}));
//
// The page is one file: it asks nothing of a network, and works from disk. Everything on it is computed here; its
// script draws. docs/report.md says what stands on it, docs/report.schema.json what the numbers are called.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "posenc/compare.h"
#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

struct ReportOptions {
  // The sequence length, in tokens, that models are wanted for. Omitted: that of the plan, else the longest that a
  // model says it serves.
  std::optional<std::int64_t> length{};
  // What the first model is held against: it comes last, after what differs between the two.
  const Plan* against = nullptr;
  CompareOptions compare{};
};

// The numbers, as docs/report.schema.json says. Throws Error for no plan, for a length below 1 or above 2^53, and for
// a plan whose rotations do not pass check(). A stack that is not known is told so, with what was read of it.
POSENC_API std::string report_json(std::span<const Plan> plans, const ReportOptions& options = {});

// The page: UTF-8 HTML with those numbers inside. Throws as report_json does.
POSENC_API std::string report_html(std::span<const Plan> plans, const ReportOptions& options = {});

}  // namespace posenc::inline v0_2

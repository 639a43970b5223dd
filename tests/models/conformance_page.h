// docs/conformance.md, made by running every checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints.h"
#include "models/conformance.h"

namespace posenc::test {

struct PageRow {
  const Checkpoint* checkpoint;
  Published published;
  std::optional<Conformance> measured{};
};

// All checkpoints, in the page's order; nothing is measured yet.
std::vector<PageRow> page_rows();

std::string conformance_page(const std::vector<PageRow>& rows);

// The end of a page, which `python -m posenc.conformance` prints; empty where there is none.
std::string section_of_families(const std::string& page);

// A page without the cells that depend on the machine: rows of its table end before what was measured.
std::string without_measurements(const std::string& page);

}  // namespace posenc::test

// Runs every checkpoint and prints docs/conformance.md. Needs the data that the tests need.
#include <cstdio>
#include <string>
#include <vector>

#include "models/conformance_page.h"

int main() {
  using namespace posenc::test;
  std::vector<PageRow> rows = page_rows();
  for (PageRow& row : rows) row.measured = conformance(*row.checkpoint, row.published);
  const std::string page = conformance_page(rows);
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}

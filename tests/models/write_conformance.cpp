// Runs every checkpoint and prints docs/conformance.md up to its last section, or puts it into the file that is named
// and keeps that section. Needs the data that the tests need.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "models/conformance_page.h"

int main(int argc, char** argv) {
  using namespace posenc::test;
  std::vector<PageRow> rows = page_rows();
  for (PageRow& row : rows) row.measured = conformance(*row.checkpoint, row.published);
  std::string page = conformance_page(rows);
  if (argc < 2) return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
  std::ifstream before(argv[1], std::ios::binary);
  page += section_of_families({std::istreambuf_iterator<char>(before), {}});
  before.close();
  return std::ofstream(argv[1], std::ios::binary) << page ? 0 : 1;
}

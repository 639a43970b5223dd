// Prints docs/config-keys.md from the reader's own tables.
#include <cstdio>
#include <string>
#include <string_view>

#include "plan/config_keys_page.h"

int main() {
  const std::string page = posenc::test::config_keys_page();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}

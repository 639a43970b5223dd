#include "support/test_data.h"

#include <cstdlib>

namespace posenc::test {

std::filesystem::path source_folder() { return POSENC_SOURCE_DIR; }

std::filesystem::path test_data() {
  const char* given = std::getenv("POSENC_TEST_DATA");
  return given != nullptr && *given != '\0' ? std::filesystem::path(given) : source_folder() / "../shared/data";
}

}  // namespace posenc::test

// The one place that knows where test data from outside is found.
//
// POSENC_TEST_DATA, or ../shared/data beside the checkout. Tests that need it call POSENC_NEED_DATA("configs/x.json")
// and are skipped by name where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace posenc::test {

inline std::filesystem::path test_data() {
  const char* given = std::getenv("POSENC_TEST_DATA");
  return given != nullptr && *given != '\0' ? std::filesystem::path(given)
                                            : std::filesystem::path(POSENC_SOURCE_DIR) / "../shared/data";
}

}  // namespace posenc::test

#define POSENC_NEED_DATA(relative)                                      \
  if (!std::filesystem::exists(posenc::test::test_data() / (relative))) \
  GTEST_SKIP() << "needs " << (posenc::test::test_data() / (relative)).string()

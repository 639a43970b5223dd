// The one place that knows where the checkout is, and where test data from outside is found.
//
// POSENC_TEST_DATA, or ../shared/data beside the checkout. Tests that need it call POSENC_NEED_DATA("configs/x.json")
// and are skipped by name where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace posenc::test {

// Of this checkout, for tests of its pages.
std::filesystem::path source_folder();

std::filesystem::path test_data();

}  // namespace posenc::test

#define POSENC_NEED_DATA(relative)                                      \
  if (!std::filesystem::exists(posenc::test::test_data() / (relative))) \
  GTEST_SKIP() << "needs " << (posenc::test::test_data() / (relative)).string()

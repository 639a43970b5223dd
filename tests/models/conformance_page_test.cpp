// docs/conformance.md says what is run, of all that is there to be run.
#include "models/conformance_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/test_data.h"

namespace posenc::test::conformance_page_test {
namespace {

TEST(ConformancePage, SaysWhatIsRun) {
  POSENC_NEED_DATA(kCheckpointFolder);
  std::ifstream file(source_folder() / "docs/conformance.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string others = section_of_families(page);
  EXPECT_FALSE(others.empty()) << "print it again: python -m posenc.conformance";
  const std::string ours = page.substr(0, page.size() - others.size());
  EXPECT_EQ(without_measurements(ours), without_measurements(conformance_page(page_rows())))
      << "print it again: write_conformance docs/conformance.md";
}

// Whatever has published numbers is run, or it is said why it is not.
TEST(ConformancePage, LeavesNothingOut) {
  POSENC_NEED_DATA(kCheckpointFolder);
  std::set<std::string> published;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / kCheckpointFolder)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kFirst = "tiny_";
    for (const std::string_view ending : {"_logits.json", "_hidden.json"}) {
      if (!name.ends_with(ending)) continue;
      published.insert(name.substr(kFirst.size(), name.size() - kFirst.size() - ending.size()));
    }
  }
  std::set<std::string> known;
  for (const auto* all : {&encoders(), &decoders()}) {
    for (const Checkpoint& checkpoint : *all) EXPECT_TRUE(known.emplace(checkpoint.name).second) << checkpoint.name;
  }
  for (const LeftOut& one : left_out()) EXPECT_TRUE(known.emplace(one.name).second) << one.name;
  EXPECT_THAT(known, testing::ContainerEq(published));
}

}  // namespace
}  // namespace posenc::test::conformance_page_test

// docs/config-reading.md names every family, every key and every warning code that the reader has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "plan/families/family_tables.h"
#include "plan/keys/config_keys.h"
#include "support/test_data.h"

namespace posenc::test::config_reading_page_test {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string page() { return read_file(source_folder() / "docs/config-reading.md"); }

bool names(const std::string& page, std::string_view name) {
  return page.find("`" + std::string(name) + "`") != std::string::npos;
}

TEST(ConfigReadingPage, names_every_model_type) {
  const std::string text = page();
  for (std::span<const plan::Family> table : plan::family_tables()) {
    for (const plan::Family& family : table) {
      for (std::string_view type : family.model_types) EXPECT_TRUE(names(text, type)) << type;
    }
  }
}

TEST(ConfigReadingPage, names_every_key) {
  const std::string text = page();
  for (const plan::Key* key : {&plan::keys::kHeads,
                               &plan::keys::kLayers,
                               &plan::keys::kHidden,
                               &plan::keys::kKvHeads,
                               &plan::keys::kHeadDim,
                               &plan::keys::kLength,
                               &plan::keys::kNopeDim,
                               &plan::keys::kRopeDim,
                               &plan::keys::kValueDim,
                               &plan::keys::kGrouped,
                               &plan::keys::kMultiQuery,
                               &plan::keys::kNewDecoder,
                               &plan::keys::kPositionType,
                               &plan::keys::kRopeFlag,
                               &plan::keys::kAlibi,
                               &plan::keys::kMaxBias,
                               &plan::keys::kDynamicNtk,
                               &plan::keys::kLogn,
                               &plan::keys::kBeta,
                               &plan::keys::kBase,
                               &plan::keys::kLocalBase,
                               &plan::keys::kPartialFactor,
                               &plan::keys::kRotaryDim,
                               &plan::keys::kRopeRatio,
                               &plan::keys::kOriginalLength,
                               &plan::keys::kRopeParameters,
                               &plan::keys::kInterleave,
                               &plan::keys::kWindow,
                               &plan::keys::kUseWindow,
                               &plan::keys::kMaxWindowLayers,
                               &plan::keys::kLayerTypes,
                               &plan::keys::kWindowPattern,
                               &plan::keys::kChunk,
                               &plan::keys::kRotatingLayers,
                               &plan::keys::kNopeInterval,
                               &plan::keys::kBidirectional,
                               &plan::keys::kIsCausal,
                               &plan::keys::kQueryScalar,
                               &plan::keys::kAttentionMultiplier,
                               &plan::keys::kSoftCap,
                               &plan::keys::kTemperature,
                               &plan::keys::kTemperatureScale,
                               &plan::keys::kTemperatureFloor}) {
    EXPECT_TRUE(names(text, key->name())) << key->name();
  }
}

// The codes stand as the first argument of warn() in the reader's sources.
TEST(ConfigReadingPage, names_every_warning_code) {
  const std::string text = page();
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "src/plan")) {
    if (!entry.is_regular_file()) continue;
    const std::string source = read_file(entry.path());
    for (std::size_t at = 0; (at = source.find("warn(", at)) != std::string::npos; ++at) {
      const std::size_t open = source.find_first_not_of(" \n", at + 5);
      if (source[open] != '"') continue;
      const std::string code = source.substr(open + 1, source.find('"', open + 1) - open - 1);
      EXPECT_TRUE(names(text, code)) << code << " in " << entry.path();
      ++found;
    }
  }
  EXPECT_GE(found, 17U);
}

}  // namespace
}  // namespace posenc::test::config_reading_page_test

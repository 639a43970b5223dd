// The table of keys: complete, said once, printed in docs/config-keys.md, and true of what the reader does.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "plan/config_keys_page.h"
#include "plan/families/asked_keys.h"
#include "plan/families/family_configs.h"
#include "plan/keys/key_notes.h"
#include "plan/read/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test::config_keys_test {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path source(std::string_view path) { return source_folder() / path; }

// Names of left-out groups -> how often they stand there.
std::map<std::string, int> left_out_names() {
  std::map<std::string, int> names;
  for (const auto groups : {plan::keys_that_mislead(), plan::keys_of_other_things()}) {
    for (const plan::LeftOut& group : groups) {
      for (std::string_view name : group.names) ++names[std::string(name)];
    }
  }
  return names;
}

TEST(ConfigKeys, every_key_is_explained) {
  for (const plan::Key* key : plan::position_keys()) EXPECT_FALSE(key->about.empty()) << key->name();
}

TEST(ConfigKeys, a_key_is_left_out_once_and_not_read_too) {
  std::set<std::string_view> read;
  for (const plan::Key* key : plan::position_keys()) read.insert(key->names.begin(), key->names.end());
  for (const auto& [name, times] : left_out_names()) {
    EXPECT_EQ(times, 1) << name;
    EXPECT_FALSE(read.contains(name)) << name << " is read";
  }
}

TEST(ConfigKeys, every_family_is_asked) {
  for (const auto& [family, keys] : asked_keys())
    EXPECT_FALSE(keys.empty()) << "no small file of " << family << " is read";
}

TEST(ConfigKeys, the_page_is_what_the_tables_say) {
  EXPECT_EQ(read_file(source("docs/config-keys.md")), config_keys_page())
      << "print it again: write_config_keys > docs/config-keys.md";
}

// The plan's own account of where its values came from names no key that the tables call unread or do not know.
void expect_noted_sources(const Plan& plan) {
  const std::map<std::string, int> left_out = left_out_names();
  for (const ValueSource& value : plan.sources) {
    if (!value.from.starts_with('/')) continue;
    std::string name = value.from.substr(value.from.rfind('/') + 1);
    // An entry of a list or of a dictionary per layer: the key is the list's.
    std::string pointer = value.from;
    while (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos) {
      pointer.resize(pointer.rfind('/'));
      name = pointer.substr(pointer.rfind('/') + 1);
    }
    EXPECT_TRUE(plan::is_known_key(name)) << value.where << " is from " << value.from;
    EXPECT_FALSE(left_out.contains(name)) << value.where << " is from " << value.from;
  }
}

TEST(ConfigKeys, the_reader_reads_no_key_that_is_not_noted) {
  for (const FamilyConfig& config : family_configs()) {
    SCOPED_TRACE(config.id);
    expect_noted_sources(plan_of(config.text));
  }
}

TEST(ConfigKeys, real_files_are_read_by_noted_keys) {
  POSENC_NEED_DATA("configs");
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "configs")) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Result<Plan> plan = read_plan(entry.path());
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    expect_noted_sources(*plan);
  }
}

TEST(ConfigKeys, a_misspelled_key_is_named) {
  EXPECT_EQ(plan::misspelled_key("rope_thetta"), "rope_theta");
  EXPECT_EQ(plan::misspelled_key("silding_window"), "sliding_window");
  EXPECT_EQ(plan::misspelled_key("num_key_value_head"), "num_key_value_heads");
  EXPECT_EQ(plan::misspelled_key("rope_theta"), "");
  EXPECT_EQ(plan::misspelled_key("vocab_size"), "");
  EXPECT_EQ(plan::misspelled_key("n_hed"), "");
  EXPECT_EQ(plan::misspelled_key(std::string(100, 'x')), "");
}

TEST(ConfigKeys, a_misspelled_key_is_a_warning) {
  const Plan plan = plan_of(R"({"model_type": "llama", "num_attention_heads": 4, "hidden_size": 64,
    "num_hidden_layers": 1, "max_position_embeddings": 64, "rope_thetta": 5})");
  EXPECT_EQ(codes(plan), std::vector<std::string>{"unknown-key"});
  EXPECT_EQ(plan.warnings.at(0).keys, std::vector<std::string>{"/rope_thetta"});
}

// "/state_size is not a key that is known here; shape_size is.", of a class that reads neither.
TEST(ConfigKeys, what_the_class_does_not_read_is_not_what_was_meant) {
  const Plan plan = plan_of(R"({"model_type": "llama", "num_attention_heads": 4, "hidden_size": 64,
    "num_hidden_layers": 1, "max_position_embeddings": 64, "state_size": 16, "dim_head": 16, "silding_window": 8,
    "rope_thetta": 5})");
  EXPECT_EQ(codes(plan), std::vector<std::string>{"unknown-key"});
  EXPECT_EQ(plan.warnings.at(0).keys, std::vector<std::string>{"/rope_thetta"});
  const Plan of_another =
      plan_of(R"({"model_type": "mistral", "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,
    "num_hidden_layers": 1, "max_position_embeddings": 8192, "silding_window": 8, "dim_head": 16})");
  EXPECT_EQ(codes(of_another), std::vector<std::string>{"unknown-key"});
  EXPECT_EQ(of_another.warnings.at(0).keys, std::vector<std::string>{"/silding_window"});
}

}  // namespace
}  // namespace posenc::test::config_keys_test

// Paths, presets, and the plan's own head.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test::read_plan_files_test {
namespace {

class ReadPlanFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("posenc_") + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

TEST_F(ReadPlanFiles, a_saved_plan_is_read_back) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    const Plan plan = preset_plan(preset.name, {.length = 5000});
    const Result<Plan> again = read_plan(write("plan.json", to_json(plan)));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_TRUE(*again == plan);
    const Result<Plan> longer = read_plan(write("plan.json", to_json(plan)), {.length = 200000});
    ASSERT_TRUE(longer.ok()) << longer.error().message();
    EXPECT_TRUE(*longer == preset_plan(preset.name, {.length = 200000}));
  }
}

TEST_F(ReadPlanFiles, what_is_wrong_with_a_saved_plan_is_said) {
  const std::string saved = to_json(plan_of(family_config("llama")));
  const auto file = write("plan.json", with(saved, R"("schema_version": 2)", R"("schema_version": 7)"));
  const Result<Plan> plan = read_plan(file);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::bad_plan);
  EXPECT_EQ(plan.error().file, file.string());
  EXPECT_EQ(plan.error().path, "/schema_version");
}

// A base and a factor of which the length makes more than a double holds.
TEST_F(ReadPlanFiles, a_saved_plan_is_asked_for_its_length) {
  const std::string config =
      R"({"model_type": "llama", "head_dim": 4, "rope_theta": 3e38, "max_position_embeddings": 2,
    "rope_scaling": {"type": "dynamic", "factor": 1e30}})";
  const Plan plan = plan_of(config);
  const auto file = write("plan.json", to_json(plan));
  EXPECT_TRUE(read_plan(file, {.length = 2}).ok());
  const Result<Plan> longer = read_plan(file, {.length = std::int64_t{1} << 53});
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().kind, ErrorKind::out_of_range);
}

TEST_F(ReadPlanFiles, a_file_and_the_directory_that_holds_it) {
  const auto file = write("config.json", family_config("llama"));
  const Result<Plan> by_file = read_plan(file, {.length = 100});
  const Result<Plan> by_folder = read_plan(folder_, {.length = 100});
  ASSERT_TRUE(by_file.ok() && by_folder.ok());
  EXPECT_TRUE(*by_file == *by_folder);
  EXPECT_EQ(by_file->source, (PlanSource{SourceKind::config_json, file.string()}));
  EXPECT_EQ(by_file->length, 100);
  EXPECT_EQ(by_file->model_type, "llama");
}

TEST_F(ReadPlanFiles, an_error_names_the_file) {
  const auto file = write("config.json", "{\n\"model_type\": \"llama\", \"rope_theta\": -1}");
  const Result<Plan> plan = read_plan(file);
  ASSERT_FALSE(plan.ok());
  EXPECT_TRUE(plan.error().message().starts_with(file.string() + ":2:38: /rope_theta: ")) << plan.error().message();
}

TEST_F(ReadPlanFiles, a_directory_without_a_config) {
  const Result<Plan> plan = read_plan(folder_);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(name(plan.error().kind), name(ErrorKind::not_regular_file));
  EXPECT_EQ(name(read_plan(folder_ / "none.json").error().kind), name(ErrorKind::io_open));
}

// One that differs in a number, or in what a short word says, is another model: never "did you mean".
TEST(ReadPlan, a_name_of_another_model_gets_the_presets_of_its_family) {
  const auto hint = [](const std::filesystem::path& path) { return read_plan(path).error().detail; };
  const std::string llama =
      "presets of the llama family: llama-2-7b, llama-3.1-8b, llama-3.1-70b, llama-3.2-1b, llama-3.2-3b";
  for (const char* name : {"llama3", "llama", "llama-3.1", "llama-2-70b", "llama-3.3-70b-instruct", "Llama-4-Scout"}) {
    EXPECT_EQ(hint(name), llama) << name;
  }
  EXPECT_EQ(hint("gemma3"), "presets of the gemma family: gemma-7b, gemma-2-9b, gemma-3-4b");
  EXPECT_EQ(hint("mistral-7b-v0.3"), "presets of the mistral family: mistral-7b-v0.1");
  EXPECT_EQ(hint("phi-4"), "presets of the phi family: phi-1, phi-3-mini-128k, phi-3.5-mini, phi-3.5-moe");
  EXPECT_EQ(hint("deepseek-r1"), "presets of the deepseek family: deepseek-v2-lite, deepseek-v3, deepseek-v3.2");
  for (const Preset& preset : presets()) {
    const std::string name(preset.name);
    for (const std::string& other : {name + "-instruct", name + "2", "9" + name, name + "-v9"}) {
      EXPECT_EQ(hint(other).find("did you mean"), std::string::npos) << other;
    }
  }
}

// What somebody may have meant who names no file.
TEST(ReadPlan, a_name_that_is_no_path_gets_a_hint) {
  const auto hint = [](const std::filesystem::path& path) { return read_plan(path).error().detail; };
  EXPECT_EQ(hint("llama-3.1-8"), "did you mean the preset llama-3.1-8b?");
  EXPECT_EQ(hint("Llama-3.1-8B"), "did you mean the preset llama-3.1-8b?");
  EXPECT_EQ(hint("lama3.1-8b"), "did you mean the preset llama-3.1-8b?");
  EXPECT_EQ(hint("gpt-2"), "did you mean the preset gpt2?");
  EXPECT_EQ(hint("mistral"), "presets of the mistral family: mistral-7b-v0.1");
  EXPECT_EQ(hint("nothing-like-it"), "nor is there a preset of that name");
  const std::string hub = "nothing is fetched from a hub: give the directory that the model's config.json is in";
  EXPECT_EQ(hint("meta-llama/Llama-3.1-8B"), hub + "; did you mean the preset llama-3.1-8b?");
  EXPECT_EQ(hint("somebody/something"), hub);
  for (const char* path : {"", "config.json", "model.gguf", "./llama", "../llama-3.1-8b", "/llama-3.1-8b", "a/b/llama",
                           "~/llama", "somebody/", "somebody/config.json"}) {
    EXPECT_EQ(hint(path), "") << path;
  }
  EXPECT_EQ(hint(std::string(100, 'x')), "");
}

TEST_F(ReadPlanFiles, a_path_into_a_directory_that_is_there_is_no_name_of_a_hub) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder_ / "models");
  std::filesystem::current_path(folder_);
  const Result<Plan> plan = read_plan("models/llama");
  std::filesystem::current_path(before);
  EXPECT_EQ(plan.error().detail, "");
}

TEST_F(ReadPlanFiles, a_length_below_1_is_the_callers_fault) {
  EXPECT_THROW((void)read_plan(folder_, {.length = 0}), Error);
  EXPECT_THROW((void)preset_plan("llama-3.1-8b", {.length = -1}), Error);
}

// Whatever the files of the data set are, each gives a plan or an error that says where.
TEST(ReadPlanData, every_file_has_an_answer) {
  POSENC_NEED_DATA("configs");
  for (const char* folder : {"configs", "odd"}) {
    for (const auto& entry : std::filesystem::directory_iterator(test_data() / folder)) {
      const Result<Plan> plan = read_plan(entry.path());
      if (plan.ok()) {
        EXPECT_TRUE(plan->known || !plan->warnings.empty()) << entry.path();
        const Result<Plan> again = plan_from_json(to_json(*plan));
        ASSERT_TRUE(again.ok()) << entry.path() << ": " << again.error().message();
        EXPECT_TRUE(*again == *plan) << entry.path();
      } else {
        EXPECT_FALSE(plan.error().expected.empty()) << plan.error().message();
        EXPECT_EQ(plan.error().file, entry.path().string());
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::read_plan_files_test

// No memory in calls whose answer is a text, a folder or a handle: plans set, code, reports, golden vectors and
// diagnoses. What a call was to write to the disk is not there, or there as a whole.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "c/no_memory.h"
#include "posenc/c.h"
#include "support/temporary_folder.h"

namespace posenc::test::c_memory_texts_test {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSettings{"rope_scaling=yarn,factor=4,original=4096"};
constexpr const char* kConfig =
    R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
        "max_position_embeddings": 4096, "rope_theta": 10000.0, "unread": [1, {"a": "\u00e9"}]})";

struct SmallModel {
  posenc_plan* plan = nullptr;

  SmallModel() {
    EXPECT_EQ(posenc_plan_read_bytes(kConfig, std::string(kConfig).size(), "config.json", &plan), POSENC_OK);
  }
  SmallModel(const SmallModel&) = delete;
  SmallModel& operator=(const SmallModel&) = delete;
  ~SmallModel() { posenc_plan_free(plan); }
};

TEST(NoMemory, OfSettings) {
  const SmallModel model;
  EXPECT_GT(expect_no_memory_for<posenc_plan>(
                [&](posenc_plan** made) { return posenc_plan_override(model.plan, kSettings.data(), 1, made); },
                posenc_plan_free),
            10);
  const auto patches = [&] {
    std::size_t size = 0;
    return posenc_plan_override_patches(model.plan, kSettings.data(), 1, kConfig, nullptr, &size);
  };
  EXPECT_GT(expect_no_memory(patches), 100);
}

TEST(NoMemory, OfReading) {
  const TemporaryFolder folder;
  const std::string path = folder.file("config.json", kConfig).string();
  EXPECT_GT(expect_no_memory_for<posenc_plan>([&](posenc_plan** made) { return posenc_plan_read(path.c_str(), made); },
                                              posenc_plan_free),
            100);
}

TEST(NoMemory, OfTexts) {
  const SmallModel model;
  std::size_t size = 0;
  for (const char* const language : {"numpy", "torch", "c", "cuda"}) {
    auto options = sized<posenc_emit_options>();
    options.as = language;
    options.layer = -1;
    EXPECT_GT(expect_no_memory([&] { return posenc_emit(model.plan, &options, nullptr, &size); }), 50) << language;
  }
  for (const std::int32_t json : {0, 1}) {
    auto report = sized<posenc_report_options>();
    report.json = json;
    report.against = model.plan;
    EXPECT_GT(expect_no_memory([&] { return posenc_report(&model.plan, 1, &report, nullptr, &size); }), 100);
    auto extend = sized<posenc_extend_options>();
    extend.json = json;
    extend.to = 16384;
    extend.config_json = kConfig;
    EXPECT_GT(expect_no_memory([&] { return posenc_extend(model.plan, &extend, nullptr, &size); }), 100);
  }
  EXPECT_GT(expect_no_memory([&] { return posenc_study_cache(model.plan, nullptr, 0, 0, nullptr, &size); }), 50);
  auto reuse = sized<posenc_reuse_args>();
  reuse.plan = model.plan;
  posenc_reuse_verdict_out verdict{};
  EXPECT_GT(expect_no_memory([&] { return posenc_reuse_verdict(&reuse, &verdict, nullptr, &size); }), 5);
}

TEST(NoMemory, OfGoldenVectors) {
  const SmallModel model;
  const TemporaryFolder folder;
  const fs::path at = folder.path() / "vectors";
  auto options = sized<posenc_vectors_options>();
  options.tokens = 3;
  EXPECT_GT(expect_no_memory_for<posenc_vectors>(
                [&](posenc_vectors** made) { return posenc_vectors_of_layer(model.plan, &options, made); },
                posenc_vectors_free),
            50);
  posenc_vectors* vectors = nullptr;
  ASSERT_EQ(posenc_vectors_of_layer(model.plan, &options, &vectors), POSENC_OK);
  for (const char* const format : {"npy", "safetensors", "json", "c"}) {
    const Around around{.before = [&] { fs::remove_all(at); },
                        .after =
                            [&](posenc_status status) {
                              EXPECT_TRUE(status == POSENC_OK || !fs::exists(at) || fs::is_empty(at)) << format;
                              EXPECT_LE(folder.entries(), 1);
                            }};
    const auto write = [&] { return posenc_vectors_write(vectors, at.c_str(), format, nullptr); };
    EXPECT_GT(expect_no_memory(write, nullptr, around), 20) << format;
  }
  fs::remove_all(at);
  ASSERT_EQ(posenc_vectors_write(vectors, at.c_str(), "npy", nullptr), POSENC_OK);
  EXPECT_GT(expect_no_memory_for<posenc_vectors>(
                [&](posenc_vectors** made) { return posenc_vectors_read(at.c_str(), made); }, posenc_vectors_free),
            100);
  posenc_tensor tensor{};
  ASSERT_EQ(posenc_vectors_tensor(vectors, "q_rotated", &tensor), POSENC_OK);
  const posenc_named_tensor output{.name = "q_rotated", .tensor = tensor};
  std::int32_t passes = 0;
  std::size_t size = 0;
  auto port = sized<posenc_check_port_args>();
  port.vectors = vectors;
  port.outputs = &output;
  port.outputs_count = 1;
  port.passes = &passes;
  port.json_size = &size;
  EXPECT_GT(expect_no_memory([&] { return posenc_check_port(&port); }), 10);
  posenc_vectors_free(vectors);

  std::vector<float> rows(std::size_t{3} * 4 * 16, 0.5F);
  auto inputs = sized<posenc_vectors_inputs>();
  inputs.q = inputs.k =
      inputs.v = {.data = rows.data(), .dtype = POSENC_F32, .rank = 3, .shape = {3, 4, 16}, .strides = {64, 16, 1}};
  EXPECT_GT(expect_no_memory_for<posenc_vectors>(
                [&](posenc_vectors** made) { return posenc_vectors_of_inputs(model.plan, nullptr, &inputs, made); },
                posenc_vectors_free),
            50);
}

TEST(NoMemory, OfDiagnoses) {
  const SmallModel model;
  constexpr std::int64_t kFew = 6;
  std::vector<float> before = some(1, kFew);  // 4 heads of 16 channels
  std::vector<float> after(before.size());
  const auto heads = [](std::vector<float>& x) {
    return posenc_tensor{
        .data = x.data(), .dtype = POSENC_F32, .rank = 3, .shape = {kFew, 4, 16}, .strides = {64, 16, 1}};
  };
  posenc_table* table = nullptr;
  ASSERT_EQ(posenc_table_of_layer(model.plan, nullptr, 0, nullptr, &table), POSENC_OK);
  auto rotation = sized<posenc_rotate_args>();
  rotation.q = heads(after);
  rotation.q_from = heads(before);
  rotation.table = table;
  ASSERT_EQ(posenc_rotate(&rotation), POSENC_OK);
  posenc_table_free(table);
  auto args = sized<posenc_diagnose_args>();
  args.plan = model.plan;
  args.before = heads(before);
  args.after = heads(after);
  args.has_start = 1;
  posenc_verdict said = -1;
  std::size_t size = 0;
  EXPECT_GT(expect_no_memory([&] { return posenc_diagnose(&args, &said, nullptr, &size); }), 100);

  auto forward = sized<posenc_attend_args>();
  forward.plan = model.plan;
  forward.q = forward.k = forward.v = args.before;
  forward.q_rotated = forward.k_rotated = 1;
  forward.out = args.after;
  ASSERT_EQ(posenc_attend(&forward), POSENC_OK);
  auto attention = sized<posenc_diagnose_attention_args>();
  attention.plan = model.plan;
  attention.q = attention.k = attention.v = args.before;
  attention.out = args.after;
  EXPECT_GT(expect_no_memory([&] { return posenc_diagnose_attention(&attention, &said, nullptr, &size); }), 100);

  std::vector<float> weights = some(kHeads, kDim);
  const posenc_tensor projection{
      .data = weights.data(), .dtype = POSENC_F32, .rank = 2, .shape = {kHeads * kDim, kDim}, .strides = {kDim, 1}};
  const posenc_query_key_rows layer{.q = projection, .k = projection};
  auto pairing = sized<posenc_diagnose_pairing_args>();
  pairing.layers = &layer;
  pairing.layers_count = 1;
  pairing.head_dim = kDim;
  posenc_pairing found = 0;
  EXPECT_GT(expect_no_memory([&] { return posenc_diagnose_pairing(&pairing, &found, nullptr, &size); }), 5);
}

}  // namespace
}  // namespace posenc::test::c_memory_texts_test

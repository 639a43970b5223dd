// Memory follows the text, never a count that the text claims.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "plan/family_configs.h"
#include "plan/plan_limits.h"
#include "plan/plan_reading.h"
#include "support/heap_probe.h"

namespace posenc::test {
namespace {

// Reads, and returns what the heap grew by over what it may grow by.
double use_of_bound(const std::string& text) {
  const HeapProbe probe;
  const Result<Plan> plan = read(text);
  const double bound = static_cast<double>(json_heap_bound(static_cast<std::int64_t>(text.size())));
  return static_cast<double>(probe.peak_growth()) / bound;
}

std::string repeated(std::string_view part, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += part;
  return text;
}

// As many layers as are allowed, and every second one different.
std::string deep(std::string_view model_type, std::string_view keys) {
  return "{\"model_type\": \"" + std::string(model_type) +
         "\", \"num_hidden_layers\": " + std::to_string(plan::kMaxLayers) + ", " + std::string(keys) + "}";
}

std::string longrope(std::int64_t layers, std::int64_t pairs) {
  const std::string factors = "[" + repeated("1,", pairs - 1) + "1]";
  return R"({"model_type": "llama", "head_dim": )" + std::to_string(2 * pairs) + R"(, "num_hidden_layers": )" +
         std::to_string(layers) +
         R"(, "max_position_embeddings": 4096, "rope_scaling": {"type": "longrope", "factor": 4,
    "original_max_position_embeddings": 1024, "short_factor": )" +
         factors + R"(, "long_factor": )" + factors + "}}";
}

// Every layer turns by a base of its own.
std::string step_with_own_rotations() {
  std::string bases = "1";
  for (std::int64_t i = 1; i < plan::kMaxLayers; ++i) bases += "," + std::to_string(i + 1);
  return deep("step3p5", "\"rope_theta\": [" + bases + "]");
}

TEST(ReadPlanLimits, stays_within_the_bound) {
  struct Row {
    std::string id;
    std::string text;
  };
  const std::int64_t many = std::int64_t{1} << 17;
  const Row rows[] = {
      {"every family's layers: llama", deep("llama", R"("x": 0)")},
      {"llama 4", deep("llama4", R"("no_rope_layer_interval": 2)")},
      {"gemma 3", deep("gemma3", R"("sliding_window_pattern": 2, "rope_scaling": {"type": "linear", "factor": 8})")},
      {"gpt-oss", deep("gpt_oss", R"("x": 0)")},
      {"deepseek", deep("deepseek_v3",
                        R"("rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 64})")},
      {"indexers", deep("deepseek_v32", R"("x": 0)")},
      {"keys made of several tokens", deep("deepseek_v4", R"("rope_scaling": {"type": "linear", "factor": 2})")},
      {"choices reused", deep("glm_moe_dsa", R"("index_topk_freq": 2)")},
      {"axes", deep("qwen2_vl", R"("head_dim": 64, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]})")},
      {"a rotation for each layer", step_with_own_rotations()},
      {"long lists, many layers", longrope(plan::kMaxLayers, plan::kMaxListEntries / plan::kMaxLayers / 2)},
      {"longer lists, few layers", longrope(4, plan::kMaxListEntries / 8)},
      {"many ignored keys", "{\"model_type\": \"llama\"" + repeated(",\"a\":1", many) + "}"},
      {"many unknown rope keys",
       "{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"default\"" + repeated(",\"b\":1", many) + "}}"},
      {"many keys in the text stack",
       "{\"model_type\": \"gemma3\", \"text_config\": {\"x\": 0" + repeated(",\"c\":[]", many) + "}}"},
      {"a long list of layer types",
       "{\"model_type\": \"gemma2\", \"layer_types\": [\"L\"" + repeated(",\"L\"", many) + "]}"},
      {"a long pattern", "{\"model_type\": \"exaone4\", \"sliding_window_pattern\": \"" + repeated("LG", many) + "\"}"},
      {"a long list of factors", longrope(2, plan::kMaxHeadDim / 2)},
  };
  for (const Row& row : rows) {
    const double use = use_of_bound(row.text);
    std::printf("%-32s %8zu bytes, %5.3f of the bound\n", row.id.c_str(), row.text.size(), use);
    EXPECT_LE(use, 1) << row.id;
  }
}

TEST(ReadPlanLimits, lists_of_all_layers_together_are_bounded) {
  const std::int64_t pairs = plan::kMaxListEntries / plan::kMaxLayers / 2;
  EXPECT_TRUE(read(longrope(plan::kMaxLayers, pairs)).ok());
  const FileError error = error_of(longrope(plan::kMaxLayers, pairs + 1));
  EXPECT_EQ(name(error.kind), name(ErrorKind::limit));
  EXPECT_EQ(error.path, "/rope_scaling/short_factor");
  EXPECT_NE(error.detail.find(std::to_string(plan::kMaxLayers)), std::string::npos) << error.detail;
}

TEST(ReadPlanLimits, the_deepest_model_is_read) {
  EXPECT_EQ(plan_of(deep("llama", R"("x": 0)")).stacks[0].layers.size(), static_cast<std::size_t>(plan::kMaxLayers));
}

}  // namespace
}  // namespace posenc::test

// Memory follows the text, never a count that the text claims.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "plan/assemble/plan_of.h"
#include "plan/facts/plan_limits.h"
#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"
#include "support/heap_probe.h"

namespace posenc::test::read_plan_limits_test {
namespace {

// Reads, and returns what the heap grew by over what it may grow by.
double use_of_bound(const std::string& text) {
  const HeapProbe probe;
  const Result<Plan> plan = read(text);
  const double bound = static_cast<double>(file_heap_bound(static_cast<std::int64_t>(text.size())));
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

// Every layer rotates by a base of its own.
std::string step_with_own_rotations() {
  std::string bases = "1";
  for (std::int64_t i = 1; i < plan::kMaxLayers; ++i) bases += "," + std::to_string(i + 1);
  return deep("step3p5", "\"rope_theta\": [" + bases + "]");
}

std::string two_stacks(std::string_view model_type) {
  const std::string most = std::to_string(plan::kMaxLayers / 4);
  return "{\"model_type\": \"" + std::string(model_type) + "\", \"num_layers\": " + most +
         ", \"encoder_layers\": " + most + ", \"decoder_layers\": " + most + "}";
}

std::string deep_with_cross() {
  return R"({"model_type": "bert", "is_decoder": true, "add_cross_attention": true, "num_hidden_layers": )" +
         std::to_string(plan::kMaxLayers / 2) + "}";
}

std::string saved_without_attention(std::int64_t layers) {
  std::string listed;
  for (std::int64_t n = 0; n < layers; ++n) {
    listed += (n == 0 ? "" : ",") + std::string(R"({"index":)") + std::to_string(n) + R"(,"kind":"state_space"})";
  }
  return R"({"schema_version":2,"known":true,"model_type":"m","family":"f","source":{"kind":"config_json","name":"c"},)"
         R"("trained_length":null,"length":null,"stacks":[{"name":"decoder","input":[],"layers":[)" +
         listed + R"(]}],"sources":{},"absent_keys":[],"ignored_keys":[],"warnings":[]})";
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
      {"two stacks, three attentions", two_stacks("t5")},
      {"two stacks of tables", two_stacks("bart")},
      {"cross attention by a flag", deep_with_cross()},
      {"a scale for each layer", R"({"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": true, "n_layer": )" +
                                     std::to_string(plan::kMaxLayers) + "}"},
      {"long details", R"({"model_type": "reformer", "num_buckets": [2,2,2,2,2,2,2,2], "attn_layers": [)" +
                           repeated("\"lsh\",", plan::kMaxLayers - 1) + "\"local\"]}"},
      {"long lists, many layers", longrope(plan::kMaxLayers, plan::kMaxListEntries / plan::kMaxLayers / 2)},
      {"longer lists, few layers", longrope(4, plan::kMaxListEntries / 8)},
      {"a saved plan", to_json(plan_of(deep("llama", R"("x": 0)")))},
      {"a saved plan of layers that do not attend", saved_without_attention(many)},
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

TEST(ReadPlanLimits, stacks_and_cross_attentions_share_the_layers) {
  EXPECT_TRUE(read(two_stacks("t5")).ok());
  const std::string too_many = std::to_string(plan::kMaxLayers / 4 + 1);
  EXPECT_EQ(error_of("{\"model_type\": \"t5\", \"num_layers\": " + too_many + "}").kind, ErrorKind::out_of_range);
  EXPECT_EQ(
      error_of(with(deep_with_cross(), std::to_string(plan::kMaxLayers / 2), std::to_string(plan::kMaxLayers / 2 + 1)))
          .path,
      "/num_hidden_layers");
  EXPECT_EQ(error_of(R"({"model_type": "reformer", "num_buckets": [2,2,2,2,2,2,2,2,2]})").kind,
            ErrorKind::length_mismatch);
  EXPECT_EQ(error_of(R"({"model_type": "deberta", "pos_att_type": [)" + repeated("\"p2p\",", 8) + "\"c2p\"]}").kind,
            ErrorKind::length_mismatch);
}

// Both attentions of a decoder's blocks count, and half of what they leave is for the blocks beside it.
TEST(ReadPlanLimits, a_stack_beside_has_what_the_first_one_leaves) {
  const std::int64_t blocks = 5 * plan::kMaxLayers / 12;
  const std::int64_t left = plan::kMaxLayers - 2 * blocks;
  const auto musicgen = [&](std::int64_t beside) {
    return R"({"model_type": "musicgen", "decoder": {"model_type": "musicgen_decoder", "num_hidden_layers": )" +
           std::to_string(blocks) + R"(}, "text_encoder": {"model_type": "t5", "num_layers": )" +
           std::to_string(beside) + "}}";
  };
  EXPECT_EQ(plan_of(musicgen(left / 2)).stacks.back().layers.size(), static_cast<std::size_t>(left / 2));
  const FileError error = error_of(musicgen(left + 1));
  EXPECT_EQ(name(error.kind), name(ErrorKind::out_of_range));
  EXPECT_EQ(error.path, "/text_encoder/num_layers");
}

// The widest rotations that every layer may have: `pairs` in each of two, the main one and the indexer's.
std::string wide_with_indexers(std::int64_t pairs) {
  const std::string channels = std::to_string(2 * pairs);
  return deep("deepseek_v32", R"("qk_nope_head_dim": 2, "v_head_dim": 2, "qk_rope_head_dim": )" + channels +
                                  R"(, "index_head_dim": )" + channels);
}

TEST(ReadPlanLimits, what_is_written_is_bounded) {
  const std::int64_t pairs = plan::kMaxPairs / plan::kMaxLayers / 2;
  const Result<Plan> most = read(wide_with_indexers(pairs));
  ASSERT_TRUE(most.ok()) << most.error().message();
  const std::size_t bytes = to_json(*most).size();
  std::printf("%zu bytes of JSON\n", bytes);
  EXPECT_LE(bytes, 8'000'000U);
  const FileError error = error_of(wide_with_indexers(pairs + 1));
  EXPECT_EQ(name(error.kind), name(ErrorKind::limit));
  EXPECT_EQ(error.got, std::to_string(2 * (pairs + 1) * plan::kMaxLayers));
  EXPECT_EQ(name(error_of(deep("llama", R"("head_dim": 8192)")).kind), name(ErrorKind::limit));
}

TEST(ReadPlanLimits, the_deepest_model_is_read) {
  EXPECT_EQ(plan_of(deep("llama", R"("x": 0)")).stacks[0].layers.size(), static_cast<std::size_t>(plan::kMaxLayers));
}

}  // namespace
}  // namespace posenc::test::read_plan_limits_test

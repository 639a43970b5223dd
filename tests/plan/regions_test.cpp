// dual_chunk_attention_config, against the positions that vLLM's DualChunkRotaryEmbedding makes of its numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "plan/read/plan_reading.h"

namespace posenc::test::regions_test {
namespace {

// Two layers; `members` of the dictionary.
std::string config(std::string_view model_type, std::string_view members) {
  return R"({"model_type": ")" + std::string(model_type) +
         R"(", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 512, "dual_chunk_attention_config": )" +
         std::string(members) + "}";
}

std::string sizes(std::int64_t chunk_size, std::int64_t local_size) {
  return R"({"chunk_size": )" + std::to_string(chunk_size) + R"(, "local_size": )" + std::to_string(local_size) + "}";
}

DualChunk chunks(const Plan& plan) {
  const LayerPlan layer = layer_of(plan, 1);
  const auto* found = std::get_if<DualChunk>(&layer.regions);
  if (found != nullptr) return *found;
  ADD_FAILURE() << "no dual chunks";
  return {};
}

TEST(Regions, are_read_where_vllm_reads_them) {
  for (const char* type : {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}) {
    SCOPED_TRACE(type);
    const Plan plan = plan_of(config(type, sizes(32, 8)));
    EXPECT_TRUE(plan.known);
    EXPECT_EQ(chunks(plan), (DualChunk{.chunk = 24, .local = 9, .trained = 33}));
    EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/regions"), "/dual_chunk_attention_config");
  }
  const Plan llama = plan_of(config("llama", sizes(32, 8)));
  EXPECT_EQ(layer_of(llama, 0).regions, Regions{});
  EXPECT_THAT(llama.ignored_keys, testing::ElementsAre("/dual_chunk_attention_config"));
}

TEST(Regions, layers_that_do_not_rotate_have_none) {
  const std::string text = with(config("qwen3_next", sizes(32, 8)), R"("num_hidden_layers": 2)",
                                R"("num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"])");
  const Plan plan = plan_of(text);
  EXPECT_EQ(layer_of(plan, 0).regions, Regions{});
  EXPECT_EQ(chunks(plan).chunk, 24);
}

TEST(Regions, are_odd_beside_a_scaling_rule) {
  EXPECT_THAT(codes(plan_of(config("qwen2", sizes(32, 8)))), testing::IsEmpty());
  const Plan plan = plan_of(with(config("qwen2", sizes(32, 8)), R"("max_position_embeddings": 512)",
                                 R"("max_position_embeddings": 512,
                                    "rope_scaling": {"rope_type": "linear", "factor": 4.0})"));
  EXPECT_EQ(chunks(plan).chunk, 24);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"scaled-chunks"});
}

TEST(Regions, are_not_missed_where_no_file_has_them) {
  const Plan plan = plan_of(R"({"model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 512})");
  EXPECT_EQ(layer_of(plan, 0).regions, Regions{});
  EXPECT_THAT(plan.absent_keys, testing::Not(testing::Contains("/dual_chunk_attention_config")));
}

// With s = chunk_size - local_size, a query at r = i mod s stands at min(s + r, chunk_size) for the chunk before, and
// where r = s - 1 does for all chunks before that.
TEST(Regions, queries_stand_where_vllm_has_them) {
  for (std::int64_t size = 1; size <= 12; ++size) {
    for (std::int64_t local = 0; local < size; ++local) {
      SCOPED_TRACE(sizes(size, local));
      const DualChunk got = chunks(plan_of(config("qwen2", sizes(size, local))));
      const std::int64_t s = size - local;
      EXPECT_EQ(got.chunk, s);
      EXPECT_EQ(got.local, got.trained - got.chunk);
      for (std::int64_t r = 0; r < s; ++r) {
        EXPECT_EQ(r < got.local ? s + r : got.trained - 1, std::min(s + r, size)) << "r " << r;
      }
      EXPECT_EQ(got.trained - 1, std::min(2 * s - 1, size));
    }
  }
}

// Qwen2.5-1M's own numbers.
TEST(Regions, what_depends_on_the_length_is_said) {
  const std::string own = R"({"chunk_size": 262144, "local_size": 8192, "original_max_position_embeddings": 262144})";
  const Plan plan = plan_of(config("qwen2", own));
  EXPECT_EQ(chunks(plan), (DualChunk{.chunk = 253952, .local = 8193, .trained = 262145}));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"undecided"});
  EXPECT_THAT(plan.warnings.at(0).keys,
              testing::ElementsAre("/dual_chunk_attention_config/original_max_position_embeddings"));
  const Plan sparse = plan_of(config("qwen2", with(sizes(32, 8), "}", R"(, "sparse_attention_enabled": true})")));
  EXPECT_FALSE(sparse.known);
  EXPECT_THAT(sparse.warnings.at(0).keys,
              testing::ElementsAre("/dual_chunk_attention_config/sparse_attention_enabled"));
  const Plan plain = plan_of(config("qwen2", with(sizes(32, 8), "}", R"(, "sparse_attention_enabled": false,
    "original_max_position_embeddings": 0})")));
  EXPECT_TRUE(plain.known);
  EXPECT_THAT(plain.warnings, testing::IsEmpty());
}

TEST(Regions, impossible_numbers_are_errors_at_their_key) {
  const auto error = [](std::string_view members) { return error_of(config("qwen2", members)); };
  EXPECT_EQ(error("[]").path, "/dual_chunk_attention_config");
  EXPECT_EQ(error(R"({"chunk_size": 32})").kind, ErrorKind::missing_key);
  EXPECT_EQ(error(R"({"local_size": 8})").kind, ErrorKind::missing_key);
  EXPECT_EQ(error(sizes(0, 0)).path, "/dual_chunk_attention_config/chunk_size");
  EXPECT_EQ(error(sizes(32, 32)).path, "/dual_chunk_attention_config/local_size");
  EXPECT_EQ(error(sizes(32, -1)).path, "/dual_chunk_attention_config/local_size");
  EXPECT_EQ(error(with(sizes(32, 8), "}", R"(, "sparse_attention_enabled": 1})")).path,
            "/dual_chunk_attention_config/sparse_attention_enabled");
  EXPECT_EQ(error(with(sizes(32, 8), "}", R"(, "original_max_position_embeddings": -4})")).path,
            "/dual_chunk_attention_config/original_max_position_embeddings");
}

}  // namespace
}  // namespace posenc::test::regions_test

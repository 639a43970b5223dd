// Shapes of tensors beside a config judge the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/read/plan_reading.h"
#include "support/gguf_builder.h"
#include "support/temporary_folder.h"

namespace posenc::test::shapes_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

constexpr std::string_view kQwen3 = R"({"model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 8,
  "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 2, "max_position_embeddings": 128})";

Shapes qwen3() {
  Shapes shapes;
  for (const std::string_view layer : {"0", "1"}) {
    const std::string at = "model.layers." + std::string(layer) + ".self_attn.";
    shapes[at + "q_proj.weight"] = {128, 64};
    shapes[at + "k_proj.weight"] = {32, 64};
    shapes[at + "v_proj.weight"] = {32, 64};
    shapes[at + "o_proj.weight"] = {64, 128};
    shapes[at + "q_norm.weight"] = {16};
    shapes[at + "k_norm.weight"] = {16};
  }
  return shapes;
}

// A safetensors file of zeros.
std::string safetensors(const Shapes& shapes, std::string_view dtype = "BF16") {
  std::string header = "{";
  std::int64_t at = 0;
  for (const auto& [name, shape] : shapes) {
    std::int64_t bytes = 2;
    std::string sizes;
    for (const std::int64_t size : shape) {
      bytes *= size;
      sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    }
    header += (at == 0 ? "\"" : ",\"") + name + R"(":{"dtype":")" + std::string(dtype) + R"(","shape":[)" + sizes +
              R"(],"data_offsets":[)" + std::to_string(at) + "," + std::to_string(at + bytes) + "]}";
    at += bytes;
  }
  header += "}";
  std::string file;
  for (int byte = 0; byte < 8; ++byte) file += static_cast<char>((header.size() >> (8 * byte)) & 0xff);
  return file + header + std::string(static_cast<std::size_t>(at), '\0');
}

std::vector<Warning> warnings_of(std::string_view config, const Shapes& shapes) {
  const TemporaryFolder folder;
  folder.file("config.json", config);
  folder.file("model.safetensors", safetensors(shapes));
  const Result<Plan> plan = read_plan(folder.path());
  if (plan.ok()) return plan->warnings;
  ADD_FAILURE() << plan.error().message();
  return {};
}

auto mismatch(std::string_view tensor, std::string_view shape, std::string_view plan) {
  return AllOf(::testing::Field(&Warning::code, "shape-mismatch"),
               ::testing::Field(&Warning::message, AllOf(HasSubstr(std::string(tensor)), HasSubstr(std::string(shape)),
                                                         HasSubstr(std::string(plan)))));
}

constexpr std::string_view kLayer0 = "model.layers.0.self_attn.";

std::string at(std::string_view tensor) { return std::string(kLayer0) + std::string(tensor); }

TEST(Shapes, that_agree_say_nothing) { EXPECT_THAT(warnings_of(kQwen3, qwen3()), IsEmpty()); }

TEST(Shapes, counts_of_heads_and_channels_are_compared) {
  struct Case {
    std::string_view from;
    std::string_view to;
    std::string_view tensor;
    std::string_view shape;
    std::string_view claim;
  };
  for (const Case& one : {Case{R"("num_attention_heads": 8)", R"("num_attention_heads": 6)", "q_proj.weight",
                               "[128, 64]", "6 heads of 16 channels"},
                          Case{R"("num_key_value_heads": 2)", R"("num_key_value_heads": 4)", "k_proj.weight",
                               "[32, 64]", "4 heads of 16 channels"},
                          Case{R"("head_dim": 16)", R"("head_dim": 8)", "k_norm.weight", "[16]", "8 weights"}}) {
    const std::vector<Warning> warnings = warnings_of(with(kQwen3, one.from, one.to), qwen3());
    EXPECT_THAT(warnings, ::testing::Contains(mismatch(at(one.tensor), one.shape, one.claim))) << one.to;
  }
}

TEST(Shapes, a_fault_in_every_layer_is_one_warning) {
  const auto warnings =
      warnings_of(with(kQwen3, R"("num_key_value_heads": 2)", R"("num_key_value_heads": 1)"), qwen3());
  EXPECT_THAT(warnings, ElementsAre(mismatch(at("k_proj.weight"), "[32, 64]", "So are 1 more."),
                                    mismatch(at("v_proj.weight"), "[32, 64]", "So are 1 more.")));
}

TEST(Shapes, a_gate_beside_the_queries_is_no_contradiction) {
  Shapes shapes = qwen3();
  shapes[at("q_proj.weight")] = {256, 64};
  EXPECT_THAT(warnings_of(kQwen3, shapes), IsEmpty());
  shapes[at("o_proj.weight")] = {64, 256};
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(mismatch(at("o_proj.weight"), "[64, 256]", "128 columns")));
}

TEST(Shapes, norms_sinks_and_tables_that_the_plan_has_not) {
  constexpr std::string_view kLlama = R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 8,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 128})";
  Shapes shapes = qwen3();
  for (auto& [name, shape] : shapes) {
    if (name.find("_proj") != std::string::npos) shape[name.find("o_proj") == std::string::npos ? 1 : 0] = 128;
  }
  EXPECT_THAT(warnings_of(kLlama, shapes), ElementsAre(mismatch(at("k_norm.weight"), "[16]", "no such weights"),
                                                       mismatch(at("q_norm.weight"), "[16]", "no such weights")));
  shapes = {{at("sinks"), {8}},
            {"model.embed_positions.weight", {130, 128}},
            {"shared.relative_attention_bias.weight", {32, 8}}};
  EXPECT_THAT(warnings_of(kLlama, shapes),
              ::testing::UnorderedElementsAre(mismatch("sinks", "[8]", "no sinks"),
                                              mismatch("embed_positions", "[130, 128]", "no table"),
                                              mismatch("relative_attention_bias", "[32, 8]", "no such table")));
}

TEST(Shapes, what_the_plan_has_and_the_weights_lack) {
  Shapes shapes = qwen3();
  shapes.erase(at("k_norm.weight"));
  EXPECT_THAT(warnings_of(kQwen3, shapes),
              ElementsAre(::testing::Field(&Warning::message, HasSubstr("no tensor of a norm of keys in layer 0"))));
}

TEST(Shapes, sinks_that_one_layer_lacks) {
  constexpr std::string_view kGptOss = R"({"model_type": "gpt_oss", "hidden_size": 64, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 8, "num_hidden_layers": 2})";
  Shapes shapes;
  for (const std::string layer : {"0", "1"}) {
    const std::string prefix = "model.layers." + layer + ".self_attn.";
    shapes[prefix + "q_proj.weight"] = {64, 64};
    shapes[prefix + "k_proj.weight"] = {16, 64};
    shapes[prefix + "sinks"] = {8};
  }
  EXPECT_THAT(warnings_of(kGptOss, shapes), IsEmpty());
  shapes.erase("model.layers.1.self_attn.sinks");
  EXPECT_THAT(warnings_of(kGptOss, shapes),
              ElementsAre(::testing::Field(&Warning::message, HasSubstr("no tensor of sinks in layer 1"))));
}

TEST(Shapes, rows_of_a_learned_table) {
  constexpr std::string_view kGpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 1,
    "n_positions": 128})";
  EXPECT_THAT(warnings_of(kGpt2, {{"wpe.weight", {128, 64}}}), IsEmpty());
  EXPECT_THAT(warnings_of(kGpt2, {{"transformer.wpe.weight", {256, 64}}}),
              ElementsAre(mismatch("transformer.wpe.weight", "[256, 64]", "rows of the learned table")));
}

TEST(Shapes, packed_weights_and_stacks_that_are_not_known_are_passed_over) {
  const TemporaryFolder folder;
  folder.file("config.json", kQwen3);
  folder.file("model.safetensors", safetensors({{at("q_proj.weight"), {7, 3}}}, "I16"));
  EXPECT_THAT(read_plan(folder.path())->warnings, IsEmpty());
  folder.file("config.json", with(kQwen3, "qwen3", "no_such_family"));
  folder.file("model.safetensors", safetensors({{at("q_proj.weight"), {7, 3}}}));
  EXPECT_THAT(codes(*read_plan(folder.path())), ElementsAre("unknown-family"));
}

TEST(Shapes, of_shards_by_their_index) {
  const TemporaryFolder folder;
  folder.file("config.json", with(kQwen3, R"("num_key_value_heads": 2)", R"("num_key_value_heads": 4)"));
  folder.file("one.safetensors", safetensors({{at("k_proj.weight"), {32, 64}}}));
  folder.file("model.safetensors.index.json",
              R"({"weight_map": {")" + at("k_proj.weight") + R"(": "one.safetensors"}})");
  EXPECT_THAT(read_plan(folder.path())->warnings,
              ElementsAre(mismatch(at("k_proj.weight"), "[32, 64]", "4 heads of 16 channels")));
  // Shards that were not fetched are no fault of the config.
  std::filesystem::remove(folder.path() / "one.safetensors");
  EXPECT_THAT(read_plan(folder.path())->warnings, IsEmpty());
  folder.file("model.safetensors.index.json", "{");
  EXPECT_THAT(codes(*read_plan(folder.path())), ElementsAre("weights-not-read"));
}

TEST(Shapes, of_a_gguf_file) {
  const auto warnings = [](std::uint64_t rows, std::uint64_t norm) {
    const std::string bytes = GgufBuilder()
                                  .text("general.architecture", "qwen3")
                                  .u32("qwen3.block_count", 1)
                                  .u32("qwen3.context_length", 128)
                                  .u32("qwen3.embedding_length", 64)
                                  .u32("qwen3.attention.head_count", 8)
                                  .u32("qwen3.attention.head_count_kv", 2)
                                  .u32("qwen3.attention.key_length", 16)
                                  .u32("qwen3.attention.value_length", 16)
                                  .f32("qwen3.rope.freq_base", 1e4F)
                                  .zeros("blk.0.attn_k.weight", {64, rows})
                                  .zeros("blk.0.attn_k_norm.weight", {norm})
                                  .bytes();
    const Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes)), "model.gguf");
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    return plan->warnings;
  };
  EXPECT_THAT(warnings(32, 16), IsEmpty());
  EXPECT_THAT(warnings(16, 16), ElementsAre(mismatch("blk.0.attn_k.weight", "[16, 64]", "2 heads of 16 channels")));
  EXPECT_THAT(warnings(32, 8), ElementsAre(mismatch("blk.0.attn_k_norm.weight", "[8]", "16 weights")));
}

// Blocks that the tensors are of, and those that the file says: `attends` has tensors of attention.
TEST(Shapes, count_the_blocks_of_a_gguf_file) {
  struct Extra {
    std::int64_t nextn = 0;
    std::int64_t parts = 1;
  };
  const auto messages = [](std::uint32_t blocks, const std::vector<int>& attends, Extra extra = {}) {
    GgufBuilder file;
    file.text("general.architecture", "glm4moe")
        .u32("glm4moe.block_count", blocks)
        .u32("glm4moe.context_length", 128)
        .u32("glm4moe.embedding_length", 64)
        .u32("glm4moe.attention.head_count", 4)
        .u32("glm4moe.rope.dimension_count", 16)
        .f32("glm4moe.rope.freq_base", 1e4F);
    if (extra.nextn > 0) file.u32("glm4moe.nextn_predict_layers", static_cast<std::uint32_t>(extra.nextn));
    if (extra.parts > 1) file.u32("split.count", static_cast<std::uint32_t>(extra.parts)).u32("split.no", 0);
    for (const int block : attends) {
      file.zeros("blk." + std::to_string(block) + ".attn_q.weight", {64, 64});
      file.zeros("blk." + std::to_string(block) + ".attn_output.weight", {64, 64});
    }
    const std::string bytes = file.bytes();
    const Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes)), "model.gguf");
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    std::vector<std::string> out;
    for (const Warning& warning : plan->warnings) {
      if (warning.code == "shape-mismatch") out.push_back(warning.message);
    }
    return out;
  };
  EXPECT_THAT(messages(3, {0, 1, 2}), IsEmpty());
  EXPECT_THAT(messages(3, {}), IsEmpty());
  EXPECT_THAT(messages(2, {0, 1, 2, 3}),
              ElementsAre("blk.2.attn_q.weight is of block 2, where glm4moe.block_count is 2: blocks from 0 to 1. So "
                          "are 1 more."));
  EXPECT_THAT(messages(5, {0, 1, 2}),
              ElementsAre("There is no tensor of the attention of block 3, where glm4moe.block_count is 5. So are 1 "
                          "more."));
  EXPECT_THAT(messages(5, {0, 1, 2}, {.parts = 2}), IsEmpty());
  // Blocks that predict further tokens are counted, and may be left out or not.
  EXPECT_THAT(messages(3, {0, 1, 2}, {.nextn = 1}), IsEmpty());
  EXPECT_THAT(messages(3, {0, 1}, {.nextn = 1}), IsEmpty());
  EXPECT_THAT(messages(3, {0, 1, 2, 3}, {.nextn = 1}), testing::SizeIs(1));
}

}  // namespace
}  // namespace posenc::test::shapes_test

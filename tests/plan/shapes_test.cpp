// Shapes of tensors beside a config judge the plan.
#include <fmt/format.h>
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

auto message(std::string_view words) {
  return AllOf(::testing::Field(&Warning::code, "shape-mismatch"),
               ::testing::Field(&Warning::message, HasSubstr(std::string(words))));
}

constexpr std::string_view kLayer0 = "model.layers.0.self_attn.";

std::string layer(int number) { return "model.layers." + std::to_string(number) + "."; }

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

TEST(Shapes, a_gate_beside_the_queries_is_one_where_the_family_has_it) {
  Shapes shapes = qwen3();
  shapes[at("q_proj.weight")] = {256, 64};
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(mismatch(at("q_proj.weight"), "[256, 64]", "128 rows")));
  const std::string gated = with(with(kQwen3, "qwen3", "qwen3_next"), R"("num_hidden_layers": 2)",
                                 R"("num_hidden_layers": 2, "layer_types": ["full_attention", "full_attention"])");
  EXPECT_THAT(warnings_of(gated, shapes), IsEmpty());
  shapes[at("o_proj.weight")] = {64, 256};
  EXPECT_THAT(warnings_of(gated, shapes), ElementsAre(mismatch(at("o_proj.weight"), "[64, 256]", "128 columns")));
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
            {layer(1) + "mlp.down_proj.weight", {4, 4}},
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
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(message("no tensor of a norm of keys in layer 0")));
  shapes.erase(at("q_norm.weight"));
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(message("no tensor of a norm of keys in layer 0"),
                                                       message("no tensor of a norm of queries in layer 0")));
  // Some other name may be the norm's.
  shapes[at("q_ln.weight")] = {16};
  EXPECT_THAT(warnings_of(kQwen3, shapes), IsEmpty());
}

TEST(Shapes, norms_that_every_layer_lacks) {
  Shapes shapes = qwen3();
  std::erase_if(shapes, [](const auto& one) { return one.first.find("_norm") != std::string::npos; });
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(message("no tensor of a norm of keys in layer 0"),
                                                       message("no tensor of a norm of queries in layer 0")));
}

TEST(Shapes, count_layers) {
  Shapes shapes = qwen3();
  EXPECT_THAT(
      warnings_of(with(kQwen3, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 1)"), shapes),
      ElementsAre(message("model.layers.1.self_attn.k_norm.weight is of layer 1, where the plan has 1 layers")));
  EXPECT_THAT(warnings_of(with(kQwen3, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 4)"), shapes),
              ElementsAre(message("no tensor of layer 2 of the decoder, where the plan has 4 layers")));
  // What predicts further tokens is numbered after the others.
  for (const int number : {2, 3}) shapes[layer(number) + "self_attn.q_proj.weight"] = {128, 64};
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(message("So are 1 more.")));
  for (const int number : {2, 3}) shapes[layer(number) + "eh_proj.weight"] = {64, 128};
  EXPECT_THAT(warnings_of(kQwen3, shapes), IsEmpty());
  // Of two lists one may be another model's.
  shapes["draft.layers.7.self_attn.q_proj.weight"] = {128, 64};
  EXPECT_THAT(warnings_of(kQwen3, shapes), IsEmpty());
}

TEST(Shapes, layers_without_attention_are_counted_too) {
  Shapes shapes = qwen3();
  shapes[layer(2) + "mlp.down_proj.weight"] = {4, 4};
  EXPECT_THAT(warnings_of(with(kQwen3, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 3)"), shapes), IsEmpty());
}

TEST(Shapes, of_lists_that_are_another_models_are_passed_over) {
  Shapes shapes = qwen3();
  shapes["mask_decoder.layers.0.self_attn.q_proj.weight"] = {32, 32};
  shapes["stages.1.blocks.0.attention.q_proj.weight"] = {32, 32};
  EXPECT_THAT(warnings_of(kQwen3, shapes), IsEmpty());
  shapes[at("q_proj.weight")] = {32, 64};
  EXPECT_THAT(warnings_of(kQwen3, shapes), ElementsAre(mismatch(at("q_proj.weight"), "[32, 64]", "128 rows")));
}

// Two attentions in one block are two layers of the plan.
TEST(Shapes, inner_numbers_are_no_fewer_layers) {
  Shapes shapes;
  for (const std::string inner : {"0", "1"}) {
    shapes["model.layers.0.self_attn." + inner + ".q_proj.weight"] = {128, 64};
  }
  EXPECT_THAT(warnings_of(kQwen3, shapes), IsEmpty());
}

constexpr std::string_view kT5 = R"({"model_type": "t5", "d_model": 48, "num_heads": 4, "d_kv": 16, "num_layers": 2,
  "num_decoder_layers": 2, "vocab_size": 99})";

Shapes t5() {
  Shapes shapes;
  const auto add = [&](const std::string& prefix) {
    for (const std::string name : {"q", "k", "v"}) shapes[prefix + name + ".weight"] = {64, 48};
    shapes[prefix + "o.weight"] = {48, 64};
  };
  for (const std::string number : {"0", "1"}) {
    for (const std::string stack : {"encoder", "decoder"}) {
      const std::string prefix = fmt::format("{}.block.{}.layer.0.SelfAttention.", stack, number);
      add(prefix);
      if (number == "0") shapes[prefix + "relative_attention_bias.weight"] = {32, 4};
    }
    add("decoder.block." + number + ".layer.1.EncDecAttention.");
  }
  return shapes;
}

TEST(Shapes, of_cross_attention) {
  EXPECT_THAT(warnings_of(kT5, t5()), IsEmpty());
  struct Case {
    std::string name;
    std::vector<std::int64_t> shape;
    std::string_view claim;
  };
  for (const Case& one : {Case{"q", {32, 48}, "4 heads of 16 channels"}, Case{"k", {128, 48}, "64 rows"},
                          Case{"v", {32, 48}, "64 rows"}, Case{"o", {48, 32}, "64 columns"}}) {
    const std::string tensor = "decoder.block.1.layer.1.EncDecAttention." + one.name + ".weight";
    Shapes shapes = t5();
    shapes[tensor] = one.shape;
    EXPECT_THAT(warnings_of(kT5, shapes), ElementsAre(mismatch(tensor, "", one.claim)));
  }
  // A table that no class reads.
  Shapes shapes = t5();
  shapes["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = {7, 7};
  EXPECT_THAT(warnings_of(kT5, shapes), IsEmpty());
}

TEST(Shapes, a_table_of_biases_that_a_stack_lacks) {
  Shapes shapes = t5();
  EXPECT_THAT(warnings_of(kT5, shapes), IsEmpty());
  shapes["decoder.block.1.layer.0.SelfAttention.k.weight"] = {32, 48};
  EXPECT_THAT(warnings_of(kT5, shapes), ElementsAre(mismatch("decoder.block.1", "[32, 48]", "4 heads of 16 channels")));
  shapes = t5();
  shapes.erase("decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  EXPECT_THAT(warnings_of(kT5, shapes),
              ElementsAre(message("no tensor of a table of biases by distance in the decoder")));
  shapes["decoder.rel_pos.weight"] = {32, 4};
  EXPECT_THAT(warnings_of(kT5, shapes), IsEmpty());
}

TEST(Shapes, queries_keys_and_values_in_one) {
  struct Case {
    std::string_view config;
    std::string tensor;
    std::vector<std::int64_t> shape;
    std::int64_t rows;
  };
  for (const Case& one :
       {Case{R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 1})",
             "h.0.attn.c_attn.weight",
             {64, 192},
             192},
        Case{R"({"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1})",
             "gpt_neox.layers.0.attention.query_key_value.weight",
             {192, 64},
             192},
        Case{R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "num_hidden_layers": 1})",
             "model.layers.0.self_attn.qkv_proj.weight",
             {128, 64},
             128}}) {
    Shapes shapes{{one.tensor, one.shape}};
    if (one.tensor.starts_with("h.")) shapes["wpe.weight"] = {1024, 64};
    EXPECT_THAT(warnings_of(one.config, shapes), IsEmpty()) << one.tensor;
    for (std::int64_t& size : shapes[one.tensor]) size = size == one.rows ? one.rows - 16 : size;
    EXPECT_THAT(warnings_of(one.config, shapes),
                ElementsAre(mismatch(one.tensor, "[", std::to_string(one.rows) + " rows: 4 heads and 2 x ")));
  }
}

TEST(Shapes, of_latents) {
  constexpr std::string_view kLatent = R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 4, "num_hidden_layers": 1, "q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 12})";
  const Shapes fine{{at("q_b_proj.weight"), {96, 24}},
                    {at("kv_a_proj_with_mqa.weight"), {40, 64}},
                    {at("kv_a_layernorm.weight"), {32}},
                    {at("kv_b_proj.weight"), {112, 32}},
                    {at("o_proj.weight"), {64, 48}}};
  EXPECT_THAT(warnings_of(kLatent, fine), IsEmpty());
  const auto changed = [&](std::string_view name, std::vector<std::int64_t> shape) {
    Shapes shapes = fine;
    shapes[at(name)] = std::move(shape);
    return warnings_of(kLatent, shapes);
  };
  EXPECT_THAT(changed("q_b_proj.weight", {64, 24}), ElementsAre(mismatch("q_b_proj", "[64, 24]", "96 rows")));
  EXPECT_THAT(
      changed("kv_a_proj_with_mqa.weight", {48, 64}),
      ElementsAre(mismatch("kv_a_proj_with_mqa", "[48, 64]", "40 rows: 32 latent channels, and 8 that rotate")));
  EXPECT_THAT(changed("kv_b_proj.weight", {128, 32}), ElementsAre(mismatch("kv_b_proj", "[128, 32]", "112 rows")));
  EXPECT_THAT(changed("kv_b_proj.weight", {112, 24}), ElementsAre(mismatch("kv_b_proj", "[112, 24]", "32 columns")));
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

TEST(Shapes, width_of_a_learned_table) {
  constexpr std::string_view kGpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 1,
    "n_positions": 128})";
  const std::string_view fused = "h.0.attn.c_attn.weight";
  EXPECT_THAT(warnings_of(kGpt2, {{"wpe.weight", {128, 32}}}),
              ElementsAre(mismatch("wpe.weight", "[128, 32]", "64 columns: as wide as the embeddings")));
  // As OPT has it, words may be narrower than what comes into attention.
  EXPECT_THAT(warnings_of(kGpt2, {{"wpe.weight", {128, 32}}, {"wte.weight", {99, 32}}}), IsEmpty());
  EXPECT_THAT(warnings_of(kGpt2, {{std::string(fused), {64, 192}}}),
              ElementsAre(message("no tensor of a learned table of positions in the decoder")));
  EXPECT_THAT(warnings_of(kGpt2, {{std::string(fused), {64, 192}}, {"pos_emb.weight", {128, 64}}}), IsEmpty());
}

TEST(Shapes, packed_weights_and_stacks_that_are_not_known_are_passed_over) {
  const TemporaryFolder folder;
  folder.file("config.json", with(kQwen3, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 1)"));
  folder.file("model.safetensors", safetensors({{at("q_proj.weight"), {7, 3}}}, "I16"));
  EXPECT_THAT(read_plan(folder.path())->warnings, IsEmpty());
  folder.file("config.json", with(kQwen3, "qwen3", "no_such_family"));
  folder.file("model.safetensors", safetensors({{at("q_proj.weight"), {7, 3}}}));
  EXPECT_THAT(codes(*read_plan(folder.path())), ElementsAre("unknown-family"));
}

TEST(Shapes, of_shards_by_their_index) {
  const TemporaryFolder folder;
  folder.file("config.json", with(with(kQwen3, R"("num_key_value_heads": 2)", R"("num_key_value_heads": 4)"),
                                  R"("num_hidden_layers": 2)", R"("num_hidden_layers": 1)"));
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

// Latent attention by GGUF's names.
TEST(Shapes, of_the_latents_of_a_gguf_file) {
  using Axes = std::vector<std::uint64_t>;  // the fastest first
  const std::map<std::string, Axes> fine{{"attn_q_b.weight", {48, 192}},
                                         {"attn_kv_a_mqa.weight", {64, 40}},
                                         {"attn_kv_a_norm.weight", {32}},
                                         {"attn_kv_b.weight", {32, 256}},
                                         {"attn_output.weight", {128, 64}}};
  const auto warnings = [](const std::map<std::string, Axes>& tensors) {
    GgufBuilder file;
    file.text("general.architecture", "deepseek2")
        .u32("deepseek2.block_count", 1)
        .u32("deepseek2.context_length", 4096)
        .u32("deepseek2.embedding_length", 64)
        .u32("deepseek2.attention.head_count", 8)
        .u32("deepseek2.attention.head_count_kv", 8)
        .u32("deepseek2.attention.key_length", 24)
        .u32("deepseek2.attention.value_length", 16)
        .u32("deepseek2.attention.kv_lora_rank", 32)
        .u32("deepseek2.attention.q_lora_rank", 48)
        .u32("deepseek2.rope.dimension_count", 8)
        .f32("deepseek2.rope.freq_base", 1e4F);
    for (const auto& [name, axes] : tensors) file.zeros("blk.0." + name, axes);
    const std::string bytes = file.bytes();
    const Result<Plan> plan = read_plan(std::as_bytes(std::span(bytes)), "model.gguf");
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    std::vector<Warning> found = plan->warnings;
    std::erase_if(found, [](const Warning& one) { return one.code != "shape-mismatch"; });
    return found;
  };
  EXPECT_THAT(warnings(fine), IsEmpty());
  struct Case {
    std::string name;
    Axes axes;
    std::string_view claim;
  };
  for (const Case& one : {Case{"attn_q_b.weight", {48, 96}, "192 rows: 8 heads of 24 channels"},
                          Case{"attn_kv_a_mqa.weight", {64, 48}, "40 rows: 32 latent channels, and 8 that rotate"},
                          Case{"attn_kv_b.weight", {32, 128}, "256 rows"},
                          Case{"attn_kv_a_norm.weight", {16}, "16 latent channels, and 8 that rotate"}}) {
    std::map<std::string, Axes> tensors = fine;
    tensors[one.name] = one.axes;
    EXPECT_THAT(warnings(tensors), ::testing::Contains(message(one.claim))) << one.name;
  }
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

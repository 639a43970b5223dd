// Which rows move where, against the converters of llama.cpp written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "convert/small_checkpoint.h"
#include "posenc/read_plan.h"
#include "support/temporary_folder.h"

namespace posenc::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A folder with a config and one file of weights.
struct Model {
  TemporaryFolder folder;
  std::filesystem::path source = folder.path() / "model";
  std::filesystem::path output = folder.path() / "out";

  Model(std::string_view config, const std::vector<SmallTensor>& tensors) {
    std::filesystem::create_directory(source);
    if (!config.empty()) folder.file("model/config.json", config);
    folder.file("model/model.safetensors", safetensors_of(tensors));
  }
  ConvertArgs args(Pairing to = Pairing::interleaved) const { return {.source = source, .output = output, .to = to}; }
  std::string written(std::string_view name) const { return tensor_bytes(output / "model.safetensors", name); }
};

const SmallTensor& named(const std::vector<SmallTensor>& tensors, std::string_view name) {
  return *std::ranges::find(tensors, name, &SmallTensor::name);
}

// LlamaModel.permute of llama.cpp's convert_hf_to_gguf.py: w.reshape(n_head, 2, rows / n_head / 2, ...).swapaxes(1, 2).
// Of 2 heads of 4 rows each: head 0's rows 0 1 2 3 come as 0 2 1 3, head 1's 4 5 6 7 as 4 6 5 7.
TEST(ConvertRows, LlamaCppsPermutationInNumbers) {
  const std::string config = R"({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2,
    "num_key_value_heads": 1, "num_hidden_layers": 1, "max_position_embeddings": 64})";
  const std::string ends = "model.layers.0.self_attn.";
  std::string q;
  std::string k;
  for (char row = 0; row < 8; ++row) q += std::string(8, row);  // F8: a byte an element
  for (char row = 0; row < 4; ++row) k += std::string(8, static_cast<char>(row + 20));
  const std::vector<SmallTensor> tensors = {{ends + "q_proj.weight", "F8_E4M3", {8, 8}, q},
                                            {ends + "k_proj.weight", "F8_E4M3", {4, 8}, k},
                                            {ends + "v_proj.weight", "F8_E4M3", {4, 8}, k}};
  const Model model(config, tensors);
  ASSERT_EQ(refusal(model.args()), "");
  std::string expected;
  for (const int row : {0, 2, 1, 3, 4, 6, 5, 7}) expected += std::string(8, static_cast<char>(row));
  EXPECT_EQ(model.written(ends + "q_proj.weight"), expected);
  expected.clear();
  for (const int row : {20, 22, 21, 23}) expected += std::string(8, static_cast<char>(row));
  EXPECT_EQ(model.written(ends + "k_proj.weight"), expected);
  EXPECT_EQ(model.written(ends + "v_proj.weight"), k);
}

TEST(ConvertRows, LlamaWithBiases) {
  const std::vector<SmallTensor> tensors = small_llama(true);
  const Model model(kSmallLlama, tensors);
  const Result<Conversion> done = convert(model.args());
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->tensors.size(), 8U);
  EXPECT_EQ(done->copied, 6);
  EXPECT_EQ(done->checked_heads, 2 * 3) << "of each layer the first head, the last and one between";
  for (const SmallTensor& tensor : tensors) {
    const bool q = tensor.name.find("q_proj") != std::string::npos;
    const bool k = tensor.name.find("k_proj") != std::string::npos;
    const std::int64_t row = tensor.name.ends_with("bias") ? 2 : 64;
    const std::string expected =
        q || k ? interleaved(tensor.data, row, {.heads = q ? 4 : 2, .between = 8, .dim = 8}) : tensor.data;
    EXPECT_EQ(model.written(tensor.name), expected) << tensor.name;
  }
}

TEST(ConvertRows, ThereAndBackIsTheSameFileWithNansAndAll) {
  std::vector<SmallTensor> tensors = small_llama(true);
  std::uint32_t seed = 100;
  for (SmallTensor& tensor : tensors) tensor.data = random_bytes(tensor.data.size(), ++seed);  // any bf16 there is
  const Model model(kSmallLlama, tensors);
  ASSERT_EQ(refusal(model.args()), "");
  const ConvertArgs back{.source = model.output,
                         .output = model.folder.path() / "back",
                         .to = Pairing::half,
                         .from = Pairing::interleaved};
  ASSERT_EQ(refusal(back), "");
  EXPECT_EQ(file_content(back.output / "model.safetensors"), file_content(model.source / "model.safetensors"));
  EXPECT_NE(file_content(model.output / "model.safetensors"), file_content(model.source / "model.safetensors"));
  EXPECT_EQ(file_content(model.output / "config.json"), kSmallLlama);
}

// Phi: partial_rotary_factor 0.5, so that 4 of 8 channels rotate; its norms move with the channels.
TEST(ConvertRows, PartialRotaryAndNormsOfHeads) {
  const std::string config = R"({"model_type": "phi", "hidden_size": 32, "num_attention_heads": 4,
    "num_key_value_heads": 4, "num_hidden_layers": 1, "partial_rotary_factor": 0.5, "qk_layernorm": true,
    "max_position_embeddings": 64})";
  const std::string at = "model.layers.0.self_attn.";
  const std::vector<SmallTensor> tensors = {
      numbers(at + "q_proj.weight", {32, 32}, 1), numbers(at + "k_proj.weight", {32, 32}, 2),
      numbers(at + "v_proj.weight", {32, 32}, 3), numbers(at + "q_layernorm.weight", {8}, 4),
      numbers(at + "k_layernorm.weight", {8}, 5), numbers(at + "q_layernorm.bias", {8}, 6),
      numbers(at + "k_layernorm.bias", {8}, 7)};
  const Model model(config, tensors);
  ASSERT_EQ(refusal(model.args()), "");
  EXPECT_EQ(model.written(at + "q_proj.weight"),
            interleaved(tensors[0].data, 64, {.heads = 4, .between = 8, .dim = 4}));
  for (const std::size_t norm : {3U, 4U, 5U, 6U}) {
    EXPECT_EQ(model.written(tensors[norm].name), interleaved(tensors[norm].data, 2, {.between = 8, .dim = 4}));
  }
}

// OLMo 2: one norm over all heads.
TEST(ConvertRows, NormsAcrossHeads) {
  const std::string config = R"({"model_type": "olmo2", "hidden_size": 32, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 64})";
  const std::string at = "model.layers.0.self_attn.";
  const std::vector<SmallTensor> tensors = {
      numbers(at + "q_proj.weight", {32, 32}, 1), numbers(at + "k_proj.weight", {16, 32}, 2),
      numbers(at + "v_proj.weight", {16, 32}, 3), numbers(at + "q_norm.weight", {32}, 4),
      numbers(at + "k_norm.weight", {16}, 5)};
  const Model model(config, tensors);
  ASSERT_EQ(refusal(model.args()), "");
  EXPECT_EQ(model.written(at + "q_norm.weight"), interleaved(tensors[3].data, 2, {.heads = 4, .between = 8, .dim = 8}));
  EXPECT_EQ(model.written(at + "k_norm.weight"), interleaved(tensors[4].data, 2, {.heads = 2, .between = 8, .dim = 8}));
}

constexpr std::string_view kSmallDeepSeek = R"({
  "model_type": "deepseek_v3", "hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2,
  "num_hidden_layers": 1, "q_lora_rank": 8, "kv_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4,
  "v_head_dim": 6, "rope_interleave": true, "max_position_embeddings": 64
})";
std::vector<SmallTensor> small_deepseek() {
  const std::string at = "model.layers.0.self_attn.";
  return {numbers(at + "q_a_proj.weight", {8, 32}, 1),    numbers(at + "q_a_layernorm.weight", {8}, 2),
          numbers(at + "q_b_proj.weight", {20, 8}, 3),    numbers(at + "kv_a_proj_with_mqa.weight", {16, 32}, 4),
          numbers(at + "kv_a_layernorm.weight", {12}, 5), numbers(at + "kv_b_proj.weight", {24, 12}, 6),
          numbers(at + "o_proj.weight", {32, 12}, 7)};
}

// The last 4 rows of each head of q_b_proj, and of all of kv_a_proj_with_mqa; and the key that the class reads.
TEST(ConvertRows, LatentAttentionAndItsConfigKey) {
  const std::vector<SmallTensor> tensors = small_deepseek();
  const Model model(kSmallDeepSeek, tensors);
  const Result<Conversion> done = convert(model.args(Pairing::half));
  ASSERT_TRUE(done.ok()) << done.error().message();
  ASSERT_EQ(done->config.size(), 1U);
  EXPECT_EQ(done->config[0], (ConfigChange{"/rope_interleave", "false"}));
  std::string config(kSmallDeepSeek);
  config.replace(config.find("true"), 4, "false");
  EXPECT_EQ(file_content(model.output / "config.json"), config);
  const std::string at = "model.layers.0.self_attn.";
  EXPECT_EQ(interleaved(model.written(at + "q_b_proj.weight"), 16, {.heads = 2, .between = 10, .first = 6, .dim = 4}),
            tensors[2].data);
  EXPECT_EQ(interleaved(model.written(at + "kv_a_proj_with_mqa.weight"), 64, {.between = 16, .first = 12, .dim = 4}),
            tensors[3].data);
  for (const std::size_t same : {0U, 1U, 4U, 5U, 6U}) {
    EXPECT_EQ(model.written(tensors[same].name), tensors[same].data) << tensors[same].name;
  }
  // Back, by what the new config says.
  const ConvertArgs back{.source = model.output, .output = model.folder.path() / "back", .to = Pairing::interleaved};
  ASSERT_EQ(refusal(back), "");
  EXPECT_EQ(file_content(back.output / "config.json"), kSmallDeepSeek);
  EXPECT_EQ(file_content(back.output / "model.safetensors"), file_content(model.source / "model.safetensors"));
}

// The class's default is true: a config that does not have the key gets it.
TEST(ConvertRows, ConfigKeyIsAddedWhereItIsAbsent) {
  std::string config(kSmallDeepSeek);
  const std::string key = R"("rope_interleave": true, )";
  config.erase(config.find(key), key.size());
  const Model model(config, small_deepseek());
  ASSERT_EQ(refusal(model.args(Pairing::half)), "");
  EXPECT_EQ(file_content(model.output / "config.json"), "{\n  \"rope_interleave\": false," + config.substr(1));
}

// The block after the last predicts tokens further on, and rotates as the others do.
TEST(ConvertRows, LayersBehindTheLast) {
  std::vector<SmallTensor> tensors = small_deepseek();
  for (const SmallTensor& tensor : small_deepseek()) {
    SmallTensor copy = tensor;
    copy.name.replace(copy.name.find(".0."), 3, ".1.");
    tensors.push_back(std::move(copy));
  }
  const Model model(kSmallDeepSeek, tensors);
  const Result<Conversion> done = convert(model.args(Pairing::half));
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->tensors.size(), 4U);
  ASSERT_FALSE(done->notes.empty());
  EXPECT_THAT(done->notes.front(), HasSubstr("Layer 1"));
}

// GPT-NeoX: [heads, 3, head_dim]. 2 heads of 8 channels, of which 4 rotate.
TEST(ConvertRows, FusedByHead) {
  const std::string config = R"({"model_type": "gpt_neox", "hidden_size": 16, "num_attention_heads": 2,
    "num_hidden_layers": 1, "rotary_pct": 0.5, "max_position_embeddings": 64})";
  const std::string at = "gpt_neox.layers.0.attention.query_key_value.";
  const std::vector<SmallTensor> tensors = {numbers(at + "weight", {48, 16}, 1), numbers(at + "bias", {48}, 2)};
  const Model model(config, tensors);
  ASSERT_EQ(refusal(model.args()), "");
  for (const SmallTensor& tensor : tensors) {
    const std::int64_t row = tensor.shape.size() == 1 ? 2 : 32;
    std::string expected = interleaved(tensor.data, row, {.heads = 2, .between = 24, .dim = 4});
    expected = interleaved(expected, row, {.start = 8, .heads = 2, .between = 24, .dim = 4});
    EXPECT_EQ(model.written(tensor.name), expected) << tensor.name;
  }
}

// Phi-3: [heads + 2 kv_heads, head_dim]. InternLM 2: [kv_heads, heads / kv_heads + 2, head_dim].
TEST(ConvertRows, FusedOneAfterAnotherAndByKvHead) {
  const std::string sizes = R"("hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 1, "max_position_embeddings": 64})";
  const SmallTensor phi = numbers("model.layers.0.self_attn.qkv_proj.weight", {64, 32}, 1);
  const Model one(R"({"model_type": "phi3", "original_max_position_embeddings": 64, )" + sizes, {phi});
  ASSERT_EQ(refusal(one.args()), "");
  EXPECT_EQ(one.written(phi.name), interleaved(phi.data, 64, {.heads = 6, .between = 8, .dim = 8}));
  const SmallTensor intern = numbers("model.layers.0.attention.wqkv.weight", {64, 32}, 1);
  const Model by_head(R"({"model_type": "internlm2", )" + sizes, {intern});
  ASSERT_EQ(refusal(by_head.args()), "");
  std::string expected = intern.data;
  for (const std::int64_t head : {0, 1, 2}) {  // two queries and a key of each KV head; then its value
    expected = interleaved(expected, 64, {.start = 8 * head, .heads = 2, .between = 32, .dim = 8});
  }
  EXPECT_EQ(by_head.written(intern.name), expected);
}

// CodeGen: four quarters of the heads, each with its queries, its values, its keys.
TEST(ConvertRows, FusedByQuarter) {
  const SmallTensor fused = numbers("transformer.h.0.attn.qkv_proj.weight", {192, 64}, 1);
  const Model model(R"({"model_type": "codegen", "n_embd": 64, "n_head": 8, "n_layer": 1, "rotary_dim": 4,
    "n_positions": 64})",
                    {fused});
  ASSERT_EQ(refusal(model.args(Pairing::half)), "");
  std::string back = model.written(fused.name);
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    back = interleaved(back, 128, {.start = 48 * quarter, .heads = 2, .between = 8, .dim = 4});
    back = interleaved(back, 128, {.start = 48 * quarter + 32, .heads = 2, .between = 8, .dim = 4});
  }
  EXPECT_EQ(back, fused.data);
}

TEST(ConvertRows, FusedOfAnUnknownOrderIsRefused) {
  const Model model(kSmallLlama, {numbers("model.layers.0.self_attn.qkv_proj.weight", {64, 32}, 1),
                                  numbers("model.layers.1.self_attn.qkv_proj.weight", {64, 32}, 2)});
  EXPECT_THAT(refusal(model.args()), HasSubstr("in which order it has queries, keys and values is not known"));
  EXPECT_EQ(model.folder.entries(), 1);
}

// Qwen 3 Next: of each head its query, then its gate; a quarter of the channels rotates; only each fourth layer
// attends.
TEST(ConvertRows, QueriesWithGates) {
  const std::string config = R"({"model_type": "qwen3_next", "hidden_size": 32, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16, "num_hidden_layers": 4, "partial_rotary_factor": 0.25,
    "max_position_embeddings": 64, "linear_num_key_heads": 2, "linear_num_value_heads": 2})";
  const std::string at = "model.layers.3.self_attn.";
  const std::vector<SmallTensor> tensors = {numbers(at + "q_proj.weight", {64, 32}, 1),
                                            numbers(at + "k_proj.weight", {16, 32}, 2),
                                            numbers(at + "v_proj.weight", {16, 32}, 3),
                                            numbers(at + "q_norm.weight", {16}, 4),
                                            numbers(at + "k_norm.weight", {16}, 5),
                                            numbers("model.layers.0.linear_attn.in_proj_qkvz.weight", {96, 32}, 6)};
  const Model model(config, tensors);
  ASSERT_EQ(refusal(model.args()), "");
  EXPECT_EQ(model.written(tensors[0].name), interleaved(tensors[0].data, 64, {.heads = 2, .between = 32, .dim = 4}));
  EXPECT_EQ(model.written(tensors[3].name), interleaved(tensors[3].data, 2, {.between = 16, .dim = 4}));
  EXPECT_EQ(model.written(tensors[5].name), tensors[5].data);
}

// A layer that does not rotate keeps its rows (SmolLM 3: each fourth).
TEST(ConvertRows, LayersThatDoNotRotateAreLeft) {
  std::string config(kSmallLlama);
  config.replace(config.find("llama"), 5, "smollm3");
  config.insert(1, R"("no_rope_layers": [1, 0], )");
  const std::vector<SmallTensor> tensors = small_llama();
  const Model model(config, tensors);
  const Result<Conversion> done = convert(model.args());
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->tensors.size(), 2U);
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_EQ(model.written(name), named(tensors, name).data);
}

// A pair keeps its frequency and its axis, so that M-RoPE's sections count the same pairs.
TEST(ConvertRows, SectionsStay) {
  std::string config(kSmallLlama);
  config.replace(config.find("llama"), 5, "qwen2_vl");
  config.insert(1, R"("rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1]}, )");
  const std::vector<SmallTensor> tensors = small_llama(true);
  const Model model(config, tensors);
  const Result<Conversion> done = convert(model.args());
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->tensors.size(), 8U);
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_EQ(model.written(name), interleaved(named(tensors, name).data, 64, {.heads = 4, .between = 8, .dim = 8}));
}

TEST(ConvertRows, LoraMovesBAndNotA) {
  const std::string at = "base_model.model.model.layers.1.self_attn.";
  const std::vector<SmallTensor> tensors = {
      numbers(at + "q_proj.lora_A.weight", {4, 32}, 1), numbers(at + "q_proj.lora_B.weight", {32, 4}, 2),
      numbers(at + "k_proj.lora_A.weight", {4, 32}, 3), numbers(at + "k_proj.lora_B.weight", {16, 4}, 4),
      numbers(at + "v_proj.lora_B.weight", {16, 4}, 5), numbers(at + "q_proj.lora_magnitude_vector", {32}, 6)};
  const Model model("", tensors);
  TemporaryFolder folder;
  const Plan plan = *read_plan(folder.file("config.json", kSmallLlama));
  ConvertArgs args = model.args();
  EXPECT_THAT(refusal(args), HasSubstr("config.json"));
  args.plan = &plan;
  const Result<Conversion> done = convert(args);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_TRUE(done->adapter);
  EXPECT_EQ(done->tensors.size(), 3U);
  EXPECT_EQ(model.written(tensors[1].name), interleaved(tensors[1].data, 8, {.heads = 4, .between = 8, .dim = 8}));
  EXPECT_EQ(model.written(tensors[3].name), interleaved(tensors[3].data, 8, {.heads = 2, .between = 8, .dim = 8}));
  EXPECT_EQ(model.written(tensors[5].name), interleaved(tensors[5].data, 2, {.heads = 4, .between = 8, .dim = 8}));
  for (const std::size_t same : {0U, 2U, 4U}) EXPECT_EQ(model.written(tensors[same].name), tensors[same].data);
}

// Heads of 8 channels in 12 rows: by word, and only where the rest are zeros.
TEST(ConvertRows, PaddedHeads) {
  std::vector<SmallTensor> tensors = small_llama();
  const auto pad = [](SmallTensor& tensor, std::int64_t heads) {
    std::string data;
    for (std::int64_t head = 0; head < heads; ++head) {
      data += tensor.data.substr(static_cast<std::size_t>(head * 8 * 64), std::size_t{8} * 64);
      data += std::string(std::size_t{4} * 64, '\0');
    }
    tensor.data = data;
    tensor.shape[0] = heads * 12;
  };
  for (SmallTensor& tensor : tensors) {
    if (tensor.name.ends_with("q_proj.weight")) pad(tensor, 4);
    if (tensor.name.ends_with("k_proj.weight")) pad(tensor, 2);
  }
  const Model model(kSmallLlama, tensors);
  ConvertArgs args = model.args();
  EXPECT_THAT(refusal(args), HasSubstr("heads of 12 rows would fit"));
  args.padded_head_dim = 4;
  EXPECT_THAT(refusal(args), HasSubstr("at least head_dim, 8"));
  args.padded_head_dim = 12;
  ASSERT_EQ(refusal(args), "");
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_EQ(model.written(name), interleaved(named(tensors, name).data, 64, {.heads = 4, .between = 12, .dim = 8}));
  // Something in the last row of the last head.
  tensors[3].data[tensors[3].data.size() - 2] = 1;
  const Model other(kSmallLlama, tensors);
  ConvertArgs wrong = other.args();
  wrong.padded_head_dim = 12;
  EXPECT_THAT(refusal(wrong), HasSubstr("zeros in rows 44 to 47, the padding of a head"));
  EXPECT_EQ(other.folder.entries(), 1);
}

// Rows that come in the wrong place are found: the check of scores can fail.
TEST(ConvertRows, WhatMustBeWholeIsMissed) {
  for (const char* missing : {"model.layers.1.self_attn.q_proj.weight", "model.layers.1.self_attn.k_proj.weight",
                              "model.layers.0.self_attn.v_proj.weight"}) {
    std::vector<SmallTensor> tensors = small_llama();
    std::erase_if(tensors, [&](const SmallTensor& tensor) { return tensor.name == missing; });
    const Model model(kSmallLlama, tensors);
    EXPECT_THAT(refusal(model.args()), HasSubstr("a projection to")) << missing;
    EXPECT_EQ(model.folder.entries(), 1);
  }
  std::vector<SmallTensor> tensors = small_llama();
  std::erase_if(tensors, [](const SmallTensor& tensor) { return tensor.name.find("layers.1") != std::string::npos; });
  EXPECT_THAT(refusal(Model(kSmallLlama, tensors).args()), HasSubstr("in layer 1, which rotates"));
  EXPECT_THAT(refusal(Model(kSmallLlama, {numbers("x", {2, 2}, 1)}).args()), HasSubstr("none whose name is known"));
}

}  // namespace
}  // namespace posenc::test

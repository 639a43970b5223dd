// What tensors are, by the names that files give them.
#include <gtest/gtest.h>

#include <string_view>

#include "convert/tensor_names.h"

namespace posenc::conversion {
namespace {

struct Case {
  std::string_view name;
  Component kind;
  std::int64_t layer;
  std::string_view module;
  std::string_view ending;
};

TEST(ConvertNames, OfAllKindsOfFiles) {
  const Case cases[] = {
      {"model.layers.31.self_attn.q_proj.weight", Component::queries, 31, "model.layers.31.self_attn.", "weight"},
      {"model.layers.3.self_attn.k_proj.bias", Component::keys, 3, "model.layers.3.self_attn.", "bias"},
      {"layers.3.attention.wq.weight", Component::queries, 3, "layers.3.attention.", "weight"},
      {"blk.3.attn_k.weight", Component::keys, 3, "blk.3.", "weight"},
      {"blk.3.attn_q_norm.weight", Component::query_norm, 3, "blk.3.", "weight"},
      {"blk.3.attn_q.weight.lora_b", Component::queries, 3, "blk.3.", "weight.lora_b"},
      {"blk.3.attn_kv_a_mqa.weight", Component::latent_keys, 3, "blk.3.", "weight"},
      {"blk.3.attn_kv_b.weight", Component::unaffected, 3, "blk.3.", "weight"},
      {"transformer.h.7.attn.q_proj.weight", Component::queries, 7, "transformer.h.7.attn.", "weight"},
      {"encoder.layer.2.attention.self.query.weight", Component::queries, 2, "encoder.layer.2.attention.self.",
       "weight"},
      {"gpt_neox.layers.1.attention.query_key_value.bias", Component::fused, 1, "gpt_neox.layers.1.attention.", "bias"},
      {"model.layers.0.self_attn.q_layernorm.norms.3.weight", Component::query_norm, 0, "model.layers.0.self_attn.",
       "norms.3.weight"},
      {"base_model.model.model.layers.5.self_attn.k_proj.lora_B.weight", Component::keys, 5,
       "base_model.model.model.layers.5.self_attn.", "lora_B.weight"},
      {"model.layers.0.self_attn.q_a_proj.weight", Component::unaffected, 0, "model.layers.0.self_attn.", "weight"},
      {"model.layers.0.self_attn.q_conv.weight", Component::unknown, 0, "model.layers.0.self_attn.", "weight"},
      {"model.layers.0.attn.to_qkv.weight", Component::unknown, 0, "model.layers.0.attn.", "weight"}};
  for (const Case& one : cases) {
    const auto found = parse_tensor_name(one.name);
    ASSERT_TRUE(found) << one.name;
    EXPECT_EQ(found->kind, one.kind) << one.name;
    EXPECT_EQ(found->layer, one.layer) << one.name;
    EXPECT_EQ(found->module, one.module);
    EXPECT_EQ(found->ending, one.ending);
  }
}

TEST(ConvertNames, OfNothingOfOurs) {
  for (const std::string_view name :
       {"", ".", "model.norm.weight", "q_proj.weight", "lm_head.weight", "model.layers.0.mlp.gate_proj.weight",
        "model.layers.0.cross_attn.q_proj.weight", "model.layers.0.self_attn.indexer.wq_b.weight",
        "model.layers.0.mlp.experts.3.key.weight", "model.layers.0.self_attn.o_proj.weight",
        "model.layers.0.self_attn.rotary_emb.inv_freq", "model.layers.99999999999999999999.self_attn.q_proj.weight"}) {
    EXPECT_FALSE(parse_tensor_name(name)) << name;
  }
}

TEST(ConvertNames, StacksAndDrafts) {
  EXPECT_EQ(parse_tensor_name("visual.blocks.3.attn.qkv.weight")->stack, "vision");
  EXPECT_EQ(
      parse_tensor_name("model.embed_tokens_extend.image_embed.img_processor.encoder.layers.3.self_attn.q_proj.weight")
          ->stack,
      "vision");
  EXPECT_EQ(parse_tensor_name("model.encoder.layers.3.self_attn.q_proj.weight")->stack, "encoder");
  EXPECT_EQ(parse_tensor_name("model.layers.3.self_attn.q_proj.weight")->stack, "");
  EXPECT_TRUE(parse_tensor_name("mtp.layers.0.self_attn.q_proj.weight")->draft);
  EXPECT_TRUE(is_lora_a("lora_A.weight"));
  EXPECT_FALSE(is_lora_a("lora_B.weight"));
  EXPECT_TRUE(is_lora_b("weight.lora_b"));
}

}  // namespace
}  // namespace posenc::conversion

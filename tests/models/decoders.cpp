// Decoders: how each names its weights, how its blocks are wired, and in which arithmetic it was run.
#include <cmath>

#include "models/checkpoints.h"

namespace posenc::test {
namespace {

constexpr Rename kLlama[] = {
    {"model.", ""},
    {"block_sparse_moe.", "mlp."},
    {"feed_forward.", "mlp."},
    {"self_attn.", "attn."},
    {"mlp.gate.weight", "mlp.router.weight"},
    {"shared_expert_gate", "shared_gate"},
    {"shared_experts.", "shared."},
    {"shared_expert.", "shared."},
    {"gate_up_proj_bias", "gate_up.bias"},
    {"down_proj_bias", "down.bias"},
    {"qkv_proj", "qkv"},
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"o_proj", "o"},
    {"kv_a_proj_with_mqa", "kv_a"},
    {"kv_a_layernorm", "kv_a_norm"},
    {"kv_b_proj", "kv_b"},
    {"gate_proj", "gate"},
    {"up_proj", "up"},
    {"down_proj", "down"},
    {"input_layernorm", "attn.before"},
    {"post_attention_layernorm", "mlp.before"},
    {".w1.", ".gate."},
    {".w2.", ".down."},
    {".w3.", ".up."},
};

// Before those of Llama.
constexpr Rename kGemma2[] = {
    {"post_attention_layernorm", "attn.after"},
    {"pre_feedforward_layernorm", "mlp.before"},
    {"post_feedforward_layernorm", "mlp.after"},
};
constexpr Rename kGlm4[] = {
    {"post_self_attn_layernorm", "attn.after"},
    {"post_mlp_layernorm", "mlp.after"},
};
constexpr Rename kGranite[] = {
    {"shared_mlp.input_linear", "mlp.shared.gate_up"},
    {"shared_mlp.output_linear", "mlp.shared.down"},
    {"block_sparse_moe.input_linear", "mlp.experts.gate_up"},
    {"block_sparse_moe.output_linear", "mlp.experts.down"},
    {"router.layer", "router"},
};
constexpr Rename kInternLm2[] = {
    {"tok_embeddings", "embed_tokens"}, {"attention.wqkv", "attn.qkv"}, {"attention.wo", "attn.o"},
    {"attention_norm", "attn.before"},  {"ffn_norm", "mlp.before"},     {"output.", "lm_head."},
};
constexpr Rename kPhi[] = {{"self_attn.dense", "attn.o"}, {"fc1", "up"}, {"fc2", "down"}, {"final_layernorm", "norm"}};

constexpr Rename kGpt2[] = {
    {"transformer.", ""},
    {"h.", "layers.", "."},
    {"wte.", "embed_tokens."},
    {"wpe.", "embed_positions."},
    {"ln_f.", "norm."},
    {".ln_1.", ".attn.before."},
    {".ln_2.", ".mlp.before."},
    {"attn.attention.", "attn."},
    {"attn.c_attn", "attn.qkv"},
    {"attn.c_proj", "attn.o"},
    {"c_fc", "up"},
    {"c_proj", "down"},
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"out_proj", "o"},
    {"fc_in", "up"},
    {"fc_out", "down"},
};

constexpr Rename kGptNeoX[] = {
    {"dense_h_to_4h", "up"},
    {"dense_4h_to_h", "down"},
    {"gpt_neox.", ""},
    {"transformer.", ""},
    {"h.", "layers.", "."},
    {"embed_in", "embed_tokens"},
    {"word_embeddings_layernorm", "embed_norm"},
    {"word_embeddings", "embed_tokens"},
    {"embed_out", "lm_head"},
    {"final_layer_norm", "norm"},
    {"ln_f", "norm"},
    {"self_attention.", "attn."},
    {"attention.", "attn."},
    {"query_key_value", "qkv"},
    {"dense", "o"},
    {"input_layernorm", "attn.before"},
    {"post_attention_layernorm", "mlp.before"},
    {"ln_attn", "attn.before"},
    {"ln_mlp", "mlp.before"},
};

constexpr Rename kOpt[] = {
    {"model.decoder.", ""},
    {"self_attn_layer_norm", "attn.before"},
    {"final_layer_norm", "mlp.before", "layers."},
    {"final_layer_norm", "norm"},
    {"self_attn.", "attn."},
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"out_proj", "o"},
    {"fc1", "mlp.up"},
    {"fc2", "mlp.down"},
};
// Before those of OPT: norms of sums.
constexpr Rename kOpt350[] = {{"self_attn_layer_norm", "attn.sum"}, {"final_layer_norm", "mlp.sum", "layers."}};

// transformers in double, in eager attention, takes some steps in float: RMSNorms and Cohere's LayerNorm, most
// softmaxes, the rotation's cos and sin. Other publishers wrote their own.
constexpr Roundings kFloatNorms{.norms = 24, .angles = 24, .softmax = 24};
constexpr Roundings kFloatSoftmax{.angles = 24, .softmax = 24};
constexpr Roundings kFloatAttention{.angles = 24, .scores = 24, .softmax = 24};
constexpr Roundings kFloatRotation{.angles = 24};
constexpr Roundings kFloatWeights{.weights = 24};
constexpr Roundings kDouble{};

// DeepSeek's own code, and the class since, multiply the scale by g(factor, mscale_all_dim)^2.
constexpr Departure kNoMultiplier{"transformers 5.11 left YaRN's multiplier out of DeepseekV2's softmax",
                                  [](Plan& plan) {
                                    for (LayerPlan& layer : plan.stacks[0].layers) {
                                      layer.softmax_scale /= softmax_multiplier(rope(layer.rotate[0]).scaling);
                                    }
                                  }};

constexpr Invisible kSlowPairs{"base doubled",
                               "pairs that the base moves rotate by 0.05 a token or less, and scores are small"};
constexpr Invisible kOnePair{"pairing swapped", "one pair rotates: its channels are neighbours and halves at once"};
constexpr Invisible kOneTurn{"base doubled", "one pair rotates: its frequency is base^0"};
constexpr Invisible kOneChunk{"chunks left out", "texts are shorter than a chunk"};

constexpr std::string_view kGpt2Config = R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8,
  "n_positions": 16, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5})";

// What the published config was made from: it says Qwen2, and has the sections of the axes where no reader looks.
constexpr std::string_view kQwen2VlConfig = R"({"model_type": "qwen2_vl", "hidden_size": 32, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-6,
  "rope_theta": 10000.0, "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}, "hidden_act": "silu"})";

std::vector<Checkpoint> all() {
  const Names llama{{kLlama}};
  const Names gemma2{{kGemma2, kLlama}};
  const Names gpt2{{kGpt2}, {"attn.", "mlp."}};
  const Names neox{{kGptNeoX}};
  const Wiring gemma{.plus_one = true, .activation = Activation::gelu_tanh, .embedding_scale = std::sqrt(8.0)};
  const Wiring minicpm{.residual_scale = 1.4 / std::sqrt(2.0), .logit_scale = 5.0 / 8.0};
  const Wiring gpt_oss{.activation = Activation::clamped, .gate_up = GatePacking::alternating};
  const Wiring centred{.centred = true};
  const Wiring beside{.centred = true, .parallel = true, .one_norm = true};
  const Wiring in_groups{.centred = true, .qkv = Packing::groups};
  const Wiring neox_beside{.centred = true, .parallel = true, .qkv = Packing::groups};
  const Wiring bloom{.centred = true, .activation = Activation::gelu_bloom, .qkv = Packing::groups};
  const Wiring falcon{
      .centred = true, .parallel = true, .one_norm = true, .activation = Activation::gelu, .qkv = Packing::groups};
  const Wiring falcon_40b{.centred = true, .parallel = true, .activation = Activation::gelu, .qkv = Packing::groups};
  // clang-format off
  return {
      {.name = "llama", .names = llama, .arithmetic = kDouble},
      {.name = "smollm2", .names = llama, .arithmetic = kFloatNorms, .invisible = {kSlowPairs}},
      {.name = "mistral", .names = llama, .arithmetic = kFloatNorms, .invisible = {kSlowPairs}},
      {.name = "mixtral", .names = llama, .arithmetic = kFloatNorms},
      {.name = "qwen2", .names = llama, .arithmetic = kFloatNorms},
      {.name = "qwen2vl", .names = llama, .arithmetic = kFloatNorms, .config = kQwen2VlConfig},
      {.name = "qwen3", .names = llama, .arithmetic = kFloatNorms},
      {.name = "qwen3_moe", .names = llama, .arithmetic = kFloatNorms},
      {.name = "qwen3_moe_window", .names = llama, .arithmetic = kFloatNorms},
      {.name = "olmo2", .names = gemma2, .arithmetic = kFloatNorms},
      {.name = "olmoe", .names = llama, .arithmetic = kFloatNorms},
      {.name = "granite", .names = llama, .arithmetic = kFloatNorms},
      {.name = "granitemoe", .names = {{kGranite, kLlama}}, .arithmetic = kFloatNorms},
      {.name = "granitemoeshared", .names = {{kGranite, kLlama}}, .arithmetic = kFloatNorms},
      {.name = "minicpm", .names = llama, .wiring = minicpm, .arithmetic = kFloatWeights},
      {.name = "internlm2", .names = {{kInternLm2, kLlama}}, .wiring = {.qkv = Packing::groups},
       .arithmetic = kFloatWeights},
      {.name = "cohere", .names = llama, .wiring = beside, .arithmetic = kFloatNorms},
      {.name = "cohere2", .names = llama, .wiring = beside, .arithmetic = kFloatNorms},
      {.name = "glm4", .names = {{kGlm4, kLlama}}, .arithmetic = kFloatNorms, .invisible = {kOnePair, kOneTurn}},
      {.name = "gemma", .names = llama, .wiring = gemma, .arithmetic = kFloatNorms},
      {.name = "gemma2", .names = gemma2, .wiring = gemma, .arithmetic = kFloatNorms},
      {.name = "gemma3", .names = gemma2, .wiring = gemma, .arithmetic = kFloatNorms},
      {.name = "phi3", .names = llama, .arithmetic = kFloatNorms},
      {.name = "phi3_longrope", .names = llama, .arithmetic = kFloatNorms},
      {.name = "phi3_longrope_full", .names = llama, .arithmetic = kFloatNorms},
      {.name = "deepseek_v2", .names = llama, .wiring = {.routing = Routing::softmax}, .arithmetic = kFloatNorms},
      {.name = "deepseek_v2_yarn", .names = llama, .wiring = {.routing = Routing::softmax}, .arithmetic = kFloatNorms,
       .departure = kNoMultiplier},
      {.name = "gpt_oss", .names = {{kLlama}, {"experts."}}, .wiring = gpt_oss, .arithmetic = kFloatNorms},
      {.name = "llama4", .names = {{kLlama}, {"experts."}}, .wiring = {.routing = Routing::sigmoid},
       .arithmetic = kFloatNorms, .invisible = {kOneChunk}},
      {.name = "starcoder2", .names = {{kGpt2, kLlama}}, .wiring = centred, .arithmetic = kFloatSoftmax},
      {.name = "starcoder2_window", .names = {{kGpt2, kLlama}}, .wiring = centred, .arithmetic = kFloatSoftmax},
      {.name = "phi", .names = {{kPhi, kLlama}}, .wiring = beside, .arithmetic = kFloatSoftmax},
      {.name = "gpt2", .names = gpt2, .wiring = centred, .arithmetic = kDouble, .config = kGpt2Config},
      {.name = "distilgpt2", .names = gpt2, .wiring = centred, .arithmetic = kDouble, .config = kGpt2Config},
      {.name = "cerebras_gpt", .names = gpt2, .wiring = centred, .arithmetic = kDouble},
      {.name = "gptbigcode", .names = {{kGpt2}}, .wiring = centred, .arithmetic = kFloatSoftmax},
      {.name = "gptneo", .names = {{kGpt2}}, .wiring = centred, .arithmetic = kFloatAttention},
      {.name = "gptj", .names = {{kGpt2}}, .wiring = beside, .arithmetic = kFloatAttention},
      {.name = "gptneox", .names = neox, .wiring = neox_beside, .arithmetic = kFloatSoftmax,
       .invisible = {kOnePair, kOneTurn}},
      {.name = "gptneox_seq", .names = neox, .wiring = in_groups, .arithmetic = kFloatSoftmax, .weights = "gptneox",
       .invisible = {kOnePair, kOneTurn}},
      {.name = "bloom", .names = neox, .wiring = bloom, .arithmetic = kFloatSoftmax},
      {.name = "falcon_mq", .names = neox, .wiring = falcon, .arithmetic = kFloatRotation},
      {.name = "falcon_nda", .names = neox, .wiring = falcon_40b, .arithmetic = kFloatRotation},
      {.name = "opt", .names = {{kOpt}}, .wiring = centred, .arithmetic = kFloatSoftmax},
      {.name = "opt350", .names = {{kOpt350, kOpt}}, .wiring = centred, .arithmetic = kFloatSoftmax},
  };
  // clang-format on
}

}  // namespace

const std::vector<Checkpoint>& decoders() {
  static const std::vector<Checkpoint> kAll = all();
  return kAll;
}

}  // namespace posenc::test

// Encoders of texts and images, models of an encoder and a decoder: names, wirings and arithmetic, as in decoders.cpp.
#include <cmath>

#include "models/checkpoints.h"

namespace posenc::test {
namespace {

constexpr Rename kBert[] = {
    {"bert.", ""},
    {"encoder.layer.", "layers."},
    {"embeddings.word_embeddings", "embed_tokens"},
    {"embeddings.position_embeddings", "embed_positions"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "embed_norm"},
    {"attention.self.query", "attn.q"},
    {"attention.self.key", "attn.k"},
    {"attention.self.value", "attn.v"},
    {"attention.output.dense", "attn.o"},
    {"attention.output.LayerNorm", "attn.sum"},
    {"intermediate.dense", "mlp.up"},
    {"output.dense", "mlp.down"},
    {"output.LayerNorm", "mlp.sum"},
    {"pooler.dense", "pooler"},
};
// Before those of BERT.
constexpr Rename kDeberta[] = {
    {"deberta.", ""},
    {"query_proj", "query"},
    {"key_proj", "key"},
    {"value_proj", "value"},
    {"encoder.rel_embeddings", "distances"},
    {"encoder.LayerNorm", "distances_norm"},
};
constexpr Rename kDistilBert[] = {
    {"transformer.layer.", "layers."},
    {"attention.q_lin", "attn.q"},
    {"attention.k_lin", "attn.k"},
    {"attention.v_lin", "attn.v"},
    {"attention.out_lin", "attn.o"},
    {"sa_layer_norm", "attn.sum"},
    {"ffn.lin1", "mlp.up"},
    {"ffn.lin2", "mlp.down"},
    {"output_layer_norm", "mlp.sum"},
};
constexpr Rename kModernBert[] = {
    {"embeddings.norm", "embed_norm"},
    {"embeddings.tok_embeddings", "embed_tokens"},
    {"final_norm", "norm"},
    {"attn_norm", "attn.before"},
    {"mlp_norm", "mlp.before"},
    {"attn.Wqkv", "attn.qkv"},
    {"attn.Wo", "attn.o"},
    {"mlp.Wi", "mlp.gate_up"},
    {"mlp.Wo", "mlp.down"},
};

constexpr Rename kBart[] = {
    {"model.", ""},
    {"self_attn_layer_norm", "attn.sum"},
    {"encoder_attn_layer_norm", "cross.sum"},
    {"final_layer_norm", "mlp.sum"},
    {"layernorm_embedding", "embed_norm"},
    {"self_attn.", "attn."},
    {"encoder_attn.", "cross."},
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"out_proj", "o"},
    {"fc1", "mlp.up"},
    {"fc2", "mlp.down"},
    {"final_logits_bias", "lm_head.bias"},
};
// Before those of BART: norms of what a part reads.
constexpr Rename kMbart[] = {
    {"self_attn_layer_norm", "attn.before"},
    {"encoder_attn_layer_norm", "cross.before"},
    {"final_layer_norm", "mlp.before"},
    {"coder.layer_norm", "coder.norm"},
};

constexpr Rename kVit[] = {
    {"vit.", ""},
    {"embeddings.cls_token", "class_token"},
    {"embeddings.position_embeddings", "embed_positions"},
    {"embeddings.patch_embeddings.projection", "patches"},
    {"layernorm_before", "attn.before"},
    {"layernorm_after", "mlp.before"},
    {"layernorm", "norm"},
    {"attention.", "attn."},
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"o_proj", "o"},
    {"fc1", "up"},
    {"fc2", "down"},
};

constexpr Rename kT5[] = {
    {"block.", "layers."},
    {"layer.0.SelfAttention.relative_attention_bias", "attn.distances"},
    {"layer.0.SelfAttention.", "attn."},
    {"layer.0.layer_norm", "attn.before"},
    {"layer.1.EncDecAttention.", "cross."},
    {"layer.1.layer_norm", "cross.before", "decoder."},
    {"layer.1.layer_norm", "mlp.before", "encoder."},
    {"layer.2.layer_norm", "mlp.before"},
    {"layer.1.DenseReluDense.", "mlp."},
    {"layer.2.DenseReluDense.", "mlp."},
    {"wi_0", "gate"},
    {"wi_1", "up"},
    {"wi", "up"},
    {"wo", "down"},
    {"final_layer_norm", "norm"},
};

// As in decoders.cpp. DeBERTa's scale is a float, whose roundings are those of products.
constexpr Roundings kFloatNorms{.norms = 24};
constexpr Roundings kFloatRotation{.angles = 24, .softmax = 24};
constexpr Roundings kFloatSines{.angles = 24};
constexpr Roundings kFloatScale{.scores = 24};
constexpr Roundings kDouble{};

std::vector<Checkpoint> all() {
  const Wiring hidden{.readout = Readout::hidden, .centred = true};
  const Wiring distilbert{.readout = Readout::hidden, .centred = true, .epsilon = 1e-12};
  const Wiring classes{.readout = Readout::classes, .centred = true};
  const Wiring deberta_classes{.readout = Readout::classes, .centred = true, .pooler = Activation::gelu};
  const Wiring modernbert{.readout = Readout::hidden, .centred = true};
  const Wiring centred{.centred = true};
  const Wiring t5{.activation = Activation::relu, .logit_scale = 1 / std::sqrt(8.0)};
  const Wiring flan_t5{.activation = Activation::gelu_tanh};
  const std::vector<Rename> shared{
      {"shared", "encoder.embed_tokens"}, {"shared", "decoder.embed_tokens"}, {"shared", "lm_head"}};
  const std::vector<Rename> embeddings{{"shared", "encoder.embed_tokens"}, {"shared", "decoder.embed_tokens"}};
  const std::vector<Rename> tied{{"decoder.embed_tokens", "lm_head"}};
  const Names bert{{kBert}};
  // clang-format off
  return {
      {.name = "bert", .names = bert, .wiring = hidden, .arithmetic = kDouble},
      {.name = "bert_seqcls", .names = bert, .wiring = classes, .arithmetic = kDouble},
      {.name = "roberta", .names = bert, .wiring = hidden, .arithmetic = kDouble},
      {.name = "xlmroberta", .names = bert, .wiring = hidden, .arithmetic = kDouble},
      {.name = "distilbert", .names = {{kDistilBert, kBert}}, .wiring = distilbert, .arithmetic = kDouble},
      {.name = "debertav2", .names = {{kDeberta, kBert}}, .wiring = hidden, .arithmetic = kFloatScale},
      {.name = "debertav2_seqcls", .names = {{kDeberta, kBert}}, .wiring = deberta_classes, .arithmetic = kFloatScale},
      {.name = "modernbert", .names = {{kModernBert}}, .wiring = modernbert, .arithmetic = kFloatRotation},
      {.name = "bart", .names = {{kBart}, {}, shared}, .wiring = centred, .arithmetic = kDouble},
      {.name = "mbart", .names = {{kMbart, kBart}, {}, shared}, .wiring = centred, .arithmetic = kDouble},
      {.name = "pegasus", .names = {{kMbart, kBart}, {}, shared}, .wiring = centred, .arithmetic = kFloatSines},
      {.name = "m2m100", .names = {{kMbart, kBart}, {}, shared}, .wiring = centred, .arithmetic = kFloatSines},
      {.name = "marian", .names = {{kBart}, {}, shared}, .wiring = centred, .arithmetic = kFloatSines},
      {.name = "whisper", .names = {{kMbart, kBart}, {}, tied}, .wiring = centred, .arithmetic = kFloatSines},
      {.name = "vit", .names = {{kVit}}, .wiring = classes, .arithmetic = kDouble},
      {.name = "t5v10", .names = {{kT5}, {}, shared}, .wiring = t5, .arithmetic = kFloatNorms},
      {.name = "flan_t5", .names = {{kT5}, {}, embeddings}, .wiring = flan_t5, .arithmetic = kFloatNorms},
  };
  // clang-format on
}

}  // namespace

const std::vector<Checkpoint>& encoders() {
  static const std::vector<Checkpoint> kAll = all();
  return kAll;
}

}  // namespace posenc::test

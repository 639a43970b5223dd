#include <algorithm>
#include <charconv>

#include "plan/shapes/shapes.h"

namespace posenc::plan {
namespace {

struct Ending {
  std::string_view ending;
  TensorRole role;
};

// After the number of the layer and a name for the attention: "model.layers.3.self_attn.q_proj.weight".
constexpr Ending kOfLayer[] = {
    {".q_proj.weight", TensorRole::queries},
    {".k_proj.weight", TensorRole::keys},
    {".v_proj.weight", TensorRole::values},
    {".o_proj.weight", TensorRole::output},
    {".self.query.weight", TensorRole::queries},
    {".self.key.weight", TensorRole::keys},
    {".self.value.weight", TensorRole::values},
    {".q_norm.weight", TensorRole::query_norm},
    {".k_norm.weight", TensorRole::key_norm},
    {".q_layernorm.weight", TensorRole::query_norm},
    {".k_layernorm.weight", TensorRole::key_norm},
    {".query_layernorm.weight", TensorRole::query_norm},
    {".key_layernorm.weight", TensorRole::key_norm},
    {".self_attn.sinks", TensorRole::sinks},
    {".attn_q.weight", TensorRole::queries},
    {".attn_k.weight", TensorRole::keys},
    {".attn_v.weight", TensorRole::values},
    {".attn_output.weight", TensorRole::output},
    {".attn_q_norm.weight", TensorRole::query_norm},
    {".attn_k_norm.weight", TensorRole::key_norm},
    {".attn_sinks.weight", TensorRole::sinks},
    {".SelfAttention.q.weight", TensorRole::queries},
    {".SelfAttention.k.weight", TensorRole::keys},
    {".SelfAttention.v.weight", TensorRole::values},
    {".SelfAttention.o.weight", TensorRole::output},
    {".attn.c_attn.weight", TensorRole::fused},
    {".query_key_value.weight", TensorRole::fused},
    {".Wqkv.weight", TensorRole::fused},
    {".qkv_proj.weight", TensorRole::fused},
    {".attn.qkv.weight", TensorRole::fused},
    {".attn_qkv.weight", TensorRole::fused},
    {".W_pack.weight", TensorRole::fused},
    {".wqkv.weight", TensorRole::fused},
    {".q_b_proj.weight", TensorRole::latent_queries},
    {".kv_a_proj_with_mqa.weight", TensorRole::latent},
    {".kv_a_layernorm.weight", TensorRole::latent_norm},
    {".kv_b_proj.weight", TensorRole::latent_up},
    {".attn_q_b.weight", TensorRole::latent_queries},
    {".attn_kv_a_mqa.weight", TensorRole::latent},
    {".attn_kv_a_norm.weight", TensorRole::latent_norm},
    {".attn_kv_b.weight", TensorRole::latent_up},
    {".attn_o.weight", TensorRole::output},
    {".cross_attn_q.weight", TensorRole::queries},
    {".cross_attn_k.weight", TensorRole::keys},
    {".cross_attn_v.weight", TensorRole::values},
    {".cross_attn_o.weight", TensorRole::output},
    {".EncDecAttention.q.weight", TensorRole::queries},
    {".EncDecAttention.k.weight", TensorRole::keys},
    {".EncDecAttention.v.weight", TensorRole::values},
    {".EncDecAttention.o.weight", TensorRole::output},
};

constexpr Ending kOfStack[] = {
    {"wpe.weight", TensorRole::table},
    {"embed_positions.weight", TensorRole::table},
    {"position_embeddings.weight", TensorRole::table},
    {"position_embedding.weight", TensorRole::table},
    {"position_embd.weight", TensorRole::table},
    {"embed_timestep.weight", TensorRole::table},
    {"relative_attention_bias.weight", TensorRole::bias_table},
    {"attn_rel_b.weight", TensorRole::bias_table},
    {"wte.weight", TensorRole::words},
    {"embed_tokens.weight", TensorRole::words},
    {"word_embeddings.weight", TensorRole::words},
    {"tok_embeddings.weight", TensorRole::words},
    {"token_embd.weight", TensorRole::words},
    {"rope_freqs.weight", TensorRole::factors},
    {"rope_factors_long.weight", TensorRole::factors},
    {"rope_factors_short.weight", TensorRole::factors},
};

// Words that a name of another attention than the layer's own has.
constexpr std::string_view kOthers[] = {"indexer", "mtp.", "mtp_", "nextn", "lora_", "mask_decoder",
                                        // Modules between two models, and towers whose names do not say "vision".
                                        "memory_attention", "transformer_module", "qformer", "img_processor",
                                        "image_tower", "video_tower", "sam_encoder"};
// Of cross attention, in the module behind the layer's number.
constexpr std::string_view kCrossWords[] = {"cross", "encoder_attn", "EncDec"};

bool has(std::string_view name, std::string_view word) { return name.find(word) != std::string_view::npos; }

std::string_view stack_of(std::string_view name) {
  if (has(name, "diarization")) return "audio_diarization";
  if (has(name, "vision") || has(name, "visual") || name.starts_with("v.")) return "vision";
  if (has(name, "audio") || name.starts_with("a.")) return "audio";
  for (const std::string_view own : {"question_encoder", "text_encoder"}) {
    if (name.starts_with(own)) return own;
  }
  if (name.starts_with("generator.")) name.remove_prefix(name.find('.') + 1);  // RAG's second model
  if (name.starts_with("encoder.") || name.starts_with("model.encoder.") || name.starts_with("enc.")) return "encoder";
  if (name.starts_with("decoder.") || name.starts_with("model.decoder.") || name.starts_with("dec.")) return "decoder";
  return {};
}

// Of what a stack has once, behind a model's own name too: "led.encoder.embed_positions.weight".
std::string_view stack_of_table(std::string_view name) {
  const std::string_view stack = stack_of(name);
  if (!stack.empty()) return stack;
  if (has(name, ".encoder.")) return "encoder";
  return has(name, ".decoder.") ? "decoder" : stack;
}

// "stages.1.blocks.0.", "block.1.0.": blocks are counted anew in every stage (Swin, PVT), and a stack's layers are not.
bool is_of_stage(std::string_view name) {
  const std::optional<Numbered> place = numbered(name);
  if (!place) return false;
  const std::optional<Numbered> second = numbered(name.substr(name.find('.', place->before.size()) + 1));
  return second && (second->before.empty() || second->before.ends_with("blocks."));
}

}  // namespace

std::optional<Numbered> numbered(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::string_view part = name.substr(at, name.find('.', at) - at);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc{} && end == part.data() + part.size() && number >= 0)
      return Numbered{name.substr(0, at), number};
    at += part.size() + 1;
  }
  return {};
}

std::optional<Role> role_of(std::string_view name) {
  const auto has_one = [&](std::string_view text, const auto& words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return has(text, word); });
  };
  if (has_one(name, kOthers)) return {};
  const bool crosses = has_one(name, kCrossWords);
  for (const Ending& row : kOfStack) {
    const bool is_whole = name == row.ending;
    if (is_whole || (name.ends_with(row.ending) && name[name.size() - row.ending.size() - 1] == '.')) {
      if (crosses) return {};  // T5's first checkpoints have a table there that their class does not read
      return Role{row.role, {}, stack_of_table(name), {}};
    }
  }
  const auto* const row = std::ranges::find_if(kOfLayer, [&](const Ending& one) { return name.ends_with(one.ending); });
  const std::optional<Numbered> place = numbered(name);
  if (row == std::end(kOfLayer) || !place || is_of_stage(name)) return {};
  if (crosses && has_one(place->before, kCrossWords))
    return {};  // a list of cross attentions, which counts no blocks (BLT)
  return Role{row->role, place->number, stack_of(name), name.substr(0, name.size() - row->ending.size() + 1), crosses};
}

const Stack* stack_for(const Plan& plan, const Role& role) {
  const auto count = [&](std::string_view name) { return std::ranges::count(plan.stacks, name, &Stack::name); };
  std::string_view name = role.stack;
  // What a decoder listens to or looks at is a tower of the plan (PP-FormulaNet).
  if (name == "encoder" && count(name) == 0) {
    if (count("vision") > 0) {
      name = "vision";
    } else if (count("audio") > 0) {
      name = "audio";
    }
  }
  if (count(name) > 1) return nullptr;
  if (count(name) == 1) return &*std::ranges::find(plan.stacks, name, &Stack::name);
  if (name == "vision" || name.starts_with("audio") || plan.stacks.empty()) return nullptr;
  // Of stages nothing says which (Hiera's blocks are counted through, and their heads grow).
  return plan.stacks.front().name.ends_with("_stage1") ? nullptr : &plan.stacks.front();
}

}  // namespace posenc::plan

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
    {".q_proj.weight", TensorRole::queries},         {".k_proj.weight", TensorRole::keys},
    {".v_proj.weight", TensorRole::values},          {".o_proj.weight", TensorRole::output},
    {".self.query.weight", TensorRole::queries},     {".self.key.weight", TensorRole::keys},
    {".self.value.weight", TensorRole::values},      {".q_norm.weight", TensorRole::query_norm},
    {".k_norm.weight", TensorRole::key_norm},        {".q_layernorm.weight", TensorRole::query_norm},
    {".k_layernorm.weight", TensorRole::key_norm},   {".query_layernorm.weight", TensorRole::query_norm},
    {".key_layernorm.weight", TensorRole::key_norm}, {".self_attn.sinks", TensorRole::sinks},
    {".attn_q.weight", TensorRole::queries},         {".attn_k.weight", TensorRole::keys},
    {".attn_v.weight", TensorRole::values},          {".attn_output.weight", TensorRole::output},
    {".attn_q_norm.weight", TensorRole::query_norm}, {".attn_k_norm.weight", TensorRole::key_norm},
    {".attn_sinks.weight", TensorRole::sinks},
};

constexpr Ending kOfStack[] = {
    {"wpe.weight", TensorRole::table},
    {"embed_positions.weight", TensorRole::table},
    {"position_embeddings.weight", TensorRole::table},
    {"position_embedding.weight", TensorRole::table},
    {"position_embd.weight", TensorRole::table},
    {"relative_attention_bias.weight", TensorRole::bias_table},
    {"attn_rel_b.weight", TensorRole::bias_table},
    {"rope_freqs.weight", TensorRole::factors},
    {"rope_factors_long.weight", TensorRole::factors},
    {"rope_factors_short.weight", TensorRole::factors},
};

// Words that a name of another attention than the layer's own has.
constexpr std::string_view kOthers[] = {"cross", "encoder_attn", "EncDec", "indexer", "mtp.", "nextn", "lora_"};

bool has(std::string_view name, std::string_view word) { return name.find(word) != std::string_view::npos; }

std::string_view stack_of(std::string_view name) {
  if (has(name, "vision") || has(name, "visual") || name.starts_with("v.")) return "vision";
  if (has(name, "audio") || name.starts_with("a.")) return "audio";
  if (name.starts_with("encoder.block") || name.starts_with("model.encoder.") || name.starts_with("enc.")) {
    return "encoder";
  }
  if (name.starts_with("decoder.block") || name.starts_with("model.decoder.") || name.starts_with("dec.")) {
    return "decoder";
  }
  return {};
}

// The first part of the name that is a number.
std::optional<std::int64_t> layer_of(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc{} && end == part.data() + part.size() && number >= 0) return number;
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return {};
}

}  // namespace

std::optional<Role> role_of(std::string_view name) {
  if (std::ranges::any_of(kOthers, [&](std::string_view word) { return has(name, word); })) return {};
  for (const Ending& row : kOfStack) {
    const bool is_whole = name == row.ending;
    if (is_whole || (name.ends_with(row.ending) && name[name.size() - row.ending.size() - 1] == '.')) {
      return Role{row.role, {}, stack_of(name)};
    }
  }
  const auto* const row = std::ranges::find_if(kOfLayer, [&](const Ending& one) { return name.ends_with(one.ending); });
  const auto layer = layer_of(name);
  if (row == std::end(kOfLayer) || !layer) return {};
  return Role{row->role, layer, stack_of(name)};
}

}  // namespace posenc::plan

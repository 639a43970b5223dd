#include "convert/tensor_names.h"

#include <algorithm>
#include <charconv>

namespace posenc::conversion {
namespace {

struct Named {
  std::string_view name;
  Component kind;
};

constexpr Named kComponents[] = {
    {"q_proj", Component::queries},
    {"query", Component::queries},
    {"query_proj", Component::queries},
    {"wq", Component::queries},
    {"attn_q", Component::queries},
    {"q_b_proj", Component::queries},
    {"wq_b", Component::queries},
    {"attn_q_b", Component::queries},
    {"k_proj", Component::keys},
    {"key", Component::keys},
    {"key_proj", Component::keys},
    {"wk", Component::keys},
    {"attn_k", Component::keys},
    {"kv_a_proj_with_mqa", Component::latent_keys},
    {"wkv_a", Component::latent_keys},
    {"attn_kv_a_mqa", Component::latent_keys},
    {"qkv_proj", Component::fused},
    {"query_key_value", Component::fused},
    {"Wqkv", Component::fused},
    {"wqkv", Component::fused},
    {"qkv", Component::fused},
    {"c_attn", Component::fused},
    {"W_pack", Component::fused},
    {"attn_qkv", Component::fused},
    {"v_proj", Component::values},
    {"value", Component::values},
    {"value_proj", Component::values},
    {"wv", Component::values},
    {"attn_v", Component::values},
    {"q_norm", Component::query_norm},
    {"q_layernorm", Component::query_norm},
    {"q_layer_norm", Component::query_norm},
    {"query_norm", Component::query_norm},
    {"query_layernorm", Component::query_norm},
    {"attn_q_norm", Component::query_norm},
    {"k_norm", Component::key_norm},
    {"k_layernorm", Component::key_norm},
    {"k_layer_norm", Component::key_norm},
    {"key_norm", Component::key_norm},
    {"key_layernorm", Component::key_norm},
    {"attn_k_norm", Component::key_norm},
    // Of a latent attention: what is not yet, or not at all, divided into channels that rotate.
    {"q_a_proj", Component::unaffected},
    {"q_a_layernorm", Component::unaffected},
    {"q_a_norm", Component::unaffected},
    {"kv_a_layernorm", Component::unaffected},
    {"kv_a_norm", Component::unaffected},
    {"kv_norm", Component::unaffected},
    {"kv_b_proj", Component::unaffected},
    {"wq_a", Component::unaffected},
    {"wkv_b", Component::unaffected},
    {"attn_q_a", Component::unaffected},
    {"attn_q_a_norm", Component::unaffected},
    {"attn_kv_a_norm", Component::unaffected},
    {"attn_kv_b", Component::unaffected},
    {"attn_k_b", Component::unaffected},
    {"attn_v_b", Component::unaffected},
};

// Parts of names of another attention than the layer's own, and of experts, whose keys are no attention's.
constexpr std::string_view kOthers[] = {"cross",   "encoder_attn", "EncDec",   "indexer",   "mlp.",
                                        "experts", "qformer",      "q_former", "resampler", "perceiver"};
// And of names of towers' layers.
constexpr std::string_view kPictures[] = {"vision", "visual", "image", "img_", "vit."};

// What the names of tensors of queries and keys begin with.
constexpr std::string_view kBeginnings[] = {"q_",     "k_",    "qk",  "kv_",      "wq",       "wk",   "attn_q",
                                            "attn_k", "query", "key", "linear_q", "linear_k", "to_q", "to_k"};

bool has(std::string_view name, std::string_view word) { return name.find(word) != std::string_view::npos; }

std::string_view stack_of(std::string_view name) {
  const auto says = [&](std::string_view word) { return has(name, word); };
  if (std::ranges::any_of(kPictures, says) || name.starts_with("v.")) return "vision";
  if (has(name, "audio") || name.starts_with("a.")) return "audio";
  if (name.starts_with("encoder.block") || name.starts_with("model.encoder.") || name.starts_with("enc.")) {
    return "encoder";
  }
  if (name.starts_with("decoder.block") || name.starts_with("model.decoder.") || name.starts_with("dec.")) {
    return "decoder";
  }
  return {};
}

std::optional<std::int64_t> whole(std::string_view part) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (part.empty() || error != std::errc{} || end != part.data() + part.size() || number < 0) return {};
  return number;
}

// The component that a part of a name stands for.
std::optional<Component> component_of(std::string_view part) {
  const auto* const row = std::ranges::find(kComponents, part, &Named::name);
  if (row != std::end(kComponents)) return row->kind;
  const auto begins = [&](std::string_view beginning) { return part.starts_with(beginning); };
  if (std::ranges::any_of(kBeginnings, begins) || has(part, "qkv")) return Component::unknown;
  return {};
}

}  // namespace

bool is_lora_a(std::string_view ending) noexcept { return has(ending, "lora_A.") || ending.ends_with(".lora_a"); }
bool is_lora_b(std::string_view ending) noexcept { return has(ending, "lora_B.") || ending.ends_with(".lora_b"); }

std::optional<TensorName> parse_tensor_name(std::string_view name) {
  if (std::ranges::any_of(kOthers, [&](std::string_view word) { return has(name, word); })) return {};
  TensorName out;
  bool has_layer = false;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    const std::string_view part = name.substr(at, dot - at);
    if (const auto number = whole(part); number && !has_layer) {
      out.layer = *number;
      out.layers = name.substr(0, at);
      has_layer = true;
    } else if (has_layer) {
      if (const auto kind = component_of(part)) {
        out.module = name.substr(0, at);
        out.component = part;
        out.ending = name.substr(std::min(dot + 1, name.size()));
        out.kind = *kind;
        out.stack = stack_of(name);
        out.draft = name.starts_with("mtp.") || has(name, ".mtp.");
        return out;
      }
    }
    at = dot + 1;
  }
  return {};
}

}  // namespace posenc::conversion

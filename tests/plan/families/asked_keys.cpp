#include "plan/families/asked_keys.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "plan/families/family_configs.h"
#include "plan/families/family_tables.h"
#include "plan/keys/key_notes.h"
#include "posenc/read_plan.h"

namespace posenc::test {
namespace {

Result<Plan> read_text(std::string_view text) {
  return read_plan(std::as_bytes(std::span(text.data(), text.size())), "config.json");
}

// What a class may insist on beside heads, layers, a width and a length; the first with which a type can be read
// counts.
constexpr std::string_view kInsistedOn[] = {
    "",
    R"(, "num_key_value_heads": 4)",
    R"(, "num_key_value_heads": 4, "head_dim": 64)",
    R"(, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"])",
    R"(, "num_key_value_heads": 4, "layers_block_type": ["hybrid", "mamba", "hybrid", "mamba"])",
    R"(, "num_key_value_heads": 4, "head_dim": 64, "num_kv_shared_layers": 1)",
    R"(, "rope_theta": 10000.0)",
    R"(, "rope_theta": 10000.0, "rotary_dim": 32, "attn_type_list": [0, 1, 0, 1])",
    R"(, "num_key_value_heads": 4, "head_dim": 64, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]})",
    R"(, "num_key_value_heads": 4, "head_dim": 128, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]})",
    R"(, "num_key_value_heads": 4, "head_dim": 128, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]})",
    R"(, "num_key_value_heads": 4, "head_dim": 128, "rope_scaling": {"type": "mrope", "mrope_section": [24, 20, 20]})",
    R"(, "num_key_value_heads": 4, "head_dim": 128, "rope_scaling": {"type": "mrope", "mrope_section": [22, 22, 20]})",
    R"(, "num_key_value_heads": 2, "per_layer_config": {}, "layer_types": ["full_attention", "full_attention",
       "full_attention", "full_attention"])",
    R"(, "indexer_types": ["full", "full", "full", "full"])",
    R"(, "head_dim": 256, "partial_rotary_factor": 0.25, "indexer_n_heads": 2, "indexer_head_dim": 64,
       "indexer_budget": 64, "indexer_compress_ratio": 4)",
    R"(, "head_dim": 128, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
       "rope_scaling": {"type": "mrope", "mrope_section": [24, 20, 20]})",
    R"(, "pad_token_id": 1)",
    R"(, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
       "d_model": 256)",
    R"(, "attention_types": [[["global", "local"], 2]])",
    R"(, "rotary_dim": 64)",
    R"(, "rope_theta": 10000.0, "sliding_window": 32, "sliding_window_layers": [1], "num_swa_attention_heads": 8)",
    R"(, "rope_theta": 10000.0, "position_layers": ["rope", "rope", "rope", "nope"], "window_sizes": [[31, 0], [31, 0],
       [31, 0], [-1, 0]])",
    R"(, "rope_theta": 10000.0, "layer_types": ["linear_attention", "linear_attention", "linear_attention",
       "full_attention"])",
    R"(, "rope_theta": 10000.0, "layer_types": ["jet", "swa", "jet", "attn"])",
    R"(, "rope_theta": 10000.0, "query_pre_attn_scalar": 64)",
    R"(, "kimia_mimo_layers": 2)",
    R"(, "mb_per_layer": 2)",
    R"(, "n_layers_enc": 4, "n_head": 4, "d_model": 256)",
    R"(, "num_blocks": 4, "attention_heads": 4, "output_size": 256, "tp_blocks": 2)",
    R"(, "num_blocks": 4, "attention_heads": 4, "attention_dim": 256)",
    R"(, "projection_dim": 256)",
    R"(, "prediction_length": 24)",
    R"(, "num_key_value_heads": 4, "sliding_windows": [[16, 4], [16, 4], [16, 0], [16, 0]])",
    R"(, "num_key_value_heads": 4, "blocksparse_block_size": 64, "blocksparse_num_local_blocks": 16,
       "blocksparse_vert_stride": 8, "dense_attention_every_n_layers": 2)",
    R"(, "rope_theta": 10000.0, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128)",
};

bool is_index(std::string_view word) { return word.find_first_not_of("0123456789") == std::string_view::npos; }

// The key that a JSON pointer speaks of: that of the list, for one of its entries.
std::string_view key_of(std::string_view pointer) {
  while (is_index(pointer.substr(pointer.rfind('/') + 1))) pointer = pointer.substr(0, pointer.rfind('/'));
  return pointer.substr(pointer.rfind('/') + 1);
}

void note(std::string_view pointer, AskedKeys& asked) {
  if (!pointer.starts_with('/')) return;
  const std::string_view key = key_of(pointer);
  for (const plan::KeyNote& dictionary : plan::dictionary_keys()) {
    if (dictionary.name == key && dictionary.name != "rope_theta" && dictionary.name != "partial_rotary_factor") return;
  }
  for (const plan::Key* known : plan::position_keys()) {
    if (known->names.text() == plan::names_of_key(key).text()) asked.insert(known->names.text());
  }
}

void note(const Plan& plan, AskedKeys& asked) {
  for (const ValueSource& source : plan.sources) note(source.from, asked);
  for (const std::string& pointer : plan.absent_keys) note(pointer, asked);
}

// Whether nothing that the class insists on was missing.
bool is_read(const Plan& plan) {
  return std::ranges::none_of(plan.stacks, [](const Stack& stack) { return stack.layers.empty(); });
}

}  // namespace

std::string smallest_config(std::string_view model_type) {
  for (const std::string_view more : kInsistedOn) {
    std::string text = "{\"model_type\": \"" + std::string(model_type) +
                       "\", \"num_attention_heads\": 4, \"num_hidden_layers\": 4, \"hidden_size\": 256, "
                       "\"max_position_embeddings\": 512" +
                       std::string(more) + "}";
    if (const Result<Plan> plan = read_text(text); plan.ok() && is_read(*plan)) return text;
  }
  return "";
}

std::map<std::string, AskedKeys> asked_keys() {
  std::map<std::string, AskedKeys> asked;
  for (std::span<const plan::Family> table : plan::family_tables()) {
    for (const plan::Family& family : table) {
      for (std::string_view type : family.model_types) {
        AskedKeys& keys = asked[std::string(family.name)];  // empty where no small file can be read
        if (const Result<Plan> plan = read_text(smallest_config(type)); plan.ok()) note(*plan, keys);
      }
    }
  }
  for (const FamilyConfig& config : family_configs()) {
    if (const Result<Plan> plan = read_text(config.text); plan.ok()) note(*plan, asked[plan->family]);
  }
  return asked;
}

}  // namespace posenc::test

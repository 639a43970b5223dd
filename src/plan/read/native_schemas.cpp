// Whose own schema a file without model_type has, by its keys: Meta, executorch, Mistral, DeepSeek, GPT-J, DeBERTa.
#include <algorithm>
#include <string>

#include "plan/keys/config_keys.h"
#include "plan/read/config.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;

constexpr SourceKind kConfig = SourceKind::config_json;
constexpr SourceKind kParams = SourceKind::params_json;

// ---- schemas that are read, the more special ones first ----

struct Recognition {
  NativeSchema schema;
  Names all;       // each of these stands there
  Names any = {};  // and one of these, if there are any
};

constexpr Recognition kRead[] = {
    {{"deepseek-native", kConfig}, "dim n_layers n_heads inter_dim qk_rope_head_dim"},
    {{"mistral-latent-params", kParams}, "dim n_layers n_heads hidden_dim qk_rope_head_dim"},
    {{"executorch", kParams}, "dim n_layers n_heads", "use_hf_rope apply_embedding model_architecture fusion_interval"},
    {{"mistral-params", kParams}, "dim n_layers n_heads hidden_dim norm_eps"},
    {{"llama-params", kParams}, "dim n_layers n_heads norm_eps"},
    {{"gptj-native", kConfig}, "layers d_model n_heads pe"},
    {{"deberta-v2", kConfig}, "relative_attention position_buckets pos_att_type num_attention_heads"},
};

// ---- schemas that are not ----

struct Foreign {
  std::string_view says;
  Names all;
};

constexpr Foreign kForeign[] = {
    {"a TencentPretrain config, whose keys (heads_num, layers_num) are not read here", "emb_size heads_num layers_num"},
    {"a CPM-Bee config, whose bias by position and segment no plan can hold",
     "dim_model position_bias_num_segment_buckets"},
    {"settings of DashInfer's engine, not of a model", "engine_config generation_config model_path"},
    {"a summary made by llm-analysis, which says nothing of positions", "hidden_dim ffn_embed_dim num_layers"},
    {"a tokenizer_config.json", "tokenizer_class chat_template"},
    {"a tokenizer_config.json", "tokenizer_class added_tokens_decoder"},
};

bool has(ConfigReader& reader, const JsonValue& object, std::string_view name) {
  const auto place = reader.look(object, name);
  return place && !place->value.is_null();
}

bool has_all(ConfigReader& reader, Names names) {
  return std::ranges::all_of(names, [&](std::string_view name) { return has(reader, reader.root(), name); });
}

bool has_any(ConfigReader& reader, Names names) {
  return names.empty() ||
         std::ranges::any_of(names, [&](std::string_view name) { return has(reader, reader.root(), name); });
}

bool has_one(ConfigReader& reader, const io::JsonValue& object, const Key& key) {
  return std::ranges::any_of(key.names, [&](std::string_view name) {
    const auto place = reader.look(object, name);
    return place && place->value.kind() == io::JsonKind::number;
  });
}

// Mistral's files may call themselves a "transformer".
bool names_itself(ConfigReader& reader) {
  if (has(reader, reader.root(), "architectures")) return true;
  const auto type = reader.look(reader.root(), "model_type");
  return type && !type->value.is_null() &&
         !(type->value.kind() == JsonKind::string && type->value.text() == "transformer");
}

bool is_config(ConfigReader& reader, const JsonValue& value) {
  return value.kind() == JsonKind::object && (has(reader, value, "model_type") || has_sizes(reader, value));
}

}  // namespace

bool has_sizes(ConfigReader& reader, const io::JsonValue& object) {
  return has_one(reader, object, keys::kLayers) && has_one(reader, object, keys::kHeads) &&
         (has_one(reader, object, keys::kHidden) || has_one(reader, object, keys::kHeadDim));
}

std::optional<NativeSchema> find_native_schema(ConfigReader& reader) {
  if (names_itself(reader)) return {};
  for (const Recognition& row : kRead) {
    if (has_all(reader, row.all) && has_any(reader, row.any)) return row.schema;
  }
  return {};
}

std::string_view foreign_schema(ConfigReader& reader) {
  const auto row = std::ranges::find_if(kForeign, [&](const Foreign& foreign) { return has_all(reader, foreign.all); });
  return row == std::ranges::end(kForeign) ? std::string_view{} : row->says;
}

std::string config_inside(ConfigReader& reader) {
  for (const JsonValue& member : reader.root().items()) {
    if (is_config(reader, member)) return member.pointer();
    if (member.kind() != JsonKind::array || member.size() == 0) continue;
    const JsonValue first = member.items().front();
    if (is_config(reader, first)) return first.pointer();
  }
  return {};
}

}  // namespace posenc::plan

#include "plan/read/native_schemas.h"

#include <algorithm>
#include <span>
#include <string>

#include "plan/keys/config_keys.h"
#include "plan/read/general_rules.h"

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

constexpr std::string_view kDeepseekKeys[] = {"dim", "n_layers", "n_heads", "inter_dim", "qk_rope_head_dim"};
constexpr std::string_view kMistralMlaKeys[] = {"dim", "n_layers", "n_heads", "hidden_dim", "qk_rope_head_dim"};
constexpr std::string_view kTransformerKeys[] = {"dim", "n_layers", "n_heads"};
constexpr std::string_view kExecutorchKeys[] = {"use_hf_rope", "apply_embedding", "model_architecture",
                                                "fusion_interval"};
constexpr std::string_view kMistralKeys[] = {"dim", "n_layers", "n_heads", "hidden_dim", "norm_eps"};
constexpr std::string_view kMetaKeys[] = {"dim", "n_layers", "n_heads", "norm_eps"};
constexpr std::string_view kGptjKeys[] = {"layers", "d_model", "n_heads", "pe"};
constexpr std::string_view kDebertaKeys[] = {"relative_attention", "position_buckets", "pos_att_type",
                                             "num_attention_heads"};

constexpr Recognition kRead[] = {
    {{"deepseek-native", kConfig}, kDeepseekKeys},
    {{"mistral-latent-params", kParams}, kMistralMlaKeys},
    {{"executorch", kParams}, kTransformerKeys, kExecutorchKeys},
    {{"mistral-params", kParams}, kMistralKeys},
    {{"llama-params", kParams}, kMetaKeys},
    {{"gptj-native", kConfig}, kGptjKeys},
    {{"deberta-v2", kConfig}, kDebertaKeys},
};

// ---- schemas that are not ----

struct Foreign {
  std::string_view says;
  Names all;
};

constexpr std::string_view kTencentKeys[] = {"emb_size", "heads_num", "layers_num"};
constexpr std::string_view kCpmBeeKeys[] = {"dim_model", "position_bias_num_segment_buckets"};
constexpr std::string_view kDashInferKeys[] = {"engine_config", "generation_config", "model_path"};
constexpr std::string_view kAnalysisKeys[] = {"hidden_dim", "ffn_embed_dim", "num_layers"};
constexpr std::string_view kTokenizerKeys[] = {"tokenizer_class", "chat_template"};
constexpr std::string_view kTokensKeys[] = {"tokenizer_class", "added_tokens_decoder"};

constexpr Foreign kForeign[] = {
    {"a TencentPretrain config, whose keys (heads_num, layers_num) are not read here", kTencentKeys},
    {"a CPM-Bee config, whose bias by position and segment no plan can hold", kCpmBeeKeys},
    {"settings of DashInfer's engine, not of a model", kDashInferKeys},
    {"a summary made by llm-analysis, which says nothing of positions", kAnalysisKeys},
    {"a tokenizer_config.json", kTokenizerKeys},
    {"a tokenizer_config.json", kTokensKeys},
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

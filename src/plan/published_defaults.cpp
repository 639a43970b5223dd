// Read from the configuration classes that stand beside the published weights, and from the copies of them that vLLM
// and llama.cpp keep.
#include "plan/published_defaults.h"

#include <algorithm>
#include <iterator>

namespace posenc::plan {
namespace {

constexpr std::string_view kChatglm = "ChatGLMConfig of its published code";
constexpr std::string_view kDbrx = "DbrxAttentionConfig, transformers 5.23.0";  // of the nested attn_config
constexpr std::string_view kExaone = "ExaoneConfig of its published code";
constexpr std::string_view kInternlm2 = "InternLM2Config of its published code";
constexpr std::string_view kMiniCpm = "MiniCPMConfig of its published code";
constexpr std::string_view kQwen = "QWenConfig of its published code";

// clang-format off
constexpr PublishedDefault kDefaults[] = {
    {"chatglm", "multi_query_attention", "false", kChatglm},
    {"chatglm", "multi_query_group_num", "1", kChatglm},
    {"chatglm", "rope_ratio", "1.0", kChatglm},
    {"dbrx", "kv_n_heads", "1", kDbrx},
    {"exaone", "rope_theta", "10000.0", kExaone},
    {"internlm2", "rope_theta", "10000.0", kInternlm2},
    {"minicpm", "rope_theta", "10000.0", kMiniCpm},
    {"qwen", "rotary_emb_base", "10000.0", kQwen},
    {"qwen", "rotary_pct", "1.0", kQwen},
    {"qwen", "use_dynamic_ntk", "true", kQwen},
    {"qwen", "use_logn_attn", "true", kQwen},
};
// clang-format on

}  // namespace

const PublishedDefault* find_published_default(std::string_view model_type, std::string_view key) noexcept {
  const auto row = std::ranges::find_if(
      kDefaults, [&](const PublishedDefault& row) { return row.model_type == model_type && row.key == key; });
  return row == std::ranges::end(kDefaults) ? nullptr : row;
}

}  // namespace posenc::plan

#include "convert/head_rows.h"

#include <algorithm>

namespace posenc::conversion {
namespace {

HeadRows heads_of(const HeadSizes& sizes, bool keys, std::int64_t count, std::int64_t first, std::int64_t between) {
  HeadRows out{
      .keys = keys, .starts = {}, .channels = sizes.head_dim, .first_channel = sizes.first_channel, .dim = sizes.dim};
  out.starts.reserve(static_cast<std::size_t>(count));
  for (std::int64_t head = 0; head < count; ++head) out.starts.push_back(first + head * between);
  return out;
}

// Orders in the families' own classes: what query_key_value, qkv_proj, Wqkv, c_attn and W_pack are viewed as there.
// GGUF has queries, keys and values one after another whatever the class has (its converters put them so).
constexpr std::string_view kOneAfterAnother[] = {
    "phi3",       "phi4flash", "phi4_multimodal", "dbrx",        "modernbert", "modernbert-decoder",
    "nomic_bert", "qwen",      "baichuan",        "baichuan_m1", "openelm",    "codeshell",
    "gte",        "new",       "chatglm"};
// [kv_heads, heads / kv_heads + 2, head_dim]; GPT-NeoX and Persimmon have as many KV heads as heads, so that theirs is
// [heads, 3, head_dim], and Falcon with one KV head has all queries first.
constexpr std::string_view kByKvHead[] = {"gpt_neox",    "gpt_neox_japanese", "persimmon", "falcon",
                                          "refined_web", "internlm2",         "phi3small"};
constexpr std::int64_t kQuarters = 4;  // mp_num of CodeGen's class, whatever the model
constexpr std::string_view kGated[] = {"qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen4_exp_text",
                                       "qwen3next",  "qwen35",  "qwen35moe"};

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

ProjectionRows query_rows(const HeadSizes& sizes) {
  return {sizes.heads * sizes.rows, {heads_of(sizes, false, sizes.heads, 0, sizes.rows)}};
}

ProjectionRows key_rows(const HeadSizes& sizes) {
  return {sizes.kv_heads * sizes.rows, {heads_of(sizes, true, sizes.kv_heads, 0, sizes.rows)}};
}

ProjectionRows gated_query_rows(const HeadSizes& sizes) {
  const std::int64_t between = 2 * sizes.head_dim;
  return {sizes.heads * between, {heads_of(sizes, false, sizes.heads, 0, between)}};
}

ProjectionRows shared_rows(const HeadSizes& sizes, bool keys) {
  return {sizes.rows, {heads_of(sizes, keys, 1, 0, sizes.rows)}};
}

std::optional<FusedOrder> fused_order(const Plan& plan, std::string_view stack, const HeadSizes& sizes) {
  if (plan.source.kind == SourceKind::gguf) return FusedOrder::one_after_another;
  // `qkv` of transformers' vision towers (Qwen 2 VL and what follows it): viewed as [3, heads, head_dim].
  if (stack == "vision") return FusedOrder::one_after_another;
  // The first ChatGLM's heads are fused one by one, and its file says nothing but that it has no fewer KV heads.
  if (plan.family == "chatglm" && sizes.kv_heads == sizes.heads) return {};
  if (is_one_of(kOneAfterAnother, plan.family)) return FusedOrder::one_after_another;
  if (plan.family == "codegen" && sizes.heads % kQuarters == 0) return FusedOrder::by_quarter;
  const bool same_width = sizes.value_dim == sizes.head_dim && sizes.heads % sizes.kv_heads == 0;
  if (same_width && is_one_of(kByKvHead, plan.family)) return FusedOrder::by_kv_head;
  return {};
}

ProjectionRows fused_rows(const HeadSizes& sizes, FusedOrder order) {
  const std::int64_t queries = sizes.heads * sizes.head_dim;
  const std::int64_t keys = sizes.kv_heads * sizes.head_dim;
  ProjectionRows out{queries + keys + sizes.kv_heads * sizes.value_dim, {}};
  switch (order) {
    case FusedOrder::one_after_another:
      out.heads = {heads_of(sizes, false, sizes.heads, 0, sizes.head_dim),
                   heads_of(sizes, true, sizes.kv_heads, queries, sizes.head_dim)};
      break;
    case FusedOrder::by_kv_head: {
      const std::int64_t of_one = sizes.heads / sizes.kv_heads;
      const std::int64_t between = (of_one + 2) * sizes.head_dim;
      HeadRows of_queries = heads_of(sizes, false, 0, 0, 0);
      for (std::int64_t kv = 0; kv < sizes.kv_heads; ++kv) {
        for (std::int64_t i = 0; i < of_one; ++i) of_queries.starts.push_back(kv * between + i * sizes.head_dim);
      }
      out.heads = {of_queries, heads_of(sizes, true, sizes.kv_heads, of_one * sizes.head_dim, between)};
      break;
    }
    case FusedOrder::by_quarter: {
      const std::int64_t of_one = sizes.heads / kQuarters * sizes.head_dim;
      HeadRows of_queries = heads_of(sizes, false, 0, 0, 0);
      HeadRows of_keys = heads_of(sizes, true, 0, 0, 0);
      for (std::int64_t head = 0; head < sizes.heads; ++head) {
        const std::int64_t quarter = head / (sizes.heads / kQuarters);
        const std::int64_t row = head * sizes.head_dim + 2 * quarter * of_one;
        of_queries.starts.push_back(row);
        of_keys.starts.push_back(row + 2 * of_one);
      }
      out.heads = {of_queries, of_keys};
      break;
    }
  }
  return out;
}

bool may_have_gates(const Plan& plan) { return is_one_of(kGated, plan.family); }
bool may_share_keys_as_values(const Plan& plan) { return plan.family.starts_with("gemma4"); }

}  // namespace posenc::conversion

#include "plan/layers/kv_heads.h"

#include "base/formatted.h"

namespace posenc::plan {
namespace {

bool holds(const Setting<bool>& flag) { return flag.value.value_or(false); }

Sourced<std::int64_t> given_kv_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  const Setting<std::int64_t> given = scope.integer(keys::kKvHeads, {1, kMaxHeads});
  if (!given.value) return {heads.value, given.from.empty() ? "default: as many as heads" : given.from};
  if (scope.reader().failed() || heads.value % *given.value == 0) return {*given.value, given.from};
  if (const auto place = scope.peek(keys::kKvHeads)) {
    scope.reader().fail(*place, ErrorKind::not_divisible, formatted("a divisor of the {} heads", heads.value),
                        formatted("{} / {} leaves {}", heads.value, *given.value, heads.value % *given.value));
  }
  return {};
}

// llm-foundry's MultiheadAttention, MultiQueryAttention and GroupedQueryAttention; the first two do not read
// kv_n_heads.
Sourced<std::int64_t> kv_heads_by_kind(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  const auto kind = scope.find(keys::kAttentionKind);
  if (!kind) return given_kv_heads(scope, heads);
  const auto name = scope.reader().string(*kind);
  if (name == "multihead_attention") return {heads.value, kind->from};
  if (name == "multiquery_attention") return {1, kind->from};
  if (name == "grouped_query_attention") {
    scope.require(keys::kKvHeads);
    return given_kv_heads(scope, heads);
  }
  scope.reader().fail(*kind, ErrorKind::out_of_range,
                      "\"multihead_attention\", \"multiquery_attention\" or \"grouped_query_attention\"");
  return {};
}

}  // namespace

Sourced<std::int64_t> read_kv_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  switch (scope.family().kv_heads) {
    case KvHeads::given: break;
    case KvHeads::given_where_grouped: {
      const Setting<bool> grouped = scope.flag(keys::kGrouped);
      if (!holds(grouped)) return {heads.value, grouped.from};
      break;
    }
    case KvHeads::one_where_multi_query: {
      const Setting<bool> multi = scope.flag(keys::kMultiQuery);
      return {holds(multi) ? 1 : heads.value, multi.from};
    }
    case KvHeads::given_or_one: {
      const Setting<bool> multi = scope.flag(keys::kGrouped);
      if (holds(multi) && !scope.peek(keys::kKvHeads)) return {1, multi.from};
      break;
    }
    case KvHeads::by_attention_kind: return kv_heads_by_kind(scope, heads);
    case KvHeads::falcon: {
      const Setting<bool> own_count = scope.flag(keys::kNewDecoder);
      const Setting<bool> multi = scope.flag(keys::kMultiQuery);
      if (!holds(own_count) && holds(multi)) return {1, multi.from};
      break;
    }
  }
  return given_kv_heads(scope, heads);
}

}  // namespace posenc::plan

#include "plan/kv_heads.h"

#include <fmt/compile.h>

namespace posenc::plan {
namespace {

bool holds(const Setting<bool>& flag) { return flag.value.value_or(false); }

Sourced<std::int64_t> given_kv_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  const Setting<std::int64_t> given = scope.integer(keys::kKvHeads, {1, kMaxHeads});
  if (!given.value) return {heads.value, given.from.empty() ? "default: as many as heads" : given.from};
  if (scope.reader().failed() || heads.value % *given.value == 0) return {*given.value, given.from};
  if (const auto place = scope.peek(keys::kKvHeads)) {
    scope.reader().fail(
        *place, ErrorKind::not_divisible, fmt::format(FMT_COMPILE("a divisor of the {} heads"), heads.value),
        fmt::format(FMT_COMPILE("{} / {} leaves {}"), heads.value, *given.value, heads.value % *given.value));
  }
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

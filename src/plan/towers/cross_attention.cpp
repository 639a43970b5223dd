#include "plan/towers/cross_attention.h"

namespace posenc::plan {

Sourced<bool> read_cross_attention(ConfigScope& scope) {
  switch (scope.stack().cross) {
    case CrossAttention::none: break;
    case CrossAttention::every_block: return {true, family_default(scope.family())};
    case CrossAttention::by_flag: {
      const Setting<bool> crosses = scope.flag(keys::kAddCross);
      return {crosses.value.value_or(false), crosses.from};
    }
  }
  return {false, family_default(scope.family())};
}

std::int64_t most_blocks(ConfigScope& scope) {
  const bool crosses = scope.stack().cross != CrossAttention::none;
  const auto stacks = static_cast<std::int64_t>(scope.family().more_stacks.size()) + (scope.family().encoder ? 2 : 1);
  if (stacks > 1) return kMaxLayers / (2 * stacks);  // as much each, and a decoder's are double
  return crosses && read_cross_attention(scope).value ? kMaxLayers / 2 : kMaxLayers;
}

}  // namespace posenc::plan

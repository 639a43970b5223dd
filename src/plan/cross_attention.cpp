#include "plan/cross_attention.h"

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

}  // namespace posenc::plan

#include "plan/layers/kv_sharing.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::plan {

void read_kv_sharing(ConfigScope& scope, LayerPattern& pattern) {
  if (!scope.family().shares_kv) return;
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  const Setting<std::int64_t> shared = scope.integer(keys::kSharedKv, {0, std::max<std::int64_t>(layers - 1, 0)});
  pattern.kv_from = shared.from;
  const std::int64_t first = layers - shared.value.value_or(0);
  const auto owners_end = pattern.layers.begin() + first;
  for (auto layer = owners_end; layer != pattern.layers.end(); ++layer) {
    const auto owner = std::find_if(std::make_reverse_iterator(owners_end), pattern.layers.rend(),
                                    [&](const LayerTraits& earlier) { return earlier.type == layer->type; });
    if (owner == pattern.layers.rend()) {
      const auto place = scope.peek(keys::kSharedKv);
      if (!place) return;
      return scope.reader().fail(
          *place, ErrorKind::missing_layer_type, formatted("a {} layer among the first {}", name(layer->type), first),
          formatted("layer {} is of that type and has no keys of its own", layer - pattern.layers.begin()));
    }
    layer->kv_from = pattern.layers.rend() - owner - 1;
  }
}

}  // namespace posenc::plan

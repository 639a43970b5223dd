#include "plan/assemble/layer_sources.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::plan {

void LayerSources::add(std::int64_t layer, const std::vector<FieldSource>& sources) {
  for (const FieldSource& source : sources) {
    const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
      return entry.source.field == source.field && entry.source.from == source.from;
    });
    if (known == entries_.end()) {
      entries_.push_back({source, formatted("{}", layer), layer, layer});
    } else if (known->last == layer - 1) {
      known->last = layer;
    } else {
      if (known->last > known->first) known->layers += formatted("-{}", known->last);
      known->layers += formatted(",{}", layer);
      known->first = known->last = layer;
    }
  }
}

std::vector<ValueSource> LayerSources::merged(std::string_view prefix) const {
  std::vector<ValueSource> merged;
  merged.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const std::string end = entry.last > entry.first ? formatted("-{}", entry.last) : std::string();
    merged.push_back({formatted("{}/{}{}/{}", prefix, entry.layers, end, entry.source.field), entry.source.from});
  }
  return merged;
}

}  // namespace posenc::plan

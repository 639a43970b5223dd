#include "plan/facts/stack_facts.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::plan {

void StackLayers::add(const LayerFacts& layer, std::int64_t block) {
  const auto place = static_cast<std::int64_t>(layers_.size());
  layers_.push_back(layer.layer());
  layers_.back().index = block;
  for (const FieldSource& source : layer.sources()) {
    const auto known = std::ranges::find_if(sources_, [&](const Source& entry) {
      return entry.source.field == source.field && entry.source.from == source.from;
    });
    if (known == sources_.end()) {
      sources_.push_back({source, formatted("{}", place), place, place});
    } else if (known->last == place - 1) {
      known->last = place;
    } else {
      if (known->last > known->first) known->layers += formatted("-{}", known->last);
      known->layers += formatted(",{}", place);
      known->first = known->last = place;
    }
  }
}

std::vector<ValueSource> StackLayers::sources(std::string_view prefix) const {
  std::vector<ValueSource> merged;
  merged.reserve(sources_.size());
  for (const Source& entry : sources_) {
    const std::string end = entry.last > entry.first ? formatted("-{}", entry.last) : std::string();
    merged.push_back({formatted("{}/{}{}/{}", prefix, entry.layers, end, entry.source.field), entry.source.from});
  }
  return merged;
}

}  // namespace posenc::plan

// A fact is set together with its source; a source that several layers share is kept once, with them as "0-4,6-10".
#include "plan/facts/stack_facts.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::plan {

void LayerFacts::say(std::string_view name, std::string from) {
  std::erase_if(sources_, [&](const FieldSource& source) { return source.field == name; });
  sources_.push_back({std::string(name), std::move(from)});
}

void LayerFacts::say(const std::vector<FieldSource>& sources) {
  for (const FieldSource& source : sources) say(source.field, source.from);
}

void LayerFacts::add(Rotate rotate, const std::vector<FieldSource>& sources) {
  for (const FieldSource& source : sources) {
    say(formatted("rotate/{}/{}", layer_.rotate.size(), source.field), source.from);
  }
  layer_.rotate.push_back(std::move(rotate));
}

void LayerFacts::add(Added added, std::string from) {
  say(formatted("added/{}", layer_.added.size()), std::move(from));
  layer_.added.push_back(std::move(added));
}

void LayerFacts::set(Mask mask, const std::vector<FieldSource>& sources) {
  layer_.mask = std::move(mask);
  say(sources);
}

const FieldSource* LayerFacts::source_of(std::string_view name) const {
  const auto source = std::ranges::find(sources_, name, &FieldSource::field);
  return source == sources_.end() ? nullptr : &*source;
}

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

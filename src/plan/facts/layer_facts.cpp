#include "plan/facts/layer_facts.h"

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

void LayerFacts::set(Mask mask, const std::vector<FieldSource>& sources) {
  layer_.mask = std::move(mask);
  say(sources);
}

const FieldSource* LayerFacts::source_of(std::string_view name) const {
  const auto source = std::ranges::find(sources_, name, &FieldSource::field);
  return source == sources_.end() ? nullptr : &*source;
}

}  // namespace posenc::plan

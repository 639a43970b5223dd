// The sources of a plan after a setting: of "/stacks/0/layers/0-31/rotate/0/base" the layers that were set are taken
// out, and get a line of their own.
#include <algorithm>
#include <charconv>

#include "base/formatted.h"
#include "plan/override/override.h"

namespace posenc::plan {
namespace {

// "/stacks/0/layers/" and then "0-3,7" and then "/rotate/0/base".
struct LayerSource {
  std::string_view places;
  std::string_view field;  // without the slash before it
};

std::optional<LayerSource> layer_source(std::string_view where, std::string_view before) {
  if (!where.starts_with(before)) return {};
  where.remove_prefix(before.size());
  const std::size_t slash = where.find('/');
  if (slash == std::string_view::npos) return {};
  return LayerSource{where.substr(0, slash), where.substr(slash + 1)};
}

std::string layers_of(std::size_t stack) { return formatted("/stacks/{}/layers/", stack); }

// Which of so many layers "0-3,7" names; nothing for a text of another form, which a saved plan may have.
std::optional<std::vector<bool>> named_places(std::string_view text, std::size_t layers) {
  std::vector<bool> named(layers, false);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::size_t first = 0;
    const auto one = std::from_chars(at, end, first);
    if (one.ec != std::errc{}) return {};
    const char* stopped = one.ptr;
    std::size_t last = first;
    if (stopped < end && *stopped == '-') {
      const auto range = std::from_chars(stopped + 1, end, last);
      if (range.ec != std::errc{}) return {};
      stopped = range.ptr;
    }
    for (std::size_t place = first; place < layers && place <= last; ++place) named[place] = true;
    if (stopped == end) return named;
    if (*stopped != ',') return {};
    at = stopped + 1;
  }
}

std::string places_text(const std::vector<bool>& named) {
  std::string text;
  for (std::size_t first = 0; first < named.size(); ++first) {
    if (!named[first]) continue;
    std::size_t last = first;
    while (last + 1 < named.size() && named[last + 1]) ++last;
    text += formatted("{}{}", text.empty() ? "" : ",", first);
    if (last > first) text += formatted("-{}", last);
    first = last;
  }
  return text;
}

bool is_at_or_below(std::string_view field, std::string_view top) {
  return field.starts_with(top) && (field.size() == top.size() || field[top.size()] == '/');
}

}  // namespace

std::string set_by(const Assignment& assignment) {
  return formatted("{}{}", kSetByUser, assignment.shown_with_layers());
}

std::vector<std::string> sources_of_field(const Plan& plan, std::size_t stack, std::string_view field) {
  const std::string before = layers_of(stack);
  std::vector<std::string> sources(plan.stacks[stack].layers.size());
  for (const ValueSource& source : plan.sources) {
    const auto known = layer_source(source.where, before);
    if (!known || known->field != field) continue;
    const auto named = named_places(known->places, sources.size());
    for (std::size_t layer = 0; named && layer < sources.size(); ++layer) {
      if ((*named)[layer]) sources[layer] = source.from;
    }
  }
  return sources;
}

void forget_sources(Plan& plan, std::size_t stack, std::span<const std::size_t> layers, std::string_view field) {
  const std::string before = layers_of(stack);
  std::vector<ValueSource> kept;
  kept.reserve(plan.sources.size());
  for (ValueSource& source : plan.sources) {
    const auto known = layer_source(source.where, before);
    auto named = known && is_at_or_below(known->field, field)
                     ? named_places(known->places, plan.stacks[stack].layers.size())
                     : std::nullopt;
    if (!named) {
      kept.push_back(std::move(source));
      continue;
    }
    for (const std::size_t layer : layers) (*named)[layer] = false;
    const std::string rest = places_text(*named);
    if (rest.empty()) continue;
    std::string where = formatted("{}{}/{}", before, rest, known->field);
    kept.push_back({std::move(where), std::move(source.from)});
  }
  plan.sources = std::move(kept);
}

void replace_source(Plan& plan, std::size_t stack, std::span<const std::size_t> layers, std::string_view field,
                    std::string from) {
  forget_sources(plan, stack, layers, field);
  if (layers.empty()) return;
  std::vector<bool> named(plan.stacks[stack].layers.size(), false);
  for (const std::size_t layer : layers) named[layer] = true;
  plan.sources.push_back({formatted("{}{}/{}", layers_of(stack), places_text(named), field), std::move(from)});
}

}  // namespace posenc::plan

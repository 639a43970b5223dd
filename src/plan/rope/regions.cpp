// vLLM reads the key (model_executor/layers/rotary_embedding/dual_chunk_rope.py, attention/backends/
// dual_chunk_flash_attn.py); the classes in transformers do not know it, and rotate such a model as any other.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/formatted.h"
#include "plan/facts/dual_chunk.h"
#include "plan/rope/rope.h"

namespace posenc::plan {
namespace {

// A member of the dictionary; a null is none.
std::optional<Place> find_member(ConfigScope& scope, const Place& dictionary, std::string_view name) {
  auto place = scope.reader().look(dictionary.value, name);
  if (!place || place->value.is_null()) return {};
  scope.reader().mark_read(*place);
  return place;
}

std::int64_t required_member(ConfigScope& scope, const Place& dictionary, std::string_view name, Bounds bounds) {
  const auto place = find_member(scope, dictionary, name);
  if (place) return scope.reader().integer(*place, bounds).value_or(bounds.low);
  scope.reader().fail(dictionary, ErrorKind::missing_key, formatted("the key '{}'", name));
  return bounds.low;
}

void warn_undecided(ConfigScope& scope, const Place& place, std::string_view what) {
  scope.reader().undecided(formatted("{} is {}: {}", place.from, shown(place.value), what), {place.from});
}

// Not a bound of positions: YaRN's factor on q.k without its frequencies, by the whole length n of the sequence.
void read_temperature(ConfigScope& scope, const Place& dictionary) {
  const auto place = find_member(scope, dictionary, "original_max_position_embeddings");
  const auto length = place ? scope.reader().integer(*place, {0, kMaxPosition}) : std::nullopt;
  if (length.value_or(0) == 0) return;
  warn_undecided(scope, *place,
                 "a sequence of n tokens, n above it, has its scores multiplied by (1 + ln(n / it) / 10)^2, which no "
                 "stage of a plan can say.");
}

// Which keys are left out stands in another file, a list of heads for each layer.
void read_sparsity(ConfigScope& scope, const Place& dictionary) {
  const auto place = find_member(scope, dictionary, "sparse_attention_enabled");
  if (!place || !scope.reader().boolean(*place).value_or(false)) return;
  warn_undecided(scope, *place, "which keys long sequences then see does not stand in this file.");
}

}  // namespace

ReadRegions read_regions(ConfigScope& scope) {
  if (!scope.family().dual_chunk) return {};
  // Hardly a file has it: others do not lack it (Plan::absent_keys).
  const auto given = scope.object().find(keys::kDualChunk.name());
  if (given && !*given) return {};
  const auto dictionary = scope.find(keys::kDualChunk);
  if (!dictionary) return {};
  if (dictionary->value.kind() != io::JsonKind::object) {
    scope.reader().fail(*dictionary, ErrorKind::type, "an object");
    return {};
  }
  scope.reader().enter(dictionary->value);
  const std::int64_t size = required_member(scope, *dictionary, "chunk_size", {1, kMaxPosition});
  const std::int64_t local = required_member(scope, *dictionary, "local_size", {0, size - 1});
  ReadRegions out{.regions = dual_chunk(size, local), .from = dictionary->from};
  read_temperature(scope, *dictionary);
  read_sparsity(scope, *dictionary);
  return out;
}

void warn_of_scaled_chunks(ConfigScope& scope, const ReadRegions& regions, const std::vector<LayerPlan>& layers) {
  if (!std::holds_alternative<DualChunk>(regions.regions)) return;
  const bool is_scaled = std::ranges::any_of(layers, [](const LayerPlan& layer) {
    return std::holds_alternative<DualChunk>(layer.regions) &&
           !std::holds_alternative<std::monostate>(rope(layer.rotate.front()).scaling);
  });
  if (!is_scaled) return;
  scope.reader().warn("scaled-chunks",
                      formatted("{} stands beside a scaling rule: the plan has both, but vLLM, which alone "
                                "reads the key, then rotates without the rule.",
                                regions.from),
                      {regions.from});
}

}  // namespace posenc::plan

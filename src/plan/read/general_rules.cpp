#include "plan/read/general_rules.h"

#include <algorithm>

#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

bool has_one(ConfigReader& reader, const io::JsonValue& object, const Key& key) {
  return std::ranges::any_of(key.names, [&](std::string_view name) {
    const auto place = reader.look(object, name);
    return place && place->value.kind() == io::JsonKind::number;
  });
}

}  // namespace

Family general_family(std::string_view name) noexcept {
  return {.name = name,
          .model_types = {},
          .class_stems = {},
          .pairing = Pairing::half,
          .width = Width::factor_or_dim,
          .scheme = scheme_by_keys,
          .misleading_keys = "offset_alibi learned_pos_emb",
          .needs_length = false};
}

bool has_sizes(ConfigReader& reader, const io::JsonValue& object) {
  return has_one(reader, object, keys::kLayers) && has_one(reader, object, keys::kHeads) &&
         (has_one(reader, object, keys::kHidden) || has_one(reader, object, keys::kHeadDim));
}

}  // namespace posenc::plan

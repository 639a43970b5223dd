// LayerType by its words: layer_types of Hugging Face, letters of EXAONE (G, L), words of executorch (GLOBAL, ...).
#include "plan/facts/layer_pattern.h"

#include <algorithm>

namespace posenc::plan {
namespace {

struct TypeName {
  std::string_view name;
  LayerType type;
};
// Hugging Face's names first; then Zaya's words, Jet-Nemotron's, EXAONE's letters and executorch's words.
constexpr TypeName kTypeNames[] = {
    {"full_attention", LayerType::full},
    {"sliding_attention", LayerType::sliding},
    {"chunked_attention", LayerType::chunked},
    {"indexed_attention", LayerType::full},
    {"hybrid", LayerType::full},
    {"hybrid_sliding", LayerType::sliding},
    {"swa", LayerType::sliding},
    {"G", LayerType::full},
    {"L", LayerType::sliding},
    {"GLOBAL", LayerType::full},
    {"SLIDING_LOCAL", LayerType::sliding},
};

}  // namespace

std::string_view name(LayerType type) noexcept {
  const auto row = std::ranges::find(kTypeNames, type, &TypeName::type);
  return row == std::ranges::end(kTypeNames) ? std::string_view() : row->name;
}

std::optional<LayerType> layer_type(std::string_view name) noexcept {
  const auto row = std::ranges::find(kTypeNames, name, &TypeName::name);
  if (row == std::ranges::end(kTypeNames)) return {};
  return row->type;
}

}  // namespace posenc::plan

#include "reuse/mask_traits.h"

#include <algorithm>
#include <string_view>

#include "plan/layers/mask_details.h"

namespace posenc::reuse {
namespace {

struct MadeOf {
  std::string_view detail;
  std::optional<std::int64_t> before;
  bool bounded;
};

// By their words, so that a plan that was written as JSON says the same. Inkling: convolutions of the hidden states
// too.
constexpr MadeOf kMadeOf[] = {{plan::kKeysOfShortConvolution, std::nullopt, false},
                              {plan::kKeysOfTokenBefore, 1, true},
                              {plan::kKeysOfTwoConvolutions, 2, true}};

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// Of other words, those by which masks of this library speak of keys and values themselves.
bool speaks_of_keys(std::string_view detail) {
  return has(detail, "keys and values are") || has(detail, "queries and keys are");
}

}  // namespace

MaskTraits mask_traits(const LayerPlan& layer) {
  const std::string_view detail = layer.mask.detail;
  const bool is_sparse = layer.mask.kind == MaskKind::sparse;
  MaskTraits out{.by_place = has(detail, "block") || has(detail, "chunk"), .by_index = has(detail, "indexer")};
  const auto* const known = std::ranges::find(kMadeOf, detail, &MadeOf::detail);
  if (known != std::end(kMadeOf)) {
    out.made_of = known->before;
    out.bounded = known->bounded;
    return out;
  }
  if (speaks_of_keys(detail)) out.made_of.reset();
  // Any other words, and a sparse mask without any, are of keys that lie outside a window.
  out.bounded = detail.empty() ? !is_sparse : detail == plan::kImageWithinWindow;
  // Of entries made of several tokens the window's own keys do leave (DeepSeek V4).
  out.keeps_all = is_sparse && !layer.compression;
  return out;
}

}  // namespace posenc::reuse

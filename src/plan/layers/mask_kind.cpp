#include "plan/layers/mask_kind.h"

#include "base/formatted.h"

namespace posenc::plan {
namespace {

// A flag, or XLNet's attn_type: "bi" or "uni".
bool means_causal(ConfigScope& scope, const Place& place) {
  if (place.value.kind() != io::JsonKind::string) return scope.reader().boolean(place).value_or(false);
  const auto text = scope.reader().string(place);
  if (text != "uni" && text != "bi") scope.reader().fail(place, ErrorKind::out_of_range, "\"bi\" or \"uni\"");
  return text == "uni";
}

// transformers makes any decoder look both ways when is_causal is false.
void read_is_causal(ConfigScope& scope, StackMask& mask) {
  const Setting<bool> causal = scope.flag(keys::kIsCausal);
  if (causal.value) mask.kind = {*causal.value ? MaskKind::causal : MaskKind::bidirectional, causal.from};
}

void read_evenness(ConfigScope& scope, const Key& key, StackMask& mask) {
  const Setting<bool> even = scope.flag(key);
  if (!even.value.value_or(false)) return;
  mask.kind = {MaskKind::sparse, even.from};
  mask.detail = "causal, every token sees as many keys as the others";
}

void read_sparse_word(ConfigScope& scope, const SparseWord& rule, StackMask& mask) {
  const auto place = rule.key != nullptr ? scope.find(*rule.key) : std::nullopt;
  if (!place || scope.reader().string(*place) != rule.word) return;
  mask.kind = {MaskKind::sparse, place->from};
  mask.detail = rule.detail;
}

// Chunks of so many positions; of each its own and the ones before it.
void read_chunks(ConfigScope& scope, const MaskRule& rule, StackMask& mask) {
  const Setting<std::int64_t> chunk = scope.integer(*rule.chunk, {1, kMaxPosition});
  if (!chunk.value) return;
  const Setting<std::int64_t> before = scope.integer(*rule.chunks_before, {-kMaxPosition, kMaxPosition});
  const std::int64_t count = before.value.value_or(-1);
  mask.kind = {MaskKind::sparse, chunk.from};
  mask.detail = count < 0 ? formatted("all up to the end of the own chunk of {}", *chunk.value)
                          : formatted("the own chunk of {} and the {} before it", *chunk.value, count);
}

}  // namespace

StackMask read_stack_mask(ConfigScope& scope) {
  const MaskRule& rule = scope.stack().mask;
  StackMask mask{.kind = {rule.kind, family_default(scope.family())}, .detail = std::string(rule.detail)};
  if (rule.prefix_if != nullptr) {
    const Setting<bool> prefix = scope.flag(*rule.prefix_if);
    if (prefix.value.value_or(false)) {
      mask.kind = {MaskKind::prefix, prefix.from};
      mask.detail = "the prompt sees itself both ways, what follows is causal";
      return mask;
    }
  }
  if (const auto place = rule.causal_if != nullptr ? scope.find(*rule.causal_if) : std::nullopt) {
    mask.turned_causal = means_causal(scope, *place);
    mask.kind = {mask.turned_causal ? MaskKind::causal : rule.kind, place->from};
    if (mask.turned_causal && rule.evenly_if != nullptr) read_evenness(scope, *rule.evenly_if, mask);
  }
  if (rule.causal_if == nullptr && rule.chunk != nullptr) read_chunks(scope, rule, mask);
  if (!mask.turned_causal) read_sparse_word(scope, rule.sparse_if, mask);
  if (rule.causal_if != nullptr) return mask;
  if (rule.kind == MaskKind::causal) read_is_causal(scope, mask);
  return mask;
}

}  // namespace posenc::plan

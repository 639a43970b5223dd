#include "reuse/reader.h"

#include <algorithm>
#include <variant>

#include "posenc/compare.h"

namespace posenc::reuse {
namespace {

// As a draft model that was trained for another length has it.
Plan with_another_base(Plan plan) {
  for (Stack& stack : plan.stacks) {
    for (LayerPlan& layer : stack.layers) {
      for (Rotate& one : layer.rotate) {
        std::visit(
            [](auto& scheme) {
              if constexpr (requires { scheme.rope; }) {
                scheme.rope.base *= 2;
              } else {
                scheme.base *= 2;
              }
            },
            one.scheme);
      }
    }
  }
  return plan;
}

// What only angles are made of: where keys are rotated as they are read, any of these may differ.
bool is_of_angles(KeyReason reason) {
  switch (reason) {
    case KeyReason::rotation:
    case KeyReason::channels:
    case KeyReason::axes:
    case KeyReason::offset:
    case KeyReason::frequencies:
    case KeyReason::attention_factor:
    case KeyReason::norm_after: return true;  // the norm itself is judged by its traits
    case KeyReason::absent:
    case KeyReason::kind:
    case KeyReason::kv_from:
    case KeyReason::compression:
    case KeyReason::kv_heads:
    case KeyReason::head_dim:
    case KeyReason::values:
    case KeyReason::qk_norm:
    case KeyReason::pairing:  // other channels of the same weights: reorder them first
    case KeyReason::added: return false;
  }
  return false;
}

ReadLayer read_of(const CachedKeys& keys) {
  ReadLayer out{.same_angles = keys.because.empty()};
  for (const KeyReason reason : keys.because) {
    if (is_of_angles(reason)) continue;
    if (!out.refused.empty()) out.refused += ", ";
    out.refused += name(reason);
  }
  return out;
}

bool has_same(const Plan& plan, const Stack& wanted) {
  return std::ranges::any_of(plan.stacks, [&](const Stack& stack) {
    return stack.name == wanted.name && stack.known && stack.input == wanted.input && stack.layers == wanted.layers;
  });
}

}  // namespace

Reader::Reader(const Plan& plan, std::size_t stack, const Plan* reader) {
  const Stack& own = plan.stacks[stack];
  read_.resize(own.layers.size(), {.same_angles = true, .refused = "layers: it has no such layer"});
  same_.resize(own.layers.size(), true);
  const Plan other = reader != nullptr ? *reader : with_another_base(plan);
  const Comparison both = compare(plan, other);
  const auto is_own = [&](const ComparedLayers& layers) { return layers.stack == own.name; };
  for (const CachedKeys& keys : both.cached_keys) {
    if (!is_own(keys.layers)) continue;
    for (const std::int64_t at : keys.layers.a.layers) read_[static_cast<std::size_t>(at)] = read_of(keys);
  }
  for (const Difference& one : both.differences) {
    if (!is_own(one.layers) || one.kind != DifferenceKind::substance) continue;
    for (const std::int64_t at : one.layers.a.layers) same_[static_cast<std::size_t>(at)] = false;
  }
  same_elsewhere_ =
      std::ranges::all_of(plan.stacks, [&](const Stack& one) { return &one == &own || has_same(other, one); });
}

}  // namespace posenc::reuse

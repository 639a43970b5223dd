// Whether the keys that plan A's layer has in the KV cache serve plan B's: as they are, reordered (pairing), rotated
// (frequencies, offset, attention factor), or not at all; and why.
#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "plan/compare/compare.h"

namespace posenc::plan {
namespace {

bool caches_keys(const LayerPlan* layer) {
  if (layer == nullptr || layer->kv_from) return false;
  return layer->kind == LayerKind::attention || layer->kind == LayerKind::cross_attention;
}

// Reasons, each once, in the order of the enumerators.
class Reasons {
 public:
  void add_if(bool holds, KeyReason reason) {
    if (holds && !has(reason)) reasons_.push_back(reason);
  }
  bool has(KeyReason reason) const { return std::find(reasons_.begin(), reasons_.end(), reason) != reasons_.end(); }
  std::vector<KeyReason> take() {
    std::sort(reasons_.begin(), reasons_.end());
    return std::move(reasons_);
  }

 private:
  std::vector<KeyReason> reasons_;
};

// xPos's decay is not in cached keys (rope.h), so its scale base does not matter here.
void compare_angles(const Rotate& a, const Rotate& b, bool is_normed_after, const CompareScope& scope,
                    Reasons& reasons) {
  const Rope& of_a = rope(a);
  const Rope& of_b = rope(b);
  reasons.add_if(!rotate_same_channels(of_a, of_b), KeyReason::channels);
  reasons.add_if(of_a.axes != of_b.axes, KeyReason::axes);
  reasons.add_if(of_a.pairing != of_b.pairing, KeyReason::pairing);
  reasons.add_if(a.offset != b.offset, KeyReason::offset);
  const std::optional<AngleChange> angles = angle_change(a, b, scope);
  if (!angles) return;
  reasons.add_if(!angles_hold(*angles, scope), KeyReason::frequencies);
  // A norm after the rotation takes every factor away again.
  reasons.add_if(!is_normed_after && !factors_hold(*angles, scope), KeyReason::attention_factor);
}

void compare_rotation(const Rotate& a, const Rotate& b, bool is_normed_after, const CompareScope& scope,
                      Reasons& reasons) {
  if (a.role != b.role || a.scheme.index() != b.scheme.index()) return reasons.add_if(true, KeyReason::rotation);
  if (a.role != RotateRole::before_projection) return compare_angles(a, b, is_normed_after, scope, reasons);
  // A projection lies between the rotation and the key: no other rotation mends it.
  Reasons rotation;
  compare_angles(a, b, is_normed_after, scope, rotation);
  reasons.add_if(!rotation.take().empty(), KeyReason::rotation);
}

void compare_rotations(const LayerPlan& a, const LayerPlan& b, const CompareScope& scope, Reasons& reasons) {
  if (a.rotate.size() != b.rotate.size()) return reasons.add_if(true, KeyReason::rotation);
  const bool is_normed_after = a.qk_norm && a.qk_norm == b.qk_norm && a.qk_norm->order == QkNorm::Order::after;
  for (std::size_t r = 0; r < a.rotate.size(); ++r) {
    compare_rotation(a.rotate[r], b.rotate[r], is_normed_after, scope, reasons);
  }
  // A length is kept by every rotation, a weighted one and a mean are not.
  const bool blocks_rotation = is_normed_after && (a.qk_norm->weighted || a.qk_norm->kind == QkNorm::Kind::layer);
  const bool needs_rotation = reasons.has(KeyReason::frequencies) || reasons.has(KeyReason::offset);
  reasons.add_if(blocks_rotation && needs_rotation, KeyReason::norm_after);
}

// Every reason but these is beyond repair.
KeyUse use_for(const std::vector<KeyReason>& reasons) {
  bool is_rotated = false;
  bool is_reordered = false;
  for (const KeyReason reason : reasons) {
    switch (reason) {
      case KeyReason::offset:
      case KeyReason::frequencies:
      case KeyReason::attention_factor: is_rotated = true; break;
      case KeyReason::pairing: is_reordered = true; break;
      case KeyReason::absent:
      case KeyReason::kind:
      case KeyReason::kv_from:
      case KeyReason::compression:
      case KeyReason::kv_heads:
      case KeyReason::head_dim:
      case KeyReason::values:
      case KeyReason::qk_norm:
      case KeyReason::rotation:
      case KeyReason::channels:
      case KeyReason::axes:
      case KeyReason::added:
      case KeyReason::norm_after: return KeyUse::not_at_all;
    }
  }
  if (is_rotated) return is_reordered ? KeyUse::reordered_and_rotated : KeyUse::rotated;
  return is_reordered ? KeyUse::reordered : KeyUse::as_they_are;
}

// What a layer adds to what its keys are made of.
std::vector<Added> added_to_keys(const LayerPlan& layer) {
  std::vector<Added> added = layer.added;
  std::erase_if(added, [](const Added& one) { return one.to == AddedTo::queries; });
  for (Added& one : added) one.to = AddedTo::keys;
  return added;
}

bool rotates_values(const LayerPlan& layer) { return std::holds_alternative<RotatedValues>(layer.value); }

}  // namespace

std::optional<CachedKeys> cached_keys(const LayerPlan* a, const LayerPlan* b, const CompareScope& scope) {
  if (!caches_keys(a) && !caches_keys(b)) return std::nullopt;
  Reasons reasons;
  if (a == nullptr || b == nullptr) {
    reasons.add_if(true, KeyReason::absent);
  } else if (a->kind != b->kind) {
    reasons.add_if(true, KeyReason::kind);
  } else {
    reasons.add_if(a->kv_from != b->kv_from, KeyReason::kv_from);
    reasons.add_if(a->compression != b->compression, KeyReason::compression);
    reasons.add_if(a->kv_heads != b->kv_heads, KeyReason::kv_heads);
    reasons.add_if(a->head_dim != b->head_dim, KeyReason::head_dim);
    reasons.add_if(a->value_dim != b->value_dim || rotates_values(*a) != rotates_values(*b), KeyReason::values);
    reasons.add_if(a->qk_norm != b->qk_norm, KeyReason::qk_norm);
    compare_rotations(*a, *b, scope, reasons);
    reasons.add_if(a->regions != b->regions, KeyReason::rotation);
    reasons.add_if(added_to_keys(*a) != added_to_keys(*b), KeyReason::added);
  }
  CachedKeys out;
  out.because = reasons.take();
  out.use = use_for(out.because);
  return out;
}

}  // namespace posenc::plan

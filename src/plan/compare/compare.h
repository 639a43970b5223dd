// What the files of this folder find out of two plans, each in a file of its own; compare.cpp puts it together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/json/plan_names.h"
#include "posenc/compare.h"
#include "posenc/plan.h"

namespace posenc::plan {

// ---- pairs.cpp: which stack and which layers stand beside each other ----

// A null side: the other plan has no such stack, or no such layer.
struct StackPair {
  const Stack* a = nullptr;
  const Stack* b = nullptr;
  std::int64_t at_a = 0;  // places in Plan::stacks
  std::int64_t at_b = 0;
  const std::string& name() const { return a != nullptr ? a->name : b->name; }
};

// Layers that are one kind in A and one kind in B: what is said of one pair of them holds for all.
struct LayerPair {
  const LayerPlan* a = nullptr;
  const LayerPlan* b = nullptr;
  ComparedLayers layers;
};

// By name, the n-th of a name with the n-th; two plans of one stack each whatever it is called. B's own come last.
std::vector<StackPair> paired_stacks(const Plan& a, const Plan& b);

// By the index of the block and the place within it. In the order of the first layer of each.
std::vector<LayerPair> paired_layers(const StackPair& stacks);

// Layers of one stack, put together and then in order.
void append_layers(ComparedLayers& to, const ComparedLayers& more);
void sort_layers(ComparedLayers& layers);

// "0-4,6-10": the layers of a run by their places.
std::string places(const LayerRun& run);

// ---- rotations.cpp: how far angles are apart, and whether the same channels rotate in other pairs ----

// What both plans are asked for.
struct CompareScope {
  std::optional<std::int64_t> length_a;  // Plan::length
  std::optional<std::int64_t> length_b;
  double tolerance = 0.0;
  std::optional<std::int64_t> length;  // Comparison::length
};

// Without its layers; nothing when the rotations have not equally many pairs.
std::optional<AngleChange> angle_change(const Rotate& a, const Rotate& b, const CompareScope& scope);

// Whether no angle below scope.length differs by more than the tolerance (without a length: below 2^53).
bool angles_hold(const AngleChange& change, const CompareScope& scope);
bool factors_hold(const AngleChange& change, const CompareScope& scope);

// The rule as it acts, however it is spelled: absent numbers are those that stand for them, numbers that others make
// idle are left out, and a rule that changes nothing is none.
Scaling effective_scaling(const Rope& rope);

// Whether the frequencies change with the length of the sequence.
bool depends_on_length(const Scaling& scaling);

bool rotate_same_channels(const Rope& a, const Rope& b);

// Without its layers; nothing when pairing is equal, or other channels rotate.
std::optional<PairingChange> pairing_change(const Rope& a, const Rope& b);

// ---- facts.cpp ----
// Which facts of two plans, two stacks or two kinds of layer differ, and which of the differences are of substance.

// Without where they are: layers, where_a and where_b are left empty. What == tells apart always gives a difference.
std::vector<Difference> layer_differences(const LayerPlan* a, const LayerPlan* b, const CompareScope& scope);
std::vector<Difference> stack_differences(const StackPair& stacks);
std::vector<Difference> plan_differences(const Plan& a, const Plan& b);

// ---- keys.cpp: what keys that one plan's layer cached are to the other plan's layer ----

// Without its layers; a null side has no such layer. Nothing when neither layer caches keys of its own.
std::optional<CachedKeys> cached_keys(const LayerPlan* a, const LayerPlan* b, const CompareScope& scope);

// ---- the names of a comparison's enumerators, for its JSON ----

template <>
struct EnumNames<Verdict> {
  static constexpr NameArray<3> kNames{"same", "same_but_pairing", "differ"};
};
template <>
struct EnumNames<DifferenceKind> {
  static constexpr NameArray<2> kNames{"substance", "note"};
};
template <>
struct EnumNames<KeyUse> {
  static constexpr NameArray<5> kNames{"as_they_are", "rotated", "reordered", "reordered_and_rotated", "not_at_all"};
};
template <>
struct EnumNames<KeyReason> {
  static constexpr NameArray<17> kNames{"absent",   "kind",      "kv_from", "compression", "kv_heads",
                                        "head_dim", "values",    "qk_norm", "rotation",    "channels",
                                        "axes",     "pairing",   "offset",  "frequencies", "attention_factor",
                                        "added",    "norm_after"};
};

}  // namespace posenc::plan

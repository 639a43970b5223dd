// Two plans side by side: which position facts differ, layer by layer, and what follows for whoever mixes the two.
//
//   const Comparison c = compare(*read_plan("a/config.json"), *read_plan("b/config.json"));
//   if (c.verdict != Verdict::same) report(describe(c));
//
// Stacks are matched by name, or as they are when each plan has one; layers by their block's index. What follows is
// computed from both plans' frequencies in double, for a sequence of Plan::length tokens, or else of
// Comparison::length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {

struct CompareOptions {
  // Radians by which an angle may differ and count as the same. A rotation by t moves a key by t of its length, and so
  // does an attention factor that differs by t of itself: this bounds both.
  double tolerance = 1e-3;
};

enum class Verdict : std::uint8_t {
  same,              // nothing that changes what the model computes
  same_but_pairing,  // only the pairing differs: the same model if the rows of q and k were permuted (PairingChange)
  differ,
};

// substance: changes what the model computes with positions. note: does not: names, sources, warnings, the trained
// length (of models without a learned table), numbers that are one float32, a base or a rule whose angles stay within
// the tolerance, a number of a rule that one plan leaves to its default and the other says.
enum class DifferenceKind : std::uint8_t { substance, note };

// Layers of one stack, by their places in either plan. A side without them is empty.
struct ComparedLayers {
  std::string stack;
  LayerRun a;
  LayerRun b;
  bool operator==(const ComparedLayers&) const = default;
};

// A value as to_json(plan) writes it, and in words; "null" and "none" where there is none.
struct ComparedValue {
  std::string json;
  std::string words;
  bool operator==(const ComparedValue&) const = default;
};

struct Difference {
  DifferenceKind kind = DifferenceKind::substance;
  ComparedLayers layers;  // no layers: a fact of the stack; no stack: a fact of the plan
  std::string field;      // "rotate/0/base"
  std::string where_a;    // "/stacks/0/layers/0-31/rotate/0/base"; empty: A has no such place
  std::string where_b;
  ComparedValue a;  // of absent_keys, ignored_keys, sources and warnings: what only A has
  ComparedValue b;
  bool operator==(const Difference&) const = default;
};

// What keys (and the values beside them) that A's layers cached are to B's layers, and the reverse.
enum class KeyUse : std::uint8_t {
  as_they_are,
  rotated,    // after a rotation by the difference of the angles, and by the ratio of attention factors
  reordered,  // after the channels of each head were put in the other order: PairingChange::rows
  reordered_and_rotated,
  not_at_all,
};

// Why they are not what they would have to be.
enum class KeyReason : std::uint8_t {
  absent,       // the other plan has no such layer
  kind,         // another kind of layer
  kv_from,      // caches of its own here, another layer's there
  compression,  // keys made of other numbers of tokens
  kv_heads,
  head_dim,
  values,  // value_dim, or values that are rotated
  qk_norm,
  rotation,  // one rotates keys, the other does not, or by another scheme, or by positions of other regions
  channels,  // other channels rotate
  axes,      // other coordinates rotate them
  pairing,
  offset,       // positions count from another number
  frequencies,  // angles differ by more than the tolerance
  attention_factor,
  added,       // something else is added to what they are projected from
  norm_after,  // a norm after the rotation, with weights or of the layer kind: no rotation undoes the first one
};

struct CachedKeys {
  ComparedLayers layers;
  KeyUse use = KeyUse::as_they_are;
  std::vector<KeyReason> because;
  bool operator==(const CachedKeys&) const = default;
};

// The same channels are rotated in other pairs. One set of weights serves both when rows of the q and k projections
// (and biases, and weights of a norm over a head) are permuted within each head: row c of B is row rows[c] of A. A
// config.json and a GGUF of the Llama line differ so, because the conversion permutes.
struct PairingChange {
  ComparedLayers layers;
  std::int64_t rotation = 0;  // its place in LayerPlan::rotate
  Pairing a = Pairing::half;
  Pairing b = Pairing::half;
  std::int64_t first_channel = 0;
  std::int64_t dim = 0;
  std::vector<std::int64_t> rows;  // [head_dim]
  bool operator==(const PairingChange&) const = default;
};

// One rotation's angles in A and in B, for rotations of equally many pairs. Angles differ by
// position * |inv_freq_a - inv_freq_b|, so one pair is the worst at every position.
struct AngleChange {
  ComparedLayers layers;
  std::int64_t rotation = 0;
  RotateRole role = RotateRole::main;
  std::int64_t pairs = 0;
  std::int64_t pair = 0;                       // the worst
  double inv_freq_difference = 0.0;            // of that pair, radians per position
  std::optional<std::int64_t> first_position;  // where an angle first differs by more than the tolerance; none to 2^53
  std::optional<double> end_difference;        // radians, of that pair at the last position, Comparison::length - 1
  double attention_factor_ratio = 1.0;         // B over A
  bool operator==(const AngleChange&) const = default;
};

struct SoftmaxScaleChange {
  ComparedLayers layers;
  double ratio = 1.0;  // B over A
  bool operator==(const SoftmaxScaleChange&) const = default;
};

struct ComparedPlan {
  std::string name;
  SourceKind kind = SourceKind::config_json;
  std::string family;
  bool known = false;
  std::optional<std::int64_t> trained_length;
  bool operator==(const ComparedPlan&) const = default;
};

struct Comparison {
  Verdict verdict = Verdict::same;
  double tolerance = 0.0;
  // Tokens, up to which angles are judged: the larger Plan::length, or else the larger trained length.
  std::optional<std::int64_t> length;
  ComparedPlan a;
  ComparedPlan b;
  std::vector<Difference> differences;  // those of the plan last
  std::vector<CachedKeys> cached_keys;  // layers that cache keys in either plan
  std::vector<PairingChange> pairings;
  std::vector<AngleChange> angles;  // rotations whose angles or attention factors are not equal
  std::vector<SoftmaxScaleChange> softmax_scales;
  bool operator==(const Comparison&) const = default;
};

// Throws Error for a tolerance that is not a finite number of at least 0, and for a plan with a rotation that does not
// pass check().
POSENC_API Comparison compare(const Plan& a, const Plan& b, const CompareOptions& options = {});

POSENC_API std::string_view name(Verdict verdict) noexcept;
POSENC_API std::string_view name(DifferenceKind kind) noexcept;
POSENC_API std::string_view name(KeyUse use) noexcept;
POSENC_API std::string_view name(KeyReason reason) noexcept;

// The verdict on the first line, then the differences by runs of layers, then what follows. Plain ASCII, lines of at
// most 80 columns.
POSENC_API std::string describe(const Comparison& comparison);

// JSON as docs/compare.schema.json says.
POSENC_API std::string to_json(const Comparison& comparison);

}  // namespace posenc::inline v0_2

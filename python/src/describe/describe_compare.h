// What two plans differ in (posenc/compare.h), as Python sees it.
// A and B are the two plans in the order in which compare() was given them. compare() makes all of these; as values
// they can also be made by hand, compared and pickled.
#pragma once

#include "describe/describe_plan.h"
#include "describe/described.h"
#include "posenc/compare.h"

namespace posenc::python {

// Two countings, since a block may have several attention layers (self and cross attention) or none.
constexpr auto description(Type<LayerRun>) {
  using T = LayerRun;
  return described_as<T>("LayerRun", "Layers of a stack that are equal in everything but their index.",
                         member("layers", &T::layers, "Places in Stack.layers, ascending."),
                         member("blocks", &T::blocks, "LayerPlan.index of those."));
}

// A side that has no such layers has an empty run. Without any layers: a fact of the stack; without a stack: of the
// plan.
constexpr auto description(Type<ComparedLayers>) {
  using T = ComparedLayers;
  return described_as<T>("ComparedLayers", "Layers of one stack, by their places in either plan.",
                         member("stack", &T::stack), member("a", &T::a), member("b", &T::b));
}

// 'null' and 'none' where a side has no such value.
constexpr auto description(Type<ComparedValue>) {
  using T = ComparedValue;
  return described_as<T>("ComparedValue", "A value as a plan's JSON writes it, and in words.", member("json", &T::json),
                         member("words", &T::words));
}

// where_a, where_b: JSON pointers into either plan's JSON; empty where a side has no such place.
constexpr auto description(Type<Difference>) {
  using T = Difference;
  return described_as<T>("Difference", "One fact that differs.",
                         member("kind", &T::kind, "'substance' changes what the model computes, 'note' does not."),
                         member("layers", &T::layers), member("field", &T::field, "'rotate/0/base'"),
                         member("where_a", &T::where_a), member("where_b", &T::where_b), member("a", &T::a),
                         member("b", &T::b));
}

// `because` is empty where keys can be used as they are.
constexpr auto description(Type<CachedKeys>) {
  using T = CachedKeys;
  return described_as<T>("CachedKeys", "What keys that A's layers cached are to B's layers, and the reverse.",
                         member("layers", &T::layers), member("use", &T::use), member("because", &T::because));
}

// The same model, if rows of the q and k projections are permuted by `rows` within each head: a config.json and a GGUF
// of the Llama line differ like this.
constexpr auto description(Type<PairingChange>) {
  using T = PairingChange;
  return described_as<T>("PairingChange", "The same channels are rotated in other pairs.", member("layers", &T::layers),
                         member("rotation", &T::rotation, "Its place in LayerPlan.rotate."), member("a", &T::a),
                         member("b", &T::b), member("first_channel", &T::first_channel), member("dim", &T::dim),
                         member("rows", &T::rows, "[head_dim]: row c of B is row rows[c] of A."));
}

// Angles differ by position * |difference of inv_freq|, so one pair is the worst at every position.
constexpr auto description(Type<AngleChange>) {
  using T = AngleChange;
  return described_as<T>(
      "AngleChange", "One rotation's angles in A and in B.", member("layers", &T::layers),
      member("rotation", &T::rotation), member("role", &T::role), member("pairs", &T::pairs),
      member("pair", &T::pair, "The worst."),
      member("inv_freq_difference", &T::inv_freq_difference, "Of that pair, radians per position."),
      member("first_position", &T::first_position, "Where an angle first differs by more than the tolerance."),
      member("end_difference", &T::end_difference, "Radians, of that pair at the last position."),
      member("attention_factor_ratio", &T::attention_factor_ratio, "B over A."));
}

constexpr auto description(Type<SoftmaxScaleChange>) {
  using T = SoftmaxScaleChange;
  return described_as<T>("SoftmaxScaleChange", "Scores are scaled otherwise.", member("layers", &T::layers),
                         member("ratio", &T::ratio, "B over A."));
}

constexpr auto description(Type<ComparedPlan>) {
  using T = ComparedPlan;
  return described_as<T>("ComparedPlan", "One of the two plans.", member("name", &T::name), member("kind", &T::kind),
                         member("family", &T::family), member("known", &T::known),
                         member("trained_length", &T::trained_length));
}

constexpr auto description(Type<Comparison>) {
  using T = Comparison;
  return described_as<T>(
      "Comparison", "Which position facts of two plans differ, and what follows for whoever mixes the two.",
      member("verdict", &T::verdict), member("tolerance", &T::tolerance, "Radians."),
      member("length", &T::length, "Tokens, up to which angles are judged."), member("a", &T::a), member("b", &T::b),
      member("differences", &T::differences), member("cached_keys", &T::cached_keys), member("pairings", &T::pairings),
      member("angles", &T::angles), member("softmax_scales", &T::softmax_scales));
}

}  // namespace posenc::python

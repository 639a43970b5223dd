// What position encodings are good for, measured (posenc/properties.h), as Python sees it.
// Results of bind_properties.cpp; definitions of every number: docs/properties.md. Enumerators of this header are
// counted here, not in words.h, so that only the bindings of this topic include it.
#pragma once

#include "convert.h"
#include "describe/described.h"
#include "posenc/properties.h"

namespace posenc::python {

// clang-format off
template <> struct Last<Stage> : LastIs<Stage::value> {};
template <> struct Last<Property> : LastIs<Property::decay> {};
template <> struct Last<Bound> : LastIs<Bound::at_least> {};
template <> struct Last<Judgement> : LastIs<Judgement::does_not_apply> {};
// clang-format on

constexpr auto description(Type<MeasuredScheme>) {
  using T = MeasuredScheme;
  return described_as<T>("MeasuredScheme", "A scheme that properties are measured of.",
                         member("name", &T::name, "'rope', 'rope-yarn', 'alibi-symmetric'"), member("stage", &T::stage),
                         member("about", &T::about, "The numbers it is measured with."));
}

// `property` is Python's decorator, hence property_ here and below.
constexpr auto description(Type<PropertyRule>) {
  using T = PropertyRule;
  return described_as<T>("PropertyRule", "What a number must be to pass.", member("property_", &T::property),
                         member("bound", &T::bound), member("threshold", &T::threshold),
                         member("question", &T::question, "'are all places told apart'"));
}

constexpr auto description(Type<PropertyResult>) {
  using T = PropertyResult;
  return described_as<T>(
      "PropertyResult", "One property of one scheme.", member("property_", &T::property),
      member("judgement", &T::judgement),
      member("number", &T::number, "Infinite: there is no encoding at all. NaN: the question does not apply."),
      member("where", &T::where, "'places 31 and 32', or empty."));
}

// Lists of equal length, an entry for each distance.
constexpr auto description(Type<DecayCurves>) {
  using T = DecayCurves;
  return described_as<T>(
      "DecayCurves",
      "Curves over the distance r; theta_p = base^(-2p/dim). Queries and keys of variance 1, scores over sqrt(dim).",
      member("distances", &T::distances),
      member("bound", &T::bound,
             "RoFormer's, arXiv 2104.09864, (37): (2/d) sum_{i=1}^{d/2} |S_i|, S_i = sum_{j<i} e^(i r theta_j)."),
      member("equal", &T::equal, "q = k = (1, ..., 1): the score over that at r = 0."),
      member("random_mean", &T::random_mean, "q and k drawn apart from each other."),
      member("random_spread", &T::random_spread, "Their standard deviation."),
      member("table_mean", &T::table_mean, "Rows of a random table, r apart, in place of rotated vectors."),
      member("table_spread", &T::table_spread));
}

constexpr auto description(Type<SignalToNoise>) {
  using T = SignalToNoise;
  return described_as<T>("SignalToNoise", "Of norm(M x + p), over places and random tokens.",
                         member("multiplier", &T::multiplier, "M."),
                         member("ratio", &T::ratio, "Power of the token's part over the position's, after the norm."),
                         member("cosine", &T::cosine, "Mean cosine between what the norm makes of M x + p and of x."));
}

// Counts, in doubles: exact up to 2^53.
constexpr auto description(Type<Cost>) {
  using T = Cost;
  return described_as<T>("Cost", "Of one sequence, on top of plain attention, in one layer; in the input stage, once.",
                         member("additions", &T::additions), member("products", &T::products),
                         member("parameters", &T::parameters, "Learned numbers."),
                         member("bytes", &T::bytes, "What is read besides queries, keys and values: tables in f32."));
}

constexpr auto description(Type<FourTerms>) {
  using T = FourTerms;
  return described_as<T>(
      "FourTerms", "(x_i + p_i) W_Q W_K^T (x_j + p_j)^T, multiplied out: root mean squares of the four terms.",
      member("token_token", &T::token_token), member("token_position", &T::token_position),
      member("position_token", &T::position_token), member("position_position", &T::position_position));
}

// Within rounding of 0 in all four: attention is blind to order.
constexpr auto description(Type<OrderSeen>) {
  using T = OrderSeen;
  return described_as<T>(
      "OrderSeen", "Largest differences of a channel between outputs of attention; channels are of variance 1.",
      member("dogs", &T::dogs, "'the dog chased another dog': between the two dogs."),
      member("sentences", &T::sentences, "'I love you', 'you love I': between the outputs of equal words."),
      member("equivariance", &T::equivariance, "Queries exchanged: outputs against those exchanged alike."),
      member("invariance", &T::invariance, "Keys and values exchanged together: outputs against those before."));
}

constexpr auto description(Type<OrderExperiment>) {
  using T = OrderExperiment;
  return described_as<T>("OrderExperiment", "Whether attention is blind to order, under two masks.",
                         member("all_see_all", &T::all_see_all), member("causal", &T::causal));
}

}  // namespace posenc::python

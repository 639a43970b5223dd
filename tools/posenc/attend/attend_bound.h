// What an output of attention may be off: the bound that docs/attention.md states, and what it assumes.
//
// Scores off by e_j move an output, to first order, by sum_j p_j e_j (v_j - o): the weights and the output are the
// reference's, so only what a key's own score may be off is a bound. All in roundings of a float, u = 2^-24. Rounding
// to bfloat16, where the call may have such products, is no longer of first order: its part is exact, and by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attend/attend_call.h"

namespace posenc::tool {

inline constexpr double kRounding = 0x1p-24;  // of a float

// A head that is rotated in floats, in roundings of the products that it is in: cos and sin are within an ulp, 2
// roundings, of which a product takes one each, and its 2 products and their sum are rounded once.
inline const double kRotated = (2 + 2) * std::sqrt(2.0);

// The roundings of a sum of so many terms in floats, one after another: at most one of each partial sum. Of many they
// do not all point one way: with independent ones of mean zero, 6 sqrt(n) are exceeded with a probability below
// 2 exp(-6^2 / 2) = 3e-8 (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, theorem 2.4).
inline double summed(double terms) { return std::min(terms, 6 * std::sqrt(terms)); }

// What is known of the keys and values of one head of one sequence.
struct KeyHead {
  std::vector<double> lengths;  // |k_j|
  std::vector<double> places;   // j's first coordinate
  std::vector<double> values;   // [keys, value_dim]
};
KeyHead key_head(const AttendCall& call, std::int64_t sequence, std::int64_t head);

// What the reference says of one query and head. [keys], and of out [value_dim].
struct JudgedRow {
  double length = 0.0;  // |q_i|
  double place = 0.0;   // its first coordinate
  std::span<const double> weights{};
  std::span<const double> out{};
  // Scores before and behind the terms; empty of a layer without terms.
  std::span<const double> content{};
  std::span<const double> biased{};
};

// Of a score, in roundings: of the query, which all its scores share; of the key, at most, and the sum of the squares
// of what that is made of, since roundings of different keys do not all point one way.
struct ScoreError {
  double of_query = 0.0;
  double of_key = 0.0;
  double squares = 0.0;
  double size = 0.0;  // the magnitudes that the score adds up
};

// Of one call; the call has to outlive it.
class AttendBound {
 public:
  explicit AttendBound(const AttendCall& call);

  // Of each channel of the output, before it is stored.
  std::vector<double> output(const JudgedRow& row, const KeyHead& keys) const;

 private:
  ScoreError score(const JudgedRow& row, const KeyHead& keys, std::size_t j, double largest_bias) const;
  double largest_bias(const JudgedRow& row) const;
  // What rounding to bfloat16 adds: to a score whose terms have magnitudes that add up to `size`; to an output whose
  // scores that moves by so much at most, of `spread`, sum_j p_j |v_j - o|, and `met`, sum_j p_j |v_j|.
  double paired_score(double size) const;
  double paired_output(double score, double spread, double met) const;

  const AttendCall& call_;
  // Relative roundings, added up as if all pointed one way, and their squares, for those that are independent.
  struct ScoreRoundings {
    double most = 0.0;
    double squares = 0.0;
  };
  double factor_ = 1.0;  // of the sides that are rotated here
  double of_query_ = 0.0;
  ScoreRoundings of_key_{};
  double product_ = 0.0;  // of q.k alone
  double decay_ = 0.0;    // logarithm of what xPos multiplies by for a key one place ahead of its query, at most
  double keys_ = 0.0;
};

// Element (token, head, channel) of a sequence.
double head_element(const ConstTensorView& x, std::int64_t sequence, std::int64_t token, std::int64_t head,
                    std::int64_t channel);

}  // namespace posenc::tool

// How far a port may be off at each stage, for each dtype.
#pragma once

#include <map>
#include <vector>

#include "vectors/rounding.h"
#include "vectors/stages.h"

namespace posenc::inline v0_2::golden {

// ---- rotation_bound.cpp ----

// Of float32 angles, in radians. [tokens, pairs], of the turning's own coordinates.
std::vector<double> angle_errors(const Turning& turning);
// Of one coordinate: position times inv_freq of a pair.
double angle_error(const Turning& turning, std::int64_t pair, double coordinate);
// What each rounding of a rotated pair comes to, relatively to the pair's length: cos and sin, rounded to the dtype
// from a float32 that is within an ulp, the product of each, and their sum.
double rotation_roundings(const Rounding& rounding);
// The same of roundings that do not all point one way: the root of the sum of their squares.
double independent_rotation_roundings(const Rounding& rounding);
// Of each element of x, rotated. [tokens, heads, head_dim]
std::vector<double> rotation_errors(const std::vector<Turning>& turnings, const VectorTensor& x,
                                    const Rounding& rounding);
VectorBound table_bound(const Turning& turning, const VectorTensor& table, const Rounding& rounding);
VectorBound frequency_bound(const Turning& turning, const VectorTensor& inv_freq);

// ---- term_sizes.cpp ----

// The magnitudes that a layer's score terms add up for one query and key, at most.
struct TermSizes {
  double content = 0.0;  // of terms that meet q or k, by Cauchy and Schwarz; with the softmax scale
  double bias = 0.0;     // of terms that do not
  double places = 0.0;   // by how much of this a place off by 1 moves a score (CoPE)
};
struct TermCall {
  double q = 0.0;  // lengths
  double k = 0.0;
  double scale = 0.0;
  std::int64_t head = 0;
  double query_place = 0.0;
  double key_place = 0.0;
};
class TermSizer {
 public:
  TermSizer(const LayerPlan& layer, const LayerWeights& weights) : layer_(layer), weights_(weights) {}
  TermSizes operator()(const TermCall& call);

  // Of a dense table of doubles: its longest row, all of its elements together, the largest of them. Nothing: 0.
  struct Lengths {
    double row = 0.0;
    double all = 0.0;
    double largest = 0.0;
  };
  const Lengths& lengths(const ConstTensorView& x);
  double largest(const ConstTensorView& x) { return lengths(x).largest; }

 private:
  const LayerPlan& layer_;
  const LayerWeights& weights_;
  std::map<const void*, Lengths> lengths_;
};

// ---- score_bound.cpp ----

// Of each score that is seen, 0 elsewhere: what its query's roundings make of it, which all scores of the query share,
// and its own. [heads, queries, keys]
struct ScoreErrors {
  std::vector<double> of_query;
  std::vector<double> own;
  std::vector<double> both() const;
};
ScoreErrors score_errors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
                         const ScoreStages& stages, const Rounding& rounding);
// Of each element of out. [tokens, heads, value_dim]
std::vector<double> out_errors(const Vectors& vectors, const VectorCall& call, const std::vector<Turning>& turnings,
                               const ScoreStages& stages, const ScoreErrors& of_scores, const Rounding& rounding);

// The bound of a tensor whose elements are off by these: `unit` times each element, and what is left per token.
// `token_axis`: 0, or 1 of scores.
VectorBound bound_of(const VectorTensor& tensor, const std::vector<double>& errors, int token_axis, double unit);

}  // namespace posenc::inline v0_2::golden

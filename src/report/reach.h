// How far a rotation was trained, and which of its pairs meet angles beyond that at a length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posenc/plan.h"
#include "posenc/rope.h"

namespace posenc::report {

// The lengths, in tokens, that a model's report is about.
struct Lengths {
  std::optional<std::int64_t> trained;  // Plan::trained_length
  std::int64_t target = 1;              // that the model is wanted for
  bool is_asked = false;                // by the caller or by the plan; else what the model serves
};
Lengths lengths_of(const Plan& plan, std::optional<std::int64_t> asked);

// The length that the frequencies were trained at, before a scaling rule stretched them: the rule's own number, of
// linear scaling and static NTK nothing that a file says, and without a rule the trained length.
std::optional<std::int64_t> length_before_scaling(const Rope& rope, std::optional<std::int64_t> trained);

// Whether its rule is there for longer texts. p-RoPE (Gemma 4) is a rule that only leaves some pairs out.
bool is_stretched(const Rope& rope);

// A rotation at the target length, beside itself without its scaling rule. What scores depend on is the angle between a
// query and a key, so that a window bounds it too.
struct Reach {
  std::int64_t length = 0;                    // that its frequencies are of
  std::int64_t span = 0;                      // span_of the layer there
  Frequencies now;                            //
  Frequencies plain;                          // without the rule
  std::optional<std::int64_t> before;         // length_before_scaling
  std::vector<std::int32_t> unseen;           // pairs that at the target meet angles that they had not before scaling
  std::vector<std::int32_t> unseen_if_plain;  // those that would, were there no rule
};
Reach reach_of(const Rope& rope, const Lengths& lengths, const LayerPlan& layer);

// Two frequencies of one pair, of which less than a thousandth is different, count as alike.
bool turn_alike(double a, double b);

// How much slower pairs turn by one rotation than by another one of as many pairs.
struct Slowing {
  std::int64_t pairs = 0;  // that turn in both
  std::int64_t alike = 0;  // of these
  double most = 1.0;       // times slower, of the pair that is slowed most; 1 where none is
  double least = 1.0;      // below 1: a pair turns faster, 1 / least times
  double fastest = 1.0;    // of the pair that turns fastest in the first, which tells neighbours apart
  double of_scores = 1.0;  // that scores are multiplied by, against the first
  bool changes_nothing() const { return alike == pairs && of_scores == 1.0; }
};
Slowing slowing(const Frequencies& was, const Frequencies& is);

// The frequencies at that length, or as for short sequences where the rule breaks down there.
Frequencies frequencies_at(const Rope& rope, std::int64_t length);

// How many tokens the farthest key that a query of the layer sees spans, of a sequence of so many.
std::int64_t span_of(const LayerPlan& layer, std::int64_t length);

// Pairs that over `span` tokens come further than `trained_inv_freq` came within `before` tokens. A pair that turned
// once there has met all angles.
std::vector<std::int32_t> pairs_beyond(const std::vector<double>& inv_freq, double span,
                                       const std::vector<double>& trained_inv_freq, double before);

// 2 pi / |inv_freq|; infinite for a pair that does not rotate.
std::vector<double> wavelengths_of(const std::vector<double>& inv_freq);

// Whether positions in a sequence rotate it, and not coordinates of a picture alone.
bool is_rotated_by_time(const Rope& rope);

}  // namespace posenc::report

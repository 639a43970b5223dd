// What an output of attention may be off: the bound that docs/attention.md derives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attend_call.h"

namespace posenc::tool {

// What is known of the keys and values of one head of one sequence.
struct KeyHead {
  double longest_key = 0.0;
  double longest_value = 0.0;
  std::vector<double> least, most;  // of each channel of the values
};
KeyHead key_head(const AttendCall& call, std::int64_t sequence, std::int64_t head);

struct QueryHead {
  double length = 0.0;
  std::int64_t position = 0;
  double largest_scores = 0.0;  // the sum of those that the reference gives before and behind the biases, if there are
};

class AttendBound {
 public:
  // Throws Failure for layers with xPos: its decays may make any size of any score.
  explicit AttendBound(const AttendCall& call);

  // Of a score, in logits. Besides a score's own roundings: less the maximum, times log2(e), 2 of at most twice its
  // size; the exponential is within 3.
  double score(const QueryHead& query, double longest_key) const;
  // Of a channel of the output before it is stored: half the range of the values for what the weights are off, by 5 %
  // more for the second order; sums of `keys` weights and products, rescaled with each tile of 32 keys or more, the
  // quotient and its product.
  double output(double score, const KeyHead& head, std::size_t channel) const;

 private:
  const AttendCall& call_;
  double factor_ = 1.0;     // of both sides' attention factors
  double roundings_ = 0.0;  // of a score
};

// Element (token, head, channel) of a sequence.
double head_element(const ConstTensorView& x, std::int64_t sequence, std::int64_t token, std::int64_t head,
                    std::int64_t channel);

}  // namespace posenc::tool

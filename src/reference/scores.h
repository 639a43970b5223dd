// What a score is made of. There are two ways to say it: by the formulas of the plan's schemes (formula_scores.cpp),
// and by the primitives that the schemes lower to (lowered_scores.cpp). attend_by() does the rest, once.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// The order of calls: begin() for each sequence; for each row of it scale(), content() of every key, scored(), bias()
// of the visible keys, value() of those with a weight, finished().
class Scores {
 public:
  virtual ~Scores() = default;
  // A new sequence begins.
  virtual void begin(const Sequence& sequence) = 0;
  // What content() of that row is multiplied by: scale tau_i.
  virtual double scale(const Row& row) = 0;
  // q~_i . k~_j + content terms. row.q is set.
  virtual double content(const Row& row, std::int64_t j) = 0;
  // Every content score of the row is known: row.x is set.
  virtual void scored(const Row& row) = 0;
  // The sum of bias terms.
  virtual double bias(const Row& row, std::int64_t j) = 0;
  // v_j with what the value stage adds to it, or makes of it, for this query.
  virtual std::vector<double> value(const Row& row, std::int64_t j) = 0;
  // The output of the whole row.
  virtual std::vector<double> finished(const Row& row, std::vector<double> out) = 0;
};

// The arguments have been checked. False where keep_going returned false.
bool attend_by(Scores& scores, const LayerPlan& layer, const AttendArgs& args);

}  // namespace posenc::inline v0_2::reference

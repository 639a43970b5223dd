// Scores by the primitives that a plan's schemes lower to (math/primitives.h): no formula of a scheme is used here. The
// other implementation of reference/scores.h.
#pragma once

#include <vector>

#include "math/primitives.h"
#include "reference/scores.h"

namespace posenc::inline v0_2::reference {

// Terms that are sums along the row (math::Running) need an order of visits: begin() sorts the keys of a sequence, and
// scored() sums over them once for each query.
class LoweredScores : public Scores {
 public:
  explicit LoweredScores(const math::Lowered& lowered) : lowered_(lowered) {}

  void begin(const Sequence& sequence) override;
  double scale(const Row& row) override;
  double content(const Row& row, std::int64_t j) override;
  void scored(const Row& row) override;
  double bias(const Row& row, std::int64_t j) override;
  std::vector<double> value(const Row& row, std::int64_t j) override;
  std::vector<double> finished(const Row& row, std::vector<double> out) override;

 private:
  // As those of FormulaScores, from primitives.
  double product(const Row& row, std::int64_t j) const;
  double sum_of_terms(const Row& row, std::int64_t j, math::Part part) const;

  const math::Lowered& lowered_;
  std::vector<std::int64_t> keys_from_last_;  // of the sequence, by falling order
  std::vector<double> gates_after_;           // [keys]: what Running has summed when it comes to a key
};

}  // namespace posenc::inline v0_2::reference

// Scores by the formulas of the plan's schemes: one of the two implementations of reference/scores.h. The other one is
// lowered_scores.h.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "reference/scores.h"

namespace posenc::inline v0_2::reference {

// Holds no state between rows; frequencies are computed once, in the constructor.
class FormulaScores : public Scores {
 public:
  FormulaScores(const LayerPlan& layer, const AttendArgs& args);

  void begin(const Sequence&) override {}
  double scale(const Row& row) override;
  double content(const Row& row, std::int64_t j) override;
  void scored(const Row&) override {}
  double bias(const Row& row, std::int64_t j) override;
  std::vector<double> value(const Row& row, std::int64_t j) override;
  std::vector<double> finished(const Row& row, std::vector<double> out) override;

 private:
  // What a main rotation does to heads of one side at a coordinate.
  struct Rotated {
    const Rotate* rotate;
    Frequencies frequencies;
  };
  // q~_i . k~_j: the product of the rotated heads, before the scale. sum_of_terms: the content terms, or the bias
  // terms.
  double product(const Row& row, std::int64_t j) const;
  double sum_of_terms(const Row& row, std::int64_t j, bool content) const;
  void rotate_by(const Rotated& rotating, const Tokens& side, std::int64_t row, Direction direction,
                 std::vector<double>& x, std::optional<double> coordinate = {}) const;
  // The value stage, a scheme each: what becomes of v_j, and of the output.
  void change_value(std::monostate, const Row&, std::int64_t, std::vector<double>&) const {}
  void change_value(const ShawValues& scheme, const Row& row, std::int64_t j, std::vector<double>& v) const;
  void change_value(const RotatedValues& scheme, const Row& row, std::int64_t j, std::vector<double>& v) const;
  void change_output(std::monostate, const Row&, std::vector<double>&) const {}
  void change_output(const ShawValues&, const Row&, std::vector<double>&) const {}
  void change_output(const RotatedValues& scheme, const Row& row, std::vector<double>& out) const;

  const LayerPlan& layer_;
  const AttendArgs& args_;
  // The main rotations of the layer, in the order in which they are applied.
  std::vector<Rotated> rotations_;
};

}  // namespace posenc::inline v0_2::reference

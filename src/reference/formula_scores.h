// Scores by the formulas of the plan's schemes: one of the two implementations of reference/scores.h. The other one is
// lowered_scores.h.
#pragma once

#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "reference/scores.h"

namespace posenc::inline v0_2::reference {

// Inside the scale: terms that stand for a part of q.k.
template <typename Scheme>
inline constexpr bool kIsContent = std::is_same_v<Scheme, ShawKeys> || std::is_same_v<Scheme, TransformerXl> ||
                                   std::is_same_v<Scheme, XlNet> || std::is_same_v<Scheme, Deberta>;

// What a main rotation does to heads of one side at a coordinate.
struct Rotated {
  const Rotate* rotate;
  Frequencies frequencies;

  // That of the token along an axis. `moved` stands for all of the token's, where regions have moved it.
  double coordinate(const Tokens& side, std::int64_t row, std::int64_t axis, std::optional<double> moved = {}) const {
    const double own = moved ? *moved : side.coordinates[index(axis)][index(row)];
    return own + static_cast<double>(rotate->offset);
  }
};

// The main rotations of the layer, in the order in which they are applied. Other roles (such as an indexer's) rotate
// other tensors than q and k.
std::vector<Rotated> main_rotations(const LayerPlan& layer, const AttendArgs& args);
std::vector<std::size_t> places_of_main(const LayerPlan& layer);  // of each in LayerPlan::rotate

// v_j as it is given, [value_dim].
std::vector<double> value_head(const Row& row, std::int64_t j);

// The weights of score term t; a layer whose terms have none may omit the whole list.
const ScoreWeights& weights_of(const AttendArgs& args, std::size_t t);

// The factors of xPos on the channels of a rotated query for this key, or of its gradient; nothing for others.
void decay(const Rotated& rotating, double distance, std::vector<double>& q);

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
  // q~_i . k~_j: the product of the rotated heads, before the scale. sum_of_terms: the content terms, or the bias
  // terms.
  double product(const Row& row, std::int64_t j) const;
  double sum_of_terms(const Row& row, std::int64_t j, bool content) const;
  void rotate_by(const Rotated& rotating, const Tokens& side, std::int64_t row, Direction direction,
                 std::vector<double>& x, std::optional<double> moved = {}) const;
  // The value stage, a scheme each: what becomes of v_j, and of the output.
  void change_value(std::monostate, const Row&, std::int64_t, std::vector<double>&) const {}
  void change_value(const ShawValues& scheme, const Row& row, std::int64_t j, std::vector<double>& v) const;
  void change_value(const RotatedValues& scheme, const Row& row, std::int64_t j, std::vector<double>& v) const;
  void change_output(std::monostate, const Row&, std::vector<double>&) const {}
  void change_output(const ShawValues&, const Row&, std::vector<double>&) const {}
  void change_output(const RotatedValues& scheme, const Row& row, std::vector<double>& out) const;

  const LayerPlan& layer_;
  const AttendArgs& args_;
  std::vector<Rotated> rotations_;
};

}  // namespace posenc::inline v0_2::reference

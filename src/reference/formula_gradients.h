// The transposes of formula_scores.h: from the gradient of a score or of a value to those of all that it is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "reference/formula_scores.h"
#include "reference/gradients.h"

namespace posenc::inline v0_2::reference {

// Adds to the gradients of the call and of the row. The order of calls is reversed: output() of a row, value() of its
// keys, bias() of all seen keys, and then, once row.x of the gradient is whole, content() of each.
class FormulaGradients {
 public:
  FormulaGradients(const LayerPlan& layer, const AttendArgs& args, Gradients& sums);

  // d, [value_dim]: the gradient of finished(row, out). Returns that of out.
  std::vector<double> output(const Row& row, const std::vector<double>& out, std::vector<double> d);
  // d: the gradient of value(row, j).
  void value(const Row& row, std::int64_t j, std::vector<double> d, RowGradient& to);
  // d: the gradient of bias(row, j), or of content(row, j).
  void bias(const Row& row, std::int64_t j, double d, RowGradient& to);
  void content(const Row& row, std::int64_t j, double d, RowGradient& to);

 private:
  void product(const Row& row, std::int64_t j, double d, RowGradient& to);
  void terms(const Row& row, std::int64_t j, double d, bool content, RowGradient& to);
  // Of rotate_by: `rotated` is what came out.
  void rotate_back(std::size_t r, const Tokens& side, std::int64_t row, Direction direction,
                   const std::vector<double>& rotated, std::vector<double>& d, std::optional<double> moved = {});
  // The value stage, a scheme each.
  void value_of(std::monostate, const Row&, std::int64_t, std::vector<double>&) {}
  void value_of(const ShawValues& scheme, const Row& row, std::int64_t j, std::vector<double>& d);
  void value_of(const RotatedValues& scheme, const Row& row, std::int64_t j, std::vector<double>& d);
  void output_of(std::monostate, const Row&, const std::vector<double>&, std::vector<double>&) {}
  void output_of(const ShawValues&, const Row&, const std::vector<double>&, std::vector<double>&) {}
  void output_of(const RotatedValues& scheme, const Row& row, const std::vector<double>& out, std::vector<double>& d);

  const LayerPlan& layer_;
  const AttendArgs& args_;
  Gradients& sums_;
  std::vector<Rotated> rotations_;
  std::vector<std::size_t> places_;  // of each in LayerPlan::rotate
};

}  // namespace posenc::inline v0_2::reference

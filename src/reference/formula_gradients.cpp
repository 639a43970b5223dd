// The chain rule through rotations, regions, query scale, content and bias terms, and values: each function is the
// transpose of the one of its name in formula_scores.cpp. Those of the terms stand beside the terms.
#include "reference/formula_gradients.h"

#include <type_traits>
#include <variant>

#include "posenc/scores.h"
#include "reference/rotate_head.h"
#include "reference/score_terms.h"
#include "reference/value_terms.h"

namespace posenc::inline v0_2::reference {
FormulaGradients::FormulaGradients(const LayerPlan& layer, const AttendArgs& args, Gradients& sums)
    : layer_(layer),
      args_(args),
      sums_(sums),
      rotations_(main_rotations(layer, args)),
      places_(places_of_main(layer)) {}

// A frequency's gradient is the position times that of the angle; R^T d is that of what was rotated.
void FormulaGradients::rotate_back(std::size_t r, const Tokens& side, std::int64_t row, Direction direction,
                                   const std::vector<double>& rotated, std::vector<double>& d,
                                   std::optional<double> moved) {
  const Rotated& rotating = rotations_[r];
  const auto at = [&](std::int64_t axis) { return rotating.coordinate(side, row, axis, moved); };
  const std::vector<double> by_frequency =
      rotate_head_backward(rope(*rotating.rotate), rotating.frequencies, at, direction, rotated, d);
  for (std::size_t p = 0; p < by_frequency.size(); ++p) {
    sums_.rotations[places_[r]].add("inv_freq", {static_cast<std::int64_t>(p)}, by_frequency[p]);
  }
}

// d (q~ . k~): d k~ to q~ and d q~ to k~, from there through the rotations, the last first. Before its decay a rotated
// q is what the angle's gradient is made of.
void FormulaGradients::product(const Row& row, std::int64_t j, double d, RowGradient& to) {
  std::vector<double> q = row.q;
  std::vector<double> k = row.key(j);
  const Standing stands = standing(layer_.regions, row.q_coordinate(), row.k_coordinate(j));
  const bool moves = !std::holds_alternative<std::monostate>(layer_.regions);
  const auto moved = [&](double where) { return moves ? std::optional(where) : std::nullopt; };
  std::vector<std::vector<double>> q_rotated;  // [rotations]: by each and those before it
  std::vector<std::vector<double>> k_rotated;
  for (const Rotated& rotating : rotations_) {
    const auto rotate = [&](const Tokens& side, std::int64_t token, double where, std::vector<double>& x) {
      const auto at = [&](std::int64_t axis) { return rotating.coordinate(side, token, axis, moved(where)); };
      rotate_head(rope(*rotating.rotate), rotating.frequencies, at, Direction::forward, Angles::exact, x);
    };
    if (!args_.inputs.q_rotated) rotate(row.sequence.q, row.i, stands.query, q);
    if (!args_.inputs.k_rotated) rotate(row.sequence.k, j, stands.key, k);
    q_rotated.push_back(q);
    k_rotated.push_back(k);
    decay(rotating, row.distance(j), q);
  }
  std::vector<double> dq = k;
  std::vector<double> dk = q;
  for (double& x : dq) x *= d;
  for (double& x : dk) x *= d;
  for (std::size_t r = rotations_.size(); r-- > 0;) {
    decay(rotations_[r], row.distance(j), dq);
    if (!args_.inputs.q_rotated) {
      rotate_back(r, row.sequence.q, row.i, Direction::forward, q_rotated[r], dq, moved(stands.query));
    }
    if (!args_.inputs.k_rotated) {
      rotate_back(r, row.sequence.k, j, Direction::forward, k_rotated[r], dk, moved(stands.key));
    }
  }
  for (std::size_t c = 0; c < dq.size(); ++c) to.q[c] += dq[c];
  to.add_key(row, j, dk);
}

// A scheme without a transpose does not compile here.
void FormulaGradients::terms(const Row& row, std::int64_t j, double d, bool content, RowGradient& to) {
  for (std::size_t t = 0; t < layer_.score.size(); ++t) {
    std::visit(
        [&](const auto& scheme) {
          using Scheme = std::decay_t<decltype(scheme)>;
          if (kIsContent<Scheme> != content) return;
          TermGradient of_term{to, sums_.terms[t]};
          term_backward(scheme, weights_of(args_, t), row, j, d, of_term);
        },
        layer_.score[t]);
  }
}

void FormulaGradients::content(const Row& row, std::int64_t j, double d, RowGradient& to) {
  product(row, j, d, to);
  terms(row, j, d, true, to);
}

void FormulaGradients::bias(const Row& row, std::int64_t j, double d, RowGradient& to) { terms(row, j, d, false, to); }

void FormulaGradients::value(const Row& row, std::int64_t j, std::vector<double> d, RowGradient& to) {
  std::visit([&](const auto& scheme) { value_of(scheme, row, j, d); }, layer_.value);
  to.add_value(row, j, d);
}

void FormulaGradients::value_of(const ShawValues& scheme, const Row& row, std::int64_t j, std::vector<double>& d) {
  shaw_row_backward(scheme, args_.weights.value, row, j, d, sums_.layer);
}

void FormulaGradients::value_of(const RotatedValues&, const Row& row, std::int64_t j, std::vector<double>& d) {
  std::vector<std::vector<double>> rotated;  // [rotations]
  std::vector<double> v = value_head(row, j);
  for (const Rotated& rotating : rotations_) {
    const auto at = [&](std::int64_t axis) { return rotating.coordinate(row.sequence.k, j, axis); };
    rotate_head(rope(*rotating.rotate), rotating.frequencies, at, Direction::forward, Angles::exact, v);
    rotated.push_back(v);
  }
  for (std::size_t r = rotations_.size(); r-- > 0;) {
    rotate_back(r, row.sequence.k, j, Direction::forward, rotated[r], d);
  }
}

std::vector<double> FormulaGradients::output(const Row& row, const std::vector<double>& out, std::vector<double> d) {
  std::visit([&](const auto& scheme) { output_of(scheme, row, out, d); }, layer_.value);
  return d;
}

// Forward undid the last rotation first, so its transposes go from the first rotation on.
void FormulaGradients::output_of(const RotatedValues& scheme, const Row& row, const std::vector<double>& out,
                                 std::vector<double>& d) {
  if (!scheme.inverse_on_output) return;
  std::vector<std::vector<double>> undone(rotations_.size());  // [rotations]: what each left
  std::vector<double> x = out;
  for (std::size_t r = rotations_.size(); r-- > 0;) {
    const auto at = [&](std::int64_t axis) { return rotations_[r].coordinate(row.sequence.q, row.i, axis); };
    rotate_head(rope(*rotations_[r].rotate), rotations_[r].frequencies, at, Direction::inverse, Angles::exact, x);
    undone[r] = x;
  }
  for (std::size_t r = 0; r < rotations_.size(); ++r) {
    rotate_back(r, row.sequence.q, row.i, Direction::inverse, undone[r], d);
  }
}

}  // namespace posenc::inline v0_2::reference

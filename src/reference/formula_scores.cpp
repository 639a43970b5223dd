// Scores by the formulas of the plan's schemes, in double: rotation (RoPE, xPos, regions), query scale, content and
// bias terms, values. The equation is that of posenc/reference_attend.h; terms are in score_by_distance.cpp,
// score_by_content.cpp and score_along_row.cpp. lowered_scores.cpp computes the same numbers from the primitives.
#include "reference/formula_scores.h"

#include <type_traits>
#include <variant>

#include "math/rope/rotation.h"
#include "math/rope/xpos.h"
#include "posenc/scores.h"
#include "reference/elements.h"
#include "reference/rotate_head.h"
#include "reference/score_terms.h"
#include "reference/value_terms.h"

namespace posenc::inline v0_2::reference {
const ScoreWeights& weights_of(const AttendArgs& args, std::size_t t) {
  static const ScoreWeights kNone;
  return args.weights.score.empty() ? kNone : args.weights.score[t];
}

std::vector<Rotated> main_rotations(const LayerPlan& layer, const AttendArgs& args) {
  std::vector<Rotated> out;
  for (const Rotate& one : layer.rotate) {
    if (one.role == RotateRole::main) out.push_back({&one, frequencies(rope(one), args.inputs.length)});
  }
  return out;
}

std::vector<std::size_t> places_of_main(const LayerPlan& layer) {
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < layer.rotate.size(); ++n) {
    if (layer.rotate[n].role == RotateRole::main) out.push_back(n);
  }
  return out;
}

std::vector<double> value_head(const Row& row, std::int64_t j) {
  const ConstTensorView& v = row.sequence.v;
  std::vector<double> out(index(row.layer.value_dim));
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c] = read(v, j * v.strides[0] + row.kv_head() * v.strides[1] + static_cast<std::int64_t>(c) * v.strides[2]);
  }
  return out;
}

// xPos multiplies the product of each pair by zeta^((i - j) / scale_base).
//
// The whole factor goes on q here. Kernels split it between q and k about an origin near both, or either side would
// overflow.
void decay(const Rotated& rotating, double distance, std::vector<double>& q) {
  const auto* xpos = std::get_if<XPos>(&rotating.rotate->scheme);
  if (xpos == nullptr) return;
  for (std::int64_t p = 0; p < xpos->rope.pairs(); ++p) {
    const double factor = math::xpos_decay(*xpos, p, distance);
    const auto [a, b] = math::channels_of_pair(xpos->rope.pairing, xpos->rope.first_channel, xpos->rope.dim, p);
    q[index(a)] *= factor;
    q[index(b)] *= factor;
  }
}

FormulaScores::FormulaScores(const LayerPlan& layer, const AttendArgs& args)
    : layer_(layer), args_(args), rotations_(main_rotations(layer, args)) {}

// Without a scheme positions may be anything; with one they are at least 0.
double FormulaScores::scale(const Row& row) {
  if (std::holds_alternative<std::monostate>(layer_.query_scale)) return layer_.softmax_scale;
  return layer_.softmax_scale * query_scale(layer_.query_scale, static_cast<std::int64_t>(row.q_coordinate()));
}

void FormulaScores::rotate_by(const Rotated& rotating, const Tokens& side, std::int64_t row, Direction direction,
                              std::vector<double>& x, std::optional<double> moved) const {
  const auto at = [&](std::int64_t axis) { return rotating.coordinate(side, row, axis, moved); };
  rotate_head(rope(*rotating.rotate), rotating.frequencies, at, direction, Angles::exact, x);
}

// q~_i . k~_j.
double FormulaScores::product(const Row& row, std::int64_t j) const {
  std::vector<double> q = row.q;
  std::vector<double> k = row.key(j);
  const Standing stands = standing(layer_.regions, row.q_coordinate(), row.k_coordinate(j));
  const bool moves = !std::holds_alternative<std::monostate>(layer_.regions);
  for (const Rotated& rotating : rotations_) {
    const auto moved = [&](double to) { return moves ? std::optional(to) : std::nullopt; };
    if (!args_.inputs.q_rotated) {
      rotate_by(rotating, row.sequence.q, row.i, Direction::forward, q, moved(stands.query));
    }
    if (!args_.inputs.k_rotated) {
      rotate_by(rotating, row.sequence.k, j, Direction::forward, k, moved(stands.key));
    }
    decay(rotating, row.distance(j), q);
  }
  return dot(q, k);
}

double FormulaScores::sum_of_terms(const Row& row, std::int64_t j, bool content) const {
  double sum = 0.0;
  for (std::size_t t = 0; t < layer_.score.size(); ++t) {
    std::visit(
        [&](const auto& scheme) {
          using Scheme = std::decay_t<decltype(scheme)>;
          if (kIsContent<Scheme> == content) sum += term(scheme, weights_of(args_, t), row, j);
        },
        layer_.score[t]);
  }
  return sum;
}

double FormulaScores::content(const Row& row, std::int64_t j) { return product(row, j) + sum_of_terms(row, j, true); }

double FormulaScores::bias(const Row& row, std::int64_t j) { return sum_of_terms(row, j, false); }

std::vector<double> FormulaScores::value(const Row& row, std::int64_t j) {
  std::vector<double> v = value_head(row, j);
  std::visit([&](const auto& scheme) { change_value(scheme, row, j, v); }, layer_.value);
  return v;
}

void FormulaScores::change_value(const ShawValues& scheme, const Row& row, std::int64_t j,
                                 std::vector<double>& v) const {
  const std::vector<double> row_of_distance = shaw_row(scheme, args_.weights.value, row, j);
  for (std::size_t c = 0; c < v.size(); ++c) v[c] += row_of_distance[c];
}

void FormulaScores::change_value(const RotatedValues&, const Row& row, std::int64_t j, std::vector<double>& v) const {
  for (const Rotated& rotating : rotations_) rotate_by(rotating, row.sequence.k, j, Direction::forward, v);
}

std::vector<double> FormulaScores::finished(const Row& row, std::vector<double> out) {
  std::visit([&](const auto& scheme) { change_output(scheme, row, out); }, layer_.value);
  return out;
}

// The rotations undone one after another, the last first.
void FormulaScores::change_output(const RotatedValues& scheme, const Row& row, std::vector<double>& out) const {
  if (!scheme.inverse_on_output) return;
  // Not std::views::reverse: libstdc++'s views do not compile with Clang before 16.
  for (auto rotating = rotations_.rbegin(); rotating != rotations_.rend(); ++rotating) {
    rotate_by(*rotating, row.sequence.q, row.i, Direction::inverse, out);
  }
}

}  // namespace posenc::inline v0_2::reference

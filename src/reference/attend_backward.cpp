// reference::attend_backward: the equation of posenc/reference_backward.h, row by row in double, by the transposes of
// formula_gradients.h. The forward pass of a row is softmax_row.h, as attend() has it.
//
//   dz_ij = p_ij (do_i . v'_ij - D_i) + exp(z_ij - lse_i) dlse_i,   D_i = sum_j p_ij do_i . v'_ij
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "math/score/soft_cap.h"
#include "posenc/reference_backward.h"
#include "reference/backward_call.h"
#include "reference/check_double.h"
#include "reference/formula_gradients.h"
#include "reference/mask.h"
#include "reference/sequences.h"
#include "reference/softmax_row.h"

namespace posenc::inline v0_2::reference {
namespace {

// d, the gradient of what a soft cap gave at this place, to that of what it was given.
double through_cap(const std::optional<SoftCap>& cap, SoftCap::Order now, double capped, double d) {
  return cap && cap->order == now ? d * math::soft_cap_derivative(cap->cap, capped) : d;
}

// The element of a bias that this score was given, which may serve more scores than one.
void add_bias(GradientSum& to, const ConstTensorView& bias, const Row& row, std::int64_t j, double d) {
  const bool is_packed = row.args.q.rank == 3;
  const std::array<std::int64_t, 4> place{row.sequence.batch, row.h, row.i + (is_packed ? row.sequence.q.first_row : 0),
                                          j + (is_packed ? row.sequence.k.first_row : 0)};
  const auto at = [&](int axis) {
    return bias.shape[index(axis)] == 1 ? 0 : place[static_cast<std::size_t>(axis + 4 - bias.rank)];
  };
  switch (bias.rank) {
    case 2: return to.add({at(0), at(1)}, d);
    case 3: return to.add({at(0), at(1), at(2)}, d);
    default: return to.add({at(0), at(1), at(2), at(3)}, d);
  }
}

// dL / dz of each key, [keys], and of the sink. Adds to the gradients of values on the way.
//
// The sink takes exp(sink - lse) / (1 + exp(sink - lse)) of the weight, and what the keys give without it has no part
// in lse.
std::vector<double> softmax_backward(FormulaScores& scores, FormulaGradients& gradients, const Row& row,
                                     const SoftmaxRow& soft, const RowGiven& given, RowGradient& to) {
  const std::size_t keys = soft.z.size();
  std::vector<double> out(index(row.layer.value_dim));
  std::vector<std::vector<double>> values(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    if (soft.weights[j] == 0.0) continue;
    values[j] = scores.value(row, static_cast<std::int64_t>(j));
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += soft.weights[j] * values[j][c];
  }
  const std::vector<double> d_out = gradients.output(row, out, given.out);
  const double mean = dot(d_out, out);
  std::vector<double> dz(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    if (soft.z[j] == kUnseen) continue;
    dz[j] = std::exp(soft.z[j] - soft.lse) * given.lse;
    if (values[j].empty()) continue;
    dz[j] += soft.weights[j] * (dot(d_out, values[j]) - mean);
    std::vector<double> dv = d_out;
    for (double& x : dv) x *= soft.weights[j];
    gradients.value(row, static_cast<std::int64_t>(j), std::move(dv), to);
  }
  if (row.layer.sinks) {
    to.sums.layer.add("sinks", {row.h}, -mean / (1.0 + std::exp(soft.lse - soft.sink)));
  }
  return dz;
}

void backward_row(FormulaScores& scores, FormulaGradients& gradients, Gradients& sums, const AttendBackwardArgs& args,
                  Row& row) {
  const LayerPlan& layer = row.layer;
  const SoftmaxRow soft = softmax_row(scores, row);
  if (soft.lse == kUnseen) return;  // it gave 0, whatever its numbers are
  RowGradient to{sums, std::vector<double>(index(layer.head_dim)), std::vector<double>(soft.z.size())};
  const std::vector<double> dz = softmax_backward(scores, gradients, row, soft, given_for(args, row), to);
  for (std::size_t j = 0; j < dz.size(); ++j) {
    if (dz[j] == 0.0) continue;  // unseen, or without weight: what is infinite there stays out
    const auto key = static_cast<std::int64_t>(j);
    const double dy = through_cap(layer.soft_cap, SoftCap::Order::after_bias, soft.z[j], dz[j]);
    if (!args.inputs.bias.empty()) add_bias(sums.bias, args.inputs.bias, row, key, dy);
    gradients.bias(row, key, dy, to);
    to.x[j] += through_cap(layer.soft_cap, SoftCap::Order::before_bias, soft.x_capped[j], dy);
  }
  for (std::size_t j = 0; j < dz.size(); ++j) {
    if (to.x[j] != 0.0) gradients.content(row, static_cast<std::int64_t>(j), soft.scale * to.x[j], to);
  }
  to.add_query(row);
}

}  // namespace

bool attend_backward(const LayerPlan& layer, const AttendBackwardArgs& args) {
  const AttendArgs forward = forward_call(args);
  check_backward("attend_backward", layer, args, [&] { check_double(layer, forward); });
  FormulaScores scores(layer, forward);
  Gradients sums(layer, args);
  FormulaGradients gradients(layer, forward, sums);
  for (const Sequence& sequence : sequences_of(layer, forward)) {
    scores.begin(sequence);
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (std::int64_t i = 0; i < sequence.q.rows(); ++i) {
        if (args.keep_going && !args.keep_going()) return false;
        Row row{.layer = layer, .args = forward, .sequence = sequence, .h = h, .i = i};
        backward_row(scores, gradients, sums, args, row);
      }
    }
  }
  sums.write();
  return true;
}

}  // namespace posenc::inline v0_2::reference

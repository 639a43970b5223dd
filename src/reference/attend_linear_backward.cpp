// reference::attend_linear_backward: the transposes of attend_linear.cpp, every query against every visible key,
// without the recurrence; posenc/reference_backward.h has the formulas.
#include <utility>
#include <vector>

#include "math/check/check_linear.h"
#include "math/feature.h"
#include "posenc/reference_backward.h"
#include "reference/backward_call.h"
#include "reference/check_double.h"
#include "reference/formula_scores.h"
#include "reference/gradients.h"
#include "reference/mask.h"
#include "reference/rotate_head.h"
#include "reference/sequences.h"

namespace posenc::inline v0_2::reference {
namespace {

// A head before and after its features, and by each rotation and those before it, [rotations]; without attention
// factors, which would change the numerator alone.
struct LinearHead {
  std::vector<double> x;
  std::vector<double> features;
  std::vector<std::vector<double>> rotated;

  const std::vector<double>& last() const { return rotated.empty() ? features : rotated.back(); }
};

struct LinearPass {
  const LayerPlan& layer;
  FeatureMap map;
  std::vector<Rotated> rotations;   // their attention factors are 1
  std::vector<std::size_t> places;  // of each in LayerPlan::rotate
  Gradients& sums;

  LinearHead head(const Tokens& side, std::int64_t token, std::vector<double> x) const {
    LinearHead out{.x = std::move(x), .features = {}, .rotated = {}};
    for (const double c : out.x) out.features.push_back(math::feature(map, c));
    for (const Rotated& rotating : rotations) {
      std::vector<double> y = out.last();
      const auto at = [&](std::int64_t axis) { return rotating.coordinate(side, token, axis); };
      rotate_head(rope(*rotating.rotate), rotating.frequencies, at, Direction::forward, Angles::exact, y);
      out.rotated.push_back(std::move(y));
    }
    return out;
  }

  // From the gradients of the rotated features and of those before to that of the head; frequencies' on the way.
  std::vector<double> head_backward(const Tokens& side, std::int64_t token, const LinearHead& of, std::vector<double> d,
                                    const std::vector<double>& d_features) const {
    for (std::size_t r = rotations.size(); r-- > 0;) {
      const auto at = [&](std::int64_t axis) { return rotations[r].coordinate(side, token, axis); };
      const std::vector<double> by_frequency = rotate_head_backward(
          rope(*rotations[r].rotate), rotations[r].frequencies, at, Direction::forward, of.rotated[r], d);
      for (std::size_t p = 0; p < by_frequency.size(); ++p) {
        sums.rotations[places[r]].add("inv_freq", {static_cast<std::int64_t>(p)}, by_frequency[p]);
      }
    }
    for (std::size_t c = 0; c < d.size(); ++c) d[c] = (d[c] + d_features[c]) * math::feature_derivative(map, of.x[c]);
    return d;
  }
};

std::vector<double> multiple(double factor, std::vector<double> x) {
  for (double& y : x) y *= factor;
  return x;
}

void add_to(std::vector<double>& sum, double factor, const std::vector<double>& x) {
  for (std::size_t c = 0; c < x.size(); ++c) sum[c] += factor * x[c];
}

// First the sums of the row, as attend_linear has them, then the gradients of all that they are made of.
void linear_row_backward(const LinearPass& pass, const Row& row, const std::vector<double>& d_out) {
  const Sequence& s = row.sequence;
  const LinearHead q = pass.head(s.q, row.i, s.q.head(row.i, row.h));
  std::vector<std::int64_t> seen;
  std::vector<LinearHead> keys;
  std::vector<double> numerator(index(row.layer.value_dim));
  double total = 0.0;
  for (std::int64_t j = 0; j < row.keys(); ++j) {
    if (!is_visible(row, j)) continue;
    seen.push_back(j);
    keys.push_back(pass.head(s.k, j, row.key(j)));
    total += dot(q.features, keys.back().features);
    add_to(numerator, dot(q.last(), keys.back().last()), value_head(row, j));
  }
  if (total == 0.0) return;
  const std::vector<double> dn = multiple(1.0 / total, d_out);
  const double dt = -dot(dn, numerator) / total;
  RowGradient to{pass.sums, std::vector<double>(index(row.layer.head_dim)), {}};
  std::vector<double> d_rotated(to.q.size());
  std::vector<double> d_features(to.q.size());
  for (std::size_t n = 0; n < seen.size(); ++n) {
    const double dw = dot(dn, value_head(row, seen[n]));
    to.add_value(row, seen[n], multiple(dot(q.last(), keys[n].last()), dn));
    add_to(d_rotated, dw, keys[n].last());
    add_to(d_features, dt, keys[n].features);
    to.add_key(row, seen[n],
               pass.head_backward(s.k, seen[n], keys[n], multiple(dw, q.last()), multiple(dt, q.features)));
  }
  to.q = pass.head_backward(s.q, row.i, q, std::move(d_rotated), d_features);
  to.add_query(row);
}

}  // namespace

bool attend_linear_backward(const LayerPlan& layer, const AttendLinearBackwardArgs& args) {
  const AttendBackwardArgs call{.q = args.q,
                                .k = args.k,
                                .v = args.v,
                                .inputs = args.inputs,
                                .d_out = args.d_out,
                                .d_q = args.d_q,
                                .d_k = args.d_k,
                                .d_v = args.d_v,
                                .d_weights = args.d_weights};
  const AttendArgs forward = forward_call(call);
  check_backward("attend_linear_backward", layer, call, [&] {
    math::refuse_softmax_terms(layer, args.inputs);
    check_double(math::attending(layer), forward);
  });
  Gradients sums(layer, call);
  LinearPass pass{layer, args.feature_map, main_rotations(layer, forward), places_of_main(layer), sums};
  for (Rotated& rotating : pass.rotations) rotating.frequencies.attention_factor = 1.0;
  for (const Sequence& sequence : sequences_of(layer, forward)) {
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (std::int64_t i = 0; i < sequence.q.rows(); ++i) {
        if (args.keep_going && !args.keep_going()) return false;
        const Row row{.layer = layer, .args = forward, .sequence = sequence, .h = h, .i = i};
        linear_row_backward(pass, row, given_for(call, row).out);
      }
    }
  }
  sums.write();
  return true;
}

}  // namespace posenc::inline v0_2::reference

// Linear attention with RoPE in double, every query against every visible key, without the recurrence:
//
//   o_i = sum_j (R_i f(q_i)) . (R_j f(k_j)) v_j / sum_j f(q_i) . f(k_j)        RoFormer, arXiv 2104.09864, (19)
//
// posenc/reference_linear.h; the kernels' side is src/cpu/linear.
#include "math/check/check_linear.h"
#include "math/feature.h"
#include "posenc/reference_linear.h"
#include "reference/check_double.h"
#include "reference/elements.h"
#include "reference/mask.h"
#include "reference/rotate_head.h"
#include "reference/sequences.h"

namespace posenc::inline v0_2::reference {
namespace {

std::vector<double> features(FeatureMap map, std::vector<double> x) {
  for (double& c : x) c = math::feature(map, c);
  return x;
}

// By every main rotation, without its attention factor.
std::vector<double> rotated(const LayerPlan& layer, const std::optional<std::int64_t>& length, const Tokens& side,
                            std::int64_t row, std::vector<double> x) {
  for (const Rotate& one : layer.rotate) {
    if (one.role != RotateRole::main) continue;
    Frequencies of_rope = frequencies(rope(one), length);
    of_rope.attention_factor = 1.0;
    const auto at = [&](std::int64_t axis) {
      return side.coordinates[index(axis)][index(row)] + static_cast<double>(one.offset);
    };
    rotate_head(rope(one), of_rope, at, Direction::forward, Angles::exact, x);
  }
  return x;
}

// o_i of one head. The denominator takes the features before the rotation, the numerator those after it.
std::vector<double> output(const Row& row, FeatureMap map) {
  const Sequence& s = row.sequence;
  const auto& length = row.args.inputs.length;
  const std::vector<double> q = features(map, s.q.head(row.i, row.h));
  const std::vector<double> q_rotated = rotated(row.layer, length, s.q, row.i, q);
  std::vector<double> sum(index(row.layer.value_dim));
  double total = 0.0;
  for (std::int64_t j = 0; j < row.keys(); ++j) {
    if (!is_visible(row, j)) continue;
    const std::vector<double> k = features(map, row.key(j));
    total += dot(q, k);
    const double weight = dot(q_rotated, rotated(row.layer, length, s.k, j, k));
    for (std::size_t c = 0; c < sum.size(); ++c) {
      sum[c] += weight * read(s.v, j * s.v.strides[0] + row.kv_head() * s.v.strides[1] +
                                       static_cast<std::int64_t>(c) * s.v.strides[2]);
    }
  }
  for (double& x : sum) x = total == 0.0 ? 0.0 : x / total;
  return sum;
}

}  // namespace

// The checks are those of softmax attention (math::attending gives the layer that kind), once the terms that linear
// attention has no place for are refused.
bool attend_linear(const LayerPlan& layer, const AttendLinearArgs& args) {
  const AttendArgs call{.out = args.out, .q = args.q, .k = args.k, .v = args.v, .inputs = args.inputs};
  math::named_attend_linear([&] {
    math::refuse_softmax_terms(layer, args.inputs);
    check_double(math::attending(layer), call);
  });
  for (const Sequence& sequence : sequences_of(layer, call)) {
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (std::int64_t i = 0; i < sequence.q.rows(); ++i) {
        if (args.keep_going && !args.keep_going()) return false;
        const Row row{.layer = layer, .args = call, .sequence = sequence, .h = h, .i = i};
        const std::vector<double> out = output(row, args.feature_map);
        const std::int64_t to = offset_of(args.out, sequence.batch, args.q.rank == 4 ? i : sequence.q.first_row + i, h);
        const std::int64_t step = args.out.strides[static_cast<std::size_t>(args.out.rank - 1)];
        for (std::size_t c = 0; c < out.size(); ++c) {
          static_cast<double*>(args.out.data)[to + static_cast<std::int64_t>(c) * step] = out[c];
        }
      }
    }
  }
  return true;
}

}  // namespace posenc::inline v0_2::reference

// From scores to weights, one row in double: soft cap, bias, sink and softmax of posenc/reference_attend.h.
#include "reference/softmax_row.h"

#include <algorithm>
#include <cmath>

#include "math/score/soft_cap.h"
#include "posenc/reference.h"
#include "reference/mask.h"

namespace posenc::inline v0_2::reference {
namespace {

// The sink takes weight and gives nothing; where it takes all, exp overflows to infinity and the weights are 0.
// The largest score is that of the keys alone, and `lse` is without the sink: merging parts of the keys needs it so.
void take_softmax(SoftmaxRow& row) {
  const std::vector<double>& z = row.z;
  row.weights.resize(z.size());
  const double largest = z.empty() ? kUnseen : *std::max_element(z.begin(), z.end());
  double sum = 0.0;
  for (const double score : z) sum += score == kUnseen ? 0.0 : std::exp(score - largest);
  if (sum == 0.0) return;
  row.lse = largest + std::log(sum);
  const double total = sum + (row.sink == kUnseen ? 0.0 : std::exp(row.sink - largest));
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (z[j] != kUnseen) row.weights[j] = std::exp(z[j] - largest) / total;
  }
}

}  // namespace

double capped(const std::optional<SoftCap>& cap, SoftCap::Order now, double y) {
  return cap && cap->order == now ? math::soft_capped(cap->cap, y) : y;
}

SoftmaxRow softmax_row(Scores& scores, Row& row) {
  const LayerPlan& layer = row.layer;
  const auto keys = index(row.keys());
  SoftmaxRow out{.scale = scores.scale(row)};
  row.q = row.sequence.q.head(row.i, row.h);
  row.seen.resize(keys);
  row.x.resize(keys);
  for (std::size_t j = 0; j < keys; ++j) {
    row.seen[j] = is_visible(row, static_cast<std::int64_t>(j));
    row.x[j] = out.scale * scores.content(row, static_cast<std::int64_t>(j));
  }
  scores.scored(row);
  out.x_capped.resize(keys);
  out.y.assign(keys, kUnseen);
  out.z.assign(keys, kUnseen);
  for (std::size_t j = 0; j < keys; ++j) {
    if (!row.seen[j]) continue;
    const auto key = static_cast<std::int64_t>(j);
    out.x_capped[j] = capped(layer.soft_cap, SoftCap::Order::before_bias, row.x[j]);
    out.y[j] = out.x_capped[j] + scores.bias(row, key);
    if (!row.args.inputs.bias.empty()) out.y[j] += broadcast(row.args.inputs.bias, row, key);
    out.z[j] = capped(layer.soft_cap, SoftCap::Order::after_bias, out.y[j]);
  }
  if (layer.sinks) out.sink = element(row.args.weights.sinks, {row.h});
  take_softmax(out);
  return out;
}

}  // namespace posenc::inline v0_2::reference

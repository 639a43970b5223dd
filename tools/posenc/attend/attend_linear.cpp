// Linear attention as posenc attend calls it, and some of its queries by the float64 reference.
#include "attend/attend_linear.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "attend/attend_bound.h"
#include "attend/linear_bound.h"
#include "line/formatted.h"
#include "posenc/attend_linear.h"
#include "posenc/reference_linear.h"

namespace posenc::tool {
namespace {

// The keys of one head of one sequence.
struct LinearKeys {
  std::vector<Features> features;
  std::vector<double> values;  // [keys, value_dim]
};

LinearKeys linear_keys(const AttendCall& call, std::int64_t sequence, std::int64_t head, FeatureMap map) {
  LinearKeys out;
  for (std::int64_t j = 0; j < call.keys(); ++j) {
    out.features.push_back(features_of(call.k, sequence, j, head, map));
    for (std::int64_t c = 0; c < call.layer.value_dim; ++c) {
      out.values.push_back(head_element(call.v, sequence, j, head, c));
    }
  }
  return out;
}

// [batch, heads, count, value_dim]
std::vector<double> linear_truth(const AttendCall& call, FeatureMap map, const EveryNth& which) {
  const LayerPlan& layer = call.layer;
  std::vector<double> out(static_cast<std::size_t>(call.batch() * layer.heads * which.count * layer.value_dim));
  TensorView view = tensor(out.data(), {call.batch(), layer.heads, which.count, layer.value_dim});
  if (call.q.rank == 3) view = transposed(tensor(out.data(), {layer.heads, which.count, layer.value_dim}), 0, 1);
  const QueryInputs inputs(call, which);
  (void)reference::attend_linear(layer, {.out = view,
                                         .q = some_tokens(call.q, token_axis(call.q), which),
                                         .k = call.k,
                                         .v = call.v,
                                         .inputs = inputs.inputs(),
                                         .feature_map = map});
  return out;
}

// A causal query sees the keys up to its own place, the last of both standing together.
std::int64_t seen_by(const AttendCall& call, std::int64_t token) {
  if (call.layer.mask.kind == MaskKind::bidirectional) return call.keys();
  return std::clamp<std::int64_t>(call.keys() - call.queries() + token + 1, 0, call.keys());
}

}  // namespace

std::string_view name(FeatureMap map) {
  switch (map) {
    case FeatureMap::elu_plus_one: return "elu_plus_one";
    case FeatureMap::identity: return "identity";
    case FeatureMap::relu: return "relu";
  }
  return "";
}

std::string linear_text(FeatureMap map) {
  return formatted("linear attention ({})", map == FeatureMap::elu_plus_one ? "elu + 1" : name(map));
}

void attend_linear_all(const AttendCall& call, FeatureMap map, const TensorView& out, const Parallel& parallel,
                       Isa isa) {
  const QueryInputs inputs(call, {.count = call.queries()});
  (void)attend_linear(call.layer, {.out = out,
                                   .q = call.q,
                                   .k = call.k,
                                   .v = call.v,
                                   .inputs = inputs.inputs(),
                                   .feature_map = map,
                                   .parallel = parallel,
                                   .isa = isa});
}

AttendError judge_linear(const AttendCall& call, FeatureMap map, const ConstTensorView& out, std::int64_t products) {
  const LayerPlan& layer = call.layer;
  const EveryNth which = sample_of(call, products);
  const std::vector<double> truth = linear_truth(call, map, which);
  const auto rotations =
      std::ranges::count_if(layer.rotate, [](const Rotate& one) { return one.role == RotateRole::main; });
  AttendError worst{.tokens = call.batch() * which.count};
  for (std::int64_t b = 0; b < call.batch(); ++b) {
    LinearKeys keys;  // of the group that h is in
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      const std::int64_t group = layer.heads / layer.kv_heads;
      if (h % group == 0) keys = linear_keys(call, b, h / group, map);
      for (std::int64_t n = 0; n < which.count; ++n) {
        const Row row{b, which.first + n * which.step};
        const Features query = features_of(call.q, b, row.token, h, map);
        const auto seen = static_cast<std::size_t>(seen_by(call, row.token));
        const auto width = static_cast<std::size_t>(layer.value_dim);
        LinearBound bound(query, layer.value_dim, rotations);
        for (std::size_t j = 0; j < seen; ++j) bound.add(keys.features[j], keys.values.data() + j * width);
        const auto first = static_cast<std::size_t>((b * layer.heads + h) * which.count + n) * width;
        for (std::size_t c = 0; c < width; ++c) {
          const auto meets_non_finite = [&] {
            bool meets = seen > 0 && !query.are_finite;
            for (std::size_t j = 0; j < seen && !meets; ++j) {
              meets = !keys.features[j].are_finite || !std::isfinite(keys.values[j * width + c]);
            }
            return meets;
          };
          const auto channel = static_cast<std::int64_t>(c);
          const double expected = truth[first + c];
          hold(worst,
               {.row = row,
                .head = h,
                .channel = channel,
                .is = head_element(out, b, row.token, h, channel),
                .expected = expected,
                .allowed = bound.output(channel, expected)},
               out.dtype, meets_non_finite);
        }
      }
    }
  }
  return worst;
}

}  // namespace posenc::tool

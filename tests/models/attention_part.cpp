#include "models/attention_part.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "math/layer_axes.h"
#include "models/score_tables.h"
#include "posenc/reference.h"
#include "posenc/reference_attend.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"

namespace posenc::test {
namespace {

constexpr auto kAngles = &Roundings::angles;

Tensor heads_tensor(const Numbers& x, std::int64_t heads, std::int64_t channels) {
  return {x, {std::ssize(x) / (heads * channels), heads, channels}};
}

// [rows, columns] to [columns, rows].
Numbers transposed(const Numbers& x, std::int64_t rows) {
  const std::size_t columns = x.size() / std::max<std::size_t>(index(rows), 1);
  Numbers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i % columns * index(rows) + i / columns] = x[i];
  return y;
}

Numbers shifted(Numbers coordinates, std::int64_t by) {
  for (double& c : coordinates) c += static_cast<double>(by);
  return coordinates;
}

// Rotates x [tokens, heads, head_dim] by coordinates [axes, tokens].
void rotate_heads(const Rotate& by, Way way, Numbers coordinates, std::int64_t length, std::int64_t heads, Numbers& x) {
  const Rope& scheme = rope(by);
  const Numbers places = shifted(std::move(coordinates), by.offset);
  const std::span<const double> positions(places);
  Tensor all = heads_tensor(x, heads, scheme.head_dim);
  if (!way) {
    (void)reference::rotate(scheme, {.out = all.writable(),
                                     .x = heads_tensor(x, heads, scheme.head_dim),
                                     .positions = positions,
                                     .length = length});
    x = all.values;
    return;
  }
  const RotaryTable table = table_on_demand(scheme, {.length = length});
  std::vector<float> floats(x.begin(), x.end());
  (void)rotate({.q = tensor(floats.data(), {all.shape[0], heads, scheme.head_dim}),
                .positions = positions,
                .table = &table,
                .isa = *way});
  x.assign(floats.begin(), floats.end());
}

}  // namespace

// DeepSeek's: keys of all heads share the channels that rotate, the rest and the values are made of a latent row.
AttentionPart::Heads AttentionPart::latent(const LayerPlan& layer, const std::string& at, const Numbers& x) {
  const std::size_t rotating = index(rope(layer.rotate.at(0)).dim);
  const std::size_t still = index(layer.head_dim) - rotating;
  const std::size_t value = index(layer.value_dim);
  const Numbers both = arithmetic_.linear(x, at + "kv_a");
  const std::size_t width = index(arithmetic_.weight(at + "kv_a").shape[0]);
  Heads out{.q = arithmetic_.linear(x, at + "q"), .k = {}, .v = {}};
  for (std::size_t row = 0; row < both.size(); row += width) {
    const Numbers narrow = part_of(both, row, width - rotating);
    const Numbers& gain = arithmetic_.weight(at + "kv_a_norm").values;
    const Numbers wide = arithmetic_.linear(
        arithmetic_.rms_norm(narrow, narrow.size(), gain, arithmetic_.wiring().latent_epsilon), at + "kv_b");
    for (std::size_t head = 0; head < wide.size(); head += still + value) {
      append(out.k, part_of(wide, head, still));
      append(out.k, part_of(both, row + width - rotating, rotating));
      append(out.v, part_of(wide, head + still, value));
    }
  }
  return out;
}

AttentionPart::Heads AttentionPart::projected(const LayerPlan& layer, const std::string& at, const Numbers& x,
                                              const Numbers& source) {
  if (arithmetic_.has(at + "kv_a")) return latent(layer, at, x);
  Heads out;
  const std::size_t query = index(layer.head_dim);
  if (arithmetic_.has(at + "qkv")) {
    const bool in_groups = arithmetic_.wiring().qkv == Packing::groups;
    const std::size_t groups = in_groups ? index(layer.kv_heads) : 1;
    const std::size_t queries = index(layer.heads) / groups * query;
    const std::size_t keys = index(layer.kv_heads) / groups * query;
    const std::size_t values = index(layer.kv_heads * layer.value_dim) / groups;
    const Numbers all = arithmetic_.linear(x, at + "qkv");
    for (std::size_t first = 0; first < all.size(); first += queries + keys + values) {
      append(out.q, part_of(all, first, queries));
      append(out.k, part_of(all, first + queries, keys));
      append(out.v, part_of(all, first + queries + keys, values));
    }
    return out;
  }
  out.q = arithmetic_.linear(x, at + "q");
  out.k = arithmetic_.linear(source, at + "k");
  out.v = arithmetic_.has(at + "v") ? arithmetic_.linear(source, at + "v") : out.k;
  if (!arithmetic_.wiring().gated_output) return out;
  const Numbers both = std::exchange(out.q, {});
  for (std::size_t head = 0; head < both.size(); head += 2 * query) {
    append(out.q, part_of(both, head, query));
    append(out.gate, part_of(both, head + query, query));
  }
  return out;
}

void AttentionPart::normalise(const LayerPlan& layer, const std::string& at, std::int64_t heads, Numbers& x) {
  const QkNorm& scheme = *layer.qk_norm;
  const Tensor from = heads_tensor(x, heads, layer.head_dim);
  Tensor to = from;
  const auto given = [&](const std::string& name) {
    return arithmetic_.has(name) ? ConstTensorView(arithmetic_.weight(name)) : ConstTensorView{};
  };
  reference::normalise(to.writable(), from,
                       {.scheme = scheme,
                        .epsilon = arithmetic_.wiring().epsilon,
                        .weight = scheme.weighted ? ConstTensorView(arithmetic_.weight(at)) : ConstTensorView{},
                        .bias = given(at + ".bias"),
                        .weight_plus_one = arithmetic_.wiring().plus_one});
  x = std::move(to.values);
  for (double& c : x) c = arithmetic_.round()(c, &Roundings::norms, 7);
}

void AttentionPart::normalise_both(const LayerPlan& layer, QkNorm::Order now, const std::string& at, Heads& heads) {
  if (!layer.qk_norm || layer.qk_norm->order != now) return;
  if (layer.qk_norm->of == QkNorm::Of::queries_and_keys) normalise(layer, at + "q_norm", layer.heads, heads.q);
  normalise(layer, at + "k_norm", layer.kv_heads, heads.k);
}

// As attend, with roundings. That of a score, or of its exponential, is an addition to the score; that of a weight
// adds its part of the value, and makes the weights' sum another than 1.
void AttentionPart::attend_roughly(const LayerPlan& layer, reference::AttendArgs args, Tensor& out) {
  Rounder& round = arithmetic_.round();
  Tensor scores = zeros({layer.heads, args.q.shape[0], args.k.shape[0]});
  args.scores = scores.writable();
  args.stage = reference::ScoreStage::biased;
  (void)reference::attend(layer, args);
  Tensor errors = scores;
  for (double& score : errors.values) {
    if (!std::isfinite(score)) score = 0.0;
    score = round.error(score, &Roundings::scores, 2) + round.error(score, &Roundings::softmax) +
            round.error(1.0, &Roundings::softmax, 2);  // exp is within one unit of the last place
  }
  args.inputs.bias = errors;
  args.stage = reference::ScoreStage::weights;
  (void)reference::attend(layer, args);
  const auto keys = index(args.k.shape[0]);
  const auto width = index(layer.value_dim);
  const std::int64_t queries_of_key = layer.heads / layer.kv_heads;
  double sum_error = 0;
  for (std::size_t s = 0; s < scores.values.size(); ++s) {
    if (s % keys == 0) sum_error = round.error(1.0, &Roundings::softmax, 2);
    const double error = scores.values[s] * sum_error + round.error(scores.values[s], &Roundings::softmax);
    const std::int64_t h = static_cast<std::int64_t>(s / keys) / args.q.shape[0];
    const std::int64_t i = static_cast<std::int64_t>(s / keys) % args.q.shape[0];
    double* to = &out.values[index(i * layer.heads + h) * width];
    for (std::int64_t c = 0; c < layer.value_dim && error != 0; ++c) {
      to[c] += error * reference::element(args.v, {static_cast<std::int64_t>(s % keys), h / queries_of_key, c});
    }
  }
  for (double& c : out.values) c = round(c, &Roundings::sums, 4);
}

Numbers AttentionPart::attended(const LayerPlan& layer, const std::string& at, const Heads& heads,
                                const Coordinates& places, bool are_rotated) {
  Tensor q = heads_tensor(heads.q, layer.heads, layer.head_dim);
  Tensor k = heads_tensor(heads.k, layer.kv_heads, layer.head_dim);
  for (Tensor* factor : {&q, &k}) {
    for (double& c : factor->values) c = arithmetic_.round()(c, &Roundings::scores);
  }
  const Tensor v = heads_tensor(heads.v, layer.kv_heads, layer.value_dim);
  Tensor out = zeros({q.shape[0], layer.heads, layer.value_dim});
  const ScoreTables tables(layer, at, arithmetic_);
  const LayerInputs inputs{.q_positions = std::span<const double>(places.queries),
                           .k_positions = std::span<const double>(places.keys),
                           .prefix = arithmetic_.wiring().prefix,
                           .length = k.shape[0],
                           .q_rotated = are_rotated,
                           .k_rotated = are_rotated};
  const reference::AttendArgs args{
      .out = out.writable(), .q = q, .k = k, .v = v, .weights = tables.weights(), .inputs = inputs};
  if (arithmetic_.round().is_exact()) {
    (void)reference::attend(layer, args);
  } else {
    attend_roughly(layer, args, out);
  }
  return out.values;
}

Numbers AttentionPart::operator()(const LayerPlan& layer, const std::string& at, const Numbers& x,
                                  const Reading& reading) {
  const bool is_cross = reading.memory != nullptr;
  Heads heads = projected(layer, at, x, is_cross ? *reading.memory : x);
  normalise_both(layer, QkNorm::Order::before, at, heads);
  if (arithmetic_.wiring().norms_values) {
    heads.v = arithmetic_.rms_norm(heads.v, index(layer.value_dim), {}, arithmetic_.wiring().epsilon);
  }

  const std::int64_t axes = math::axes_of(layer);
  Cache& cache = caches_[at];
  if (is_cross) cache = {};
  const auto made = [&](std::int64_t count, std::int64_t first) {
    if (!reading.coordinates.empty()) return transposed(reading.coordinates, axes);
    Numbers places;
    for (std::int64_t i = 0; i < count * axes; ++i) places.push_back(static_cast<double>(first + i / axes));
    return places;
  };
  const std::int64_t seen = std::ssize(cache.coordinates) / axes;
  const std::int64_t queries = std::ssize(heads.q) / (layer.heads * layer.head_dim);
  const std::int64_t keys = std::ssize(heads.k) / (layer.kv_heads * layer.head_dim);
  Numbers of_queries = made(queries, seen);
  Numbers of_keys = is_cross ? made(keys, 0) : of_queries;
  // An angle is a product of a frequency of two roundings.
  if (!layer.rotate.empty()) {
    for (double& c : of_queries) c = arithmetic_.round()(c, kAngles, 3);
    of_keys = of_queries;
  }
  append(cache.coordinates, of_keys);
  Coordinates places{.queries = shifted(transposed(of_queries, queries), setting_.shift.queries), .keys = {}};
  const Numbers new_keys = shifted(transposed(of_keys, keys), setting_.shift.keys);

  const bool norm_follows = layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after;
  // What is rotated is rounded, and a kernel's is: those leave reference::attend nothing to rotate.
  const bool rotates_here = setting_.way || norm_follows || !arithmetic_.round().is_exact();
  for (const Rotate& one : layer.rotate) {
    if (!rotates_here || one.role != RotateRole::main) continue;
    rotate_heads(one, setting_.way, places.queries, seen + keys, layer.heads, heads.q);
    rotate_heads(one, setting_.way, new_keys, seen + keys, layer.kv_heads, heads.k);
  }
  if (!layer.rotate.empty()) {
    for (Numbers* rotated : {&heads.q, &heads.k}) {
      for (double& c : *rotated) c = arithmetic_.round()(c, kAngles, 4);
    }
  }
  normalise_both(layer, QkNorm::Order::after, at, heads);
  append(cache.k, heads.k);
  append(cache.v, heads.v);
  heads.k = cache.k;
  heads.v = cache.v;
  places.keys = shifted(transposed(cache.coordinates, seen + keys), setting_.shift.keys);
  Numbers out = attended(layer, at, heads, places, rotates_here);
  for (std::size_t i = 0; i < heads.gate.size(); ++i) out[i] *= sigmoid(heads.gate[i]);
  return arithmetic_.linear(out, at + "o");
}

}  // namespace posenc::test

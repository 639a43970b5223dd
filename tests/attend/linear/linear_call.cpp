#include "attend/linear/linear_call.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "attend/fused/in_dtype.h"
#include "posenc/reference_linear.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

constexpr std::int64_t kFirstPlace = 1000;
constexpr auto kBothWays = MaskKind::bidirectional;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Without a callback no call is cancelled.
void must_end(bool ended) {
  if (!ended) throw std::logic_error("attend_linear was cancelled by nobody");
}

double feature(FeatureMap map, double x) {
  if (map == FeatureMap::identity) return x;
  if (map == FeatureMap::relu) return std::max(x, 0.0);
  return x < 0 ? std::exp(x) : x + 1;
}

Tensor heads_tensor(Random& random, const LinearRows& rows, std::int64_t tokens, std::int64_t heads,
                    std::int64_t channels) {
  if (rows.batch > 0) return random_tensor(random, {rows.batch, heads, tokens, channels});
  return random_tensor(random, {tokens, heads, channels});
}

// Row t of a head, of all members of the batch.
std::size_t place(const Tensor& x, std::int64_t t, std::int64_t head) {
  if (x.shape.size() == 3) return index((t * x.shape[1] + head) * x.shape[2]);
  const std::int64_t tokens = x.shape[2];
  return index(((t / tokens * x.shape[1] + head) * tokens + t % tokens) * x.shape[3]);
}

TensorView as(TensorView view, const std::vector<std::byte>& bytes, DType dtype) {
  view.data = const_cast<std::byte*>(bytes.data());
  view.dtype = dtype;
  return view;
}

std::size_t sequence_of(const std::vector<std::int32_t>& ends, std::int64_t row) {
  std::size_t s = 0;
  while (row >= ends[s + 1]) ++s;
  return s;
}

}  // namespace

LayerPlan linear_layer(std::int64_t value_dim, Pairing pairing) {
  Rope rope{.pairing = pairing, .head_dim = 16, .first_channel = 2, .dim = 12};
  rope.scaling = YarnScaling{.factor = 4.0, .original_max_position_embeddings = 64};
  LayerPlan layer{
      .kind = LayerKind::linear_attention, .heads = 4, .kv_heads = 2, .head_dim = 16, .value_dim = value_dim};
  layer.rotate.push_back({.heads = 4, .scheme = rope, .offset = 1});
  return layer;
}

std::vector<LinearRows> every_linear_rows() {
  return {{.name = "one", .queries = 1, .keys = 1},
          {.name = "a chunk less one", .queries = 47, .keys = 47},
          {.name = "a chunk", .queries = 48, .keys = 48},
          {.name = "two chunks and one", .queries = 97, .keys = 97},
          {.name = "after a prompt", .queries = 50, .keys = 110},
          {.name = "decoding", .queries = 1, .keys = 100},
          {.name = "queries without keys", .queries = 60, .keys = 7},
          {.name = "no queries", .queries = 0, .keys = 5},
          {.name = "no keys", .queries = 5, .keys = 0},
          {.name = "batch", .queries = 20, .keys = 51, .batch = 2},
          {.name = "both ways", .mask = kBothWays, .queries = 49, .keys = 101},
          {.name = "both ways, batch", .mask = kBothWays, .queries = 50, .keys = 3, .batch = 2},
          {.name = "packed", .queries = 52, .keys = 67, .ends_q = {0, 49, 49, 52}, .ends_k = {0, 63, 64, 67}},
          {.name = "packed, both ways",
           .mask = kBothWays,
           .queries = 9,
           .keys = 60,
           .ends_q = {0, 2, 9},
           .ends_k = {0, 50, 60}}};
}

LinearCall::LinearCall(const LayerPlan& of_layer, LinearRows of_rows, FeatureMap map, DType dtype, std::uint64_t seed)
    : layer(of_layer), rows(std::move(of_rows)), map_(map), dtype_(dtype) {
  layer.mask.kind = rows.mask;
  Random random(seed);
  q = heads_tensor(random, rows, rows.queries, layer.heads, layer.head_dim);
  k = heads_tensor(random, rows, rows.keys, layer.kv_heads, layer.head_dim);
  v = heads_tensor(random, rows, rows.keys, layer.kv_heads, layer.value_dim);
  q_ = in_dtype(q.values, dtype);
  k_ = in_dtype(k.values, dtype);
  v_ = in_dtype(v.values, dtype);
  // Anywhere: what is seen goes by the rows.
  for (std::int64_t t = 0; t < batch() * rows.keys; ++t) {
    k_places_.push_back(static_cast<double>(kFirstPlace + random.whole(0, 300)));
  }
  for (std::int64_t t = 0; t < batch() * rows.queries; ++t) {
    q_places_.push_back(static_cast<double>(kFirstPlace + random.whole(0, 300)));
  }
}

bool LinearCall::sees(std::int64_t i, std::int64_t j) const {
  if (!rows.ends_q.empty()) {
    const std::size_t s = sequence_of(rows.ends_q, i);
    if (s != sequence_of(rows.ends_k, j)) return false;
    return rows.mask == MaskKind::bidirectional || j - rows.ends_k[s + 1] <= i - rows.ends_q[s + 1];
  }
  if (rows.batch > 0 && i / rows.queries != j / rows.keys) return false;
  const std::int64_t of_query = rows.batch > 0 ? i % rows.queries : i;
  const std::int64_t of_key = rows.batch > 0 ? j % rows.keys : j;
  return rows.mask == MaskKind::bidirectional || of_key - rows.keys <= of_query - rows.queries;
}

std::vector<double> LinearCall::by_formulas() const {
  Tensor out{{}, q.shape};
  out.shape.back() = layer.value_dim;
  out.values.resize(index(batch() * rows.queries * layer.heads * layer.value_dim));
  (void)reference::attend_linear(layer, {.out = out.writable(),
                                         .q = q,
                                         .k = k,
                                         .v = v,
                                         .inputs = {.q_positions = std::span(q_places_),
                                                    .k_positions = std::span(k_places_),
                                                    .cu_seqlens_q = rows.ends_q,
                                                    .cu_seqlens_k = rows.ends_k},
                                         .feature_map = map_});
  return out.values;
}

AttendLinearArgs LinearCall::args_for(std::vector<std::byte>& out) const {
  Tensor like{{}, q.shape};
  like.shape.back() = layer.value_dim;
  out.assign(index(batch() * rows.queries * layer.heads * layer.value_dim * bytes_of(dtype_)), std::byte{0xFF});
  return {.out = as(like.writable(), out, dtype_),
          .q = as(Tensor(q).writable(), q_, dtype_),
          .k = as(Tensor(k).writable(), k_, dtype_),
          .v = as(Tensor(v).writable(), v_, dtype_),
          .inputs = {.q_positions = std::span(q_places_),
                     .k_positions = std::span(k_places_),
                     .cu_seqlens_q = rows.ends_q,
                     .cu_seqlens_k = rows.ends_k},
          .feature_map = map_};
}

std::vector<double> LinearCall::numbers(const std::vector<std::byte>& out) const {
  const auto count = static_cast<std::int64_t>(out.size()) / bytes_of(dtype_);
  return cpu::read_all(tensor(static_cast<const void*>(out.data()), dtype_, {count}));
}

LinearNumbers LinearCall::no_state(std::int64_t padding) const {
  const std::int64_t sequences = rows.ends_k.empty() ? batch() : std::ssize(rows.ends_k) - 1;
  const std::int64_t rows_of_state = sequences * layer.kv_heads * layer.head_dim;
  return {.products = std::vector<float>(index(rows_of_state * (layer.value_dim + padding))),
          .totals = std::vector<float>(index(rows_of_state)),
          .padding = padding};
}

LinearState LinearCall::view(LinearNumbers& state) const {
  const std::int64_t sequences = rows.ends_k.empty() ? batch() : std::ssize(rows.ends_k) - 1;
  const std::int64_t row = layer.value_dim + state.padding;
  LinearState out{.products = tensor(state.products.data(), {sequences, layer.kv_heads, layer.head_dim, row}),
                  .totals = tensor(state.totals.data(), {sequences, layer.kv_heads, layer.head_dim})};
  out.products.shape[3] = layer.value_dim;
  return out;
}

std::vector<double> LinearCall::by_kernels(Isa isa, std::int64_t threads, LinearNumbers* state) const {
  std::vector<std::byte> out;
  AttendLinearArgs args = args_for(out);
  args.parallel.threads = threads;
  args.isa = isa;
  if (state != nullptr) args.state = view(*state);
  must_end(attend_linear(layer, args));
  return numbers(out);
}

std::vector<double> LinearCall::part(Isa isa, std::int64_t first, std::int64_t count, LinearNumbers& state) const {
  std::vector<std::byte> out;
  AttendLinearArgs args = args_for(out);
  const auto cut = [&](auto& view) {
    if (count < view.shape[0]) view.shape[0] = count;
    using Byte = std::conditional_t<std::is_same_v<decltype(view.data), void*>, std::byte, const std::byte>;
    view.data = static_cast<Byte*>(view.data) + first * view.strides[0] * bytes_of(dtype_);
  };
  cut(args.q);
  cut(args.k);
  cut(args.v);
  args.out.shape[0] = count;
  args.inputs.q_positions = std::span(q_places_).subspan(index(first), index(count));
  args.inputs.k_positions = std::span(k_places_).subspan(index(first), index(count));
  args.isa = isa;
  args.state = view(state);
  must_end(attend_linear(layer, args));
  out.resize(index(count * layer.heads * layer.value_dim * bytes_of(dtype_)));
  return numbers(out);
}

bool LinearCall::until(const std::function<bool()>& keep_going, std::int64_t threads) const {
  std::vector<std::byte> out;
  AttendLinearArgs args = args_for(out);
  args.parallel.threads = threads;
  args.keep_going = keep_going;
  return attend_linear(layer, args);
}

std::vector<double> LinearCall::bounds(const std::vector<double>& outputs, bool one_by_one) const {
  const auto features = [&](const Tensor& x, std::int64_t t, std::int64_t head) {
    std::vector<double> out;
    const std::size_t first = place(x, t, head);
    for (std::size_t c = 0; c < index(layer.head_dim); ++c) out.push_back(feature(map_, x.values[first + c]));
    return out;
  };
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
    return sum;
  };
  double below = 0.0;
  for (const Tensor* const x : {&q, &k}) {
    for (const double at : x->values) below = std::max(below, -at);
  }
  const double rounded = map_ == FeatureMap::elu_plus_one ? feature_in_floats(below) : 0.0;
  std::vector<double> out(outputs.size());
  Tensor like{{}, q.shape};
  like.shape.back() = layer.value_dim;
  for (std::int64_t h = 0; h < layer.heads; ++h) {
    const std::int64_t of = h / (layer.heads / layer.kv_heads);
    for (std::int64_t i = 0; i < batch() * rows.queries; ++i) {
      const std::vector<double> query = features(q, i, h);
      const double length = std::sqrt(dot(query, query));
      double total = 0.0;
      double sizes = 0.0;
      std::int64_t seen = 0;
      std::vector<double> sized(index(layer.value_dim));
      for (std::int64_t j = 0; j < batch() * rows.keys; ++j) {
        if (!sees(i, j)) continue;
        ++seen;
        const std::vector<double> key = features(k, j, of);
        const double size = length * std::sqrt(dot(key, key));
        total += dot(query, key);
        sizes += size;
        for (std::size_t c = 0; c < sized.size(); ++c) sized[c] += size * std::abs(v.values[place(v, j, of) + c]);
      }
      for (std::size_t c = 0; c < sized.size(); ++c) {
        const std::size_t n = place(like, i, h) + c;
        const double products = total == 0.0 ? 0.0 : (sized[c] + std::abs(outputs[n]) * sizes) / std::abs(total);
        const double of_total = total == 0.0 ? 0.0 : sizes / std::abs(total);
        const double error =
            linear_in_floats(products, of_total, linear_additions(seen, one_by_one), layer.head_dim, rounded);
        out[n] = stored_error(dtype_, outputs[n], error);
      }
    }
  }
  return out;
}

}  // namespace posenc::test

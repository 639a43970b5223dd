#include "vectors/ports.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <variant>

#include "posenc/attend.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/scores.h"

namespace posenc::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<double> doubles(const ConstTensorView& x) {
  std::int64_t count = 1;
  for (int axis = 0; axis < x.rank; ++axis) count *= x.shape[at(axis)];
  const auto* const from = static_cast<const double*>(x.data);
  return {from, from + count};
}

std::vector<std::int64_t> shape_of(const ConstTensorView& x) { return {x.shape.begin(), x.shape.begin() + x.rank}; }

// To nearest, ties to even; f16 has subnormal numbers below 2^-14.
double rounded(DType dtype, double x) {
  if (dtype == DType::f64 || x == 0.0 || !std::isfinite(x)) return x;
  if (dtype == DType::f32) return static_cast<float>(x);
  const int bits = dtype == DType::bf16 ? 8 : 11;
  int exponent = 0;
  (void)std::frexp(x, &exponent);
  if (dtype == DType::f16) exponent = std::max(exponent, -13);
  return std::ldexp(std::nearbyint(std::ldexp(x, bits - exponent)), exponent - bits);
}

}  // namespace

ConstTensorView PortBytes::view() const { return tensor(bytes.data(), dtype, shape); }

PortBytes port_bytes(std::string name, DType dtype, const std::vector<std::int64_t>& shape,
                     const std::vector<double>& values) {
  PortBytes out{std::move(name), dtype, shape, std::vector<std::byte>(values.size() * at(bytes_of(dtype)))};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::byte* const to = out.bytes.data() + i * at(bytes_of(dtype));
    const double x = rounded(dtype, values[i]);
    if (dtype == DType::f64) std::memcpy(to, &x, sizeof x);
    const auto single = static_cast<float>(x);
    if (dtype == DType::f32) std::memcpy(to, &single, sizeof single);
    if (dtype == DType::bf16) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &single, sizeof bits);
      const auto upper = static_cast<std::uint16_t>(bits >> 16U);
      std::memcpy(to, &upper, sizeof upper);
    }
    if (dtype == DType::f16) {
      // From its fields: sign, exponent, fraction.
      std::uint16_t bits = std::signbit(x) ? 0x8000 : 0;
      if (std::isinf(x)) bits = static_cast<std::uint16_t>(bits | 0x7C00U);
      if (x != 0.0 && std::isfinite(x)) {
        const int exponent = std::max(std::ilogb(x), -14);
        const auto fraction = static_cast<int>(std::ldexp(std::abs(x), 10 - exponent));  // 1024 and more: normal
        bits = static_cast<std::uint16_t>(bits + fraction + ((exponent + 14) << 10));
      }
      std::memcpy(to, &bits, sizeof bits);
    }
  }
  return out;
}

std::vector<NamedTensor> Port::outputs() const {
  std::vector<NamedTensor> out;
  for (const PortBytes& one : tensors) out.push_back({one.name, one.view()});
  return out;
}

std::vector<NamedTensor> Port::outputs(const std::vector<std::string>& names) const {
  std::vector<NamedTensor> out;
  for (const PortBytes& one : tensors) {
    if (std::ranges::find(names, one.name) != names.end()) out.push_back({one.name, one.view()});
  }
  return out;
}

Port own_port(const Vectors& vectors, DType dtype, const Spoil& spoil) {
  VectorCall call(vectors);
  LayerPlan layer = vectors.layer;
  if (spoil.layer) spoil.layer(layer);
  if (spoil.call) spoil.call(call.inputs, call.weights);
  const std::int64_t tokens = call.q.shape[0];
  PortBytes q = port_bytes("q_rotated", dtype, shape_of(call.q), doubles(call.q));
  PortBytes k = port_bytes("k_rotated", dtype, shape_of(call.k), doubles(call.k));
  const PortBytes v = port_bytes("v", dtype, shape_of(call.v), doubles(call.v));
  Port out;
  if (vectors.find("out") != nullptr) {
    PortBytes result{"out", dtype, {tokens, layer.heads, layer.value_dim}, {}};
    result.bytes.resize(at(tokens * layer.heads * layer.value_dim * bytes_of(dtype)));
    AttendArgs args{.out = tensor(result.bytes.data(), dtype, {tokens, layer.heads, layer.value_dim}),
                    .q = q.view(),
                    .k = k.view(),
                    .v = v.view(),
                    .weights = call.weights,
                    .inputs = call.inputs,
                    .parallel = {.threads = 1}};
    (void)attend(layer, args);
    out.tensors.push_back(std::move(result));
  }
  if (vectors.find("q_rotated") == nullptr) return out;
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role != RotateRole::main) continue;
    const Rope& one = rope(rotate);
    const RotaryTable table = table_on_demand(one, {.length = vectors.options.length});
    std::vector<std::int64_t> positions(call.positions.begin(),
                                        call.positions.begin() + std::ssize(one.axes.names) * tokens);
    for (std::int64_t& position : positions) position += rotate.offset;
    const auto writable = [&](PortBytes& x) {
      return tensor(x.bytes.data(), dtype, {x.shape[0], x.shape[1], x.shape[2]});
    };
    (void)posenc::rotate({.q = writable(q),
                          .k = writable(k),
                          .positions = std::span<const std::int64_t>(positions),
                          .table = &table,
                          .parallel = {.threads = 1}});
  }
  out.tensors.push_back(std::move(q));
  out.tensors.push_back(std::move(k));
  return out;
}

bool is_eager(const LayerPlan& layer) {
  const bool plain = std::ranges::all_of(layer.rotate, [](const Rotate& rotate) {
    return rotate.role == RotateRole::indexer || std::holds_alternative<Rope>(rotate.scheme);
  });
  const bool biased =
      std::ranges::all_of(layer.score, [](const ScoreTerm& term) { return std::holds_alternative<Alibi>(term); });
  return plain && biased && layer.value == ValueScheme{} && layer.regions == Regions{};
}

namespace {

// One rotation of x [tokens, heads, channels] in place, every operation rounded.
void rotate_eagerly(std::vector<double>& x, std::int64_t heads, const Rotate& rotate, const VectorCall& call,
                    std::optional<std::int64_t> length, DType dtype) {
  const Rope& one = rope(rotate);
  const Frequencies frequencies = posenc::frequencies(one, length, Arithmetic::float32);
  const std::int64_t tokens = call.q.shape[0];
  const auto r = [&](double value) { return rounded(dtype, value); };
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t p = 0; p < one.pairs(); ++p) {
      const std::int64_t axis = one.axes.of_pair.empty() ? 0 : one.axes.of_pair[at(p)];
      const auto place = static_cast<float>(call.positions[at(axis * tokens + t)] + rotate.offset);
      const float angle = place * static_cast<float>(frequencies.inv_freq[at(p)]);
      const auto factor = static_cast<float>(frequencies.attention_factor);
      const double cos = r(std::cos(angle) * factor);
      const double sin = r(std::sin(angle) * factor);
      const bool is_half = one.pairing == Pairing::half;
      const std::int64_t a = one.first_channel + (is_half ? p : 2 * p);
      const std::int64_t b = is_half ? a + one.dim / 2 : a + 1;
      for (std::int64_t h = 0; h < heads; ++h) {
        double& x_a = x[at((t * heads + h) * one.head_dim + a)];
        double& x_b = x[at((t * heads + h) * one.head_dim + b)];
        const double y_a = r(r(x_a * cos) - r(x_b * sin));
        const double y_b = r(r(x_b * cos) + r(x_a * sin));
        x_a = y_a;
        x_b = y_b;
      }
    }
  }
}

}  // namespace

Port eager_port(const Vectors& vectors, DType dtype, const Spoil& spoil) {
  VectorCall call(vectors);
  LayerPlan layer = vectors.layer;
  if (spoil.layer) spoil.layer(layer);
  const auto r = [&](double value) { return rounded(dtype, value); };
  const std::int64_t tokens = call.q.shape[0];
  const std::int64_t heads = layer.heads;
  const std::int64_t width = layer.head_dim;
  std::vector<double> q = doubles(call.q);
  std::vector<double> k = doubles(call.k);
  const std::vector<double> v = doubles(call.v);
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role != RotateRole::main) continue;
    rotate_eagerly(q, heads, rotate, call, vectors.options.length, dtype);
    rotate_eagerly(k, layer.kv_heads, rotate, call, vectors.options.length, dtype);
  }
  const std::vector<double>& mask = vectors.find("mask")->values;
  std::vector<double> scores(at(heads * tokens * tokens));
  std::vector<double> out(at(tokens * heads * layer.value_dim));
  for (std::int64_t h = 0; h < heads; ++h) {
    const std::int64_t kv = h / (heads / layer.kv_heads);
    for (std::int64_t i = 0; i < tokens; ++i) {
      double* const row = scores.data() + (h * tokens + i) * tokens;
      float largest = -std::numeric_limits<float>::infinity();
      for (std::int64_t j = 0; j < tokens; ++j) {
        float sum = 0;
        for (std::int64_t c = 0; c < width; ++c) {
          sum += static_cast<float>(q[at((i * heads + h) * width + c)]) *
                 static_cast<float>(k[at((j * layer.kv_heads + kv) * width + c)]);
        }
        double score = r(r(sum) * layer.softmax_scale);
        if (layer.query_scale != QueryScale{}) score = r(score * query_scale(layer.query_scale, call.positions[at(i)]));
        for (const ScoreTerm& term : layer.score) {
          const auto& alibi = std::get<Alibi>(term);
          const double bias =
              alibi_bias(alibi, r(alibi_slopes(alibi)[at(h)]), static_cast<double>(call.positions[at(i)]),
                         static_cast<double>(call.positions[at(j)]));
          score = r(score + r(bias * (alibi.scaled ? layer.softmax_scale : 1.0)));
        }
        if (layer.soft_cap) score = r(layer.soft_cap->cap * r(std::tanh(r(score / layer.soft_cap->cap))));
        const bool is_seen = mask[at(i * tokens + j)] != 0.0;
        row[j] = is_seen ? score : -std::numeric_limits<double>::infinity();
        largest = std::max(largest, static_cast<float>(row[j]));
      }
      const double sink = layer.sinks ? static_cast<const double*>(call.weights.sinks.data)[h] : 0.0;
      float all = layer.sinks ? std::exp(static_cast<float>(sink) - largest) : 0.0F;
      for (std::int64_t j = 0; j < tokens; ++j) all += std::exp(static_cast<float>(row[j]) - largest);
      for (std::int64_t c = 0; c < layer.value_dim; ++c) {
        float sum = 0;
        for (std::int64_t j = 0; j < tokens; ++j) {
          const double weight = r(std::exp(static_cast<float>(row[j]) - largest) / all);
          sum += static_cast<float>(weight * v[at((j * layer.kv_heads + kv) * layer.value_dim + c)]);
        }
        out[at((i * heads + h) * layer.value_dim + c)] = sum;
      }
    }
  }
  Port port;
  port.tensors.push_back(port_bytes("q_rotated", dtype, shape_of(call.q), q));
  port.tensors.push_back(port_bytes("k_rotated", dtype, shape_of(call.k), k));
  port.tensors.push_back(port_bytes("scores", dtype, {heads, tokens, tokens}, scores));
  port.tensors.push_back(port_bytes("out", dtype, {tokens, heads, layer.value_dim}, out));
  if (layer.rotate.empty()) port.tensors.erase(port.tensors.begin(), port.tensors.begin() + 2);
  return port;
}

}  // namespace posenc::test

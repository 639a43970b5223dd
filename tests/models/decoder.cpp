#include "models/decoder.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "posenc/reference.h"
#include "posenc/rotary_table.h"

namespace posenc::test {
namespace {

Numbers sum(Numbers a, const Numbers& b, double scale = 1.0) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = scale * a[i] + b[i];
  return a;
}
void append(Numbers& to, std::span<const double> from) { to.insert(to.end(), from.begin(), from.end()); }
double silu(double x) { return x / (1 + std::exp(-x)); }
// Hendrycks and Gimpel's approximation with tanh (arXiv 1606.08415), which ChatGLM-6B has.
double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }
std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void turn(const Rope& rope, Way way, const Positions& positions, std::int64_t heads, Numbers& x) {
  const std::int64_t tokens = static_cast<std::int64_t>(x.size()) / (heads * rope.head_dim);
  if (!way) {
    const Numbers from = x;
    reference::rotate(rope, {.out = tensor(x.data(), {tokens, heads, rope.head_dim}),
                             .x = tensor(from.data(), {tokens, heads, rope.head_dim}),
                             .positions = positions});
    return;
  }
  const RotaryTable table = table_on_demand(rope);
  std::vector<float> floats(x.begin(), x.end());
  rotate({.q = tensor(floats.data(), {tokens, heads, rope.head_dim}),
          .positions = positions,
          .table = &table,
          .isa = *way});
  x.assign(floats.begin(), floats.end());
}

Rotation by(Way way, Shift shift) {
  return [way, shift](const LayerPlan& layer, std::int64_t first, Numbers& q, Numbers& k) {
    for (const Rotate& one : layer.rotate) {
      turn(rope(one), way, PositionRange{first + shift.queries}, layer.heads, q);
      turn(rope(one), way, PositionRange{first + shift.keys}, layer.kv_heads, k);
    }
  };
}

Decoder::Decoder(const Model& model, const Rotation& rotation, std::optional<Roundings> roundings)
    : model_(model),
      rotation_(rotation),
      roundings_(roundings),
      random_(roundings ? roundings->seed : 0),
      k_(model.plan.stacks.at(0).layers.size()),
      v_(k_.size()) {}

// The engine's numbers are the same everywhere, those of std::uniform_real_distribution are not.
double Decoder::rounded(double x, int Roundings::*bits, int times) const {
  if (!roundings_ || x == 0) return x;
  for (int n = 0; n < times; ++n) {
    const double part = static_cast<double>(random_() >> 11) * 0x1p-53 - 0.5;  // [-1/2, 1/2) of the last place
    x += std::ldexp(part, std::ilogb(x) + 1 - *roundings_.*bits);
  }
  return x;
}

Numbers Decoder::bias(const std::string& name, std::size_t outputs) const {
  const auto found = model_.weights.find(name + ".bias");
  return found == model_.weights.end() ? Numbers(outputs) : found->second.values;
}

Numbers Decoder::linear(const Numbers& x, const std::string& name) const {
  const Weight& weight = model_.weights.at(name);
  const std::size_t outputs = index(weight.rows);
  const std::size_t inputs = weight.values.size() / outputs;
  const Numbers offset = bias(name, outputs);
  Numbers y(x.size() / inputs * outputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* row = &weight.values[i % outputs * inputs];
    y[i] = std::inner_product(row, row + inputs, &x[i / outputs * inputs], offset[i % outputs]);
    y[i] = rounded(y[i], &Roundings::sums, 2);
  }
  return y;
}

// Rows are as wide as the weight, but for q and k: there each head of [heads, head_dim] is a row.
Numbers Decoder::norm(const Numbers& x, const std::string& name) const {
  const Weight& weight = model_.weights.at(name);
  const bool per_head = name.find("self_attn.") != std::string::npos;
  const std::size_t width = per_head ? weight.values.size() / index(weight.rows) : weight.values.size();
  const Numbers offset = bias(name, weight.values.size());
  const auto bits = &Roundings::norms;
  Numbers y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double mean = 0;
    for (std::size_t c = 0; model_.centred && c < width; ++c) mean += x[row + c] / static_cast<double>(width);
    mean = rounded(mean, bits);
    double square = 0;
    for (std::size_t c = 0; c < width; ++c) square += (x[row + c] - mean) * (x[row + c] - mean);
    square = rounded(square / static_cast<double>(width) + model_.epsilon, bits, 3);
    const double scale = rounded(1 / std::sqrt(square), bits, 2);
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t at = (row + c) % weight.values.size();
      const double unit = rounded((rounded(x[row + c], bits) - mean) * scale, bits, 2);
      y[row + c] = unit * weight.values[at] + offset[at];
    }
  }
  return y;
}

// One row of q and out, [tokens, heads] of them.
void Decoder::attend(const LayerPlan& layer, const Numbers& q, std::int64_t row, Numbers& out) const {
  const Numbers& k = k_[index(layer.index)];
  const Numbers& v = v_[index(layer.index)];
  const std::size_t width = index(layer.head_dim);
  const std::size_t stride = index(layer.kv_heads) * width;
  const std::size_t shared = index(row % layer.heads * layer.kv_heads / layer.heads) * width;
  const std::size_t at = index(row) * width;
  Numbers weights(index(std::max(model_.prefix, seen_ + row / layer.heads + 1)));
  for (std::size_t j = 0; j < weights.size(); ++j) {
    weights[j] = layer.logit_scale * std::inner_product(&q[at], &q[at] + width, &k[j * stride + shared], 0.0);
  }
  const auto bits = &Roundings::norms;
  const double largest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) total += weight = rounded(std::exp(weight - largest), bits);
  total = rounded(total, bits);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double share = rounded(weights[j] / total, bits);
    for (std::size_t c = 0; c < width; ++c) out[at + c] += share * v[j * stride + shared + c];
  }
}

Numbers Decoder::attention(const LayerPlan& layer, const Numbers& x) {
  const std::string at = "layers." + std::to_string(layer.index) + ".self_attn.";
  Numbers q = linear(x, at + "q_proj");
  Numbers k = linear(x, at + "k_proj");
  const Numbers v = linear(x, at + "v_proj");
  if (layer.qk_norm) {
    q = norm(q, at + "q_norm");
    k = norm(k, at + "k_norm");
  }
  rotation_(layer, seen_, q, k);
  for (double& c : q) c = rounded(c, &Roundings::rotation, 4);
  for (double& c : k) c = rounded(c, &Roundings::rotation, 4);
  append(k_[index(layer.index)], k);
  append(v_[index(layer.index)], v);
  Numbers out(q.size());
  for (std::int64_t row = 0; index(row * layer.head_dim) < q.size(); ++row) attend(layer, q, row, out);
  return linear(out, at + "o_proj");
}

Numbers Decoder::feed_forward(const Numbers& x, const std::string& at) const {
  const bool gated = model_.wiring != Wiring::deep;
  Numbers wide = linear(x, at + "up_proj");
  const Numbers gate = gated ? linear(x, at + "gate_proj") : Numbers{};
  for (std::size_t c = 0; c < wide.size(); ++c) wide[c] = gated ? silu(gate[c]) * wide[c] : gelu(wide[c]);
  return linear(wide, at + "down_proj");
}

void Decoder::block(const LayerPlan& layer, Numbers& x) {
  const bool sandwich = model_.wiring == Wiring::sandwich;
  const bool deep = model_.wiring == Wiring::deep;
  const std::string at = "layers." + std::to_string(layer.index) + ".";
  const Numbers before = norm(x, at + "input_layernorm");
  Numbers attended = attention(layer, before);
  if (sandwich) attended = norm(attended, at + "post_self_attn_layernorm");
  x = deep ? sum(before, attended, model_.deep_scale) : sum(x, attended);
  const Numbers between = model_.wiring == Wiring::parallel ? before : norm(x, at + "post_attention_layernorm");
  Numbers fed = feed_forward(between, at + "mlp.");
  if (sandwich) fed = norm(fed, at + "post_mlp_layernorm");
  x = deep ? sum(between, fed, model_.deep_scale) : sum(x, fed);
}

Numbers Decoder::hidden(std::span<const std::int64_t> tokens) {
  const Weight& embedding = model_.weights.at("embed_tokens");
  const std::size_t width = embedding.values.size() / index(embedding.rows);
  Numbers x;
  for (const std::int64_t token : tokens) {
    append(x, std::span(embedding.values).subspan(index(token) * width, width));
  }
  for (const LayerPlan& layer : model_.plan.stacks[0].layers) block(layer, x);
  seen_ += static_cast<std::int64_t>(tokens.size());
  return norm(x, "norm");
}

Numbers Decoder::logits(std::span<const std::int64_t> tokens) {
  Numbers y = linear(hidden(tokens), "lm_head");
  for (double& logit : y) logit *= model_.logit_scale;
  return y;
}

}  // namespace posenc::test

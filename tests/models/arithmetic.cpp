#include "models/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace posenc::test {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Numbers sum(Numbers a, const Numbers& b, double scale) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += scale * b[i];
  return a;
}

Numbers part_of(const Numbers& x, std::size_t first, std::size_t count) {
  const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

void append(Numbers& to, const Numbers& from) { to.insert(to.end(), from.begin(), from.end()); }

namespace {

double gelu_tanh(double x, double factor) { return x / 2 * (1 + std::tanh(factor * (x + 0.044715 * x * x * x))); }

double exactly_activated(Activation activation, double x) {
  switch (activation) {
    case Activation::silu: return x * sigmoid(x);
    case Activation::gelu: return x / 2 * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh: return gelu_tanh(x, std::sqrt(2 / std::numbers::pi));
    case Activation::gelu_bloom: return gelu_tanh(x, 0.79788456);
    case Activation::relu: return std::max(x, 0.0);
    case Activation::clamped: return std::min(x, 7.0) * sigmoid(1.702 * std::min(x, 7.0));
  }
  return 0.0;
}

// The gate's and the other half of each row.
std::pair<Numbers, Numbers> halves(const Numbers& both, std::size_t width, GatePacking packing) {
  Numbers gate;
  Numbers up;
  for (std::size_t i = 0; i < both.size(); ++i) {
    const bool in_second = packing == GatePacking::alternating ? i % 2 == 1 : i % width >= width / 2;
    (in_second == (packing == GatePacking::gate_last) ? gate : up).push_back(both[i]);
  }
  return {gate, up};
}

}  // namespace

Arithmetic::Arithmetic(const Model& model, std::optional<Roundings> roundings)
    : weights_(model.weights), wiring_(model.wiring), round_(roundings) {
  if (round_.bits(&Roundings::weights) == 53) return;
  for (auto& [name, weight] : weights_) {
    for (double& x : weight.values) x = round_(x, &Roundings::weights);
  }
}

Numbers Arithmetic::linear(const Numbers& x, const std::string& name) {
  const Numbers& matrix = weight(name).values;
  const std::size_t outputs = index(weight(name).shape[0]);
  const std::size_t inputs = matrix.size() / outputs;
  const Numbers bias = has(name + ".bias") ? weight(name + ".bias").values : Numbers(outputs);
  Numbers y(x.size() / inputs * outputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* row = &matrix[i % outputs * inputs];
    const double* column = &x[i / outputs * inputs];
    double sum = bias[i % outputs];
    double squares = 0;  // of all that is rounded: products and sums of them
    for (std::size_t c = 0; c < inputs; ++c) {
      const double product = row[c] * column[c];
      sum += product;
      squares += product * product + sum * sum;
    }
    y[i] = sum + round_.error(std::sqrt(squares), &Roundings::sums);
  }
  return y;
}

Numbers Arithmetic::rms_norm(const Numbers& x, std::size_t width, const Numbers& weight, double epsilon) {
  Numbers y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    const double squares = std::inner_product(&x[row], &x[row] + width, &x[row], 0.0);
    const double scale = round_(1 / std::sqrt(squares / static_cast<double>(width) + epsilon), &Roundings::norms, 4);
    for (std::size_t c = 0; c < width; ++c) {
      const double gain = weight.empty() ? 1.0 : weight[c] + (wiring().plus_one ? 1 : 0);
      y[row + c] = gain * round_(x[row + c] * scale, &Roundings::norms, 3);
    }
  }
  return y;
}

Numbers Arithmetic::norm(const Numbers& x, const std::string& name) {
  const Numbers& gain = weight(name).values;
  const std::size_t width = gain.size();
  if (!wiring().centred) return rms_norm(x, width, gain, wiring().epsilon);
  const Numbers bias = has(name + ".bias") ? weight(name + ".bias").values : Numbers(width);
  const auto bits = &Roundings::norms;
  Numbers y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    const double mean = round_(std::accumulate(&x[row], &x[row] + width, 0.0) / static_cast<double>(width), bits);
    double squares = 0;
    for (std::size_t c = 0; c < width; ++c) squares += (x[row + c] - mean) * (x[row + c] - mean);
    const double scale = round_(1 / std::sqrt(squares / static_cast<double>(width) + wiring().epsilon), bits, 4);
    for (std::size_t c = 0; c < width; ++c) {
      const double unit = round_((round_(x[row + c], bits) - mean) * scale, bits, 2);
      y[row + c] = unit * gain[c] + bias[c];
    }
  }
  return y;
}

double Arithmetic::activated(double x) {
  return round_(exactly_activated(wiring().activation.value_or(Activation::silu), x), &Roundings::sums, 3);
}

Numbers Arithmetic::perceptron(const Numbers& x, const std::string& at) {
  Numbers gate;
  Numbers up;
  if (has(at + "gate_up")) {
    const std::size_t width = index(weight(at + "gate_up").shape[0]);
    std::tie(gate, up) = halves(linear(x, at + "gate_up"), width, wiring().gate_up);
  } else {
    if (has(at + "gate")) gate = linear(x, at + "gate");
    up = linear(x, at + "up");
  }
  const bool is_clamped = wiring().activation == Activation::clamped;
  for (std::size_t i = 0; i < up.size(); ++i) {
    if (is_clamped) up[i] = std::clamp(up[i], -7.0, 7.0) + 1;
    up[i] = gate.empty() ? activated(up[i]) : activated(gate[i]) * up[i];
  }
  return linear(up, at + "down");
}

Numbers Arithmetic::experts(const Numbers& x, const std::string& at) {
  const Routing routing = wiring().routing;
  Numbers score = linear(x, at + "router");
  const std::size_t count = index(weight(at + "router").shape[0]);
  const std::size_t width = x.size() / (score.size() / count);
  Numbers y;
  for (std::size_t token = 0; token < score.size() / count; ++token) {
    const double* scores = &score[token * count];
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    const auto summed =
        static_cast<std::ptrdiff_t>(routing == Routing::softmax ? count : index(wiring().chosen_experts));
    double total = 0;
    for (auto e = order.begin(); e != order.begin() + summed; ++e) total += std::exp(scores[*e] - scores[order[0]]);
    order.resize(index(wiring().chosen_experts));
    Numbers mixed(width);
    for (const std::size_t e : order) {
      const double share =
          routing == Routing::sigmoid ? sigmoid(scores[e]) : std::exp(scores[e] - scores[order[0]]) / total;
      const double taken = round_(share, &Roundings::softmax, 3) * wiring().routed_scale;
      const Numbers given = part_of(x, token * width, width);
      const std::string expert = at + "experts." + std::to_string(e) + ".";
      if (routing == Routing::sigmoid) {
        mixed = sum(std::move(mixed), perceptron(sum(Numbers(width), given, taken), expert));
      } else {
        mixed = sum(std::move(mixed), perceptron(given, expert), taken);
      }
    }
    append(y, mixed);
  }
  return y;
}

Numbers Arithmetic::feed_forward(const Numbers& x, const std::string& at) {
  Numbers y = has(at + "router") ? experts(x, at) : perceptron(x, at);
  if (!has(at + "shared.down")) return y;
  Numbers shared = perceptron(x, at + "shared.");
  if (has(at + "shared_gate")) {
    const Numbers gate = linear(x, at + "shared_gate");
    const std::size_t width = shared.size() / gate.size();
    for (std::size_t i = 0; i < shared.size(); ++i) shared[i] *= sigmoid(gate[i / width]);
  }
  return sum(std::move(y), shared);
}

}  // namespace posenc::test

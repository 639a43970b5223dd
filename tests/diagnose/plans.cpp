// Plans of the fault table, with numbers of published configs, smaller where only time would be lost.
#include <cmath>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

double counted(std::size_t, std::size_t, std::size_t t, std::size_t) { return static_cast<double>(t); }

PortedPlan ported(std::string name, const Rope& rope, std::vector<double> inv_freq, double factor = 1.0) {
  PortedPlan out{.name = std::move(name), .rotate = {.heads = 4, .scheme = rope}};
  out.channels = static_cast<std::size_t>(rope.head_dim);
  out.port = {.interleaved = rope.pairing == Pairing::interleaved,
              .first = static_cast<std::size_t>(rope.first_channel),
              .inv_freq = std::move(inv_freq),
              .factor = factor,
              .position = counted};
  LayerPlan layer{.heads = 4, .kv_heads = 4, .head_dim = rope.head_dim};
  layer.rotate.push_back(out.rotate);
  out.plan.stacks.push_back({.name = "decoder", .layers = {layer}});
  return out;
}

// Gemma 3: layers that slide have base 10000 and no scaling.
void add_sliding_layer(PortedPlan& plan, double base) {
  LayerPlan layer = plan.plan.stacks[0].layers[0];
  layer.index = 1;
  Rope rope = posenc::rope(layer.rotate[0]);
  rope.base = base;
  rope.scaling = {};
  layer.rotate[0].scheme = rope;
  plan.plan.stacks[0].layers.push_back(layer);
}

}  // namespace

std::vector<PortedPlan> ported_plans() {
  std::vector<PortedPlan> out;
  out.push_back(
      ported("llama-2", {.pairing = Pairing::half, .head_dim = 128, .dim = 128}, plain_frequencies(10000, 128)));
  out.push_back(ported(
      "llama-3.1",
      {.pairing = Pairing::half, .head_dim = 128, .dim = 128, .base = 500000, .scaling = Llama3Scaling{8, 1, 4, 8192}},
      llama3_frequencies(plain_frequencies(500000, 128), 8, 1, 4, 8192)));
  out.push_back(
      ported("gpt-neox", {.pairing = Pairing::half, .head_dim = 96, .dim = 24}, plain_frequencies(10000, 24)));
  out.push_back(
      ported("glm-4", {.pairing = Pairing::interleaved, .head_dim = 128, .dim = 64}, plain_frequencies(10000, 64)));
  out.push_back(
      ported("gpt-j", {.pairing = Pairing::interleaved, .head_dim = 64, .dim = 64}, plain_frequencies(10000, 64)));
  out.push_back(ported("qwen-yarn",
                       {.pairing = Pairing::half,
                        .head_dim = 128,
                        .dim = 128,
                        .base = 1e6,
                        .scaling = YarnScaling{.factor = 4, .original_max_position_embeddings = 32768}},
                       yarn_frequencies(plain_frequencies(1e6, 128), 1e6, 4, 32768, 32, 1, true),
                       0.1 * std::log(4.0) + 1));
  out.push_back(ported(
      "gemma-3", {.pairing = Pairing::half, .head_dim = 128, .dim = 128, .base = 1e6, .scaling = LinearScaling{8}}, [] {
        std::vector<double> f = plain_frequencies(1e6, 128);
        for (double& x : f) x /= 8;
        return f;
      }()));
  add_sliding_layer(out.back(), 10000);
  std::vector<double> shorts;
  std::vector<double> longs;
  for (std::size_t p = 0; p < 48; ++p) {
    shorts.push_back(1.0 + 0.02 * static_cast<double>(p));
    longs.push_back(1.0 + 1.3 * static_cast<double>(p));
  }
  std::vector<double> f = plain_frequencies(10000, 96);
  for (std::size_t p = 0; p < f.size(); ++p) f[p] /= shorts[p];
  out.push_back(ported(
      "phi-3",
      {.pairing = Pairing::half,
       .head_dim = 96,
       .dim = 96,
       .scaling =
           LongRopeScaling{
               .short_factor = shorts, .long_factor = longs, .original_max_position_embeddings = 4096, .factor = 32}},
      f, std::sqrt(1 + std::log(32.0) / std::log(4096.0))));
  // Dynamic NTK at twice the trained length: base (s L / M - (s - 1))^(d / (d - 2)).
  PortedPlan dynamic = ported("llama-dynamic",
                              {.pairing = Pairing::half,
                               .head_dim = 64,
                               .dim = 64,
                               .scaling = DynamicScaling{.factor = 4, .max_position_embeddings = 2048}},
                              plain_frequencies(10000 * std::pow(4.0 * 4096 / 2048 - 3, 64.0 / 62), 64));
  dynamic.plan.length = 4096;
  out.push_back(std::move(dynamic));
  const auto with_axes = [](std::string name, Rope rope, AxisMap axes, std::vector<double> inv_freq, auto coordinate) {
    rope.axes = std::move(axes);
    PortedPlan plan = ported(std::move(name), rope, std::move(inv_freq));
    plan.axes = rope.axes.names.size();
    plan.coordinate = coordinate;
    plan.port.position = [coordinate](std::size_t, std::size_t, std::size_t t, std::size_t axis) {
      return coordinate(axis, t);
    };
    plan.port.axis_of_pair.assign(rope.axes.of_pair.begin(), rope.axes.of_pair.end());
    return plan;
  };
  // Four tokens of text, then an image of rows of 6, as Qwen2-VL counts: t stands still, h and w go over the grid.
  const auto after_text = [](std::size_t axis, std::size_t t) {
    if (t < 4) return static_cast<double>(t);
    const std::size_t place = t - 4;
    return 4.0 + static_cast<double>(axis == 0 ? 0 : axis == 1 ? place / 6 : place % 6);
  };
  AxisMap runs{{"t", "h", "w"}, {}};
  AxisMap turns{{"t", "h", "w"}, {}};
  for (int p = 0; p < 64; ++p) {
    runs.of_pair.push_back(p < 16 ? 0 : p < 40 ? 1 : 2);
    turns.of_pair.push_back(p < 60 && p % 3 != 0 ? p % 3 : 0);
  }
  out.push_back(with_axes("qwen2-vl", {.pairing = Pairing::half, .head_dim = 128, .dim = 128, .base = 1e6}, runs,
                          plain_frequencies(1e6, 128), after_text));
  out.push_back(with_axes("qwen3-vl", {.pairing = Pairing::half, .head_dim = 128, .dim = 128, .base = 5e6}, turns,
                          plain_frequencies(5e6, 128), after_text));
  // A vision tower: rows, then columns, each with frequencies of its own.
  AxisMap grid{{"h", "w"}, {}};
  std::vector<double> each = plain_frequencies(10000, 40);
  for (int p = 0; p < 40; ++p) grid.of_pair.push_back(p / 20);
  each.insert(each.end(), each.begin(), each.end());
  out.push_back(with_axes(
      "vision", {.pairing = Pairing::half, .head_dim = 80, .dim = 80, .axis_frequencies = AxisFrequencies::per_axis},
      grid, each, [](std::size_t axis, std::size_t t) { return static_cast<double>(axis == 0 ? t / 7 : t % 7); }));
  return out;
}

}  // namespace posenc::test

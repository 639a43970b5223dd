#include "models/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <variant>

#include "posenc/reference.h"

namespace posenc::test {

Network::Network(const Model& model, const Setting& setting)
    : model_(model), arithmetic_(model, setting.roundings), attention_(arithmetic_, setting) {}

// Names of a model's only stack have none.
std::string Network::prefix(std::size_t stack) const {
  return model_.plan.stacks.size() == 1 ? "" : model_.plan.stacks.at(stack).name + ".";
}

Numbers Network::with_positions(std::size_t stack, const Numbers& x, std::int64_t tokens,
                                std::span<const std::int64_t> token_types) {
  Tensor rows{x, {tokens, std::ssize(x) / tokens}};
  for (const InputScheme& scheme : model_.plan.stacks[stack].input) {
    reference::InputArgs args{.out = rows.writable(), .x = rows, .positions = PositionRange{seen_[stack]}};
    if (const auto* learned = std::get_if<LearnedInput>(&scheme)) {
      const auto table = [&](const std::string& name) {
        const std::string at = prefix(stack) + name;
        return arithmetic_.has(at) ? ConstTensorView(arithmetic_.weight(at)) : ConstTensorView{};
      };
      if (learned->token_types) args.token_types = token_types;
      reference::add_input(*learned, {.positions = table("embed_positions"), .token_types = table("token_types")},
                           args);
    } else if (const auto* sines = std::get_if<SinusoidalInput>(&scheme)) {
      reference::add_input(*sines, {}, args);
      add_errors(*sines, stack, rows);
    } else {
      ADD_FAILURE() << "no model here has this input";
    }
  }
  return rows.values;
}

// An angle is a product of a frequency of two roundings. A table has no rows between places, the formula has.
void Network::add_errors(SinusoidalInput scheme, std::size_t stack, Tensor& rows) {
  scheme.positions.reset();
  Rounder& round = arithmetic_.round();
  if (round.is_exact()) return;
  const std::int64_t channels = rows.shape[1];
  for (std::int64_t i = 0; i < rows.shape[0]; ++i) {
    const auto place = static_cast<double>(seen_[stack] + i);
    const Numbers exact = input_row(scheme, channels, place);
    const Numbers off = input_row(scheme, channels, round(place, &Roundings::angles, 3));
    for (std::size_t c = 0; c < exact.size(); ++c) {
      rows.values[index(i * channels) + c] += round(off[c], &Roundings::angles, 2) - exact[c];
    }
  }
}

Numbers Network::embedded(std::size_t stack, std::span<const std::int64_t> tokens,
                          std::span<const std::int64_t> token_types) {
  const std::string at = prefix(stack);
  const Tensor& words = arithmetic_.weight(at + "embed_tokens");
  Numbers x;
  for (const std::int64_t token : tokens) {
    append(x, part_of(words.values, index(token * words.shape[1]), index(words.shape[1])));
  }
  for (double& c : x) c *= arithmetic_.wiring().embedding_scale;
  if (arithmetic_.has(at + "project_in")) x = arithmetic_.linear(x, at + "project_in");
  x = with_positions(stack, x, std::ssize(tokens), token_types);
  seen_[stack] += std::ssize(tokens);
  return arithmetic_.has(at + "embed_norm") ? arithmetic_.norm(x, at + "embed_norm") : x;
}

// x [frames, channels]; zeros surround it, half as many as the kernel [outputs, channels, taps] is wide.
Numbers Network::convolved(const Numbers& x, const std::string& name, std::int64_t stride) {
  const std::vector<std::int64_t>& shape = arithmetic_.weight(name).shape;
  const std::int64_t channels = shape.at(1);
  const std::int64_t taps = shape.at(2);
  const std::int64_t frames = std::ssize(x) / channels;
  Numbers seen;
  for (std::int64_t frame = -(taps / 2); frame + taps <= frames + taps / 2; frame += stride) {
    for (std::int64_t i = 0; i < channels * taps; ++i) {
      const std::int64_t at = frame + i % taps;
      seen.push_back(at < 0 || at >= frames ? 0.0 : x[index(at * channels + i / taps)]);
    }
  }
  Numbers y = arithmetic_.linear(seen, name);
  for (double& c : y) c = arithmetic_.activated(c);
  return y;
}

Numbers Network::embedded(std::size_t stack, const Numbers& rows) {
  const std::string at = prefix(stack);
  Numbers x;
  if (arithmetic_.has(at + "conv1")) {  // Whisper's two
    x = convolved(convolved(rows, at + "conv1", 1), at + "conv2", 2);
  } else {
    x = arithmetic_.weight("class_token").values;
    append(x, arithmetic_.linear(rows, "patches"));
  }
  const std::int64_t count = std::ssize(x) / arithmetic_.weight(at + "norm").shape[0];
  x = with_positions(stack, x, count, {});
  seen_[stack] += count;
  return x;
}

// What a part of a block makes of x, added to a sum: its norms and its scale are there if they have weights.
template <typename Part>
Numbers Network::with_part(const Numbers& sum_so_far, const Numbers& x, const std::string& at, const std::string& norm,
                           const Part& part) {
  const Wiring& wiring = arithmetic_.wiring();
  const Numbers read = arithmetic_.has(norm) ? arithmetic_.norm(x, norm) : x;
  Numbers y = part(read);
  if (arithmetic_.has(at + "after")) y = arithmetic_.norm(y, at + "after");
  if (arithmetic_.has(at + "scale")) {
    const Numbers& scale = arithmetic_.weight(at + "scale").values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= scale[i % scale.size()];
  }
  Numbers out = wiring.deep_scale > 0 ? sum(Numbers(x.size()), read, wiring.deep_scale) : sum_so_far;
  out = sum(std::move(out), y, wiring.residual_scale);
  for (double& c : out) c = arithmetic_.round()(c, &Roundings::sums);
  return arithmetic_.has(at + "sum") ? arithmetic_.norm(out, at + "sum") : out;
}

Numbers Network::hidden(std::size_t stack, StackInput input) {
  const Wiring& wiring = arithmetic_.wiring();
  const std::vector<LayerPlan>& layers = model_.plan.stacks.at(stack).layers;
  Numbers x = std::move(input.x);
  Numbers of_block;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerPlan& layer = layers[l];
    const bool is_first_of_block = l == 0 || layers[l - 1].index != layer.index;
    const bool is_last_of_block = l + 1 == layers.size() || layers[l + 1].index != layer.index;
    const std::string block = prefix(stack) + "layers." + std::to_string(layer.index) + ".";
    const std::string at = block + (layer.kind == LayerKind::cross_attention ? "cross." : "attn.");
    const std::string mlp = block + "mlp.";
    if (is_first_of_block) of_block = x;
    x = with_part(x, x, at, at + "before", [&](const Numbers& y) { return mixed(layer, at, y, input); });
    if (!is_last_of_block) continue;
    x = with_part(x, wiring.parallel ? of_block : x, mlp, (wiring.one_norm ? at : mlp) + "before",
                  [&](const Numbers& y) { return arithmetic_.feed_forward(y, mlp); });
    if (!arithmetic_.has(block + "scale")) continue;
    for (double& c : x) c *= arithmetic_.weight(block + "scale").values[0];
  }
  return arithmetic_.has(prefix(stack) + "norm") ? arithmetic_.norm(x, prefix(stack) + "norm") : x;
}

Numbers Network::mixed(const LayerPlan& layer, const std::string& at, const Numbers& x, const StackInput& input) {
  const bool is_cross = layer.kind == LayerKind::cross_attention;
  return attention_(layer, at, x, {.memory = is_cross ? input.memory : nullptr, .coordinates = input.coordinates});
}

Numbers Network::logits(const Numbers& hidden) {
  const Wiring& wiring = arithmetic_.wiring();
  const Numbers x = arithmetic_.has("project_out") ? arithmetic_.linear(hidden, "project_out") : hidden;
  Numbers y = arithmetic_.linear(x, arithmetic_.has("lm_head") ? "lm_head" : "embed_tokens");
  for (double& logit : y) {
    logit *= wiring.logit_scale;
    if (std::isfinite(wiring.logit_cap)) logit = wiring.logit_cap * std::tanh(logit / wiring.logit_cap);
  }
  return y;
}

Numbers Network::read_out(const Numbers& hidden) {
  switch (arithmetic_.wiring().readout) {
    case Readout::logits: return logits(hidden);
    case Readout::hidden: return hidden;
    case Readout::classes: break;
  }
  const std::size_t width = index(arithmetic_.weight("classifier").shape[1]);
  Numbers x = part_of(hidden, 0, width);
  if (arithmetic_.has("pooler")) {
    x = arithmetic_.linear(x, "pooler");
    for (double& c : x) c = arithmetic_.wiring().pooler ? arithmetic_.activated(c) : std::tanh(c);
  }
  return arithmetic_.linear(x, "classifier");
}

}  // namespace posenc::test

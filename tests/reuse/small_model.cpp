#include "reuse/small_model.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "math/input/inputs_read.h"
#include "math/layer_axes.h"
#include "posenc/reference.h"
#include "posenc/reference_attend.h"

namespace posenc::test {
namespace {

constexpr std::int64_t kHidden = 16;
constexpr std::int64_t kVocabulary = 64;
constexpr std::int64_t kLogitChannels = 3;
constexpr std::int64_t kMostPlaces = 4096;  // rows of a learned table

// x [tokens, inputs] times w [inputs, ...]: [tokens, ...].
Tensor product(const Tensor& x, const Tensor& w) {
  const std::int64_t inputs = x.shape.back();
  const std::int64_t tokens = x.shape.front();
  const std::int64_t outputs = std::ssize(w.values) / inputs;
  Tensor out{std::vector<double>(static_cast<std::size_t>(tokens * outputs)), w.shape};
  out.shape.front() = tokens;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      const double factor = x.values[static_cast<std::size_t>(t * inputs + c)];
      for (std::int64_t o = 0; o < outputs; ++o) {
        out.values[static_cast<std::size_t>(t * outputs + o)] +=
            factor * w.values[static_cast<std::size_t>(c * outputs + o)];
      }
    }
  }
  return out;
}

std::vector<std::int64_t> on_axes(const std::vector<std::int64_t>& places, std::int64_t axes) {
  std::vector<std::int64_t> out;
  for (std::int64_t a = 0; a < axes; ++a) out.insert(out.end(), places.begin(), places.end());
  return out;
}

Tensor turned(const Rotate& rotate, const Tensor& x, const Text& text, Direction direction) {
  std::vector<std::int64_t> places = text.places;
  for (std::int64_t& place : places) place += rotate.offset;
  places = on_axes(places, std::ssize(rope(rotate).axes.names));
  Tensor out{std::vector<double>(x.values.size()), x.shape};
  (void)reference::rotate(rope(rotate), {.out = out.writable(),
                                         .x = x,
                                         .positions = std::span<const std::int64_t>(places),
                                         .direction = direction,
                                         .length = text.length});
  return out;
}

bool is_main(const Rotate& one) { return one.role == RotateRole::main; }

}  // namespace

bool norm_follows(const LayerPlan& layer) { return layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after; }

struct SmallModel::OfLayer {
  Tensor q, k, v, out, log_forget, row_gate, logits, distances, norm;
  LayerWeights weights;
};

SmallModel::SmallModel(Plan plan, std::function<LayerWeights(Tables&)> weights, std::uint64_t seed)
    : plan_(std::move(plan)),
      seed_(seed),
      random_(std::make_shared<Random>(seed)),
      tables_(std::make_shared<Tables>(*random_)),
      embeddings_(random_tensor(*random_, {kVocabulary, kHidden})) {
  const double scale = 1 / std::sqrt(static_cast<double>(kHidden));
  for (const LayerPlan& layer : plan_.stacks.front().layers) {
    auto made = std::make_shared<OfLayer>();
    made->q = random_tensor(*random_, {kHidden, layer.heads, layer.head_dim}, scale);
    made->k = random_tensor(*random_, {kHidden, layer.kv_heads, layer.head_dim}, scale);
    made->v = random_tensor(*random_, {kHidden, layer.kv_heads, layer.value_dim}, scale);
    made->out = random_tensor(*random_, {layer.heads * layer.value_dim, kHidden}, scale);
    made->log_forget = random_tensor(*random_, {kHidden, layer.heads}, scale);
    made->row_gate = random_tensor(*random_, {kHidden, layer.heads}, scale);
    made->logits = random_tensor(*random_, {kHidden, layer.heads, kLogitChannels}, scale);
    made->distances = random_tensor(*random_, {kMostPlaces, kLogitChannels});
    made->norm = random_tensor(*random_, {layer.head_dim});
    if (weights) made->weights = weights(*tables_);
    layers_.push_back(std::move(made));
  }
}

Tensor SmallModel::added(const InputScheme& scheme, const Tensor& hidden, const Text& text) const {
  Tensor out = hidden;
  reference::InputArgs args{.out = out.writable(),
                            .x = hidden,
                            .positions = std::span<const std::int64_t>(text.places),
                            .length = text.length};
  if (const auto* learned = std::get_if<LearnedInput>(&scheme)) {
    Random rows(seed_ + 1);
    const Tensor table = random_tensor(rows, {kMostPlaces, kHidden});
    reference::add_input(*learned, LearnedInputWeights{.positions = table}, args);
  } else if (const auto* sines = std::get_if<SinusoidalInput>(&scheme)) {
    reference::add_input(*sines, SinusoidalInputWeights{}, args);
  } else if (const auto* integers = std::get_if<IntegerInput>(&scheme)) {
    reference::add_input(*integers, args);
  } else {
    reference::add_input(std::get<BinaryInput>(scheme), args);
  }
  return out;
}

LayerTokens SmallModel::projected(const LayerPlan& layer, std::size_t at, const Tensor& hidden,
                                  const Text& text) const {
  const OfLayer& own = *layers_[at];
  Tensor before = hidden;
  for (const Added& one : layer.added) {
    if (one.to != AddedTo::hidden_states) before = added(one.scheme, before, text);
  }
  for (const Rotate& one : layer.rotate) {
    if (one.role != RotateRole::before_projection) continue;
    before.shape = {before.shape.front(), kHidden / rope(one).head_dim, rope(one).head_dim};
    before = turned(one, before, text, Direction::forward);
    before.shape = hidden.shape;
  }
  LayerTokens out{.q = product(before, own.q),
                  .k = product(before, own.k),
                  .v = product(hidden, own.v),
                  .log_forget = product(hidden, own.log_forget),
                  .row_gate = product(hidden, own.row_gate),
                  .logits = product(hidden, own.logits),
                  .segments = {}};
  for (double& x : out.log_forget.values) x = -std::log1p(std::exp(x));
  for (const std::int64_t token : text.tokens) out.segments.push_back(static_cast<std::int32_t>(token % 2));
  if (layer.qk_norm && layer.qk_norm->order == QkNorm::Order::before) {
    const KeyNorm norm{.scheme = *layer.qk_norm, .weight = layer.qk_norm->weighted ? own.norm : ConstTensorView{}};
    for (Tensor* x : {&out.q, &out.k}) reference::normalise(x->writable(), Tensor(*x), norm);
  }
  return out;
}

Tensor SmallModel::rotated(const LayerPlan& layer, std::size_t at, const Tensor& keys, const Text& text) const {
  Tensor out = keys;
  for (const Rotate& one : layer.rotate) {
    if (is_main(one)) out = turned(one, out, text, Direction::forward);
  }
  if (!norm_follows(layer)) return out;
  const KeyNorm norm{.scheme = *layer.qk_norm,
                     .weight = layer.qk_norm->weighted ? layers_[at]->norm : ConstTensorView{}};
  reference::normalise(out.writable(), Tensor(out), norm);
  return out;
}

std::vector<double> SmallModel::attended(const LayerPlan& layer, std::size_t at, const LayerTokens& asks,
                                         const LayerTokens& cached, const Text& text, bool keys_rotated) const {
  const OfLayer& own = *layers_[at];
  const bool asks_rotated = keys_rotated && norm_follows(layer);
  const std::int64_t tokens = std::ssize(text.tokens);
  const std::vector<std::int64_t> places = on_axes(text.places, math::axes_of(layer));
  Tensor out{std::vector<double>(static_cast<std::size_t>(tokens * layer.heads * layer.value_dim)),
             {tokens, layer.heads, layer.value_dim}};
  LayerInputs inputs{.q_positions = std::span<const std::int64_t>(places),
                     .k_positions = std::span<const std::int64_t>(places),
                     .length = text.length,
                     .q_rotated = asks_rotated,
                     .k_rotated = keys_rotated};
  if (math::reads_log_forget(layer)) inputs.log_forget = cached.log_forget;
  if (math::reads_row_gate(layer)) inputs.row_gate = asks.row_gate;
  if (math::reads_segments(own.weights.score)) {
    inputs.q_segments = asks.segments;
    inputs.k_segments = cached.segments;
  }
  Tensor bias{{}, {layer.heads, tokens, tokens}};
  for (const ScoreTerm& term : layer.score) {
    const auto* logits = std::get_if<DistanceLogits>(&term);
    if (logits == nullptr) continue;
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j < tokens; ++j) {
          const std::int64_t distance =
              text.places[static_cast<std::size_t>(i)] - text.places[static_cast<std::size_t>(j)];
          double sum = 0.0;
          for (std::int64_t c = 0; c < kLogitChannels && distance >= 0 && distance < logits->extent; ++c) {
            sum += reference::element(asks.logits, {i, h, c}) * reference::element(own.distances, {distance, c});
          }
          bias.values.push_back(sum);
        }
      }
    }
    inputs.bias = bias;
  }
  const Tensor q = asks_rotated ? rotated(layer, at, asks.q, text) : asks.q;
  (void)reference::attend(
      layer, {.out = out.writable(), .q = q, .k = cached.k, .v = cached.v, .weights = own.weights, .inputs = inputs});
  return std::move(out.values);
}

std::vector<LayerTokens> SmallModel::run(const Text& text, const Plan* as) const {
  const Stack& stack = (as != nullptr ? *as : plan_).stacks.front();
  Tensor hidden{{}, {std::ssize(text.tokens), kHidden}};
  for (const std::int64_t token : text.tokens) {
    const auto row = embeddings_.values.begin() + token * kHidden;
    hidden.values.insert(hidden.values.end(), row, row + kHidden);
  }
  for (const InputScheme& scheme : stack.input) hidden = added(scheme, hidden, text);
  std::vector<LayerTokens> out;
  for (std::size_t l = 0; l < stack.layers.size(); ++l) {
    const LayerPlan& layer = stack.layers[l];
    for (const Added& one : layer.added) {
      if (one.to == AddedTo::hidden_states) hidden = added(one.scheme, hidden, text);
    }
    out.push_back(projected(layer, l, hidden, text));
    LayerTokens cached = out.back();
    if (norm_follows(layer)) cached.k = rotated(layer, l, cached.k, text);
    Tensor mixed{attended(layer, l, out.back(), cached, text, norm_follows(layer)),
                 {std::ssize(text.tokens), layer.heads * layer.value_dim}};
    const Tensor more = product(mixed, layers_[l]->out);
    for (std::size_t x = 0; x < hidden.values.size(); ++x) hidden.values[x] += more.values[x];
  }
  return out;
}

LayerTokens picked(const std::vector<const LayerTokens*>& from, const std::vector<std::int64_t>& rows) {
  LayerTokens out;
  const auto pick = [&](Tensor LayerTokens::*member) {
    Tensor& to = out.*member;
    to.shape = (from.front()->*member).shape;
    to.shape.front() = std::ssize(rows);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const Tensor& x = from[t]->*member;
      const std::int64_t size = std::ssize(x.values) / x.shape.front();
      to.values.insert(to.values.end(), x.values.begin() + rows[t] * size, x.values.begin() + (rows[t] + 1) * size);
    }
  };
  for (Tensor LayerTokens::*member : {&LayerTokens::q, &LayerTokens::k, &LayerTokens::v, &LayerTokens::log_forget,
                                      &LayerTokens::row_gate, &LayerTokens::logits}) {
    pick(member);
  }
  for (std::size_t t = 0; t < rows.size(); ++t)
    out.segments.push_back(from[t]->segments[static_cast<std::size_t>(rows[t])]);
  return out;
}

Tensor moved(const LayerPlan& layer, const Tensor& keys, const Text& from, const Text& to, const LayerPlan& reads) {
  Tensor out = keys;
  for (const Rotate& one : layer.rotate) {
    if (is_main(one)) out = turned(one, out, from, Direction::inverse);
  }
  for (const Rotate& one : reads.rotate) {
    if (is_main(one)) out = turned(one, out, to, Direction::forward);
  }
  return out;
}

}  // namespace posenc::test

#include "models/spoils.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace posenc::test {
namespace {

bool is_self_attention(const LayerPlan& layer) { return layer.kind == LayerKind::attention; }

// ---- Changes of one layer: whether there was anything to change. ----

template <typename Change>
bool each_rope(LayerPlan& layer, Change change) {
  for (Rotate& one : layer.rotate) {
    std::visit(
        [&](auto& scheme) {
          if constexpr (std::is_same_v<std::decay_t<decltype(scheme)>, Rope>) {
            change(scheme);
          } else {
            change(scheme.rope);
          }
        },
        one.scheme);
  }
  return !layer.rotate.empty();
}

bool swap_pairing(LayerPlan& layer) {
  return each_rope(
      layer, [](Rope& rope) { rope.pairing = rope.pairing == Pairing::half ? Pairing::interleaved : Pairing::half; });
}

bool double_base(LayerPlan& layer) {
  return each_rope(layer, [](Rope& rope) { rope.base *= 2; });
}

// The second axis and the third.
bool exchange_axes(LayerPlan& layer) {
  bool changed = false;
  each_rope(layer, [&](Rope& rope) {
    for (std::int32_t& axis : rope.axes.of_pair) {
      if (rope.axes.names.size() < 3 || axis == 0) continue;
      axis = 3 - axis;
      changed = true;
    }
  });
  return changed;
}

bool leave_out_rule(LayerPlan& layer) {
  bool changed = false;
  each_rope(layer, [&](Rope& rope) {
    changed |= rope.scaling != Scaling{};
    rope.scaling = {};
  });
  return changed;
}

bool halve_slopes(LayerPlan& layer) {
  bool changed = false;
  for (ScoreTerm& term : layer.score) {
    auto* alibi = std::get_if<Alibi>(&term);
    if (alibi == nullptr) continue;
    alibi->max_bias += 1;  // the last head's slope is half of what it was
    changed = true;
  }
  return changed;
}

bool widen_window(LayerPlan& layer) {
  if (layer.mask.window) ++layer.mask.window->past;
  return layer.mask.window.has_value();
}

bool leave_out_chunk(LayerPlan& layer) { return std::exchange(layer.mask.chunk, std::nullopt).has_value(); }

bool rotation_mask(LayerPlan& layer) {
  if (!is_self_attention(layer)) return false;
  const bool was_causal = layer.mask.kind == MaskKind::causal;
  layer.mask.kind = was_causal ? MaskKind::bidirectional : MaskKind::causal;
  if (layer.mask.window) layer.mask.window->future = was_causal ? layer.mask.window->past : 0;
  return true;
}

bool raise_scale(LayerPlan& layer) {
  layer.softmax_scale *= 1.1;
  return is_self_attention(layer);
}

bool leave_out_cap(LayerPlan& layer) { return std::exchange(layer.soft_cap, std::nullopt).has_value(); }
bool leave_out_sinks(LayerPlan& layer) { return std::exchange(layer.sinks, false); }
bool leave_out_norm(LayerPlan& layer) { return std::exchange(layer.qk_norm, std::nullopt).has_value(); }
bool leave_out_query_scale(LayerPlan& layer) {
  return !std::holds_alternative<std::monostate>(std::exchange(layer.query_scale, {}));
}

// A norm with a weight for each channel does not commute with a rotation.
bool exchange_norm_and_rotation(LayerPlan& layer) {
  if (!layer.qk_norm || layer.rotate.empty()) return false;
  QkNorm::Order& order = layer.qk_norm->order;
  order = order == QkNorm::Order::before ? QkNorm::Order::after : QkNorm::Order::before;
  return layer.qk_norm->weighted;
}

struct OfLayers {
  std::string_view name;
  bool (*change)(LayerPlan&);
};

constexpr OfLayers kOfLayers[] = {
    {"pairing swapped", swap_pairing},     {"base doubled", double_base},
    {"axes exchanged", exchange_axes},     {"scaling rule left out", leave_out_rule},
    {"slopes halved", halve_slopes},       {"window one longer", widen_window},
    {"chunks left out", leave_out_chunk},  {"mask rotated", rotation_mask},
    {"scale a tenth larger", raise_scale}, {"cap left out", leave_out_cap},
    {"sinks left out", leave_out_sinks},   {"query scale left out", leave_out_query_scale},
    {"norm left out", leave_out_norm},     {"norm beyond the rotation", exchange_norm_and_rotation},
};

// ---- Changes of tables ----

// The last row comes first.
bool shift_rows(Weights& weights, std::string_view ending) {
  bool changed = false;
  for (auto& [name, weight] : weights) {
    if (!name.ends_with(ending)) continue;
    const auto width = static_cast<std::ptrdiff_t>(weight.values.size()) / weight.shape[0];
    std::rotate(weight.values.begin(), weight.values.end() - width, weight.values.end());
    changed = true;
  }
  return changed;
}

bool shift_places(Plan& plan) {
  bool changed = false;
  for (Stack& stack : plan.stacks) {
    for (InputScheme& input : stack.input) {
      auto* sines = std::get_if<SinusoidalInput>(&input);
      if (sines == nullptr) continue;
      ++sines->offset;
      if (sines->positions) ++*sines->positions;
      changed = true;
    }
  }
  return changed;
}

template <typename Holds>
bool any_layer(const Model& model, Holds holds) {
  return std::ranges::any_of(model.plan.stacks,
                             [&](const Stack& stack) { return std::ranges::any_of(stack.layers, holds); });
}

}  // namespace

bool rotates(const Model& model) {
  return any_layer(model, [](const LayerPlan& layer) { return !layer.rotate.empty(); });
}

bool scales_queries(const Model& model) {
  return any_layer(model,
                   [](const LayerPlan& layer) { return !std::holds_alternative<std::monostate>(layer.query_scale); });
}

std::vector<Spoil> spoils(const Model& model) {
  std::vector<Spoil> all;
  if (rotates(model)) all.push_back({"keys one further", model, {.keys = 1}});
  for (const auto& [name, change] : kOfLayers) {
    Spoil spoil{name, model};
    bool changed = false;
    for (Stack& stack : spoil.model.plan.stacks) {
      for (LayerPlan& layer : stack.layers) changed |= change(layer);
    }
    if (changed) all.push_back(std::move(spoil));
  }
  Spoil rows{"rows of positions shifted", model};
  if (shift_rows(rows.model.weights, "embed_positions")) all.push_back(std::move(rows));
  Spoil distances{"rows of distances shifted", model};
  if (shift_rows(distances.model.weights, "distances")) all.push_back(std::move(distances));
  Spoil places{"places one further", model};
  if (shift_places(places.model.plan)) all.push_back(std::move(places));
  return all;
}

}  // namespace posenc::test

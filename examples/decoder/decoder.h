// A model at work: tokens go in, logits come out, keys and values stay in a cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "model.h"

using Numbers = std::vector<float>;

class Decoder {
 public:
  // `capacity`: of the cache, in tokens. `keys_off`: by how much the positions of keys, and of keys alone, are wrong.
  Decoder(const Model& model, std::int64_t capacity, std::int64_t keys_off)
      : model_(model), capacity_(std::max<std::int64_t>(capacity, 2)), keys_off_(keys_off) {
    for (const posenc::LayerPlan& plan : model.plan.stacks.at(0).layers) {
      const posenc::TableOptions positions{.count = capacity_ + keys_off, .length = model.plan.length};
      const Numbers cache(static_cast<std::size_t>(capacity_ * plan.kv_heads * plan.head_dim));
      layers_.push_back({plan, posenc::make_table(posenc::rope(plan.rotate.at(0)), positions), cache, cache});
    }
  }

  // The logits after each of these tokens, [tokens, vocab]; they follow those of earlier calls.
  Numbers read(std::span<const std::int32_t> tokens) {
    Numbers logits;
    while (!tokens.empty()) {
      if (seen_ == capacity_) shift();
      const auto count = static_cast<std::size_t>(std::min(capacity_ - seen_, std::ssize(tokens)));
      for (const float logit : logits_of(tokens.first(count))) logits.push_back(logit);
      tokens = tokens.subspan(count);
      seen_ += static_cast<std::int64_t>(count);
    }
    return logits;
  }

 private:
  struct Layer {
    const posenc::LayerPlan& plan;
    posenc::RotaryTable table;  // of every position in the cache
    Numbers k, v;               // the KV cache, [capacity, kv_heads, head_dim]
    // Of SelfExtend and its kin a key's place depends on the query: attend rotates it each time it is read.
    bool caches_rotated_keys() const { return std::holds_alternative<std::monostate>(plan.regions); }
  };

  // ---- positions ----

  // Keys are rotated on their way into the KV cache, where they can be. attend rotates the queries, which are at the
  // positions of the last keys, and takes the attention mask from the plan.
  Numbers attention(Layer& layer, const std::string& at, const Numbers& x) const {
    const posenc::LayerPlan& plan = layer.plan;
    const Numbers q = norm(at + "q_norm", linear(at + "q_proj", x));  // of Qwen 3
    const Numbers k = norm(at + "k_norm", linear(at + "k_proj", x));
    const Numbers v = linear(at + "v_proj", x);
    const std::int64_t tokens = std::ssize(q) / (plan.heads * plan.head_dim);
    const bool fits = std::ssize(k) == tokens * plan.kv_heads * plan.head_dim && k.size() == v.size();
    if (!fits) throw std::runtime_error(at + "q_proj, k_proj and v_proj do not have the heads that the plan has");
    const auto heads = [&](auto& numbers, std::int64_t rows, std::int64_t count) {
      return posenc::tensor(numbers.data(), {rows, count, plan.head_dim});
    };
    std::vector<std::int64_t> slots(static_cast<std::size_t>(tokens));
    std::iota(slots.begin(), slots.end(), seen_);
    (void)posenc::rotate_into_cache({.k = heads(k, tokens, plan.kv_heads),
                                     .v = heads(v, tokens, plan.kv_heads),
                                     .positions = posenc::PositionRange{seen_ + keys_off_},
                                     .table = layer.caches_rotated_keys() ? &layer.table : nullptr,
                                     .k_cache = heads(layer.k, capacity_, plan.kv_heads),
                                     .v_cache = heads(layer.v, capacity_, plan.kv_heads),
                                     .slots = slots});
    Numbers out(q.size());
    (void)posenc::attend(plan, {.out = heads(out, tokens, plan.heads),
                                .q = heads(q, tokens, plan.heads),
                                .k = heads(layer.k, seen_ + tokens, plan.kv_heads),
                                .v = heads(layer.v, seen_ + tokens, plan.kv_heads),
                                .inputs = {.length = model_.plan.length, .k_rotated = layer.caches_rotated_keys()}});
    return linear(at + "o_proj", out);
  }

  // The first token stays: it is an attention sink (arXiv 2309.17453). Of the others the older half is evicted,
  // and keys of the rest are re-rotated from their old positions to their new ones.
  void shift() {
    const std::int64_t gone = capacity_ / 2;
    seen_ -= gone;
    for (Layer& layer : layers_) {
      const std::int64_t token = layer.plan.kv_heads * layer.plan.head_dim;  // elements
      for (Numbers* x : {&layer.k, &layer.v}) std::copy(x->begin() + (1 + gone) * token, x->end(), x->begin() + token);
      if (!layer.caches_rotated_keys()) continue;
      float* const moved = layer.k.data() + token;
      (void)posenc::rerotate({.k = posenc::tensor(moved, {seen_ - 1, layer.plan.kv_heads, layer.plan.head_dim}),
                              .from_table = &layer.table,
                              .from_positions = posenc::PositionRange{1 + gone},
                              .to_table = &layer.table,
                              .to_positions = posenc::PositionRange{1},
                              .layer = &layer.plan});
    }
  }

  // ---- the rest of a transformer ----

  Numbers logits_of(std::span<const std::int32_t> tokens) {
    const Weight& table = model_.weights.at("embed_tokens.weight");
    Numbers x;
    for (const std::int32_t token : tokens) {
      const std::size_t row = static_cast<std::uint32_t>(token) * table.columns;
      if (row >= table.values.size()) throw std::runtime_error("the model has no token " + std::to_string(token));
      x.insert(x.end(), &table.values[row], &table.values[row] + table.columns);
    }
    const auto add = [&](const Numbers& y) { std::ranges::transform(x, y, x.begin(), std::plus<>()); };
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const std::string at = "layers." + std::to_string(l) + ".";
      add(attention(layers_[l], at + "self_attn.", norm(at + "input_layernorm", x)));
      const Numbers y = norm(at + "post_attention_layernorm", x);
      Numbers gate = linear(at + "mlp.gate_proj", y);
      std::ranges::transform(gate, linear(at + "mlp.up_proj", y), gate.begin(),
                             [](float g, float up) { return g / (1 + std::exp(-g)) * up; });
      add(linear(at + "mlp.down_proj", gate));
    }
    return linear(model_.find("lm_head.weight") != nullptr ? "lm_head" : "embed_tokens", norm("norm", x));
  }

  Numbers linear(const std::string& name, const Numbers& x) const {
    const Weight* w = model_.find(name + ".weight");
    const Weight* bias = model_.find(name + ".bias");
    if (w == nullptr || x.size() % w->columns != 0) throw std::runtime_error("the model has no fitting " + name);
    Numbers y;
    for (std::size_t at = 0; at < x.size(); at += w->columns) {
      for (std::size_t o = 0; o < w->values.size() / w->columns; ++o) {
        const float* row = &w->values[o * w->columns];
        y.push_back(std::inner_product(row, row + w->columns, &x[at], bias == nullptr ? 0.0F : bias->values.at(o)));
      }
    }
    return y;
  }

  // A norm that the model does not have changes nothing.
  Numbers norm(const std::string& name, Numbers x) const {
    const Weight* weight = model_.find(name + ".weight");
    if (weight == nullptr) return x;
    if (x.size() % weight->columns != 0) throw std::runtime_error("the model has no fitting " + name);
    for (float* row = x.data(); row != x.data() + x.size(); row += weight->columns) {
      const double squares = std::inner_product(row, row + weight->columns, row, 0.0);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(weight->columns) + model_.epsilon);
      for (std::size_t c = 0; c < weight->columns; ++c) row[c] *= static_cast<float>(scale) * weight->values[c];
    }
    return x;
  }

  const Model& model_;
  std::int64_t capacity_, keys_off_, seen_ = 0;
  std::vector<Layer> layers_;
};

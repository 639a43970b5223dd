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
  // `capacity`: of the cache, in tokens. `in_codes`: it holds int8, not floats. `keys_off`: by how much the positions of
  // keys, and of keys alone, are wrong.
  Decoder(const Model& model, std::int64_t capacity, bool in_codes, std::int64_t keys_off)
      : model_(model), capacity_(std::max<std::int64_t>(capacity, 2)), in_codes_(in_codes), keys_off_(keys_off) {
    for (const posenc::LayerPlan& plan : model.plan.stacks.at(0).layers) {
      const auto rows = static_cast<std::size_t>(capacity_ * plan.kv_heads);
      const std::size_t numbers = rows * static_cast<std::size_t>(plan.head_dim);
      Cache cache;
      in_codes ? cache.codes.resize(numbers), cache.scales.resize(rows) : cache.floats.resize(numbers);
      layers_.push_back({plan, cache, cache});
    }
    for (std::int64_t slot = capacity_; slot-- > 0;) free_.push_back(slot);
  }

  // The logits after each of these tokens, [tokens, vocab]; they follow those of earlier calls.
  Numbers read(std::span<const std::int32_t> tokens) {
    Numbers logits;
    while (!tokens.empty()) {
      if (free_.empty()) shift();
      const auto count = std::min(free_.size(), tokens.size());
      slots_.assign(free_.rbegin(), free_.rbegin() + static_cast<std::ptrdiff_t>(count));
      free_.resize(free_.size() - count);
      for (const std::int64_t slot : slots_) view_.append(slot, 1);
      const auto queries = static_cast<std::int64_t>(count);
      rows_ = posenc::view_rows({&view_, 1}, {&queries, 1});
      for (std::int64_t& position : rows_.k_positions) position += keys_off_;
      for (const float logit : logits_of(tokens.first(count))) logits.push_back(logit);
      tokens = tokens.subspan(count);
    }
    return logits;
  }

  // Of all that was read, those tokens alone begin a new text: a prefix that was cached at another offset.
  void begin_with(std::int64_t first, std::int64_t count) {
    forget(first + count, view_.tokens() - first - count);
    forget(0, first);
  }

 private:
  // Keys, which are not rotated, or values: [capacity, kv_heads, head_dim]. As floats, or as codes of int8 with a scale
  // for each token and head.
  struct Cache {
    Numbers floats;
    std::vector<std::int8_t> codes;
    Numbers scales;

    posenc::QuantisedView quantised(std::initializer_list<std::int64_t> shape) {
      posenc::QuantisedView view = posenc::quantised(codes.data(), posenc::CacheFormat::int8, shape);
      view.scales = posenc::tensor(scales.data(), posenc::DType::f32, std::span(shape).first(shape.size() - 1));
      return view;
    }
  };
  struct Layer {
    const posenc::LayerPlan& plan;
    Cache k, v;
  };

  // ---- positions ----

  // Keys go into the KV cache as they are. attend rotates them as it reads them, and the queries, where the view says
  // that they stand, and takes the attention mask from the plan.
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
    Numbers out(q.size());
    posenc::CacheArgs stored{
        .k = heads(k, tokens, plan.kv_heads), .v = heads(v, tokens, plan.kv_heads), .slots = slots_};
    posenc::AttendArgs args{.out = heads(out, tokens, plan.heads),
                            .q = heads(q, tokens, plan.heads),
                            .inputs = {.length = model_.plan.length}};
    const std::initializer_list<std::int64_t> blocks{capacity_, 1, plan.kv_heads, plan.head_dim};  // each one row
    if (in_codes_) {
      args.k_quantised = stored.k_quantised = layer.k.quantised(blocks);
      args.v_quantised = stored.v_quantised = layer.v.quantised(blocks);
    } else {
      args.k = stored.k_cache = posenc::tensor(layer.k.floats.data(), blocks);
      args.v = stored.v_cache = posenc::tensor(layer.v.floats.data(), blocks);
    }
    (void)posenc::rotate_into_cache(stored);
    rows_.give(args);
    (void)posenc::attend(plan, args);
    return linear(at + "o_proj", out);
  }

  // The first token stays: it is an attention sink (arXiv 2309.17453). Of the others the older half is evicted, and
  // those behind them move up. No key is touched.
  void shift() { forget(1, capacity_ / 2); }

  // The rows of those tokens are free again: a block is a row, so the block table names them.
  void forget(std::int64_t first, std::int64_t count) {
    const posenc::CacheView gone = view_.passage(first, count);
    const std::int64_t no_queries = 0;
    if (count > 0)
      std::ranges::copy(posenc::view_rows({&gone, 1}, {&no_queries, 1}).block_table, std::back_inserter(free_));
    view_.erase(first, count);
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
  std::int64_t capacity_;
  bool in_codes_;
  std::int64_t keys_off_;
  std::vector<Layer> layers_;
  posenc::CacheView view_{1};               // of the text so far, blocks of one row
  std::vector<std::int64_t> free_, slots_;  // rows of the cache: of nobody, and of the tokens that are being read
  posenc::ViewRows rows_;                   // what attend takes of the view
};

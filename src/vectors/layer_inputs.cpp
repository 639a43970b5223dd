// Tables have the names and shapes that named_weights.h and attention.h give them. Widths that a checkpoint is free to
// choose (DeBERTa's and Transformer-XL's embeddings, the perceptrons' hidden layers) are kWidth here.
#include "vectors/layer_inputs.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/scores.h"
#include "vectors/drawn_numbers.h"
#include "vectors/layer_choice.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr std::int64_t kWidth = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;  // of one tensor: 32 MiB of doubles

constexpr Spread kTable{};                                  // a bias: from -1.5 to 2
constexpr Spread kRow{.low = -96, .high = 127, .bits = 8};  // rows that meet q or k: a quarter of that
constexpr Spread kPositive{.low = 1, .high = 127, .bits = 7};

class InputWriter {
 public:
  InputWriter(const LayerPlan& layer, const TokenPlaces& places) : layer_(layer), places_(places) {}

  void add(std::string name, std::initializer_list<std::int64_t> shape, std::string axes, const Spread& spread) {
    VectorTensor tensor{.name = std::move(name), .shape = shape, .axes = std::move(axes), .is_input = true};
    tensor.values = drawn(tensor.name, elements(tensor.name, shape), spread);
    out_.push_back(std::move(tensor));
  }
  // Of the term that is asked now.
  void table(const char* name, std::initializer_list<std::int64_t> shape, std::string axes,
             const Spread& spread = kTable) {
    add(prefix_ + name, shape, std::move(axes), spread);
  }
  void whole(std::string name, std::vector<std::int64_t> shape, std::string axes, std::vector<double> values) {
    out_.push_back({.name = std::move(name),
                    .shape = std::move(shape),
                    .values = std::move(values),
                    .axes = std::move(axes),
                    .is_input = true,
                    .is_whole = true});
  }
  void linear(const std::string& name, std::int64_t outputs, std::int64_t inputs, const Spread& spread) {
    table((name + ".weight").c_str(), {outputs, inputs}, "outputs, inputs", spread);
    table((name + ".bias").c_str(), {outputs}, "outputs", spread);
  }

  // ---- what each scheme has ----

  void operator()(const Alibi&) {}
  void operator()(const Sandwich&) {}
  void operator()(const ForgetGate&) {
    // Logarithms, below 0: from -1/256 to -127/256.
    add("log_forget", {tokens(), heads()}, "tokens, heads", {.low = -127, .high = -1, .bits = 8});
  }
  void operator()(const DistanceLogits&) { add("bias", {heads(), tokens(), tokens()}, "heads, queries, keys", kTable); }
  void operator()(const T5Bias& x) {
    table("table", {x.buckets, heads()}, "buckets, heads");
    if (x.gated) add("row_gate", {tokens(), heads()}, "tokens, heads", {.low = 1, .high = 127, .bits = 6});
  }
  void operator()(const ClippedBias& x) { table("table", {x.past + x.future + 1, heads()}, "distances, heads"); }
  void operator()(const GridBias& x) {
    table("table", {(2 * x.rows - 1) * (2 * x.columns - 1), heads()}, "differences, heads");
  }
  void operator()(const Kerple&) {
    table("r1", {heads()}, "heads", kPositive);
    table("r2", {heads()}, "heads", kPositive);
  }
  void operator()(const Fire&) {
    table("c", {1}, "one number", {.low = 1, .high = 1, .bits = 3});
    table("threshold", {1}, "one number", {.low = 16, .high = 16, .bits = 0});
    linear("hidden", kWidth, 1, kTable);
    linear("out", heads(), kWidth, kRow);
  }
  void operator()(const MlpBias&) {
    linear("layers.0", kWidth, 1, kRow);
    linear("layers.1", heads(), kWidth, kRow);
  }
  void operator()(const ShawKeys& x) {
    if (!x.sinusoidal) table("table", {x.left + x.right + 1, layer_.head_dim}, "distances, head_dim", kRow);
  }
  void operator()(const TransformerXl& x) { positions(x.content_bias, x.position_bias); }
  void operator()(const XlNet&) {
    positions(true, true);
    table("segment_bias", {heads(), layer_.head_dim}, "heads, head_dim", kRow);
    table("segments", {2, heads(), layer_.head_dim}, "same or other segment, heads, head_dim", kRow);
    std::vector<double> segments;
    for (std::int64_t t = 0; t < tokens(); ++t) segments.push_back(2 * t < tokens() ? 0.0 : 1.0);
    whole("segments_of_tokens", {tokens()}, "tokens", std::move(segments));
  }
  void operator()(const Deberta& x) {
    table("table", {2 * deberta_span(x), kWidth}, "relative positions, channels", kRow);
    if (x.content_to_position || x.position_to_position) linear("keys", width(), kWidth, kTable);
    if (x.position_to_content || x.position_to_position) linear("queries", width(), kWidth, kTable);
  }
  void operator()(const DecomposedHw& x) {
    table("rows", {x.rows, layer_.head_dim}, "differences, head_dim", kRow);
    table("columns", {x.rows, layer_.head_dim}, "differences, head_dim", kRow);
  }
  void operator()(const ContextualPosition& x) {
    table("table", {x.positions, layer_.head_dim}, "positions, head_dim", kRow);
  }

  void all() {
    heads_of_tokens();
    places();
    for (std::size_t n = 0; n < layer_.score.size(); ++n) {
      prefix_ = layer_.score.size() > 1 ? formatted("{}.", n) : "";
      std::visit(*this, layer_.score[n]);
    }
    prefix_.clear();
    const auto* shaw = std::get_if<ShawValues>(&layer_.value);
    if (shaw != nullptr && !shaw->sinusoidal) {
      add("value_table", {shaw->left + shaw->right + 1, layer_.value_dim}, "distances, value_dim", kTable);
    }
    if (layer_.sinks) add("sinks", {heads()}, "heads", kTable);
    masks();
  }

  std::vector<VectorTensor> take() { return std::move(out_); }

 private:
  std::int64_t heads() const { return layer_.heads; }
  std::int64_t tokens() const { return places_.tokens(); }
  std::int64_t width() const { return layer_.heads * layer_.head_dim; }

  static std::int64_t elements(const std::string& name, std::initializer_list<std::int64_t> shape) {
    std::uint64_t all = 1;
    for (const std::int64_t size : shape) {
      const auto product = size < 0 ? std::nullopt : checked_multiply(all, static_cast<std::uint64_t>(size));
      all = product.value_or(UINT64_MAX);
    }
    if (all <= static_cast<std::uint64_t>(kMostElements)) return static_cast<std::int64_t>(all);
    throw Error(kMake, {name, formatted("have at most {} elements", kMostElements), "larger"});
  }

  // A soft cap shows where scores come near it: one query is as much longer as makes a score a third of the cap,
  // beside the others' of about 1. A power of two keeps its numbers exact.
  void heads_of_tokens() {
    add("q", {tokens(), heads(), layer_.head_dim}, "tokens, heads, head_dim", {});
    if (layer_.soft_cap && layer_.soft_cap->cap >= 1 && std::isfinite(layer_.soft_cap->cap)) {
      const int larger = std::clamp(std::ilogb(layer_.soft_cap->cap / 3), 1, 6);
      const auto row = static_cast<std::size_t>(heads() * layer_.head_dim);
      const std::size_t from = static_cast<std::size_t>(tokens() / 2) * row;
      for (std::size_t c = from; c < from + row; ++c) out_.back().values[c] = std::ldexp(out_.back().values[c], larger);
    }
    add("k", {tokens(), layer_.kv_heads, layer_.head_dim}, "tokens, kv_heads, head_dim", {});
    add("v", {tokens(), layer_.kv_heads, layer_.value_dim}, "tokens, kv_heads, value_dim", {});
  }

  void places() {
    const auto as_doubles = [](const std::vector<std::int64_t>& x) { return std::vector<double>(x.begin(), x.end()); };
    if (places_.by_order) return whole("positions", {tokens()}, "tokens", as_doubles(places_.order));
    std::vector<double> all;
    for (const auto& axis : places_.coordinates) all.insert(all.end(), axis.begin(), axis.end());
    whole("positions", {static_cast<std::int64_t>(places_.coordinates.size()), tokens()}, "axes, tokens",
          std::move(all));
    whole("order", {tokens()}, "tokens", as_doubles(places_.order));
  }

  void positions(bool content_bias, bool position_bias) {
    table("projection", {width(), kWidth}, "heads * head_dim, channels", kTable);
    if (content_bias) table("content_bias", {heads(), layer_.head_dim}, "heads, head_dim", kRow);
    if (position_bias) table("position_bias", {heads(), layer_.head_dim}, "heads, head_dim", kRow);
  }

  // A prefix of a third of the tokens. Of a sparse mask the plan does not say which keys are seen: three of four of the
  // past, by a rule that repeats neither by query nor by key, and always the token itself.
  void masks() {
    const std::int64_t n = tokens();
    if (layer_.mask.kind == MaskKind::prefix) {
      whole("prefix", {1}, "one number", {static_cast<double>(places_.order[static_cast<std::size_t>(n / 3)])});
    }
    if (layer_.mask.kind != MaskKind::sparse) return;
    std::vector<double> seen;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        seen.push_back(j == i || (j < i && (5 * i + 3 * j) % 4 != 0) ? 1.0 : 0.0);
      }
    }
    whole("attn_mask", {n, n}, "queries, keys", std::move(seen));
  }

  const LayerPlan& layer_;
  const TokenPlaces& places_;
  std::string prefix_;
  std::vector<VectorTensor> out_;
};

}  // namespace

std::vector<VectorTensor> layer_inputs(const LayerPlan& layer, const TokenPlaces& places) {
  InputWriter writer(layer, places);
  writer.all();
  return writer.take();
}

}  // namespace posenc::inline v0_2::golden

#include "diagnose/attention/dumped.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/formatted.h"
#include "diagnose/precision/formats.h"
#include "posenc/error.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr const char* kOfAttention = "diagnose_attention";
// Products of a query and a key that one hypothesis costs at most, channels counted: 20 ms of the float64 reference.
constexpr std::int64_t kMostProducts = std::int64_t{1} << 22;
constexpr std::int64_t kFewestQueries = 4;
constexpr std::int64_t kMostQueries = 64;
// Elements of keys that are read at most: 128 MiB as doubles.
constexpr std::int64_t kMostKeyElements = std::int64_t{1} << 24;
// Of scores: below it a key is hidden. Code fills masks with -inf, with the lowest number of a dtype, or with -1e4.
constexpr double kHidden = -9999.0;

std::string dumped_shape(const ConstTensorView& view) {
  std::vector<std::int64_t> sizes(view.shape.begin(), view.shape.begin() + std::clamp(view.rank, 0, kMaxRank));
  return formatted("[{}]", joined(sizes, ", "));
}

void refuse(const char* field, std::string must, const ConstTensorView& view) {
  throw Error(kOfAttention, {field, std::move(must), dumped_shape(view)});
}

void check_dumped(const ConstTensorView& view, const char* field) {
  if (view.rank != 3 && view.rank != 4) {
    throw Error(kOfAttention, {formatted("{}.rank", field), "be 3 or 4", formatted("{}", view.rank)});
  }
  double count = 1.0;
  for (int axis = 0; axis < view.rank; ++axis) {
    const std::int64_t size = view.shape[static_cast<std::size_t>(axis)];
    if (size < 1) refuse(field, "have no axis of 0 elements or fewer", view);
    count *= static_cast<double>(size);
  }
  if (count > 0x1p62) refuse(field, "fit into memory", view);
  if (view.data == nullptr) throw Error(kOfAttention, {formatted("{}.data", field), "point to them", "null"});
}

std::int64_t last_axis(const ConstTensorView& view) { return view.shape[static_cast<std::size_t>(view.rank - 1)]; }

double finite(double x, const char* field, std::int64_t t, std::int64_t h, std::int64_t c) {
  if (std::isfinite(x)) return x;
  throw Error(kOfAttention, {field, "be finite", formatted("{} at token {}, head {}, channel {}", x, t, h, c)});
}

// [tokens, heads, channels] of one sequence, of the tokens that are listed.
std::vector<double> taken(const ConstTensorView& view, std::int64_t b, const std::vector<std::int64_t>& tokens,
                          const char* field) {
  const std::int64_t heads = reference::sizes_of(view).heads;
  const std::int64_t channels = last_axis(view);
  const std::int64_t step = view.strides[static_cast<std::size_t>(view.rank - 1)];
  std::vector<double> out;
  out.reserve(tokens.size() * static_cast<std::size_t>(heads * channels));
  for (const std::int64_t t : tokens) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t from = reference::offset_of(view, b, t, h);
      for (std::int64_t c = 0; c < channels; ++c) {
        out.push_back(finite(reference::read(view, from + c * step), field, t, h, c));
      }
    }
  }
  return out;
}

// Heads that are KV heads repeated, reduced to these: whether one of the two orders does it.
struct Reduced {
  bool fits = false;
  bool in_turn = false;
};

Reduced reduce(std::vector<double>& x, std::size_t tokens, std::size_t heads, std::size_t kv_heads,
               std::size_t channels) {
  const std::size_t times = heads / kv_heads;
  for (const bool in_turn : {false, true}) {
    const auto of = [&](std::size_t h) { return in_turn ? h % kv_heads : h / times; };
    const auto first = [&](std::size_t g) { return in_turn ? g : g * times; };
    bool same = true;
    for (std::size_t t = 0; t < tokens && same; ++t) {
      for (std::size_t h = 0; h < heads && same; ++h) {
        const double* a = x.data() + (t * heads + h) * channels;
        const double* b = x.data() + (t * heads + first(of(h))) * channels;
        same = std::equal(a, a + channels, b);
      }
    }
    if (!same) continue;
    std::vector<double> out;
    out.reserve(tokens * kv_heads * channels);
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t g = 0; g < kv_heads; ++g) {
        const double* from = x.data() + (t * heads + first(g)) * channels;
        out.insert(out.end(), from, from + channels);
      }
    }
    x = std::move(out);
    return {true, in_turn};
  }
  return {};
}

// [heads, queries, keys] of scores or weights.
std::vector<double> score_rows(const ConstTensorView& view, std::int64_t b, const std::vector<std::int64_t>& queries,
                               std::int64_t keys, const char* field) {
  const bool batched = view.rank == 4;
  const std::size_t first = batched ? 1 : 0;
  const std::int64_t heads = view.shape[first];
  std::vector<double> out;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (const std::int64_t i : queries) {
      for (std::int64_t j = 0; j < keys; ++j) {
        const double x = reference::read(view, (batched ? b * view.strides[0] : 0) + h * view.strides[first] +
                                                   i * view.strides[first + 1] + j * view.strides[first + 2]);
        if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) {
          throw Error(kOfAttention, {field, "be numbers", formatted("{} at head {}, query {}, key {}", x, h, i, j)});
        }
        out.push_back(x);
      }
    }
  }
  return out;
}

void check_scores(const ConstTensorView& view, const char* field, std::int64_t batch, std::int64_t heads,
                  std::int64_t queries, std::int64_t keys) {
  if (view.empty()) return;
  check_dumped(view, field);
  const std::size_t first = view.rank == 4 ? 1 : 0;
  const bool fits = view.shape[first] == heads && view.shape[first + 1] == queries && view.shape[first + 2] == keys &&
                    (view.rank == 3 ? batch == 1 : view.shape[0] == batch);
  if (!fits) refuse(field, formatted("be [{}, {}, {}], of {} sequences,", heads, queries, keys, batch), view);
}

// Evenly, the first and the last among them.
std::vector<std::int64_t> chosen_queries(std::int64_t queries, std::int64_t most) {
  std::vector<std::int64_t> out;
  const std::int64_t count = std::min(queries, most);
  for (std::int64_t n = 0; n < count; ++n) out.push_back(count == 1 ? queries - 1 : n * (queries - 1) / (count - 1));
  return out;
}

}  // namespace

DumpedAttention dumped_attention(const AttentionDumpArgs& args) {
  if (args.layer == nullptr) throw Error(kOfAttention, {"layer", "be given", "null"});
  const LayerPlan& layer = *args.layer;
  if (layer.kind != LayerKind::attention && layer.kind != LayerKind::cross_attention) {
    throw Error(kOfAttention, {"layer", "attend", std::string(name(layer.kind))});
  }
  check_dumped(args.q, "q");
  check_dumped(args.k, "k");
  if (args.scores.empty() && args.weights.empty() && args.out.empty()) {
    throw Error(kOfAttention, {"scores, weights or out", "be given", "omitted"});
  }
  const reference::Sizes q = reference::sizes_of(args.q);
  const reference::Sizes k = reference::sizes_of(args.k);
  if (q.heads != layer.heads || last_axis(args.q) != layer.head_dim) {
    refuse("q", formatted("have {} heads of {} channels, as the layer,", layer.heads, layer.head_dim), args.q);
  }
  const auto is_kv = [&](std::int64_t heads) { return heads == layer.kv_heads || heads == layer.heads; };
  if (!is_kv(k.heads) || last_axis(args.k) != layer.head_dim || k.batch != q.batch || args.k.rank != args.q.rank) {
    refuse("k",
           formatted("have {} KV heads, or {}, of {} channels, and q's sequences,", layer.kv_heads, layer.heads,
                     layer.head_dim),
           args.k);
  }
  if (args.sequence < 0 || args.sequence >= q.batch) {
    throw Error(kOfAttention, {"sequence", formatted("be from 0 to {}", q.batch - 1), formatted("{}", args.sequence)});
  }
  check_scores(args.scores, "scores", q.batch, q.heads, q.tokens, k.tokens);
  check_scores(args.weights, "weights", q.batch, q.heads, q.tokens, k.tokens);
  if (!args.out.empty()) {
    check_dumped(args.out, "out");
    const reference::Sizes o = reference::sizes_of(args.out);
    if (args.out.rank != args.q.rank || o.batch != q.batch || o.tokens != q.tokens || o.heads != q.heads ||
        last_axis(args.out) != layer.value_dim) {
      refuse("out", formatted("be like q with {} channels,", layer.value_dim), args.out);
    }
    if (args.v.empty()) throw Error(kOfAttention, {"v", "be given with out", "omitted"});
  }
  if (!args.v.empty()) {
    check_dumped(args.v, "v");
    const reference::Sizes v = reference::sizes_of(args.v);
    if (args.v.rank != args.q.rank || v.batch != q.batch || v.tokens != k.tokens || !is_kv(v.heads) ||
        last_axis(args.v) != layer.value_dim) {
      refuse("v", formatted("be like k with {} channels,", layer.value_dim), args.v);
    }
  }
  const auto check_order = [](std::span<const std::int64_t> order, std::int64_t tokens, const char* field) {
    if (order.empty() || std::ssize(order) == tokens) return;
    throw Error(kOfAttention, {field, formatted("have {} entries", tokens), formatted("{}", order.size())});
  };
  check_order(args.q_order, q.tokens, "q_order");
  check_order(args.k_order, k.tokens, "k_order");
  if (k.heads * k.tokens * std::max(layer.head_dim, layer.value_dim) > kMostKeyElements) {
    refuse("k", formatted("have at most {} elements a sequence: dump fewer tokens", kMostKeyElements), args.k);
  }
  DumpedAttention out{.heads = static_cast<std::size_t>(layer.heads),
                      .kv_heads = static_cast<std::size_t>(layer.kv_heads),
                      .keys = static_cast<std::size_t>(k.tokens),
                      .head_dim = static_cast<std::size_t>(layer.head_dim),
                      .value_dim = static_cast<std::size_t>(layer.value_dim),
                      .all_queries = q.tokens};
  const std::int64_t each = std::max<std::int64_t>(1, layer.heads * k.tokens * layer.head_dim);
  const std::vector<std::int64_t> queries =
      chosen_queries(q.tokens, std::clamp(kMostProducts / each, kFewestQueries, kMostQueries));
  std::vector<std::int64_t> keys(out.keys);
  for (std::size_t j = 0; j < out.keys; ++j) keys[j] = static_cast<std::int64_t>(j);
  out.queries = queries.size();
  for (const std::int64_t j : keys) {
    out.k_order.push_back(args.k_order.empty() ? j : args.k_order[static_cast<std::size_t>(j)]);
  }
  const auto order_of = [&](std::int64_t i) {
    return args.q_order.empty() ? k.tokens - q.tokens + i : args.q_order[static_cast<std::size_t>(i)];
  };
  for (const std::int64_t i : queries) out.q_order.push_back(order_of(i));
  out.last_order = order_of(q.tokens - 1);
  out.rotates = !args.rotated && !layer.rotate.empty();
  const std::int64_t b = args.sequence;
  out.q = taken(args.q, b, queries, "q");
  out.k = taken(args.k, b, keys, "k");
  if (!args.v.empty()) out.v = taken(args.v, b, keys, "v");
  if (!args.out.empty()) out.out = taken(args.out, b, queries, "out");
  out.unit = std::max({unit_of(out.q), unit_of(out.k), out.v.empty() ? 0.0 : unit_of(out.v)});
  if (!args.scores.empty()) {
    out.scores = score_rows(args.scores, b, queries, k.tokens, "scores");
    std::vector<double> seen;
    for (double& x : out.scores) {
      if (x > kHidden) {
        seen.push_back(x);
      } else {
        x = -std::numeric_limits<double>::infinity();
        out.masked = true;
      }
    }
    out.scores_unit = unit_of(seen);
  }
  if (!args.weights.empty()) {
    out.weights = score_rows(args.weights, b, queries, k.tokens, "weights");
    for (const double x : out.weights) {
      if (x < 0 || x > 1.01)
        throw Error(kOfAttention, {"weights", "be from 0 to 1, as a softmax makes them", formatted("{}", x)});
    }
    out.weights_unit = unit_of(out.weights);
  }
  if (!out.out.empty()) out.out_unit = unit_of(out.out);
  const auto reduced = [&](std::vector<double>& x, const ConstTensorView& view, std::size_t channels,
                           const char* field) {
    if (x.empty() || reference::sizes_of(view).heads == layer.kv_heads) return false;
    const Reduced found = reduce(x, out.keys, out.heads, out.kv_heads, channels);
    if (!found.fits) {
      refuse(field,
             formatted("have {} KV heads, or these repeated {} times,", layer.kv_heads, layer.heads / layer.kv_heads),
             view);
    }
    return found.in_turn;
  };
  out.k_in_turn = reduced(out.k, args.k, out.head_dim, "k");
  out.v_in_turn = reduced(out.v, args.v, out.value_dim, "v");
  if (!args.attn_mask.empty()) {
    const ConstTensorView& mask = args.attn_mask;
    if (mask.rank != 2 || mask.shape[0] != q.tokens || mask.shape[1] != k.tokens || mask.data == nullptr) {
      refuse("attn_mask", formatted("be [{}, {}]", q.tokens, k.tokens), mask);
    }
    for (const std::int64_t i : queries) {
      for (const std::int64_t j : keys) {
        out.given.push_back(reference::read(mask, i * mask.strides[0] + j * mask.strides[1]) != 0 ? 1 : 0);
      }
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

// What attend and reference::attend ask of a call before anything is computed: ranks and shapes of q, k, v, out and
// lse, cu_seqlens, positions, orders, masks and biases that broadcast, and what the plan's layer demands.
//
//   q [tokens, heads, head_dim] or [batch, heads, tokens, head_dim];  k, v with kv_heads, which divides heads (GQA)
//
// One check for the formulas and the kernels, so that both refuse the same calls with the same words.
#include "math/check/check_attend.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/layer_axes.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::math {
namespace {

// A shape as errors show it: "[2, 8, 128]". A rank may be any number, until it has been looked at.
std::string text(const ConstTensorView& x) {
  if (x.rank < 0 || x.rank > kMaxRank) return formatted("of rank {}", x.rank);
  std::string out = "[";
  for (int axis = 0; axis < x.rank; ++axis) {
    out += formatted("{}{}", axis == 0 ? "" : ", ", x.shape[static_cast<std::size_t>(axis)]);
  }
  return out + "]";
}

// refuse() unless a rule about one number holds.
void require(bool holds, const char* field, const char* must, std::int64_t is) {
  if (!holds) refuse(field, must, formatted("{}", is));
}

// Enumerators count from 0, and a number cast to the type need not be one.
template <typename E>
void require_enumerator(const char* field, E is, E last) {
  if (is <= last) return;
  refuse(field, formatted("be an enumerator, 0 to {}", static_cast<int>(last)), formatted("{}", static_cast<int>(is)));
}

// That it is one at all. Which of them: check_heads_tensor of the kernels.
void require_dtype(const std::string& field, const ConstTensorView& x) {
  if (x.dtype <= DType::f64) return;
  refuse(field + ".dtype", "be f32, f16, bf16 or f64", formatted("{}", static_cast<int>(x.dtype)));
}

// Of a tensor that require_heads() has let pass.
std::int64_t rows_of(const ConstTensorView& x) { return x.rank == 4 ? x.shape[0] * x.shape[2] : x.shape[0]; }

bool has_negative_size(const ConstTensorView& x) {
  return std::any_of(x.shape.begin(), x.shape.begin() + x.rank, [](std::int64_t size) { return size < 0; });
}

// [rows, heads, channels] in the rank's own order of axes.
void require_heads(const char* field, const ConstTensorView& x, std::int64_t heads, std::int64_t channels) {
  if (x.rank != 3 && x.rank != 4) refuse(field, "have rank 3 or 4", formatted("{}", x.rank));
  if (x.rank == 3) return require_shape(field, x, {x.shape[0], heads, channels});
  require_shape(field, x, {x.shape[0], heads, x.shape[2], channels});
  std::int64_t rows = 0;
  if (__builtin_mul_overflow(x.shape[0], x.shape[2], &rows)) {
    refuse(formatted("{}.shape", field), "have fewer than 2^63 tokens", text(x));
  }
}

// Strides are anybody's; that channels are adjacent, and which dtypes, is for the kernels' own check
// (cpu/attend/check_attend_call.cpp).
void check_tensors(const LayerPlan& layer, const AttendArgs& args) {
  const ConstTensorView& q = args.q;
  require_heads("q", q, layer.heads, layer.head_dim);
  require_heads("k", args.k, layer.kv_heads, layer.head_dim);
  require_heads("v", args.v, layer.kv_heads, layer.value_dim);
  require_heads("out", args.out, layer.heads, layer.value_dim);
  require(args.k.rank == q.rank, "k.rank", "be that of q", args.k.rank);
  require(args.v.rank == q.rank, "v.rank", "be that of q", args.v.rank);
  require(args.out.rank == q.rank, "out.rank", "be that of q", args.out.rank);
  const bool is_batch = q.rank == 4;
  require(!is_batch || args.k.shape[0] == q.shape[0], "k.shape", "have the batch of q", args.k.shape[0]);
  require(!is_batch || args.v.shape[0] == q.shape[0], "v.shape", "have the batch of q", args.v.shape[0]);
  require(!is_batch || args.out.shape[0] == q.shape[0], "out.shape", "have the batch of q", args.out.shape[0]);
  require(rows_of(args.v) == rows_of(args.k), "v.shape", "have the tokens of k", rows_of(args.v));
  require(rows_of(args.out) == rows_of(q), "out.shape", "have the tokens of q", rows_of(args.out));
  const std::int64_t queries = is_batch ? q.shape[2] : q.shape[0];
  const std::int64_t keys = is_batch ? args.k.shape[2] : args.k.shape[0];
  if (!args.lse.empty()) {
    if (is_batch) require_shape("lse", args.lse, {q.shape[0], layer.heads, queries});
    if (!is_batch) require_shape("lse", args.lse, {queries, layer.heads});
  }
  if (!args.scores.empty()) {
    if (is_batch) require_shape("scores", args.scores, {q.shape[0], layer.heads, queries, keys});
    if (!is_batch) require_shape("scores", args.scores, {layer.heads, queries, keys});
  }
}

// Bounds that rise from 0 to the number of rows; equal neighbours are an empty sequence.
void check_cu_seqlens(const char* field, std::span<const std::int32_t> cu_seqlens, std::int64_t rows) {
  if (cu_seqlens.empty()) return;
  require(cu_seqlens.front() == 0, field, "begin with 0", cu_seqlens.front());
  require(cu_seqlens.back() == rows, field, "end with the number of rows", cu_seqlens.back());
  check_ascending(field, cu_seqlens);
}

// The tokens of the longest sequence, of inputs whose cu_seqlens have been checked.
std::int64_t longest_sequence(const ConstTensorView& x, std::span<const std::int32_t> cu_seqlens) {
  if (cu_seqlens.empty()) return x.rank == 4 ? x.shape[2] : x.shape[0];
  std::int64_t longest = 0;
  for (std::size_t s = 1; s < cu_seqlens.size(); ++s) {
    longest = std::max<std::int64_t>(longest, cu_seqlens[s] - cu_seqlens[s - 1]);
  }
  return longest;
}

// Counted, or [axes, rows], or of a batch [axes, tokens] for every sequence. Within 2^53, up to which whole numbers are
// doubles; a NaN is refused by the same comparison.
void check_positions(const char* field, const std::optional<Positions>& positions, const ConstTensorView& x,
                     std::span<const std::int32_t> cu_seqlens, std::int64_t axes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53U;
  if (!positions) return;
  std::visit(
      [&](const auto& given) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::int64_t tokens = longest_sequence(x, cu_seqlens);
          if (tokens == 0 || (given.start >= -kMost && given.start <= kMost - (tokens - 1))) return;
          refuse(field, "be at most 2^53 either way", formatted("from {}, {} of them", given.start, tokens));
        } else {
          const std::int64_t all = axes * rows_of(x);
          const bool serves_all = x.rank == 4 && std::ssize(given) == axes * x.shape[2];
          if (std::ssize(given) != all && !serves_all) {
            refuse(field, formatted("have {} entries", all), formatted("{}", given.size()));
          }
          for (const auto position : given) {
            if (std::abs(static_cast<double>(position)) <= 0x1p53) continue;
            refuse(field, "be at most 2^53 either way", formatted("{}", position));
          }
        }
      },
      *positions);
}

// [queries, keys] with heads and batch in front where they differ, each axis full or 1, as NumPy broadcasts.
void check_broadcast(const char* field, const ConstTensorView& x, const AttendArgs& args, std::int64_t heads) {
  if (x.empty()) return;
  const bool is_batch = args.q.rank == 4;
  const std::array<std::int64_t, 4> largest{is_batch ? args.q.shape[0] : 1, heads,
                                            is_batch ? args.q.shape[2] : args.q.shape[0],
                                            is_batch ? args.k.shape[2] : args.k.shape[0]};
  if (x.rank < 2 || x.rank > kMaxRank) refuse(field, "have rank 2 to 4", formatted("{}", x.rank));
  for (int axis = 0; axis < x.rank; ++axis) {
    const std::int64_t size = x.shape[static_cast<std::size_t>(axis)];
    const std::int64_t full = largest[static_cast<std::size_t>(axis + 4 - x.rank)];
    if (size != 1 && size != full) {
      refuse(field, formatted("have 1 or {} along axis {}", full, axis), formatted("{}", size));
    }
  }
  if (x.data == nullptr) refuse(formatted("{}.data", field), "point to the elements", "null");
  require_dtype(field, x);
}

// What is given per token has one entry for each row of the call, packed sequences and batches included.
void check_inputs(const LayerPlan& layer, const AttendArgs& args) {
  const LayerInputs& in = args.inputs;
  const std::int64_t queries = rows_of(args.q);
  const std::int64_t keys = rows_of(args.k);
  if (in.cu_seqlens_q.size() != in.cu_seqlens_k.size()) {
    refuse("cu_seqlens_k", "be as long as cu_seqlens_q", formatted("{} long", in.cu_seqlens_k.size()));
  }
  if (!in.cu_seqlens_q.empty() && args.q.rank != 3) refuse("cu_seqlens_q", "be omitted for rank 4", "given");
  check_cu_seqlens("cu_seqlens_q", in.cu_seqlens_q, queries);
  check_cu_seqlens("cu_seqlens_k", in.cu_seqlens_k, keys);
  const std::int64_t axes = axes_of(layer);
  check_positions("q_positions", in.q_positions, args.q, in.cu_seqlens_q, axes);
  check_positions("k_positions", in.k_positions, args.k, in.cu_seqlens_k, axes);
  const auto require_rows = [](const char* field, std::size_t given, std::int64_t rows) {
    if (given != 0 && static_cast<std::int64_t>(given) != rows) {
      refuse(field, formatted("have one entry for each of {} rows", rows), formatted("{} long", given));
    }
  };
  require_rows("q_order", in.q_order.size(), queries);
  require_rows("k_order", in.k_order.size(), keys);
  require_rows("q_segments", in.q_segments.size(), queries);
  require_rows("k_segments", in.k_segments.size(), keys);
  require(in.prefix >= 0, "prefix", "be at least 0", in.prefix);
  check_broadcast("attn_mask", in.attn_mask, args, layer.heads);
  check_broadcast("bias", in.bias, args, layer.heads);
}

// Throws where the scale is not defined, or where no float holds it.
void check_query_scale(const LayerPlan& layer, const CallRows& rows) {
  if (std::holds_alternative<std::monostate>(layer.query_scale)) return;
  for (const double i : rows.axes.front().q) {
    const double scale = layer.softmax_scale * query_scale(layer.query_scale, static_cast<std::int64_t>(i));
    if (const auto problem = check_float("layer.softmax_scale * query scale", scale)) throw Error("attend", *problem);
  }
}

// A plan says that a mask is sparse, not which keys an indexer picks: the call must.
void check_mask(const LayerPlan& layer, const AttendArgs& args) {
  if (layer.mask.kind == MaskKind::sparse && args.inputs.attn_mask.empty()) {
    refuse("attn_mask", "say which keys are visible, since the plan's mask is sparse", "omitted");
  }
  require(!layer.mask.chunk || *layer.mask.chunk >= 1, "layer.mask.chunk", "be at least 1",
          layer.mask.chunk.value_or(0));
  if (!layer.mask.window) return;
  require(layer.mask.window->past >= 0, "layer.mask.window.past", "be at least 0", layer.mask.window->past);
  require(layer.mask.window->future >= 0, "layer.mask.window.future", "be at least 0", layer.mask.window->future);
}

// What the formulas divide by is 1 or more, and no distance is negative. The comparison is false for a NaN.
void check_regions(const Regions& regions) {
  const auto at_least = [](const char* field, double is, double least) {
    if (!(is >= least))
      refuse(formatted("layer.regions.{}", field), formatted("be at least {}", least), formatted("{}", is));
  };
  if (const auto* extend = std::get_if<SelfExtend>(&regions)) {
    at_least("group", static_cast<double>(extend->group), 1);
    at_least("window", static_cast<double>(extend->window), 0);
  } else if (const auto* rerope = std::get_if<ReRope>(&regions)) {
    at_least("window", static_cast<double>(rerope->window), 0);
    if (rerope->step) at_least("step", *rerope->step, 1);
  } else if (const auto* dual = std::get_if<DualChunk>(&regions)) {
    at_least("chunk", static_cast<double>(dual->chunk), 1);
    at_least("local", static_cast<double>(dual->local), 0);
    at_least("trained", static_cast<double>(dual->trained), static_cast<double>(dual->chunk));
  }
}

// Only main rotations act on q and k. A norm after the rotation is not part of attend: q and k then come rotated and
// normalised. Regions rotate a key differently for near and far queries, so no key can come rotated.
void check_rotations(const LayerPlan& layer, const AttendArgs& args) {
  const bool is_given_rotated = args.inputs.q_rotated && args.inputs.k_rotated;
  bool rotates = false;
  for (const Rotate& one : layer.rotate) {
    if (one.role != RotateRole::main) continue;
    rotates = true;
    require(one.heads == 0 || one.heads >= layer.heads, "layer.rotate.heads", "be all of the layer, or 0", one.heads);
    require(rope(one).head_dim == layer.head_dim, "layer.rotate.head_dim", "be that of the layer", rope(one).head_dim);
    frequencies(rope(one), args.inputs.length);  // throws where there are none
  }
  const bool norm_follows = layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after;
  if (rotates && norm_follows && !is_given_rotated) {
    refuse("q_rotated and k_rotated", "be yes, since a norm follows the rotation", "no");
  }
  if (std::holds_alternative<RotatedValues>(layer.value)) {
    require(rotates, "layer.value", "have a rotation to apply", 0);
    require(layer.value_dim == layer.head_dim, "layer.value_dim", "be head_dim, for rotated values", layer.value_dim);
  }
  if (std::holds_alternative<std::monostate>(layer.regions)) return;
  check_regions(layer.regions);
  if (!rotates) refuse("layer.regions", "belong to a rotation", "without one");
  if (args.inputs.q_rotated || args.inputs.k_rotated) {
    refuse("q_rotated and k_rotated", "be no, since regions rotate each key in more than one way", "yes");
  }
}

}  // namespace

void check_ascending(const char* field, std::span<const std::int32_t> cu_seqlens) {
  for (std::size_t s = 1; s < cu_seqlens.size(); ++s) {
    require(cu_seqlens[s] >= cu_seqlens[s - 1], field, "ascend", cu_seqlens[s]);
  }
}

void refuse(std::string field, std::string must, std::string is) {
  throw Error("attend", {std::move(field), std::move(must), std::move(is)});
}

void require_shape(const std::string& field, const ConstTensorView& x, std::initializer_list<std::int64_t> shape) {
  ConstTensorView wanted{.rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), wanted.shape.begin());
  if (x.rank == wanted.rank && has_negative_size(x)) refuse(field, "have no negative size", text(x));
  bool has_elements = true;
  for (int axis = 0; axis < wanted.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (x.rank != wanted.rank || x.shape[a] != wanted.shape[a]) {
      refuse(field, formatted("have shape {}", text(wanted)), x.empty() ? "omitted" : text(x));
    }
    has_elements &= x.shape[a] > 0;
  }
  if (has_elements && x.data == nullptr) refuse(field + ".data", "point to the elements", "null");
  require_dtype(field, x);
}

CallSizes sizes_of(const AttendArgs& args) {
  const bool is_batch = args.q.rank == 4;
  return {.batch = is_batch ? args.q.shape[0] : 1,
          .queries = is_batch ? args.q.shape[2] : args.q.shape[0],
          .keys = is_batch ? args.k.shape[2] : args.k.shape[0]};
}

void check_layer(const LayerPlan& layer) {
  const bool attends = layer.kind == LayerKind::attention || layer.kind == LayerKind::cross_attention;
  const bool samples = layer.kind == LayerKind::deformable_attention;
  if (!attends) {
    refuse("layer.kind", "be attention or cross_attention", samples ? "deformable_attention" : "another");
  }
  require(layer.heads >= 1, "layer.heads", "be at least 1", layer.heads);
  require(layer.kv_heads >= 1 && layer.heads % layer.kv_heads == 0, "layer.kv_heads", "divide heads", layer.kv_heads);
  require(layer.head_dim >= 1, "layer.head_dim", "be at least 1", layer.head_dim);
  require(layer.value_dim >= 1, "layer.value_dim", "be at least 1", layer.value_dim);
  for (const auto& [field, is] : {std::pair{"layer.heads", layer.heads}, std::pair{"layer.head_dim", layer.head_dim},
                                  std::pair{"layer.value_dim", layer.value_dim}}) {
    require(is <= kMostOfAxis, field, "be at most 1073741824", is);
  }
  if (const auto problem = check_float("layer.softmax_scale", layer.softmax_scale)) throw Error("attend", *problem);
  for (const ScoreTerm& term : layer.score) {
    const auto* t5 = std::get_if<T5Bias>(&term);
    if (t5 == nullptr || (t5->axis >= 0 && t5->axis < kMaxScoreAxes)) continue;
    refuse("layer.score.axis", formatted("be from 0 to {}", kMaxScoreAxes - 1), formatted("{}", t5->axis));
  }
  require_enumerator("layer.mask.kind", layer.mask.kind, MaskKind::sparse);
  if (layer.qk_norm) require_enumerator("layer.qk_norm.order", layer.qk_norm->order, QkNorm::Order::after);
  if (!layer.soft_cap) return;
  require_enumerator("layer.soft_cap.order", layer.soft_cap->order, SoftCap::Order::before_bias);
  for (const auto& problem : {check_above_zero("layer.soft_cap.cap", layer.soft_cap->cap),
                              check_float("layer.soft_cap.cap", layer.soft_cap->cap)}) {
    if (problem) throw Error("attend", *problem);
  }
}

void check_weights(const LayerPlan& layer, const AttendArgs& args, const CallRows& rows) {
  if (layer.sinks) require_shape("sinks", args.weights.sinks, {layer.heads});
  check_score_terms(layer, args, rows);
  check_weights_left_out(layer, args.weights);
}

// In this order: call_rows() relies on checked inputs, and all that follows it on its rows.
void check_attend(const LayerPlan& layer, const AttendArgs& args) {
  check_layer(layer);
  check_tensors(layer, args);
  check_inputs(layer, args);
  const CallRows rows = call_rows(layer, args.inputs, sizes_of(args));
  check_query_scale(layer, rows);
  check_mask(layer, args);
  check_rotations(layer, args);
  check_weights(layer, args, rows);
  check_inputs_left_out(layer, args);
}

}  // namespace posenc::math

// Checks of a call of attend that only the kernels need: dtypes, adjacent channels, memory that outputs must not share
// with inputs, the paged KV cache's block table, carry, orders. Shapes are math/check/check_attend.h's.
#include "cpu/attend/check_attend_call.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/cache/codes_view.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/tensor_memory.h"
#include "math/check/check_attend.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr std::string_view kAttend = "attend";
constexpr std::int64_t kMaxOrder = std::int64_t{1} << 53U;

void check_dtype(const char* field, const ConstTensorView& x) {
  if (x.dtype < DType::f64) return;
  math::refuse(formatted("{}.dtype", field), "be f32, f16 or bf16",
               x.dtype == DType::f64 ? "f64" : formatted("{}", static_cast<int>(x.dtype)));
}

// Kernels read and write whole heads: channels are adjacent, elements aligned.
void check_heads_tensor(const char* field, const ConstTensorView& x) {
  check_dtype(field, x);
  const auto last = static_cast<std::size_t>(x.rank - 1);
  if (x.rank > 0 && x.shape[last] > 1 && x.strides[last] != 1) {
    math::refuse(formatted("{}.strides[{}]", field, last), "be 1, since channels of a head are adjacent",
                 formatted("{}", x.strides[last]));
  }
  if (!is_aligned(x)) math::refuse(formatted("{}.data", field), "be aligned to its elements", "between two");
}

template <typename Scheme>
std::int64_t count_of(const LayerPlan& layer) {
  return std::ranges::count_if(layer.score, [](const ScoreTerm& term) { return std::holds_alternative<Scheme>(term); });
}

void check_carry(const LayerPlan& layer, const AttendArgs& args) {
  if (args.carry.empty()) return;
  const bool has_two = require_sums_along_keys(kAttend, "carry", layer) == 2;
  const ConstTensorView& q = args.q;
  if (q.rank == 4 && !has_two) math::require_shape("carry", args.carry, {q.shape[0], layer.heads, q.shape[2]});
  if (q.rank == 3 && !has_two) math::require_shape("carry", args.carry, {q.shape[0], layer.heads});
  if (q.rank == 4 && has_two) math::require_shape("carry", args.carry, {2, q.shape[0], layer.heads, q.shape[2]});
  if (q.rank == 3 && has_two) math::require_shape("carry", args.carry, {2, q.shape[0], layer.heads});
}

void check_floats(const char* field, const TensorView& x) {
  if (x.empty()) return;
  if (x.dtype != DType::f32) math::refuse(formatted("{}.dtype", field), "be f32", std::string(name(x.dtype)));
  if (!is_aligned(x)) math::refuse(formatted("{}.data", field), "be aligned to its elements", "between two");
}

// Of k or v in codes: the only one that is given.
void check_codes(const char* name, const ConstQuantisedView& codes, bool is_paged, CodesMemory& memory) {
  if (codes.empty()) return;
  const Axes axes = is_paged ? Axes::tokens_then_heads : Axes::heads_then_tokens;
  const CodesView view = check_quantised({kAttend, name}, codes, axes, memory);
  if (view.by_channel() && std::string_view(name) == "v_quantised") {
    math::refuse("v_quantised.format", "have scales by token, since int4_by_channel is for keys", "int4_by_channel");
  }
}

// Nothing that is written is read, or written twice.
void check_memory(const AttendArgs& args, const std::array<CodesMemory, 2>& codes) {
  const auto check_written = [&](const char* field, const TensorView& written) {
    if (!has_elements(written)) return;
    const Memory own = memory_of(kAttend, field, written);
    check_places(kAttend, field, own);
    for (std::size_t n = 0; n < codes.size(); ++n) {
      for (const Memory& read : codes[n].of) {
        if (are_disjoint(own, read)) continue;
        math::refuse(field, formatted("not share memory with {}", n == 0 ? "k_quantised" : "v_quantised"),
                     "memory of both");
      }
    }
    const std::array tensors{std::pair{"q", args.q},
                             std::pair{"k", args.k_quantised.empty() ? args.k : ConstTensorView{}},
                             std::pair{"v", args.v_quantised.empty() ? args.v : ConstTensorView{}}};
    for (const auto& [name, read] : tensors) {
      if (!has_elements(read) || are_disjoint(own, memory_of(kAttend, name, read))) continue;
      math::refuse(field, formatted("not share memory with {}", name), "memory of both");
    }
  };
  const std::array written{std::pair{"out", args.out}, std::pair{"lse", args.lse}, std::pair{"carry", args.carry}};
  for (std::size_t n = 0; n < written.size(); ++n) {
    const auto& [field, own] = written[n];
    check_written(field, own);
    for (const auto& [other, before] : std::span(written).first(n)) {
      if (!has_elements(own) || !has_elements(before)) continue;
      if (are_disjoint(memory_of(kAttend, field, own), memory_of(kAttend, other, before))) continue;
      math::refuse(field, formatted("not share memory with {}", other), "memory of both");
    }
  }
}

// A cache as the tensor of all its sequences' tokens that the other checks know: with no memory of its own.
ConstTensorView tokens_of_pages(const char* field, const ConstTensorView& x, std::int64_t tokens) {
  if (x.rank != 4) {
    math::refuse(field, "have rank 4, [blocks, block_size, heads, channels]", formatted("{}", x.rank));
  }
  if (x.shape[0] < 1 || x.shape[1] < 1) {
    math::refuse(field, "have a block, and a token in it", formatted("of {} blocks of {}", x.shape[0], x.shape[1]));
  }
  return {.data = x.data,
          .dtype = x.dtype,
          .rank = 3,
          .shape = {tokens, x.shape[2], x.shape[3]},
          .strides = {0, x.strides[2], x.strides[3]}};
}

// The sequences' tokens are counted from cu_seqlens_k, and arrays are made for as many: so that they are in the cache
// is checked first.
void check_table(const AttendArgs& args) {
  const std::span<const std::int32_t> table = args.pages.block_table;
  const std::span<const std::int32_t> ends = args.inputs.cu_seqlens_k;
  const auto sequences = static_cast<std::int64_t>(ends.size()) - 1;
  if (ends.front() != 0) math::refuse("cu_seqlens_k", "begin with 0", formatted("{}", ends.front()));
  math::check_ascending("cu_seqlens_k", ends);
  if (args.k.shape[1] != args.v.shape[1] || args.k.shape[0] != args.v.shape[0]) {
    math::refuse("v", "have the blocks of k", formatted("{} blocks of {}", args.v.shape[0], args.v.shape[1]));
  }
  if (std::ssize(table) % sequences != 0) {
    math::refuse("pages.block_table", formatted("have a row for each of {} sequences", sequences),
                 formatted("{} long", table.size()));
  }
  const std::int64_t blocks = std::ssize(table) / sequences;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t tokens = ends[static_cast<std::size_t>(s + 1)] - ends[static_cast<std::size_t>(s)];
    const std::int64_t needed = tokens / args.k.shape[1] + (tokens % args.k.shape[1] > 0 ? 1 : 0);
    if (needed > blocks) {
      math::refuse("pages.block_table", formatted("have {} blocks for sequence {}", needed, s),
                   formatted("{}", blocks));
    }
    for (std::int64_t b = 0; b < needed; ++b) {
      const std::int32_t block = table[static_cast<std::size_t>(s * blocks + b)];
      if (block >= 0 && block < args.k.shape[0]) continue;
      math::refuse(formatted("pages.block_table[{}][{}]", s, b), formatted("be from 0 to {}", args.k.shape[0] - 1),
                   formatted("{}", block));
    }
  }
}

void check_orders(const char* field, std::span<const std::int64_t> orders) {
  for (const std::int64_t order : orders) {
    if (order >= -kMaxOrder && order <= kMaxOrder) continue;
    math::refuse(field, "be at most 2^53 either way", formatted("{}", order));
  }
}

}  // namespace

std::int64_t require_sums_along_keys(std::string_view where, const char* field, const LayerPlan& layer) {
  const std::int64_t gates = count_of<ContextualPosition>(layer);
  const std::int64_t forget = count_of<ForgetGate>(layer);
  if (gates <= 1 && forget <= 1 && gates + forget > 0) return gates + forget;
  throw Error(where, {field, "belong to one scheme that sums along the keys, or to CoPE and forget gates",
                      formatted("of {} of the one and {} of the other", gates, forget)});
}

// The shared checks see a paged cache as a packed tensor of as many tokens as cu_seqlens_k says.
math::CallSizes check_attend_call(const LayerPlan& layer, const AttendArgs& args, bool writes) {
  check_parallel(kAttend, args.parallel);
  if (args.angles > Angles::bfloat16) {
    math::refuse("angles", "be exact, float32 or bfloat16", formatted("{}", static_cast<int>(args.angles)));
  }
  if (args.products > Products::bf16) {
    math::refuse("products", "be f32 or bf16", formatted("{}", static_cast<int>(args.products)));
  }
  ConstTensorView k = args.k;
  ConstTensorView v = args.v;
  const bool is_paged = !args.pages.block_table.empty();
  std::array<CodesMemory, 2> codes;
  check_codes("k_quantised", args.k_quantised, is_paged, codes[0]);
  check_codes("v_quantised", args.v_quantised, is_paged, codes[1]);
  if (is_paged) {
    if (args.q.rank != 3 || args.inputs.cu_seqlens_k.size() < 2) {
      math::refuse("q", "be of rank 3, with cu_seqlens_q and cu_seqlens_k, where keys are paged", "otherwise");
    }
    k = tokens_of_pages("k", args.k, args.inputs.cu_seqlens_k.back());
    v = tokens_of_pages("v", args.v, args.inputs.cu_seqlens_k.back());
    check_table(args);
  }
  const reference::AttendArgs same{
      .out = args.out, .q = args.q, .k = k, .v = v, .weights = args.weights, .inputs = args.inputs, .lse = args.lse};
  // What is no dtype at all the shared checks would refuse as the reference does, which takes f64.
  for (const auto& [field, x] :
       {std::pair<const char*, ConstTensorView>{"out", args.out}, {"q", args.q}, {"k", args.k}, {"v", args.v}}) {
    if (x.dtype > DType::f64) check_dtype(field, x);
  }
  math::check_attend(layer, same);
  check_heads_tensor("out", args.out);
  check_heads_tensor("q", args.q);
  if (args.k_quantised.empty()) check_heads_tensor("k", args.k);
  if (args.v_quantised.empty()) check_heads_tensor("v", args.v);
  if (count_of<ContextualPosition>(layer) > 1) {
    math::refuse("layer.score", "have CoPE once, since gates are summed for one table",
                 formatted("of {}", count_of<ContextualPosition>(layer)));
  }
  check_carry(layer, args);
  check_floats("lse", args.lse);
  check_floats("carry", args.carry);
  check_orders("q_order", args.inputs.q_order);
  check_orders("k_order", args.inputs.k_order);
  if (writes) check_memory(args, codes);
  return math::sizes_of(same);
}

}  // namespace posenc::cpu

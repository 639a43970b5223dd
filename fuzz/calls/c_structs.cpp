#include "fuzz/calls/c_structs.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "c/handles.h"

namespace posenc::fuzz {

posenc_tensor c_tensor(const ConstTensorView& x) {
  posenc_tensor out{};
  if (x.empty()) return out;
  out.data = const_cast<void*>(x.data);
  out.dtype = static_cast<posenc_dtype>(x.dtype);
  out.rank = x.rank;
  std::copy(x.shape.begin(), x.shape.end(), out.shape);
  std::copy(x.strides.begin(), x.strides.end(), out.strides);
  return out;
}

posenc_positions c_positions(const Positions& positions) {
  posenc_positions out{};
  std::visit(
      [&](const auto& given) {
        using Given = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<Given, PositionRange>) {
          out.start = given.start;
        } else {
          using Number = std::remove_const_t<typename Given::element_type>;
          out.type = std::is_same_v<Number, std::int64_t>   ? POSENC_INT64
                     : std::is_same_v<Number, std::int32_t> ? POSENC_INT32
                                                            : POSENC_DOUBLE;
          out.data = given.data();
          out.count = std::ssize(given);
        }
      },
      positions);
  return out;
}

posenc_executor c_executor(const Executor& executor) { return {executor.context, executor.run, executor.threads}; }

CHandles::~CHandles() {
  for (posenc_table* const table : tables_) posenc_table_free(table);
  for (posenc_plan* const plan : plans_) posenc_plan_free(plan);
}

const posenc_table* CHandles::table(const RotaryTable* table) {
  if (table == nullptr) return nullptr;
  return tables_.emplace_back(new posenc_table{*table});
}

const posenc_plan* CHandles::plan(const LayerPlan& layer) {
  return plans_.emplace_back(new posenc_plan{{.stacks = {{.name = "decoder", .input = {}, .layers = {layer}}}}});
}

const posenc_positions* CHandles::positions(const std::optional<Positions>& positions) {
  if (!positions) return nullptr;
  positions_.reserve(2);  // that of q stays where it is when that of k comes
  return &positions_.emplace_back(c_positions(*positions));
}

posenc_rotate_args CHandles::rotate_args(const RotateArgs& args) {
  posenc_rotate_args out{};
  out.size = sizeof out;
  out.q = c_tensor(args.q);
  out.k = c_tensor(args.k);
  out.q_from = c_tensor(args.q_from);
  out.k_from = c_tensor(args.k_from);
  out.positions = c_positions(args.positions);
  out.table = table(args.table);
  for (const RotaryTable* const one : args.tables) list_.push_back(table(one));
  out.tables = list_.data();
  out.tables_count = std::ssize(list_);
  out.direction = static_cast<posenc_direction>(args.direction);
  out.cu_seqlens = args.cu_seqlens.data();
  out.cu_seqlens_count = std::ssize(args.cu_seqlens);
  out.block_table = args.k_pages.block_table.data();
  out.block_table_count = std::ssize(args.k_pages.block_table);
  out.block_first = args.k_pages.first.data();
  out.block_first_count = std::ssize(args.k_pages.first);
  out.threads = args.parallel.threads;
  out.executor = c_executor(args.parallel.executor);
  return out;
}

posenc_cache_args CHandles::cache_args(const CacheArgs& args) {
  posenc_cache_args out{};
  out.size = sizeof out;
  out.k = c_tensor(args.k);
  out.v = c_tensor(args.v);
  out.positions = c_positions(args.positions);
  out.table = table(args.table);
  if (args.norm) {
    out.norm = static_cast<posenc_norm>(args.norm->scheme.kind) + 1;
    out.norm_after = args.norm->scheme.order == QkNorm::Order::before ? 0 : 1;
    out.norm_over_all_heads = args.norm->scheme.over == QkNorm::Over::head ? 0 : 1;
    out.weight_plus_one = args.norm->weight_plus_one ? 1 : 0;
    out.epsilon = args.norm->epsilon;
    out.norm_weight = c_tensor(args.norm->weight);
    out.norm_bias = c_tensor(args.norm->bias);
  }
  out.k_cache = c_tensor(args.k_cache);
  out.v_cache = c_tensor(args.v_cache);
  out.slots = args.slots.data();
  out.slots_count = std::ssize(args.slots);
  out.cu_seqlens = args.cu_seqlens.data();
  out.cu_seqlens_count = std::ssize(args.cu_seqlens);
  out.threads = args.parallel.threads;
  out.executor = c_executor(args.parallel.executor);
  return out;
}

std::optional<posenc_attend_args> CHandles::attend_args(const LayerPlan& layer, const AttendArgs& args) {
  const auto name = [&](const char* of, const ConstTensorView& x) {
    if (!x.empty()) weights_.push_back({of, c_tensor(x)});
  };
  if (args.weights.score.size() > 1) return {};
  for (const ScoreWeights& weights : args.weights.score) {
    if (const auto* t5 = std::get_if<T5Weights>(&weights)) {
      name("table", t5->table);
    } else if (const auto* kerple = std::get_if<KerpleWeights>(&weights)) {
      name("r1", kerple->r1);
      name("r2", kerple->r2);
    } else if (!std::holds_alternative<std::monostate>(weights)) {
      return {};
    }
  }
  name("value_table", args.weights.value.table);
  name("sinks", args.weights.sinks);
  posenc_attend_args out{};
  out.size = sizeof out;
  out.plan = plan(layer);
  out.out = c_tensor(args.out);
  out.lse = c_tensor(args.lse);
  out.carry = c_tensor(args.carry);
  out.q = c_tensor(args.q);
  out.k = c_tensor(args.k);
  out.v = c_tensor(args.v);
  out.weights = weights_.data();
  out.weights_count = std::ssize(weights_);
  const LayerInputs& in = args.inputs;
  out.q_positions = positions(in.q_positions);
  out.k_positions = positions(in.k_positions);
  const auto list = [](auto& data, std::int64_t& count, const auto& given) {
    data = given.data();
    count = std::ssize(given);
  };
  list(out.q_order, out.q_order_count, in.q_order);
  list(out.k_order, out.k_order_count, in.k_order);
  list(out.cu_seqlens_q, out.cu_seqlens_q_count, in.cu_seqlens_q);
  list(out.cu_seqlens_k, out.cu_seqlens_k_count, in.cu_seqlens_k);
  list(out.block_table, out.block_table_count, args.pages.block_table);
  list(out.q_segments, out.q_segments_count, in.q_segments);
  list(out.k_segments, out.k_segments_count, in.k_segments);
  out.attn_mask = c_tensor(in.attn_mask);
  out.bias = c_tensor(in.bias);
  out.log_forget = c_tensor(in.log_forget);
  out.row_gate = c_tensor(in.row_gate);
  out.prefix = in.prefix;
  out.length = in.length.value_or(0);
  out.q_rotated = in.q_rotated ? 1 : 0;
  out.k_rotated = in.k_rotated ? 1 : 0;
  out.angles = static_cast<posenc_angles>(args.angles);
  out.products = static_cast<posenc_products>(args.products);
  out.threads = args.parallel.threads;
  out.executor = c_executor(args.parallel.executor);
  return out;
}

}  // namespace posenc::fuzz

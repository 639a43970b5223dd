// attend_linear(): refused with nothing written, or each output is what the reference says, all other memory is as it
// was, and three threads give the bits of one.
#include <algorithm>
#include <cmath>
#include <optional>

#include "attend/linear/linear_call.h"
#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/calls/rotations.h"
#include "fuzz/calls/scheme_layers.h"
#include "fuzz/target.h"
#include "posenc/attend_linear.h"
#include "posenc/reference_linear.h"
#include "reference/elements.h"
#include "support/tolerances.h"

namespace posenc::fuzz {
namespace {

constexpr std::array kDTypes{DType::f32, DType::bf16, DType::f16, DType::f32};
constexpr std::array<std::int64_t, 24> kTokens{5, 1, 2, 3, 4,  9,  17, 0,  6,  7,  8,  1,
                                               2, 3, 4, 5, 10, 12, 15, 16, 20, 47, 48, 60};

class LinearArguments {
 public:
  LinearArguments(Arguments& arguments, Slots& slots) {
    layer = test::linear_layer(arguments.whole(1, 20), arguments.chance(128) ? Pairing::interleaved : Pairing::half);
    if (arguments.chance(64)) layer.rotate.clear();
    if (arguments.chance(64)) layer.kv_heads = arguments.chance(128) ? 1 : 4;
    rows.mask = arguments.chance(96) ? MaskKind::bidirectional : MaskKind::causal;
    rows.queries = arguments.choice(kTokens);
    rows.keys = arguments.chance(64) ? arguments.choice(kTokens) : rows.queries;
    if (arguments.chance(48)) {
      rows.batch = arguments.whole(1, 2);
      rows.queries = std::min<std::int64_t>(rows.queries, 17);
      rows.keys = std::min<std::int64_t>(rows.keys, 17);
    } else if (arguments.chance(64)) {
      rows.ends_q = {0, static_cast<std::int32_t>(rows.queries / 3), static_cast<std::int32_t>(rows.queries)};
      rows.ends_k = {0, static_cast<std::int32_t>(rows.keys / 2), static_cast<std::int32_t>(rows.keys)};
    }
    layer.mask.kind = rows.mask;
    for (int n = arguments.spoils() / 2; n > 0; --n) change_layer(arguments, layer);
    const auto take = [&](std::int64_t tokens, std::int64_t heads, std::int64_t channels) {
      const DType dtype = arguments.choice(kDTypes);
      return rows.batch > 0 ? slots.take(arguments, dtype, {rows.batch, heads, tokens, channels})
                            : slots.take(arguments, dtype, {tokens, heads, channels});
    };
    args.out = take(rows.queries, layer.heads, layer.value_dim);
    args.q = take(rows.queries, layer.heads, layer.head_dim);
    args.k = take(rows.keys, layer.kv_heads, layer.head_dim);
    args.v = take(rows.keys, layer.kv_heads, layer.value_dim);
    give_inputs(arguments);
    if (arguments.chance(64)) give_state(arguments, slots);
    args.feature_map = arguments.enumerator(FeatureMap::relu);
    if (arguments.chance(16)) args.angles = arguments.enumerator(Angles::bfloat16);
    args.isa = isa_of(arguments);
    args.parallel = parallel_of(arguments);
    for (int n = arguments.spoils(); n > 0; --n) spoil(arguments, slots);
  }
  LinearArguments(const LinearArguments&) = delete;
  LinearArguments& operator=(const LinearArguments&) = delete;

  LayerPlan layer;
  test::LinearRows rows;
  AttendLinearArgs args;

  std::vector<TensorView> written() const {
    std::vector<TensorView> out{args.out};
    for (const TensorView& x : {args.state.products, args.state.totals}) {
      if (!x.empty()) out.push_back(x);
    }
    return out;
  }

 private:
  void give_inputs(Arguments& arguments) {
    const std::int64_t batch = std::max<std::int64_t>(rows.batch, 1);
    args.inputs.cu_seqlens_q = rows.ends_q;
    args.inputs.cu_seqlens_k = rows.ends_k;
    if (arguments.chance(96)) return;
    q_positions_.emplace(arguments, batch * rows.queries, 0);
    k_positions_.emplace(arguments, batch * rows.keys, 0);
    args.inputs.q_positions = q_positions_->view();
    args.inputs.k_positions = k_positions_->view();
  }

  // Zeros, or what was before: then there is no reference.
  void give_state(Arguments& arguments, Slots& slots) {
    const std::int64_t sequences =
        rows.ends_k.empty() ? std::max<std::int64_t>(rows.batch, 1) : std::ssize(rows.ends_k) - 1;
    args.state.products =
        slots.take(arguments, DType::f32, {sequences, layer.kv_heads, layer.head_dim, layer.value_dim});
    args.state.totals = slots.take(arguments, DType::f32, {sequences, layer.kv_heads, layer.head_dim});
  }

  void spoil(Arguments& arguments, const Slots& slots) {
    const auto spoil_view = [&](auto& view) {
      const std::array<TensorView, 3> others{args.out, args.state.products, args.state.totals};
      TensorView changed{const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
      slots.spoil(arguments, changed, arguments.choice(others));
      view = changed;
    };
    switch (arguments.byte() % 9) {
      case 0: return spoil_view(args.out);
      case 1: return spoil_view(args.q);
      case 2: return spoil_view(args.k);
      case 3: return spoil_view(args.v);
      case 4: return spoil_view(args.state.products);
      case 5: return spoil_view(args.state.totals);
      case 6: rows.ends_q.push_back(static_cast<std::int32_t>(arguments.odd_whole())); break;
      case 7: rows.ends_k.push_back(static_cast<std::int32_t>(arguments.odd_whole())); break;
      default: args.inputs.length = arguments.odd_whole(); return;
    }
    args.inputs.cu_seqlens_q = rows.ends_q;
    args.inputs.cu_seqlens_k = rows.ends_k;
  }

  std::optional<PositionList> q_positions_, k_positions_;
};

test::Tensor numbers_of(const ConstTensorView& x) {
  test::Tensor out{{}, {x.shape.begin(), x.shape.begin() + x.rank}};
  for_offsets(x, [&](std::int64_t offset) { out.values.push_back(reference::read(x, offset)); });
  return out;
}

// A view may have bytes of another dtype for elements, whose products are beyond any float.
bool are_small(const test::Tensor& x) {
  return std::ranges::none_of(x.values, [](double one) { return std::abs(one) > 0x1p20; });
}

void must_be_attended(const LinearArguments& call, const Slots& slots) {
  const AttendLinearArgs& args = call.args;
  test::LinearRows rows = call.rows;
  const bool is_batch = args.q.rank == 4;
  rows.mask = call.layer.mask.kind;
  rows.batch = is_batch ? args.q.shape[0] : 0;
  rows.queries = args.q.shape[is_batch ? 2 : 0];
  rows.keys = args.k.shape[is_batch ? 2 : 0];
  test::LinearCall same(call.layer, {.name = "none"}, args.feature_map, DType::f32, 0);
  same.rows = rows;
  same.q = numbers_of(slots.remembered(args.q));
  same.k = numbers_of(slots.remembered(args.k));
  same.v = numbers_of(slots.remembered(args.v));
  test::Tensor out{std::vector<double>(static_cast<std::size_t>(count_of(args.out))),
                   {args.out.shape.begin(), args.out.shape.begin() + args.out.rank}};
  // What the kernels take, the reference takes.
  must(reference::attend_linear(call.layer, {.out = out.writable(),
                                             .q = same.q,
                                             .k = same.k,
                                             .v = same.v,
                                             .inputs = args.inputs,
                                             .feature_map = args.feature_map}),
       "a call that nobody cancels comes to its end");
  if (!slots.are_calm() || !are_small(same.q) || !are_small(same.k) || !are_small(same.v)) return;
  if (args.angles != Angles::exact || !args.state.products.empty()) return;
  const std::vector<double> bounds = same.bounds(out.values);
  std::size_t n = 0;
  for_offsets(args.out, [&](std::int64_t offset) {
    const double wanted = out.values[n];
    const double bound = test::stored_error(args.out.dtype, wanted, bounds[n++]);
    const bool fits = std::abs(wanted) + bound < (args.out.dtype == DType::f16 ? 65000.0 : 1e37);
    if (fits) must(std::abs(reference::read(args.out, offset) - wanted) <= bound, "an output is the reference's");
  });
}

}  // namespace

void run_one(std::string_view bytes) {
  Arguments arguments(bytes);
  Slots slots;
  const LinearArguments call(arguments, slots);
  slots.remember();
  if (outcome_of(slots, [&] { return attend_linear(call.layer, call.args); }) != Outcome::done) return;
  must(slots.are_untouched_but(call.written()), "nothing beside the elements of outputs is written");
  must_be_apart(call.written(), std::array{call.args.q, call.args.k, call.args.v});
  must_be_attended(call, slots);
  const auto before = bytes_in_each(call.written());
  slots.restore();
  AttendLinearArgs again = call.args;
  again.parallel = {.executor = backwards()};
  again.keep_going = [] { return true; };
  must(attend_linear(call.layer, again), "a call that is let go on comes to its end");
  must(bytes_in_each(call.written()) == before, "three threads give the bits of one");
}

}  // namespace posenc::fuzz

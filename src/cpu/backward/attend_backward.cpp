// attend_backward() of posenc/attend_backward.h: checked and lowered as attend is, then three steps: units of queries
// (backward_unit.h), keys and values (finish_keys.h), and what the layer has learned (raise.h).
#include "posenc/attend_backward.h"

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "cpu/attend/arena.h"
#include "cpu/attend/kept_angles.h"
#include "cpu/attend/kept_layer.h"
#include "cpu/backward/backward_call.h"
#include "cpu/backward/backward_unit.h"
#include "cpu/backward/bias_gradients.h"
#include "cpu/backward/check_backward_call.h"
#include "cpu/backward/finish_keys.h"
#include "cpu/backward/raise.h"
#include "cpu/backward/task_order.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/run_tasks.h"
#include "cpu/lower/weight_reader.h"
#include "cpu/machine/dispatch.h"

namespace posenc::inline v0_2 {
namespace {

using cpu::index;

// Rows of KeyDistance where channels are no whole number of registers.
void pad_vectors(cpu::BackwardCall& backward) {
  const cpu::AttendCall& call = backward.call;
  const std::int64_t channels = call.layer.head_dim;
  backward.padded.resize(call.lowered.terms.size());
  if (backward.key_width == channels) return;
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    if (!std::holds_alternative<math::KeyDistance>(call.lowered.terms[t])) continue;
    const std::vector<float>& rows = call.vectors(t).rows;
    const std::int64_t count = std::ssize(rows) / channels;
    backward.padded[t].resize(index(count * backward.key_width));
    for (std::int64_t n = 0; n < count; ++n) {
      std::copy_n(rows.data() + n * channels, channels, backward.padded[t].data() + n * backward.key_width);
    }
  }
}

// Sums of all heads, and zeros in them and in what is added to as blocks end.
void begin_sums(cpu::BackwardCall& backward) {
  const cpu::AttendCall& call = backward.call;
  const std::int64_t heads = call.layer.heads;
  backward.of_rows.resize(call.lowered.terms.size());
  for (std::size_t t = 0; t < call.lowered.terms.size(); ++t) {
    const bool wants = backward.wants[t] != 0;
    backward.of_terms.emplace_back(wants ? cpu::size_of_term(call, t) : cpu::TermSize{}, heads);
    const bool is_column = std::holds_alternative<math::Column>(call.lowered.terms[t]);
    const bool is_knots = std::holds_alternative<math::Knots>(call.lowered.terms[t]);
    if (wants && is_column) backward.of_rows[t].of_keys.resize(index(heads * call.lowered.k_rows));
    if (wants && (is_column || is_knots)) backward.of_rows[t].of_queries.resize(index(heads * call.lowered.q_rows));
  }
  backward.of_values = cpu::TermSums(backward.wants_values ? cpu::size_of_values(call) : cpu::TermSize{}, heads);
  backward.of_sinks.resize(index(heads));
  backward.of_frequencies.assign(index(call.layer.kv_heads), cpu::no_frequencies(call));
  for (const TensorView& x : {backward.args.d_bias, backward.args.d_log_forget, backward.args.d_row_gate}) {
    cpu::clear(x);
  }
  cpu::begin_keys(backward);
}

// Each unit of a KV head asks for all keys, each head for its queries.
cpu::AskedRows asked_rows(const cpu::AttendCall& call, const std::vector<cpu::BackwardUnit>& units) {
  cpu::AskedRows out;
  for (const cpu::BackwardUnit& unit : units) {
    out.queries += unit.rows * call.group;
    out.keys += call.rows.sequences[unit.sequence].k_count;
  }
  return out;
}

// `kept` are the floats of a prepared layer, one entry a term, or nothing.
bool pass_back(const LayerPlan& layer, const AttendBackwardArgs& args, std::span<const cpu::TermVectors> kept) {
  const AttendArgs forward = cpu::forward_args(args);
  const math::CallSizes sizes = cpu::check_backward_call(layer, args, forward);
  const kernels::KernelTable& kernels = cpu::kernels_for("attend_backward", args.isa);
  cpu::BackwardCall backward{.args = args,
                             .call = cpu::attend_call(layer, forward, sizes, kernels, kept),
                             .out = cpu::rows_view(args.out),
                             .d_out = cpu::rows_view(args.d_out),
                             .d_carries = cpu::carries_of(layer, args.d_carry)};
  cpu::AttendCall& call = backward.call;
  call.lse = forward.lse;
  call.rotates_by_steps = false;
  call.score_pairs = call.value_pairs = call.decode_pairs = nullptr;
  backward.key_width = cpu::whole(layer.head_dim, call.attention.register_lanes);
  backward.value_width = cpu::whole(layer.value_dim, call.attention.register_lanes);
  backward.orders_bias = cpu::is_shared(call, args.d_bias);
  cpu::mark_wanted(backward);
  pad_vectors(backward);
  begin_sums(backward);

  const std::vector<cpu::BackwardUnit> units = cpu::backward_units(backward);
  cpu::KeepGoing keep_going(args.keep_going);
  cpu::keep_angles(call, asked_rows(call, units), keep_going);
  const cpu::FarTiles far(call);
  cpu::TaskOrder order(std::ssize(units));
  cpu::HeapLines heap;
  std::vector<cpu::BackwardWorker> workers;
  const std::int64_t threads = std::min<std::int64_t>(cpu::threads_of(args.parallel), std::ssize(units));
  workers.reserve(index(threads));
  for (std::int64_t w = 0; w < threads; ++w) workers.emplace_back(backward, units, far, order, keep_going, &heap);
  cpu::run_tasks(args.parallel, workers, std::ssize(units), [&](cpu::BackwardWorker& worker, std::int64_t n) noexcept {
    if (keep_going.is_stopped()) return order.pass(n, cpu::TaskOrder::kAll);
    worker.run(n);
  });
  if (keep_going.answer()) cpu::finish_keys(backward, keep_going);
  if (!keep_going.answer()) return false;
  cpu::raise(backward);
  return true;
}

}  // namespace

bool attend_backward(const LayerPlan& layer, const AttendBackwardArgs& args) { return pass_back(layer, args, {}); }

bool attend_backward(const PreparedLayer& prepared, const AttendBackwardArgs& args) {
  const cpu::KeptLayer& kept = cpu::KeptLayerAccess::kept(prepared);
  return pass_back(kept.layer, cpu::with_kept("attend_backward", kept, args), kept.terms);
}

}  // namespace posenc::inline v0_2

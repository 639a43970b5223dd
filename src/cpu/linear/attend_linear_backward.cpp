// attend_linear_backward() of posenc/attend_linear.h: checked and lowered as attend_linear is; a task is a KV head of a
// sequence, which has sums of its own (linear_gradients.h). Reference: src/reference/attend_linear_backward.cpp.
#include <algorithm>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/kept_angles.h"
#include "cpu/backward/check_gradients.h"
#include "cpu/backward/raise.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/run_tasks.h"
#include "cpu/linear/check_linear_call.h"
#include "cpu/linear/linear_features.h"
#include "cpu/linear/linear_gradients.h"
#include "cpu/machine/dispatch.h"
#include "math/check/check_linear.h"
#include "posenc/attend_linear.h"

namespace posenc::inline v0_2 {

bool attend_linear_backward(const LayerPlan& layer, const AttendLinearBackwardArgs& args) {
  const LayerPlan attending = math::attending(layer);
  const AttendArgs same{.out = cpu::written_view(args.d_out),
                        .q = args.q,
                        .k = args.k,
                        .v = args.v,
                        .inputs = args.inputs,
                        .angles = args.angles,
                        .parallel = args.parallel};
  const math::CallSizes sizes = cpu::check_linear_backward(attending, args, same);
  cpu::AttendCall call = cpu::attend_call(attending, same, sizes, cpu::kernels_for("attend_linear_backward", args.isa));
  cpu::leave_out_factors(call);
  cpu::KeepGoing keep_going(args.keep_going);
  const std::int64_t heads = call.layer.kv_heads;
  // Both passes over the rows read every query head's angles and every KV head's.
  cpu::keep_angles(call,
                   {.queries = 2 * heads * call.group * call.lowered.q_rows, .keys = 2 * heads * call.lowered.k_rows},
                   keep_going);
  cpu::LinearBackward backward{.args = args,
                               .call = call,
                               .feature = cpu::feature_of(args.feature_map),
                               .d_out = cpu::rows_view(args.d_out),
                               .wants_frequencies = cpu::asks_for_frequencies(attending, args.d_weights)};
  if (!args.d_q.empty()) backward.d_q = cpu::rows_view(args.d_q);
  if (!args.d_k.empty()) backward.d_k = cpu::rows_view(args.d_k);
  if (!args.d_v.empty()) backward.d_v = cpu::rows_view(args.d_v);
  const std::int64_t units = std::ssize(call.rows.sequences) * heads;
  std::vector<cpu::FrequencySums> frequencies;
  if (backward.wants_frequencies) {
    frequencies.assign(cpu::index(std::max<std::int64_t>(units, 1)), cpu::no_frequencies(call));
  }
  std::vector<cpu::LinearGradients> workers;
  const std::int64_t threads = std::min(cpu::threads_of(args.parallel), units);
  workers.reserve(cpu::index(threads));
  for (std::int64_t w = 0; w < threads; ++w) workers.emplace_back(backward, keep_going);
  cpu::run_tasks(args.parallel, workers, units, [&](cpu::LinearGradients& worker, std::int64_t n) noexcept {
    worker.run(n / heads, n % heads, frequencies.empty() ? nullptr : &frequencies[cpu::index(n)]);
  });
  if (backward.wants_frequencies) cpu::write_frequencies(attending, args.d_weights, cpu::summed(frequencies));
  return keep_going.answer();
}

}  // namespace posenc::inline v0_2

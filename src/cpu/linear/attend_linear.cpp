// Which KV heads of which sequences there are, and who does them: in chunks, cpu/linear/linear_unit.h, or a few rows
// one by one, cpu/linear/linear_step.h.
//
// The call is lowered as one of attend is, with angles that leave out the attention factor; a task is a KV head of a
// sequence, whose sums S and z no other task needs. Reference: src/reference/attend_linear.cpp.
#include "posenc/attend_linear.h"

#include <algorithm>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/kept_angles.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/run_tasks.h"
#include "cpu/linear/check_linear_call.h"
#include "cpu/linear/linear_features.h"
#include "cpu/linear/linear_step.h"
#include "cpu/linear/linear_unit.h"
#include "cpu/machine/dispatch.h"
#include "math/check/check_linear.h"

namespace posenc::inline v0_2 {
namespace {

// KV heads of all sequences among workers, as many as there are threads.
template <typename Worker, typename Make>
void share_heads(const cpu::AttendCall& call, const Make& make) {
  const std::int64_t heads = call.layer.kv_heads;
  const std::int64_t units = std::ssize(call.rows.sequences) * heads;
  std::vector<Worker> workers;
  for (std::int64_t w = std::min(cpu::threads_of(call.args.parallel), units); w > 0; --w) workers.push_back(make());
  cpu::run_tasks(call.args.parallel, workers, units,
                 [heads](Worker& worker, std::int64_t n) noexcept { worker.attend(n / heads, n % heads); });
}

}  // namespace

bool attend_linear(const LayerPlan& layer, const AttendLinearArgs& args) {
  const LayerPlan attending = math::attending(layer);
  const AttendArgs same{.out = args.out,
                        .q = args.q,
                        .k = args.k,
                        .v = args.v,
                        .inputs = args.inputs,
                        .angles = args.angles,
                        .parallel = args.parallel};
  cpu::AttendCall call = math::named_attend_linear([&] {
    const math::CallSizes sizes = cpu::check_linear_call(attending, args, same);
    return cpu::attend_call(attending, same, sizes, cpu::kernels_for("attend_linear", args.isa));
  });
  cpu::leave_out_factors(call);
  cpu::KeepGoing keep_going(args.keep_going);
  const std::int64_t heads = call.layer.kv_heads;
  // Every query head reads each query's angles, every KV head each key's.
  cpu::keep_angles(call, {.queries = heads * call.group * call.lowered.q_rows, .keys = heads * call.lowered.k_rows},
                   keep_going);
  const kernels::Feature feature = cpu::feature_of(args.feature_map);
  if (takes_steps(call, args.state)) {
    // Asked before the state is written, as steps are too short to ask within.
    if (keep_going()) {
      share_heads<cpu::LinearStepper>(call, [&] { return cpu::LinearStepper(call, feature, args.state); });
    }
    return keep_going.answer();
  }
  share_heads<cpu::LinearWorker>(call, [&] { return cpu::LinearWorker(call, feature, args.state, keep_going); });
  return keep_going.answer();
}

}  // namespace posenc::inline v0_2

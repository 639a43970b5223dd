// Which key heads of which sequences there are, and who does them. The loop over chunks: cpu/linear_unit.h.
#include "posenc/attend_linear.h"

#include <algorithm>
#include <vector>

#include "cpu/attend_call.h"
#include "cpu/check_linear_call.h"
#include "cpu/dispatch.h"
#include "cpu/go_on.h"
#include "cpu/linear_unit.h"
#include "cpu/share_out.h"
#include "math/check_linear.h"

namespace posenc {
namespace {

kernels::Feature feature_of(FeatureMap map) {
  switch (map) {
    case FeatureMap::elu_plus_one: return kernels::Feature::elu_plus_one;
    case FeatureMap::identity: return kernels::Feature::identity;
    case FeatureMap::relu: return kernels::Feature::relu;
  }
  return kernels::Feature::identity;
}

// The attention factor would change the numerator alone.
void leave_out_factors(cpu::AttendCall& call) {
  for (cpu::CallRotation& rotation : call.rotations) {
    rotation.angles = cpu::AngleRule(rotation.rule->inv_freq, rotation.rule->axis_of_pair, 1.0, call.args.angles);
  }
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
  const math::CallSizes sizes = cpu::check_linear_call(attending, args, same);
  cpu::AttendCall call = cpu::attend_call(attending, same, sizes, cpu::kernels_for("attend_linear", args.isa));
  leave_out_factors(call);
  cpu::GoOn go_on(args.go_on);
  const std::int64_t units = std::ssize(call.rows.sequences) * layer.kv_heads;
  const std::int64_t threads = std::min(cpu::threads_of(args.parallel), units);
  std::vector<cpu::LinearWorker> workers;
  workers.reserve(cpu::index(threads));
  for (std::int64_t w = 0; w < threads; ++w) {
    workers.emplace_back(call, feature_of(args.feature_map), args.state, go_on);
  }
  cpu::share_out(args.parallel, workers, units, [&](cpu::LinearWorker& worker, std::int64_t n) noexcept {
    worker.attend({.sequence = n / layer.kv_heads, .kv_head = n % layer.kv_heads});
  });
  return go_on.answer();
}

}  // namespace posenc

// plan_from_json(): a plan or a sound error. A plan that was accepted describes itself, has its frequencies, and is
// written and read back as the same.
#include "fuzz/plan_checks.h"
#include "fuzz/target.h"
#include "posenc/plan.h"

namespace posenc::fuzz {

void run_one(std::string_view bytes) {
  constexpr std::string_view kName = "plan.json";
  const Result<Plan> plan = plan_from_json(bytes, kName);
  if (!plan) return must_be_sound(plan.error(), bytes, kName);
  must_have_frequencies(*plan);
  must_describe(*plan);
  must_be_usable(*plan);
  for (const Stack& stack : plan->stacks) {
    std::size_t layers = 0;
    for (const LayerRun& run : layer_runs(stack)) layers += run.layers.size();
    must(layers == stack.layers.size(), "every layer is in exactly one run");
  }
}

}  // namespace posenc::fuzz

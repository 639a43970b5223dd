// What somebody else's program does with posenc. Exits with 0 when every answer is right.
#include <posenc/posenc.h>

#include <cmath>
#include <cstdio>

namespace {

bool right(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "wrong: %s\n", what);
  return holds;
}

bool table_is_right() {
  const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = 128, .dim = 128};
  const posenc::RotaryTable table = posenc::make_table(rope, {.count = 2});
  return right(std::abs(table.cos(1)[0] - std::cos(1.0)) < 6e-8, "cos of the first pair at position 1");
}

bool plan_is_right() {
  const posenc::Plan plan = posenc::preset_plan("llama-3.1-8b");
  return right(plan.known && plan.stacks.size() == 1 && plan.stacks[0].layers.size() == 32, "layers of llama-3.1-8b");
}

// Thrown in the library, caught here by its type.
bool error_is_caught() {
  try {
    posenc::preset_plan("no such model");
  } catch (const posenc::Error&) {
    return true;
  }
  return right(false, "no Error for a model that does not exist");
}

}  // namespace

int main() { return table_is_right() && plan_is_right() && error_is_caught() ? 0 : 1; }

#include "fuzz/plan_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "posenc/rope.h"
#include "support/usable_plan.h"

namespace posenc::fuzz {
namespace {

// A layer's JSON repeats its frequencies: a config of 100 bytes may claim 1024 layers of 4096 pairs. That costs what it
// costs, but not at every execution.
constexpr std::int64_t kMaxPairsWritten = 1024;
constexpr std::int64_t kMaxLayersWritten = 16;

template <typename Visit>
void for_each_rotation(const Plan& plan, Visit visit) {
  for (const Stack& stack : plan.stacks) {
    const Rope* last = nullptr;
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        const Rope& scheme = rope(rotate);
        if (last == nullptr || !(*last == scheme)) visit(scheme);
        last = &scheme;
      }
    }
  }
}

struct Size {
  std::int64_t layers = 0;
  std::int64_t pairs = 0;
};

Size written_size(const Plan& plan) {
  Size size;
  for (const Stack& stack : plan.stacks) {
    size.layers += static_cast<std::int64_t>(stack.layers.size());
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) size.pairs += rope(rotate).pairs();
    }
  }
  return size;
}

void must_be_finite(const Frequencies& found, const Rope& scheme) {
  must(static_cast<std::int64_t>(found.inv_freq.size()) == scheme.pairs(), "there is a frequency per pair");
  const double sign = scheme.rotation_direction == RotationDirection::clockwise ? -1.0 : 1.0;
  const auto sound = [sign](double value) { return std::isfinite(value) && sign * value >= 0; };
  must(std::all_of(found.inv_freq.begin(), found.inv_freq.end(), sound), "frequencies are finite");
  must(std::isfinite(found.attention_factor), "an attention factor is finite");
}

}  // namespace

void must_describe(const Plan& plan) {
  const std::string text = describe(plan);
  must(!text.empty(), "a plan has a description");
  const auto unsafe = [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F); };
  must(std::none_of(text.begin(), text.end(), unsafe), "a description is safe to print");
}

void must_have_frequencies(const Plan& plan) {
  for_each_rotation(plan, [&plan](const Rope& scheme) {
    must(!check(scheme, plan.length), "a rotation that was read passes its check");
    must_be_finite(frequencies(scheme, plan.length), scheme);
  });
}

void must_be_usable(const Plan& plan) {
  const Size size = written_size(plan);
  if (size.layers > kMaxLayersWritten || size.pairs > kMaxPairsWritten) return;
  const std::string wrong = test::unusable(plan);
  must(wrong.empty(), wrong.c_str());
}

}  // namespace posenc::fuzz

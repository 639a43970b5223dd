#include "plan/assemble/plan_size.h"

#include "base/formatted.h"

namespace posenc::plan {

std::optional<FileError> beyond_size(const Plan& plan) {
  std::int64_t pairs = 0;  // at most kMaxLayers x kMaxHeadDim for each of a few rotations and stacks
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) pairs += rope(rotate).dim / 2;
    }
  }
  if (pairs <= kMaxPairs) return {};
  FileError error;
  error.kind = ErrorKind::limit;
  error.file = plan.source.name;
  error.expected = formatted("at most {} pairs of channels that rotate, in all layers", kMaxPairs);
  error.got = formatted("{}", pairs);
  return error;
}

}  // namespace posenc::plan

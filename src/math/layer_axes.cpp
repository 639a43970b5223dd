// How many coordinates a token needs in a layer: the axes of its rotations (M-RoPE has 3, arXiv 2409.12191; 2-D vision
// 2), and those along which its score terms count (Swin's window, arXiv 2103.14030; LayoutLMv2's boxes).
#include "math/layer_axes.h"

#include <algorithm>
#include <variant>

namespace posenc::math {

std::int64_t axes_of(const LayerPlan& layer) {
  std::int64_t axes = 1;
  for (const Rotate& one : layer.rotate) {
    if (one.role == RotateRole::main) axes = std::max<std::int64_t>(axes, std::ssize(rope(one).axes.names));
  }
  for (const ScoreTerm& term : layer.score) {
    const bool is_grid = std::holds_alternative<GridBias>(term) || std::holds_alternative<DecomposedHw>(term);
    if (is_grid) axes = std::max<std::int64_t>(axes, 2);
    if (const auto* t5 = std::get_if<T5Bias>(&term)) axes = std::max(axes, t5->axis + 1);
  }
  return axes;
}

}  // namespace posenc::math

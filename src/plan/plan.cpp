#include "posenc/plan.h"

namespace posenc {

const Rope& rope(const Rotate& rotate) noexcept {
  const XPos* xpos = std::get_if<XPos>(&rotate.scheme);
  return xpos != nullptr ? xpos->rope : *std::get_if<Rope>(&rotate.scheme);
}

}  // namespace posenc

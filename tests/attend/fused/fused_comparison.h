// attend against the reference: how far apart, and how far they may be (tolerances.h, attend in floats).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/fused/fused_bounds.h"
#include "attend/fused/fused_call.h"
#include "attend/scheme_call.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test {

// Calls that the reference answers once, and attend on every instruction set; of products of bfloat16, on those that
// have them.
class FusedComparison {
 public:
  explicit FusedComparison(const std::string& suite, Products products = Products::f32);

  void compare(const SchemeCase& scheme, const Arrangement& arrangement, Places places, DType dtype = DType::f32);
  // Ratios of all calls, to be expected; and how many calls there were.
  std::uint64_t expect() const;

 private:
  struct OfIsa {
    Isa isa;
    ErrorRatio out;
    ErrorRatio lse;
  };
  Products products_;
  std::vector<OfIsa> isas_;
  std::uint64_t calls_ = 0;
};

}  // namespace posenc::test

// A call of attention in floats: by the kernels, and by the reference from the very same numbers.
#pragma once

#include <vector>

#include "attend/scheme_call.h"
#include "posenc/attend.h"

namespace posenc::test {

class FusedCall {
 public:
  explicit FusedCall(SchemeCall& call, DType dtype = DType::f32);

  SchemeCall::Result by_kernels(Isa isa, std::int64_t threads = 1);
  SchemeCall::Result by_formulas() { return call_.by_formulas(); }
  AttendWork work{};

 private:
  SchemeCall& call_;
  DType dtype_;
  std::vector<std::byte> q_, k_, v_;
};

}  // namespace posenc::test

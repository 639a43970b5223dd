// A call of attention in floats: by the kernels, and by the reference from the very same numbers.
#pragma once

#include <optional>
#include <vector>

#include "attend/scheme_call.h"
#include "posenc/attend.h"
#include "posenc/prepared_layer.h"
#include "support/guarded_memory.h"

namespace posenc::test {

// How a call is made that is the same to the bit.
struct FusedWay {
  std::int64_t threads = 1;
  std::int64_t block_size = 0;  // of pages that keys and values lie in, the last first; 0: as they are given
  std::int64_t padding = 0;     // channels between two heads, which are of nobody
  // Bytes of scratch beside what the call says that it needs; none: it takes its own.
  std::optional<std::int64_t> spare_scratch{};
  std::optional<Edge> guard{};  // each tensor begins, or ends, at a page that nobody may touch
  Executor executor{};
  AttendWork* work = nullptr;
  const PreparedLayer* prepared = nullptr;  // of the call's layer and weights
};

class FusedCall {
 public:
  explicit FusedCall(SchemeCall& call, DType dtype = DType::f32, Products products = Products::f32);
  FusedCall(const FusedCall&) = delete;
  FusedCall& operator=(const FusedCall&) = delete;

  SchemeCall::Result by_kernels(Isa isa, const FusedWay& way = {});
  SchemeCall::Result by_formulas() { return call_.by_formulas(); }
  std::vector<std::byte> scratch{};  // of the last call that was given some

 private:
  SchemeCall& call_;
  DType dtype_;
  Products products_;
  std::vector<std::byte> q_, k_, v_;
};

}  // namespace posenc::test

// A call of attention whose keys and values are in a quantised cache: stored by rotate_into_cache, read by attend, and
// by the reference from the very numbers that dequantise gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attend/scheme_call.h"
#include "posenc/attend.h"
#include "posenc/cache.h"
#include "support/guarded_memory.h"

namespace posenc::test {

struct QuantisedWay {
  CacheFormat k = CacheFormat::int8;
  CacheFormat v = CacheFormat::int8_asymmetric;
  std::int64_t block_size = 0;  // of pages, the last first; 0: rows in a tensor
  std::int64_t padding = 0;     // bytes between two heads, which are of nobody
  DType channel_scales = DType::f16;
  Edge guard = Edge::end;  // of the codes' memory
};

// Codes with what makes numbers of them, as memory of its own.
class QuantisedTensor {
 public:
  // [rows, heads, channels], or blocks of block_size rows.
  QuantisedTensor(CacheFormat format, std::int64_t rows, std::int64_t heads, std::int64_t channels,
                  std::int64_t block_size, std::int64_t group, std::int64_t padding, DType channel_scales, Edge guard);

  const QuantisedView& view() const { return view_; }
  // Of members that have equal parts of the rows: [batch, heads, tokens, channels].
  ConstQuantisedView of_batch(std::int64_t batch) const;

 private:
  QuantisedView view_;
  std::unique_ptr<GuardedMemory> codes_;
  std::vector<std::byte> scales_, zeros_;
};

class QuantisedCall {
 public:
  // Stores the call's keys and values, which become what the formats keep of them.
  QuantisedCall(SchemeCall& call, const QuantisedWay& way);

  // Whether the formats take the call's heads.
  static bool fits(const SchemeCall& call, const QuantisedWay& way);
  SchemeCall::Result by_kernels(Isa isa, std::int64_t threads = 1) const;
  SchemeCall::Result bounds(const SchemeCall::Result& wanted) const;
  std::string text() const;

 private:
  void keep(QuantisedTensor& x, Tensor& numbers) const;

  SchemeCall& call_;
  QuantisedWay way_;
  std::vector<std::int64_t> slots_;
  std::vector<std::int32_t> table_;
  std::unique_ptr<QuantisedTensor> k_, v_;
};

}  // namespace posenc::test

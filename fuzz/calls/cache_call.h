// A call of rotate_into_cache out of the bytes of an input: one that is right, of which some things are then spoilt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/calls/arguments.h"
#include "fuzz/calls/rotations.h"
#include "fuzz/calls/slots.h"
#include "posenc/cache.h"

namespace posenc::fuzz {

class CacheCall {
 public:
  CacheCall(Arguments& arguments, Slots& slots);
  CacheCall(const CacheCall&) = delete;
  CacheCall& operator=(const CacheCall&) = delete;

  CacheArgs args;

  const Rotation& rotation() const { return rotation_; }
  // The rows of the caches that are written.
  std::vector<TensorView> written() const;
  std::vector<ConstTensorView> read() const;

 private:
  void give_norm(Arguments& arguments, Slots& slots, std::int64_t heads);
  void give_slots(Arguments& arguments, std::int64_t tokens, std::int64_t rows);
  void spoil(Arguments& arguments, const Slots& slots);

  Rotation rotation_;
  std::optional<PositionList> positions_;
  std::vector<std::int64_t> slots_;
  std::vector<std::int32_t> cu_seqlens_;
};

// Row `slot` of a cache, contiguous or paged: [heads, channels].
TensorView row_of_cache(const TensorView& cache, std::int64_t slot);

}  // namespace posenc::fuzz

// Memory for the tensors of a call: slots between pages that nobody may touch, made once for the process.
//
// A tensor begins at the page before its slot, or ends at the page after; the rest of the slot, and what lies between
// its elements, is 0xFF, a NaN in every dtype. What a call may not write is compared byte by byte.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "fuzz/calls/arguments.h"
#include "posenc/tensor.h"

namespace posenc::fuzz {

inline constexpr std::int64_t kSlotBytes = 32768;
inline constexpr std::size_t kSlots = 18;

class Slots {
 public:
  // All slots are free and 0xFF: one at a time.
  Slots();

  // A tensor in a slot of its own: any order of its axes but the last, gaps, reversed axes, at either page, elements
  // beside it or not. Of numbers up to 4, or, once in a while, of every number that there is.
  TensorView take(Arguments& arguments, DType dtype, std::span<const std::int64_t> shape);
  TensorView take(Arguments& arguments, DType dtype, std::initializer_list<std::int64_t> shape) {
    return take(arguments, dtype, std::span(shape.begin(), shape.size()));
  }
  // Whether all tensors hold numbers up to 4 alone.
  bool are_calm() const noexcept { return calm_; }

  // Makes one thing of a view wrong, or odd: its data, dtype, rank, a size, a stride, or its memory, which is that of
  // `other`. A view that would reach beyond its slot gets no memory at all: what it says of it is the caller's promise.
  void spoil(Arguments& arguments, TensorView& view, const TensorView& other) const;

  // What the slots hold, and what they held when they were remembered.
  void remember();
  void restore() const;
  ConstTensorView remembered(const ConstTensorView& view) const;
  bool are_untouched() const { return are_untouched_but({}); }
  // With the elements of these views as they are now.
  bool are_untouched_but(std::span<const TensorView> written) const;
  // Whether two views have a byte in common.
  static bool share(const ConstTensorView& a, const ConstTensorView& b);

 private:
  std::size_t used_ = 0;
  bool calm_ = true;
  std::vector<std::byte> remembered_;
};

}  // namespace posenc::fuzz

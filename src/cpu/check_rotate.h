// A call of rotate, checked: what remains is pointers, sizes and strides.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernels.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

// One tensor of [batch, rows, heads, channels]; strides in elements, that of channels is 1.
struct HeadsView {
  struct Strides {
    std::int64_t batch = 0;
    std::int64_t row = 0;
    std::int64_t head = 0;
  };
  const char* from = nullptr;  // null: there is no tensor
  char* to = nullptr;
  kernels::Element element = kernels::Element::f32;
  std::int64_t element_bytes = 0;
  std::int64_t heads = 0;
  Strides from_strides;
  Strides to_strides;
};

struct RotateCall {
  std::array<HeadsView, 2> tensors;  // q, k
  std::int64_t batch = 0;
  std::int64_t rows = 0;          // of each member of the batch
  std::int64_t sequences = 0;     // the batch, or what is packed
  bool shared_positions = false;  // one row of positions serves every sequence of the batch
  std::int64_t axis_stride = 0;   // between the positions of two axes
};

// Throws Error "[rotate] ..." for whatever does not fit.
RotateCall check_rotate(const RotateArgs& args);

// The rows of sequence s, counted through the batch.
struct Sequence {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Sequence sequence(const RotateArgs& args, const RotateCall& call, std::int64_t s) noexcept;

const RotaryTable& table_of(const RotateArgs& args, std::int64_t s) noexcept;

}  // namespace posenc::cpu

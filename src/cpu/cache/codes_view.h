// A quantised tensor of keys or values, checked: what remains is codes, pointers, sizes and strides. Contiguous rows,
// members of a batch and pages come out alike.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cpu/cache/cache_formats.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/tensor_memory.h"

namespace posenc::cpu {

// Something at [member][token][head]: of a member of the batch, or of a block of a paged cache. Strides in `bytes`.
struct Places {
  char* data = nullptr;  // written where the view's was
  std::int64_t bytes = 1;
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;

  char* at(std::int64_t member, std::int64_t token, std::int64_t head) const {
    return data + (member * batch_stride + token * row_stride + head * head_stride) * bytes;
  }
};

struct CodesView {
  const FormatFacts* facts = nullptr;  // null: not quantised
  std::int64_t batch = 1;
  std::int64_t tokens = 0;  // of a member of the batch, or of a block
  std::int64_t heads = 0;
  std::int64_t channels = 0;
  Places rows;    // of bytes
  Places scales;  // data is null where there are none; of int4_by_channel a row is a group, of adjacent channels
  Places zeros;   // likewise
  kernels::Element scale_element = kernels::Element::f32;
  float fixed_scale = 1.0F;
  std::int64_t group = 1;  // tokens with one row of scales

  bool by_channel() const { return facts->scale_of == ScaleOf::channel; }
  std::int64_t row_bytes() const { return facts->row_bytes(channels); }
};

// Addresses of codes, scales and zeros, in bytes.
struct CodesMemory {
  std::array<Memory, 3> of{};
};

// Throws Error "[where] NAME.member ..." for a view that does not say what it is, or whose scales do not fit it.
// `heads_then_tokens` is a batch, of rank 4.
CodesView check_quantised(TensorName name, const ConstQuantisedView& x, Axes axes, CodesMemory& memory);

// A tensor of its shape for the checks of shapes, f32, with its data's address and no strides of use.
ConstTensorView shape_of(const ConstQuantisedView& x);

// `rows` rows of one head from a token on, all of one member of the batch, as floats.
void read_codes(const kernels::CodeKernels& kernels, const CodesView& x, std::int64_t member, std::int64_t token,
                std::int64_t head, std::int64_t rows, float* to, std::int64_t to_row);

}  // namespace posenc::cpu

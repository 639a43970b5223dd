// A call of add_input, checked: what remains is pointers, sizes and strides. Positions and token types are still read
// from the args.
#pragma once

#include <cstdint>
#include <string_view>

#include "cpu/input/kept_input.h"
#include "kernels/kernels.h"
#include "posenc/add_input.h"

namespace posenc::cpu {

struct InputCall {
  DType dtype = DType::f32;
  std::int64_t element_bytes = 0;
  std::int64_t batch = 0;
  std::int64_t rows = 0;          // of each member of the batch
  bool shared_positions = false;  // one list of positions, or none, serves every member
  bool shared_types = false;
  std::int64_t axis_stride = 0;  // between the positions of two axes
  const void* from = nullptr;
  void* to = nullptr;
  // In elements.
  std::int64_t from_batch = 0;
  std::int64_t from_row = 0;
  std::int64_t to_batch = 0;
  std::int64_t to_row = 0;
  double length = 1.0;  // what normalised integers are divided by

  bool nothing() const noexcept { return from == nullptr; }
};

// Throws Error "[where] ..." for whatever does not fit.
InputCall check_add_input(std::string_view where, const KeptInput& kept, const AddInputArgs& args);

// The coordinate whose sines are taken: scale (c + offset), over the cells of its axis (plus DETR's 1e-6) if
// normalised.
double scaled_coordinate(const AxisSinesInput& scheme, double coordinate, double length) noexcept;

}  // namespace posenc::cpu

// What the parts of a rotation cost by themselves: the least that a kernel could take if nothing else were to do.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"
#include "posenc/info.h"

namespace posenc::bench {

// An order of loads and stores, of heads of 128 channels of f32 that stand one after the other, half layout: by itself,
// and with the formula.
struct Order {
  const char* name;
  void (*pass)(const kernels::RotateRows& rows);
  void (*rotate)(const kernels::RotateRows& rows);
};
using Orders = std::vector<Order>;

struct RotateFloors {
  // The formula alone, half layout, on registers: what `lines` of 64 bytes of that element have to be rotated by.
  void (*rotate_registers)(kernels::Element element, std::int64_t lines);
  // The kernel's loads, conversions and stores, without the formula.
  void (*pass)(const kernels::RotateRows& rows);
  // The kernel.
  void (*rotate)(const kernels::RotateRows& rows);
  // Other orders than the kernel's: of AVX-512 alone.
  Orders orders = {};
  Orders past_caches = {};  // whoever reads what these stored reads memory
};

// Those of an instruction set, from a file compiled for it. Null functions where this program has no such kernel.
RotateFloors rotate_floors(Isa isa);

}  // namespace posenc::bench

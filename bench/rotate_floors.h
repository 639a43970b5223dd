// What the parts of a rotation cost by themselves: the least that a kernel could take if nothing else were to do.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"
#include "posenc/info.h"

namespace posenc::bench {

struct RotateFloors {
  // The formula alone, half layout, on registers: what `lines` of 64 bytes of that element have to be turned by.
  void (*turn)(kernels::Element element, std::int64_t lines);
  // The kernel's loads, conversions and stores, without the formula.
  void (*pass)(const kernels::RotateRows& rows);
  // The kernel.
  void (*rotate)(const kernels::RotateRows& rows);
};

// Null functions where this program has no such kernel.
RotateFloors rotate_floors(Isa isa);

}  // namespace posenc::bench

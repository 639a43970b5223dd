// What this machine's cores multiply and add at most: chains of fused multiply-adds that touch no memory.
// With bench_attend's operations over seconds it gives the fraction of peak FLOP/s: 1 is an attention that does nothing
// but multiply and add, on every cycle.
#pragma once

#include <cstdint>

#include "posenc/attend.h"
#include "posenc/info.h"

namespace posenc::bench {

// `steps` times a fixed number of instructions on registers of that instruction set; of products of bfloat16, where it
// has them. Returns the floating-point operations, two for each multiply-add.
double multiply_add(Isa isa, std::int64_t steps, Products products = Products::f32);

}  // namespace posenc::bench

// Runs the angle kernel of one instruction set on whole rows.
#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "cpu/angles/turns.h"
#include "cpu/machine/machine.h"
#include "kernels/kernels.h"

namespace posenc::cpu {

// Names the instruction set in the names of parametrised tests.
inline void PrintTo(const IsaKernels& kernels, std::ostream* to) { *to << name(kernels.isa); }

}  // namespace posenc::cpu

namespace posenc::test {

struct Rows {
  std::vector<float> cos;  // [n, pairs]
  std::vector<float> sin;  // [n, pairs]
};

// `x` is [n], or [n, pairs] when per_pair.
inline Rows run_angles(const kernels::KernelTable& table, const cpu::Turns& turns, std::int64_t pairs,
                       std::span<const double> x, double factor = 1.0, bool per_pair = false) {
  const std::int64_t n = std::ssize(x) / (per_pair ? pairs : 1);
  Rows out{std::vector<float>(static_cast<std::size_t>(n * pairs)),
           std::vector<float>(static_cast<std::size_t>(n * pairs))};
  table.angles({
      .rows = n,
      .pairs = pairs,
      .x = x.data(),
      .x_stride = per_pair ? pairs : 1,
      .per_pair = per_pair,
      .near_limit = turns.near_limit,
      .hi = turns.hi.data(),
      .lo = turns.lo.data(),
      .lowest = turns.lowest.data(),
      .factor = factor,
      .cos = out.cos.data(),
      .sin = out.sin.data(),
      .out_stride = pairs,
  });
  return out;
}

}  // namespace posenc::test

#include "multiply_add.h"

namespace posenc::bench {
namespace {

constexpr int kChains = 12;  // more than latency times throughput of any machine: 4 cycles, 2 a cycle

// One vector of floats; the compiler makes a register of it.
template <int kFloats>
struct Vector {
  typedef float Type __attribute__((vector_size(kFloats * sizeof(float))));
};

template <class Type>
[[gnu::always_inline]] inline void run(std::int64_t steps, float* out) {
  Type sums[kChains] = {};
  for (Type& sum : sums) asm volatile("" : "+x"(sum));  // else all chains were one
  Type a = Type{} + 0.5F;
  Type b = Type{} + 0.25F;
  for (std::int64_t step = 0; step < steps; ++step) {
    asm volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = a * b + sums[chain];
  }
  for (int chain = 1; chain < kChains; ++chain) sums[0] += sums[chain];
  *out = sums[0][0];
}

#if defined(__x86_64__)
__attribute__((target("avx512f"), optimize("fp-contract=fast"), noinline)) void run_avx512(std::int64_t steps,
                                                                                           float* out) {
  run<Vector<16>::Type>(steps, out);
}
__attribute__((target("avx2,fma"), optimize("fp-contract=fast"), noinline)) void run_avx2(std::int64_t steps,
                                                                                          float* out) {
  run<Vector<8>::Type>(steps, out);
}
#endif

volatile float kept;

}  // namespace

double multiply_add(Isa isa, std::int64_t steps) {
  float out = 0.0F;
  std::int64_t floats = 4;
#if defined(__x86_64__)
  if (isa == Isa::avx512) {
    floats = 16;
    run_avx512(steps, &out);
  } else if (isa == Isa::avx2) {
    floats = 8;
    run_avx2(steps, &out);
  } else {
    run<Vector<4>::Type>(steps, &out);
  }
#else
  run<Vector<4>::Type>(steps, &out);
#endif
  kept = out;
  return 2.0 * static_cast<double>(floats * kChains * steps);
}

}  // namespace posenc::bench

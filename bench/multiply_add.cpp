// Peak FLOP/s of one core. A chain of fused multiply-adds waits for its own last result; enough chains side by side
// keep every unit busy. No memory is touched, so what is measured is arithmetic alone.
#include "multiply_add.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace posenc::bench {
namespace {

constexpr int kChains = 12;  // more than latency times throughput of any machine: 4 cycles, 2 a cycle

// One vector of floats; the compiler makes a register of it.
template <int kFloats>
struct Vector {
  typedef float Type __attribute__((vector_size(kFloats * sizeof(float))));
};

// Fused where the target has that. GCC fuses what stands there, told to (below); Clang has to be told here, and would
// else compute the product of all chains once.
#if defined(__clang__)
#define POSENC_MULTIPLY_ADD(fused, a, b, c) ((fused) ? __builtin_elementwise_fma(a, b, c) : (a) * (b) + (c))
#else
#define POSENC_MULTIPLY_ADD(fused, a, b, c) ((a) * (b) + (c))
#endif

// What the empty asm below takes a vector from. Clang holds it to the registers of the template, not of the function
// that it is inlined into; from memory it is two loads a step, beside twelve multiply-adds.
#if defined(__clang__)
#define POSENC_ANYWHERE "+m"
#else
#define POSENC_ANYWHERE "+x"
#endif

// kChains sums += a b, `steps` times. `out` takes one number of them, so that none of it is dead code.
template <class Type, bool kFused = true>
[[gnu::always_inline]] inline void run(std::int64_t steps, float* out) {
  Type sums[kChains] = {};
  for (Type& sum : sums) asm volatile("" : POSENC_ANYWHERE(sum));  // else all chains were one
  Type a = Type{} + 0.5F;
  Type b = Type{} + 0.25F;
  for (std::int64_t step = 0; step < steps; ++step) {
    // As if a and b had changed: else their product would be computed once.
    asm volatile("" : POSENC_ANYWHERE(a), POSENC_ANYWHERE(b));
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = POSENC_MULTIPLY_ADD(kFused, a, b, sums[chain]);
  }
  for (int chain = 1; chain < kChains; ++chain) sums[0] += sums[chain];
  *out = sums[0][0];
}

#if defined(__x86_64__)
// VDPBF16PS: 32 products of bfloat16 added to 16 sums of f32 per instruction, twice the multiply-adds of f32.
__attribute__((target("avx512f,avx512bf16"), noinline)) void run_avx512_bf16(std::int64_t steps, float* out) {
  __m512 sums[kChains] = {};
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
  __m512i pairs = _mm512_set1_epi32(0x3F003F00);  // 0.5 and 0.5
  for (std::int64_t step = 0; step < steps; ++step) {
    asm volatile("" : "+v"(pairs));
    const auto a = reinterpret_cast<__m512bh>(pairs);
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = _mm512_dpbf16_ps(sums[chain], a, a);
  }
  for (int chain = 1; chain < kChains; ++chain) sums[0] = _mm512_add_ps(sums[0], sums[chain]);
  *out = _mm512_cvtss_f32(sums[0]);
}

// The compiler knows no register of tiles, so its instructions are written out: 4 tiles of sums, which leaves room for
// two of a and two of b.
constexpr std::int64_t kTileOperations = std::int64_t{4} * 2 * 16 * 16 * 32;
void run_amx(std::int64_t steps) {
  struct alignas(64) {
    std::uint8_t palette = 1;
    std::uint8_t rest[15] = {};
    std::uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const whole;
  asm volatile("ldtilecfg %0" : : "m"(whole));
  // 16 rows of 64 bytes a tile: 32 numbers of bfloat16 in a and b, 16 sums in f32. All begin as zeros, on which the
  // time does not depend.
  for (std::int64_t step = 0; step < steps; ++step) {
    asm volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm7, %tmm4, %tmm1\n\t"
        "tdpbf16ps %tmm6, %tmm5, %tmm2\n\ttdpbf16ps %tmm7, %tmm5, %tmm3");
  }
  asm volatile("tilerelease");
}

#if defined(__clang__)
#define POSENC_CONTRACTED
#else
#define POSENC_CONTRACTED , optimize("fp-contract=fast")
#endif
// fp-contract=fast: the project is compiled with contraction off, and then a b + c would be two instructions.
__attribute__((target("avx512f") POSENC_CONTRACTED, noinline)) void run_avx512(std::int64_t steps, float* out) {
  run<Vector<16>::Type>(steps, out);
}
__attribute__((target("avx2,fma") POSENC_CONTRACTED, noinline)) void run_avx2(std::int64_t steps, float* out) {
  run<Vector<8>::Type>(steps, out);
}
#endif

volatile float kept;

}  // namespace

double multiply_add(Isa isa, std::int64_t steps, [[maybe_unused]] Products products) {
  float out = 0.0F;
  // Multiply-adds of one instruction: of the 128-bit vectors that every target here has, unless said otherwise below.
  std::int64_t floats = 4;
#if defined(__x86_64__)
  if (products == Products::bf16 && isa == Isa::amx) {
    run_amx(steps);
    return static_cast<double>(kTileOperations * steps);
  }
  if (products == Products::bf16 && isa == Isa::avx512_bf16) {
    floats = 32;
    run_avx512_bf16(steps, &out);
  } else if (isa == Isa::avx512 || isa == Isa::avx512_bf16 || isa == Isa::amx) {
    floats = 16;
    run_avx512(steps, &out);
  } else if (isa == Isa::avx2) {
    floats = 8;
    run_avx2(steps, &out);
  } else {
    run<Vector<4>::Type, false>(steps, &out);
  }
#else
  run<Vector<4>::Type>(steps, &out);
#endif
  // Written where the compiler must believe that somebody reads it.
  kept = out;
  return 2.0 * static_cast<double>(floats * kChains * steps);
}

}  // namespace posenc::bench

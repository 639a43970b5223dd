// QK^T and PV in bfloat16 by AVX512_BF16: VDPBF16PS multiplies 32 pairs and adds them to 16 sums in f32. Loops:
// kernels/product_loop.h (prefill) and decode_loop.h (decode). On Zen 4 it does twice the FMAs of f32 in the same
// time; there are processors where it does half of them, but those have AMX (docs/performance.md).
#include "kernels/decode_loop.h"
#include "kernels/pair_rows_avx512.h"
#include "kernels/product_loop.h"

namespace posenc::kernels {
namespace {

struct PairFactors {
  using V = Avx512Floats;
  static constexpr std::int64_t kDepth = 2;
  static __m512bh spread(const std::uint16_t* a) noexcept {
    std::uint32_t pair = 0;
    __builtin_memcpy(&pair, a, sizeof pair);  // rows may begin at any element
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair)));
  }
  static __m512bh load(const std::uint32_t* b) noexcept { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(b)); }
  static __m512 multiply_add(__m512bh a, __m512bh b, __m512 c) noexcept { return _mm512_dpbf16_ps(c, b, a); }
  static __m512 finished(const PairProduct& x, std::int64_t lane, __m512 sum) noexcept {
    return x.by == nullptr ? sum : _mm512_mul_ps(sum, _mm512_loadu_ps(x.by + lane));
  }
  static std::int64_t b_row(const PairProduct& x) noexcept { return x.lanes; }
  static std::int64_t c_row(const PairProduct& x) noexcept { return x.lanes; }
};

void product(const PairProduct& x) noexcept { product_of<PairFactors>(x); }

// Channels 2 n and 2 n + 1 of both are a pair as they lie.
struct DecodePairFactors {
  using V = Avx512Floats;
  using B = const std::uint16_t*;
  static constexpr Element kElement = Element::bf16;
  static constexpr std::int64_t kLanes = 2 * V::kLanes;
  static __m512bh load_b(B b, All) noexcept { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(b)); }
  static __m512bh load_b(B b, Some some) noexcept {
    const __mmask32 first = (__mmask32{1} << static_cast<unsigned>(some.n)) - 1U;  // n < kLanes
    return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(first, b));
  }
  template <class Count>
  static __m512bh load_a(const void* a, std::int64_t i, Count count) noexcept {
    return load_b(static_cast<B>(a) + i, count);
  }
  static __m512 multiply_add(__m512bh a, __m512bh b, __m512 c) noexcept { return _mm512_dpbf16_ps(c, a, b); }
};

void decode_dots_of_pairs(const DecodePairs& x) noexcept {
  decode_dots_of<DecodePairFactors, PairsOnLoad::none>(x.of, x.b);
  for (std::int64_t l = 0; l < x.of.lanes; l += V::kLanes) {
    const V::Floats by = V::load(x.by + l, All{});
    for (float* c = x.of.c + l; c < x.of.c + x.of.rows * x.of.lanes; c += x.of.lanes) {
      V::store(c, V::mul(V::load(c, All{}), by), All{});
    }
  }
}

}  // namespace

constinit const PairKernels pairs_avx512 = {product, pair_rows, pair_columns, decode_dots_of_pairs};

}  // namespace posenc::kernels

// AVX512_BF16: VDPBF16PS multiplies 32 pairs. On Zen 4 it does twice the multiply-adds of f32 in the same time; there
// are processors where it does half of them, but those have AMX (docs/performance.md).
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
};

void product(const PairProduct& x) noexcept { product_of<PairFactors>(x); }

}  // namespace

constinit const PairKernels pairs_avx512 = {product, pair_rows, pair_columns};

}  // namespace posenc::kernels

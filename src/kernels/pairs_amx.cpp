// QK^T and PV in bfloat16 by AMX: TDPBF16PS multiplies a tile of 16 x 32 with one of 32 x 16 and adds to one of 16 x 16
// in f32 (Intel SDM vol. 2). Loop: kernels/tile_loop.h. This file has run on an emulated processor alone
// (CONTRIBUTING.md says how), with the bits of the model of tiles that tests have (tests/kernels/tile_model.h).
//
// The instructions are written out: GCC 12's intrinsics for loads and stores do not say that they touch memory, so that
// the compiler may move ordinary stores past them.
#include "kernels/pair_rows_avx512.h"
#include "kernels/tile_loop.h"

namespace posenc::kernels {
namespace {

// The operand of LDTILECFG (Intel SDM vol. 1, 18.3): all tiles whole.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

class AmxTiles {
 public:
  AmxTiles() noexcept {
    const TileConfiguration whole;
    asm volatile("ldtilecfg %0" : : "m"(whole));
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  // Else the system would save 8 KiB more at each switch of threads.
  ~AmxTiles() { asm volatile("tilerelease"); }

  template <int n>
  void zero() noexcept {
    asm volatile("tilezero %%tmm%c0" : : "i"(n));
  }
  template <int n>
  void load(const void* from, std::int64_t row_bytes) noexcept {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row_bytes), "i"(n) : "memory");
  }
  template <int n>
  void store(void* to, std::int64_t row_bytes) noexcept {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(row_bytes), "i"(n) : "memory");
  }
  template <int c, int a, int b>
  void multiply_add() noexcept {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
};

void product(const PairProduct& x) noexcept { tile_product<AmxTiles>(x); }

}  // namespace

// Tiles have no use for few lanes, and on the processors that have them VDPBF16PS is no faster than floats.
constinit const PairKernels pairs_amx = {product, pair_rows, pair_columns, nullptr};

}  // namespace posenc::kernels

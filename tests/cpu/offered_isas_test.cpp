// The order of instruction sets on processors that this machine need not be.
#include "cpu/machine/x86/offered_isas.h"

#include <gtest/gtest.h>

namespace posenc::test::offered_isas_test {
namespace {

using Isas = std::vector<Isa>;

const std::vector<std::string> kAvx2{"avx2", "fma", "f16c"};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<std::string> kAvx512 =
    kAvx2 + std::vector<std::string>{"avx512f", "avx512dq", "avx512bw", "avx512vl"};
const std::vector<std::string> kPairs = kAvx512 + std::vector<std::string>{"avx512_bf16"};
const std::vector<std::string> kTiles = kPairs + std::vector<std::string>{"amx_tile", "amx_bf16"};

TEST(OfferedIsas, PairsAreBestOnAmdOnly) {
  EXPECT_EQ(cpu::offered_isas({.features = kPairs, .is_amd = true}),
            (Isas{Isa::scalar, Isa::avx2, Isa::avx512, Isa::avx512_bf16}));
  EXPECT_EQ(cpu::offered_isas({.features = kPairs}), (Isas{Isa::scalar, Isa::avx2, Isa::avx512_bf16, Isa::avx512}));
}

TEST(OfferedIsas, TilesAreLastAndNotWithoutPermission) {
  for (const bool is_amd : {false, true}) {
    EXPECT_EQ(cpu::offered_isas({.features = kTiles, .is_amd = is_amd, .has_tiles = true}).back(), Isa::amx);
    EXPECT_EQ(cpu::offered_isas({.features = kTiles, .is_amd = is_amd}),
              cpu::offered_isas({.features = kPairs, .is_amd = is_amd}));
    EXPECT_EQ(cpu::offered_isas({.features = kPairs, .is_amd = is_amd, .has_tiles = true}),
              cpu::offered_isas({.features = kPairs, .is_amd = is_amd}));
  }
}

// Without any one of its features a set is not there, nor is what builds on it.
TEST(OfferedIsas, EveryFeatureIsNeeded) {
  for (const std::string& missing : kTiles) {
    std::vector<std::string> features = kTiles;
    std::erase(features, missing);
    const Isas wanted = missing == "amx_tile" || missing == "amx_bf16"
                            ? Isas{Isa::scalar, Isa::avx2, Isa::avx512_bf16, Isa::avx512}
                        : missing == "avx512_bf16"    ? Isas{Isa::scalar, Isa::avx2, Isa::avx512, Isa::amx}
                        : missing.starts_with("avx5") ? Isas{Isa::scalar, Isa::avx2}
                                                      : Isas{Isa::scalar};
    EXPECT_EQ(cpu::offered_isas({.features = features, .has_tiles = true}), wanted) << missing;
  }
  EXPECT_EQ(cpu::offered_isas({}), Isas{Isa::scalar});
}

}  // namespace
}  // namespace posenc::test::offered_isas_test

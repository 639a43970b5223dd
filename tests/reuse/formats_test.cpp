// What formats keep, against what others make of the same numbers; and what shifting leaves, against that.
#include "reuse/formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "posenc/cache/study_cache.h"
#include "posenc/error.h"
#include "posenc/read_plan.h"
#include "support/throws.h"

namespace posenc::test::formats_test {
namespace {

// sin(0.37 n^2), every seventh number six times as large: a channel that stands out, as keys have them.
std::vector<float> numbers() {
  std::vector<float> out;
  for (int n = 0; n < 64; ++n) out.push_back(static_cast<float>(std::sin(n * n * 0.37) * (n % 7 == 0 ? 6.0 : 1.0)));
  return out;
}

// gguf 0.19, gguf.quants.dequantize(quantize(x, type), type) of those numbers: the first eight of each block, and the
// sum of all by places, sum (n + 1) y_n, in double.
struct OfGguf {
  KvFormat format;
  std::vector<float> first;
  std::vector<float> second;
  double sum;
};

double by_places(const std::vector<float>& x) {
  double out = 0.0;
  for (std::size_t n = 0; n < x.size(); ++n) out += static_cast<double>(n + 1) * static_cast<double>(x[n]);
  return out;
}

TEST(KvFormats, OfGgmlAreThoseOfGgml) {
  const std::vector<OfGguf> all{
      {KvFormat::q8_0,
       {0.0F, 0.36968994140625F, 0.98583984375F, -0.20538330078125F, -0.36968994140625F, 0.164306640625F,
        0.69830322265625F, -3.943359375F},
       {0.9320068359375F, 0.699005126953125F, 0.46600341796875F, 4.56683349609375F, 0.9320068359375F,
        -0.65240478515625F, 0.1864013671875F, -0.419403076171875F},
       -63.051422119140625},
      {KvFormat::q5_1,
       {-0.1083984375F, 0.4833984375F, 1.0751953125F, -0.1083984375F, -0.404296875F, 0.1875F, 0.779296875F,
        -3.955078125F},
       {0.8349609375F, 0.8349609375F, 0.497314453125F, 4.549072265625F, 0.8349609375F, -0.515625F, 0.15966796875F,
        -0.515625F},
       -78.14794921875},
      {KvFormat::q4_0,
       {-0.0F, 0.65185546875F, 1.3037109375F, -0.0F, -0.65185546875F, -0.0F, 0.65185546875F, -3.9111328125F},
       {0.73974609375F, 0.73974609375F, 0.73974609375F, 4.4384765625F, 0.73974609375F, -0.73974609375F, 0.0F,
        -0.73974609375F},
       -107.0068359375},
  };
  for (const OfGguf& one : all) {
    std::vector<float> is = numbers();
    reuse::store(one.format, is);
    for (std::size_t n = 0; n < one.first.size(); ++n) {
      EXPECT_EQ(is[n], one.first[n]) << name(one.format) << " " << n;
      EXPECT_EQ(is[32 + n], one.second[n]) << name(one.format) << " " << 32 + n;
    }
    EXPECT_EQ(by_places(is), one.sum) << name(one.format);
  }
}

// torch 2, x.to(dtype).float(): ties to even, numbers below the least normal one, and those beyond the largest.
TEST(KvFormats, OfFloatingPointAreRoundedToNearest) {
  const auto stored = [](KvFormat format, float x) {
    std::vector<float> row{x};
    reuse::store(format, row);
    return row.front();
  };
  EXPECT_EQ(stored(KvFormat::bf16, 1.00390625F), 1.0F);  // between 1 and 1 + 2^-7, to even
  EXPECT_EQ(stored(KvFormat::bf16, 1.01171875F), 1.015625F);
  EXPECT_EQ(stored(KvFormat::f16, 0x1.002p0F), 1.0F);
  EXPECT_EQ(stored(KvFormat::f16, 0x1.8p-25F), 0x1p-24F);  // of 2^-24, the least of all
  EXPECT_EQ(stored(KvFormat::fp8_e4m3, 1.1F), 1.125F);
  EXPECT_EQ(stored(KvFormat::fp8_e4m3, 0.0029296875F), 0.00390625F);  // 1.5 times 2^-9, to even
  EXPECT_EQ(stored(KvFormat::fp8_e4m3, -1000.0F), -448.0F);
  EXPECT_EQ(stored(KvFormat::fp8_e5m2, 1.1F), 1.0F);
  EXPECT_EQ(stored(KvFormat::int8, -3.0F), -3.0F);
  EXPECT_EQ(stored(KvFormat::q8_0, 0.0F), 0.0F);
}

const SimulatedShifts& of(const CacheStudy& study, KvFormat format) {
  return *std::ranges::find(study.groups.front().shifts, format, &SimulatedShifts::format);
}

// The figures that engines fight with: q4_0 loses its keys in 64 shifts, bf16 in a thousand; a view adds nothing.
TEST(SimulatedShifts, GrowWhereKeysAreRotatedAgain) {
  const CacheStudy study = study_cache(preset_plan("llama-3.1-8b"), {.simulate = true});
  ASSERT_EQ(study.shifts, (std::vector<std::int64_t>{0, 1, 4, 16, 64, 256, 1000}));
  for (const SimulatedShifts& one : study.groups.front().shifts) {
    const std::string format(name(one.format));
    ASSERT_EQ(one.rotated.size(), study.shifts.size());
    for (std::size_t n = 1; n < one.rotated.size(); ++n) EXPECT_GT(one.rotated[n], one.rotated[n - 1]) << format;
    // Rotated once or not at all, what storing takes is much the same.
    EXPECT_NEAR(one.rotated.front(), one.unrotated, 0.1 * one.unrotated + 0x1p-24) << format;
  }
  EXPECT_GT(of(study, KvFormat::q4_0).rotated[4], 0.5);
  EXPECT_LT(of(study, KvFormat::q4_0).unrotated, 0.1);
  EXPECT_GT(of(study, KvFormat::bf16).rotated[6], 0.1);
  EXPECT_LT(of(study, KvFormat::f32).rotated[6], 1e-4);
}

TEST(CacheStudy, CountsBytes) {
  const CacheStudy study = study_cache(preset_plan("llama-3.1-8b"));
  ASSERT_EQ(study.groups.size(), 2U);  // the first layer, whose keys have seen nothing, and the rest
  EXPECT_EQ(study.groups[1].layers.layers.size(), 31U);
  EXPECT_EQ(study.groups[0].keys, 1024);
  EXPECT_TRUE(study.groups[0].shifts.empty());
  const auto bytes = [&](KvFormat format) { return study.bytes[static_cast<std::size_t>(format)].bytes; };
  EXPECT_EQ(bytes(KvFormat::f16), 32 * 2048 * 2.0);
  EXPECT_EQ(bytes(KvFormat::q8_0), 32 * 2048 / 32 * 34.0);
  EXPECT_EQ(bytes(KvFormat::q4_0), 32 * 2048 / 32 * 18.0);
  EXPECT_EQ(bytes(KvFormat::int8), 32 * 16 * (128 + 4.0));                 // 8 heads of keys, 8 of values
  const CacheStudy uneven = study_cache(preset_plan("stablelm-3b-4e1t"));  // heads of 80
  EXPECT_EQ(uneven.bytes[static_cast<std::size_t>(KvFormat::q8_0)].bytes, std::nullopt);
  EXPECT_ERROR((void)study_cache(preset_plan("llama-3.1-8b"), {.shift_by = 0}),
               "[study_cache] shift_by must be from 1 to 2^20 but is 0");
}

}  // namespace
}  // namespace posenc::test::formats_test

// rotate_into_cache to codes: those of the floats that a cache of f32 would have been given, whatever comes before, in
// the slots that are named and nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "posenc/cache.h"
#include "rotate/cache_tensors.h"
#include "support/every_isa.h"
#include "support/ropes.h"

namespace posenc::test::quantised_cache_test {
namespace {

constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kRows = 96;  // of each cache
constexpr std::int64_t kBlock = 16;
constexpr std::int64_t kGroup = 8;

const std::vector<CacheFormat> kFormats{
    CacheFormat::int8,     CacheFormat::int8_asymmetric, CacheFormat::int4, CacheFormat::int4_asymmetric,
    CacheFormat::fp8_e4m3, CacheFormat::fp8_e5m2,        CacheFormat::q8_0, CacheFormat::q4_0,
    CacheFormat::q5_1,     CacheFormat::int4_by_channel};

// A cache of codes, filled with bytes that no store writes.
struct Codes {
  Codes(CacheFormat format, bool is_paged, DType scales_dtype = DType::f32) {
    codes.assign(static_cast<std::size_t>(kRows * kHeads * cache_row_bytes(format, kWidth)), 0xA5);
    auto* const data = static_cast<void*>(codes.data());
    view = is_paged ? quantised(data, format, {kRows / kBlock, kBlock, kHeads, kWidth})
                    : quantised(data, format, {kRows, kHeads, kWidth});
    if (format == CacheFormat::q8_0 || format == CacheFormat::q4_0 || format == CacheFormat::q5_1) return;
    const bool by_channel = format == CacheFormat::int4_by_channel;
    if (by_channel) view.group = kGroup;
    const auto numbers = [&](std::vector<float>& memory) {
      memory.assign(static_cast<std::size_t>(by_channel ? kRows / kGroup * kHeads * kWidth : kRows * kHeads), -7.0F);
      if (by_channel && is_paged) {
        return tensor(static_cast<void*>(memory.data()), scales_dtype,
                      {kRows / kBlock, kBlock / kGroup, kHeads, kWidth});
      }
      if (by_channel) return tensor(static_cast<void*>(memory.data()), scales_dtype, {kRows / kGroup, kHeads, kWidth});
      return is_paged ? tensor(memory.data(), {kRows / kBlock, kBlock, kHeads})
                      : tensor(memory.data(), {kRows, kHeads});
    };
    view.scales = numbers(scales);
    const bool has_zeros =
        by_channel || format == CacheFormat::int8_asymmetric || format == CacheFormat::int4_asymmetric;
    if (has_zeros) view.zeros = numbers(zeros);
  }
  Codes(const Codes&) = delete;
  Codes& operator=(const Codes&) = delete;

  bool operator==(const Codes& other) const {
    return codes == other.codes && scales == other.scales && zeros == other.zeros;
  }

  std::vector<std::uint8_t> codes;
  std::vector<float> scales, zeros;
  QuantisedView view;
};

// Whole groups here and there, and tokens that are not stored between them.
std::vector<std::int64_t> some_slots() {
  std::vector<std::int64_t> out{-1};
  for (const std::int64_t group : {5, 0, 11, 3}) {
    for (std::int64_t n = 0; n < kGroup; ++n) out.push_back(group * kGroup + n);
    out.push_back(-1);
  }
  return out;
}

struct Case {
  std::string name;
  bool rotates;
  bool normalises;
  Pairing pairing;
  DType dtype;
};

TEST(QuantisedCache, HasTheCodesOfWhatFloatsWouldBeStored) {
  const std::vector<std::int64_t> slots = some_slots();
  const auto tokens = std::ssize(slots);
  std::mt19937_64 random{7};
  std::uint64_t calls = 0;
  for (const Case& one : {Case{"as given", false, false, Pairing::half, DType::f32},
                          Case{"of bf16", false, false, Pairing::half, DType::bf16},
                          Case{"rotated", true, false, Pairing::half, DType::f32},
                          Case{"rotated, of f16", true, false, Pairing::interleaved, DType::f16},
                          Case{"normalised and rotated", true, true, Pairing::half, DType::bf16}}) {
    const Owned k = filled(one.dtype, {tokens, kHeads, kWidth}, random);
    const Owned v = filled(one.dtype, {tokens, kHeads, kWidth}, random);
    Rope rope = plain_rope(kWidth);
    rope.pairing = one.pairing;
    const RotaryTable table = make_table(rope, range(0, 100));
    for (const bool is_paged : {false, true}) {
      for (const CacheFormat format : kFormats) {
        for (const Isa isa : every_isa("codes of a cache")) {
          SCOPED_TRACE(one.name + ", " + std::string(name(format)) + ", " + std::string(name(isa)));
          CacheArgs args{.k = k.view, .v = v.view, .positions = PositionRange{5}, .slots = slots, .isa = isa};
          if (one.rotates) args.table = &table;
          if (one.normalises) args.norm = KeyNorm{.scheme = {.kind = QkNorm::Kind::rms, .weighted = false}};
          CacheArgs floats = args;
          std::vector<float> k_floats(kRows * kHeads * kWidth), v_floats(kRows * kHeads * kWidth);
          floats.k_cache = tensor(k_floats.data(), {kRows, kHeads, kWidth});
          floats.v_cache = tensor(v_floats.data(), {kRows, kHeads, kWidth});
          ASSERT_TRUE(rotate_into_cache(floats));

          const CacheFormat v_format = format == CacheFormat::int4_by_channel ? CacheFormat::int8_asymmetric : format;
          Codes k_codes(format, is_paged);
          Codes v_codes(v_format, is_paged);
          args.k_quantised = k_codes.view;
          args.v_quantised = v_codes.view;
          ASSERT_TRUE(rotate_into_cache(args));

          // The floats again, gathered and stored as they are.
          Codes k_again(format, is_paged);
          Codes v_again(v_format, is_paged);
          std::vector<float> k_rows, v_rows;
          for (const std::int64_t slot : slots) {
            for (std::int64_t n = 0; n < kHeads * kWidth; ++n) {
              const auto at = static_cast<std::size_t>(std::max<std::int64_t>(slot, 0) * kHeads * kWidth + n);
              k_rows.push_back(k_floats[at]);
              v_rows.push_back(v_floats[at]);
            }
          }
          ASSERT_TRUE(rotate_into_cache({.k = tensor(k_rows.data(), {tokens, kHeads, kWidth}),
                                         .v = tensor(v_rows.data(), {tokens, kHeads, kWidth}),
                                         .k_quantised = k_again.view,
                                         .v_quantised = v_again.view,
                                         .slots = slots}));
          EXPECT_TRUE(k_codes == k_again);
          EXPECT_TRUE(v_codes == v_again);
          ++calls;

          // Rows that no slot names are as they were, and those that one does are not.
          const auto row = static_cast<std::size_t>(kHeads * cache_row_bytes(v_format, kWidth));
          for (std::int64_t r = 0; r < kRows; ++r) {
            const auto own = v_codes.codes.begin() + r * static_cast<std::int64_t>(row);
            const bool is_as_before =
                std::all_of(own, own + static_cast<std::int64_t>(row), [](auto x) { return x == 0xA5; });
            EXPECT_EQ(is_as_before, std::ranges::find(slots, r) == slots.end()) << "row " << r;
          }
        }
      }
    }
  }
  EXPECT_GE(calls, 100U);
}

// What is read back is near what was stored: the formats' bounds, loosely, for all of them at once.
TEST(QuantisedCache, IsReadBack) {
  std::mt19937_64 random{8};
  const Owned k = filled(DType::f32, {kRows, kHeads, kWidth}, random);
  std::vector<std::int64_t> slots(kRows);
  for (std::int64_t n = 0; n < kRows; ++n) slots[static_cast<std::size_t>(n)] = n;
  for (const CacheFormat format : kFormats) {
    Codes codes(format, false);
    ASSERT_TRUE(rotate_into_cache({.k = k.view, .k_quantised = codes.view, .slots = slots}));
    std::vector<float> is(kRows * kHeads * kWidth);
    dequantise(tensor(is.data(), {kRows, kHeads, kWidth}), codes.view);
    double apart = 0.0;
    double all = 0.0;
    const auto* const given = static_cast<const float*>(k.view.data);
    for (std::size_t n = 0; n < is.size(); ++n) {
      apart += (is[n] - given[n]) * (is[n] - given[n]);
      all += given[n] * given[n];
    }
    const bool is_four_bit = cache_row_bytes(format, kWidth) < kWidth * 5 / 8;
    EXPECT_LT(std::sqrt(apart / all), is_four_bit ? 0.2 : 0.08) << name(format);
    EXPECT_GT(std::sqrt(apart / all), 1e-4) << name(format);
  }
}

TEST(QuantisedCache, OfFp8TakesOneScale) {
  std::vector<float> k(static_cast<std::size_t>(2 * kWidth));
  for (std::size_t n = 0; n < k.size(); ++n) k[n] = 0.25F * static_cast<float>(n % 8);
  std::vector<std::uint8_t> codes(k.size());
  QuantisedView cache = quantised(static_cast<void*>(codes.data()), CacheFormat::fp8_e4m3, {2, 1, kWidth});
  cache.scale = 0.5F;
  const std::vector<std::int64_t> slots{1, 0};
  ASSERT_TRUE(rotate_into_cache({.k = tensor(k.data(), {2, 1, kWidth}), .k_quantised = cache, .slots = slots}));
  std::vector<float> is(k.size());
  dequantise(tensor(is.data(), {2, 1, kWidth}), cache);
  EXPECT_EQ(is, k);  // multiples of 1/2 up to 3.5 are numbers of E4M3
  cache.scale = 1.0F;
  dequantise(tensor(is.data(), {2, 1, kWidth}), cache);
  EXPECT_EQ(is[7], 2 * k[7]);
}

// A store of many rows is shared among threads.
TEST(QuantisedCache, IsTheSameFromManyThreads) {
  std::mt19937_64 random{9};
  constexpr std::int64_t kMany = 8192;
  const Owned k = filled(DType::f32, {kMany, 1, kWidth}, random);
  std::vector<std::int64_t> slots(kMany);
  for (std::int64_t n = 0; n < kMany; ++n) slots[static_cast<std::size_t>(n)] = n;
  std::vector<std::uint8_t> codes[2];
  std::vector<float> scales[2];
  for (int n = 0; n < 2; ++n) {
    codes[n].resize(kMany * kWidth);
    scales[n].resize(kMany);
    QuantisedView cache = quantised(static_cast<void*>(codes[n].data()), CacheFormat::int8, {kMany, 1, kWidth});
    cache.scales = tensor(scales[n].data(), {kMany, 1});
    ASSERT_TRUE(rotate_into_cache(
        {.k = k.view, .k_quantised = cache, .slots = slots, .parallel = {.threads = n == 0 ? 1 : 4}}));
  }
  EXPECT_EQ(codes[0], codes[1]);
  EXPECT_EQ(scales[0], scales[1]);
}

}  // namespace
}  // namespace posenc::test::quantised_cache_test

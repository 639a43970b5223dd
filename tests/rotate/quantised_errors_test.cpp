// What calls on quantised caches refuse: views that do not say what they are, before anything is read or written.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "posenc/attend.h"
#include "posenc/cache.h"
#include "support/throws.h"

namespace posenc::test::quantised_errors_test {
namespace {

constexpr std::int64_t kGroup = 4;

// Calls that fit: 8 tokens of 2 heads of 32, and caches of 8 rows.
class QuantisedErrors : public testing::Test {
 protected:
  QuantisedErrors() {
    for (std::int64_t n = 0; n < 8; ++n) slots.push_back(n);
    args = {.k = tensor(k.data(), {8, 2, 32}), .v = tensor(v.data(), {8, 2, 32}), .slots = slots};
    args.k_quantised = view(CacheFormat::int8, k_codes);
    args.v_quantised = view(CacheFormat::int8_asymmetric, v_codes);
  }

  struct Memory {
    std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(8UL * 2 * 34, 0xA5);
    std::vector<float> scales = std::vector<float>(8UL * 2 * 32, -1.0F);
    std::vector<float> zeros = std::vector<float>(8UL * 2 * 32, -1.0F);
  };

  static QuantisedView view(CacheFormat format, Memory& memory) {
    QuantisedView out = quantised(static_cast<void*>(memory.codes.data()), format, {8, 2, 32});
    if (format == CacheFormat::int4_by_channel) {
      out.group = kGroup;
      out.scales = tensor(memory.scales.data(), {2, 2, 32});
      out.zeros = tensor(memory.zeros.data(), {2, 2, 32});
      return out;
    }
    if (format < CacheFormat::q8_0) out.scales = tensor(memory.scales.data(), {8, 2});
    const bool has_zeros = format == CacheFormat::int8_asymmetric || format == CacheFormat::int4_asymmetric;
    if (has_zeros) out.zeros = tensor(memory.zeros.data(), {8, 2});
    return out;
  }

  void expect_error(const char* text) {
    EXPECT_ERROR((void)rotate_into_cache(args), text);
    for (const Memory* memory : {&k_codes, &v_codes}) {
      EXPECT_EQ(memory->codes, Memory().codes) << text;
      EXPECT_EQ(memory->scales, Memory().scales) << text;
    }
  }

  std::vector<float> k = std::vector<float>(8UL * 2 * 32, 0.5F);
  std::vector<float> v = k;
  std::vector<std::int64_t> slots;
  Memory k_codes, v_codes;
  CacheArgs args;
};

TEST_F(QuantisedErrors, TheCallItselfFits) {
  EXPECT_TRUE(rotate_into_cache(args));
  EXPECT_EQ(k_codes.codes[0], 127);
}

TEST_F(QuantisedErrors, TellsWhatAFormatNeeds) {
  const QuantisedView good = args.k_quantised;
  const auto spoilt = [&](const std::function<void(QuantisedView&)>& spoil, const char* text) {
    args.k_quantised = good;
    spoil(args.k_quantised);
    expect_error(text);
  };
  spoilt([](QuantisedView& x) { x.format = static_cast<CacheFormat>(200); },
         "[rotate_into_cache] k_quantised.format must be int8, int8_asymmetric, int4, int4_asymmetric, fp8_e4m3, "
         "fp8_e5m2, q8_0, q4_0, q5_1 or int4_by_channel but is 200");
  spoilt([](QuantisedView& x) { x.scales = {}; },
         "[rotate_into_cache] k_quantised.scales must be given for int8 but is omitted");
  spoilt([](QuantisedView& x) { x.zeros = x.scales; },
         "[rotate_into_cache] k_quantised.zeros must be omitted for int8 but is given");
  spoilt([](QuantisedView& x) { x.scales.shape[1] = 3; },
         "[rotate_into_cache] k_quantised.scales.shape[1] must be 2 but is 3");
  spoilt([](QuantisedView& x) { x.scales.rank = 3; }, "[rotate_into_cache] k_quantised.scales.rank must be 2 but is 3");
  spoilt([](QuantisedView& x) { x.scales.dtype = DType::f16; },
         "[rotate_into_cache] k_quantised.scales.dtype must be f32 but is f16");
  spoilt([](QuantisedView& x) { x.scales.data = nullptr; },
         "[rotate_into_cache] k_quantised.scales.data must point to the numbers but is null");
  spoilt([](QuantisedView& x) { x.scales.data = static_cast<char*>(x.scales.data) + 2; },
         "[rotate_into_cache] k_quantised.scales.data must be aligned to its elements but is between two");
  spoilt([](QuantisedView& x) { x.data = nullptr; },
         "[rotate_into_cache] k_quantised.data must point to the codes but is null");
  spoilt([](QuantisedView& x) { x.group = 8; }, "[rotate_into_cache] k_quantised.group must be 0 for int8 but is 8");
  spoilt([](QuantisedView& x) { x.scale = 2.0F; },
         "[rotate_into_cache] k_quantised.scale must be 1 where the format or `scales` says the scales but is 2");
  spoilt([](QuantisedView& x) { x.rank = 5; },
         "[rotate_into_cache] k_quantised.rank must be 3, [rows, heads, head_dim], or 4, [blocks, block_size, heads, "
         "head_dim], but is 5");
  spoilt([](QuantisedView& x) { x.shape[0] = -1; },
         "[rotate_into_cache] k_quantised.shape[0] must be from 0 to 2^40 but is -1");
  spoilt([](QuantisedView& x) { x.shape[0] = std::numeric_limits<std::int64_t>::max(); },
         "[rotate_into_cache] k_quantised.shape[0] must be from 0 to 2^40 but is 9223372036854775807");
  spoilt([](QuantisedView& x) { x.shape[1] = 3; },
         "[rotate_into_cache] k_quantised.shape[1] must be the heads of k, 2, but is 3");
  spoilt([](QuantisedView& x) { x.strides[0] = 32; },
         "[rotate_into_cache] k_quantised.strides must give every element a place of its own but is 2 parts of 256 "
         "elements, 32 apart");
  spoilt([](QuantisedView& x) { x.strides[0] = std::numeric_limits<std::int64_t>::max() / 2; },
         "[rotate_into_cache] k_quantised.strides must reach less than 2^63 bytes but is larger");
  spoilt([](QuantisedView& x) { x.scales.strides[0] = std::numeric_limits<std::int64_t>::max() / 2; },
         "[rotate_into_cache] k_quantised.strides must reach less than 2^63 bytes but is larger");
  spoilt([](QuantisedView& x) { x.scales.data = x.data; },
         "[rotate_into_cache] k_quantised must have codes, scales and zeros apart from one another but is overlapping");
  args.k_quantised = view(CacheFormat::q8_0, k_codes);
  args.k_quantised.scales = good.scales;
  expect_error(
      "[rotate_into_cache] k_quantised.scales must be omitted, since blocks of q8_0 have their own, but is given");
  args.k_quantised = view(CacheFormat::fp8_e4m3, k_codes);
  args.k_quantised.scales = {};
  args.k_quantised.scale = 0.0F;
  expect_error("[rotate_into_cache] k_quantised.scale must be a normal number above 0 but is 0");
}

TEST_F(QuantisedErrors, TellsCachesApart) {
  std::vector<float> floats(8UL * 2 * 32);
  args.k_cache = tensor(floats.data(), {8, 2, 32});
  expect_error("[rotate_into_cache] k_cache must be omitted where k_quantised is given but is given");
  args.k_cache = {};
  args.v_quantised.data = args.k_quantised.data;
  expect_error("[rotate_into_cache] v_quantised must share no element with k_quantised but is overlapping");
  args.v_quantised = {};
  expect_error("[rotate_into_cache] v_cache must be given where v is but is omitted");
  args.v_quantised = view(CacheFormat::int4_by_channel, v_codes);
  expect_error(
      "[rotate_into_cache] v_quantised.format must have scales by token, since int4_by_channel is for keys, but is "
      "int4_by_channel");
  args.v_quantised = view(CacheFormat::int8_asymmetric, v_codes);
  args.v_quantised.shape[0] = 7;
  args.v_quantised.scales.shape[0] = args.v_quantised.zeros.shape[0] = 7;
  expect_error("[rotate_into_cache] v_quantised.shape[0] must be that of k_quantised, 8, but is 7");
}

TEST_F(QuantisedErrors, TakesWholeGroups) {
  args.k_quantised = view(CacheFormat::int4_by_channel, k_codes);
  args.k_quantised.group = 0;
  expect_error("[rotate_into_cache] k_quantised.group must be at least 1, the tokens that share scales, but is 0");
  args.k_quantised.group = 3;
  expect_error("[rotate_into_cache] k_quantised.scales.shape[0] must be 3, the groups of 3 tokens, but is 2");
  args.k_quantised.group = kGroup;
  slots = {4, 5, 6, -1, 0, 1, 2, 3};
  args.slots = slots;
  expect_error(
      "[rotate_into_cache] slots[0] must begin 4 rows of one group, whose scales are made together (keep the tokens of "
      "a group that is not full in a cache of their own, and merge), but is row 4, with 2 after it");
  slots = {1, 2, 3, 4, -1, -1, -1, -1};
  args.slots = slots;
  expect_error(
      "[rotate_into_cache] slots[0] must begin 4 rows of one group, whose scales are made together (keep the tokens of "
      "a group that is not full in a cache of their own, and merge), but is row 1, with 0 after it");
  slots = {-1, 4, 5, 6, 7, -1, -1, -1};
  args.slots = slots;
  EXPECT_TRUE(rotate_into_cache(args));
}

// attend's own refusals; the views' are those above.
TEST_F(QuantisedErrors, AreAttendsToo) {
  LayerPlan layer{.heads = 2, .kv_heads = 2, .head_dim = 32, .value_dim = 32};
  std::vector<float> q(2UL * 32), out(2UL * 32, -1.0F);
  AttendArgs call{.out = tensor(out.data(), {1, 2, 32}),
                  .q = tensor(q.data(), {1, 2, 32}),
                  .k_quantised = args.k_quantised,
                  .v_quantised = args.v_quantised};
  ASSERT_TRUE(rotate_into_cache(args));
  const AttendArgs good = call;
  const auto spoilt = [&](const std::function<void(AttendArgs&)>& spoil, const char* text) {
    call = good;
    spoil(call);
    EXPECT_ERROR((void)attend(layer, call), text);
    EXPECT_EQ(out, std::vector<float>(2UL * 32, -1.0F)) << text;
  };
  spoilt(
      [&](AttendArgs& x) {
        x.k = tensor(k.data(), {8, 2, 32});
      },
      "[attend] k must be omitted where k_quantised is given but is given");
  spoilt([](AttendArgs& x) { x.v_quantised.zeros = {}; },
         "[attend] v_quantised.zeros must be given for int8_asymmetric but is omitted");
  spoilt([](AttendArgs& x) { x.k_quantised.rank = 2; },
         "[attend] k_quantised.rank must be 3, [rows, heads, channels], or 4 but is 2");
  spoilt([&](AttendArgs& x) { x.v_quantised = view(CacheFormat::int4_by_channel, v_codes); },
         "[attend] v_quantised.format must have scales by token, since int4_by_channel is for keys but is "
         "int4_by_channel");
  spoilt([&](AttendArgs& x) { x.out.data = k_codes.codes.data(); },
         "[attend] out must not share memory with k_quantised but is memory of both");
  const std::vector<std::int32_t> table{0}, q_ends{0, 1}, k_ends{0, 8};
  spoilt(
      [&](AttendArgs& x) {
        x.k_quantised = quantised(static_cast<const void*>(k_codes.codes.data()), CacheFormat::q8_0, {1, 8, 2, 32});
        x.v_quantised = x.k_quantised;
        x.v_quantised.shape[1] = 4;
        x.pages.block_table = table;
        x.inputs.cu_seqlens_q = q_ends;
        x.inputs.cu_seqlens_k = k_ends;
      },
      "[attend] v must have the blocks of k but is 1 blocks of 4");
  call = good;
  EXPECT_TRUE(attend(layer, call));
  EXPECT_NE(out, std::vector<float>(2UL * 32, -1.0F));
}

TEST_F(QuantisedErrors, AreRerotates) {
  EXPECT_ERROR((void)rerotate({.k_quantised = args.k_quantised}),
               "[rerotate] k_quantised must be omitted, since each rotation would round int8 codes again, and the "
               "errors add up: store keys unrotated instead (rotate_into_cache without a table), whose positions "
               "attend takes with each call, or keep them in f16 or bf16, but is given");
}

TEST_F(QuantisedErrors, AreDequantises) {
  std::vector<float> out(8UL * 2 * 32);
  const TensorView whole = tensor(out.data(), {8, 2, 32});
  TensorView other = whole;
  other.shape[0] = 7;
  EXPECT_ERROR(dequantise(other, args.k_quantised), "[dequantise] out.shape[0] must be that of x, 8, but is 7");
  other = whole;
  other.dtype = DType::f16;
  EXPECT_ERROR(dequantise(other, args.k_quantised), "[dequantise] out.dtype must be f32 but is f16");
  other = whole;
  other.data = k_codes.scales.data();
  EXPECT_ERROR(dequantise(other, args.k_quantised), "[dequantise] out must share no memory with x but is overlapping");
  EXPECT_ERROR(dequantise({}, args.k_quantised), "[dequantise] out.rank must be that of x, 3, but is 0");
}

TEST(CacheFormats, SayTheirNamesAndSizes) {
  EXPECT_EQ(cache_row_bytes(CacheFormat::int8, 128), 128);
  EXPECT_EQ(cache_row_bytes(CacheFormat::int4, 128), 64);
  EXPECT_EQ(cache_row_bytes(CacheFormat::q8_0, 128), 136);
  EXPECT_EQ(cache_row_bytes(CacheFormat::q4_0, 128), 72);
  EXPECT_EQ(cache_row_bytes(CacheFormat::q5_1, 128), 96);
  EXPECT_ERROR((void)cache_row_bytes(CacheFormat::q5_1, 80),
               "[cache_row_bytes] channels must be a multiple of 32 for q5_1 but is 80");
  EXPECT_ERROR((void)cache_row_bytes(CacheFormat::int4, 15),
               "[cache_row_bytes] channels must be a multiple of 2 for int4 but is 15");
  EXPECT_ERROR((void)cache_row_bytes(CacheFormat::q8_0, std::numeric_limits<std::int64_t>::max() / 32 * 32),
               "[cache_row_bytes] channels must take less than 2^63 bytes but is 9223372036854775776");
  EXPECT_EQ(cache_format("fp8_e5m2"), CacheFormat::fp8_e5m2);
  EXPECT_EQ(cache_format("int2"), std::nullopt);
  EXPECT_EQ(name(CacheFormat::int4_by_channel), "int4_by_channel");
  EXPECT_EQ(name(static_cast<CacheFormat>(99)), "unknown");
  EXPECT_ERROR((void)quantised(static_cast<void*>(nullptr), CacheFormat::int8, {1, 2}),
               "[quantised] shape must have 3 or 4 axes but is 2");
  EXPECT_ERROR((void)quantised(static_cast<void*>(nullptr), CacheFormat::int8, {std::int64_t{1} << 40, 1 << 30, 128}),
               "[quantised] shape must take less than 2^63 bytes but is larger");
}

}  // namespace
}  // namespace posenc::test::quantised_errors_test

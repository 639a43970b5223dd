// What attend refuses, with everything as it was; and calls that are stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "posenc/attend.h"
#include "support/all_schemes.h"
#include "support/throws.h"

namespace posenc::test::fused_call_test {
namespace {

constexpr std::int64_t kTokens = 5;
constexpr float kUntouched = -7.0F;
constexpr std::int64_t kTooMany = (std::int64_t{1} << 30) + 1;

// A call that is right, [tokens, heads, channels] of floats.
struct RightCall {
  std::vector<float> q = std::vector<float>(kTokens * kHeads * kHeadDim, 0.5F);
  std::vector<float> k = std::vector<float>(kTokens * kKvHeads * kHeadDim, 0.5F);
  std::vector<float> v = std::vector<float>(kTokens * kKvHeads * kValueDim, 0.5F);
  std::vector<float> out = std::vector<float>(kTokens * kHeads * kValueDim, kUntouched);
  std::vector<float> lse = std::vector<float>(kTokens * kHeads, kUntouched);
  std::vector<std::int32_t> table{1, 0};
  std::vector<std::int32_t> ends{0, kTokens};
  LayerPlan layer = plain_layer();
  AttendArgs args;

  RightCall() {
    layer.mask.kind = MaskKind::causal;
    args = {.out = heads_view(out, kHeads, kValueDim),
            .q = heads_view(q, kHeads, kHeadDim),
            .k = heads_view(k, kKvHeads, kHeadDim),
            .v = heads_view(v, kKvHeads, kValueDim),
            .lse = {.data = lse.data(), .rank = 2, .shape = {kTokens, kHeads}, .strides = {kHeads, 1}}};
  }
  static TensorView heads_view(std::vector<float>& x, std::int64_t heads, std::int64_t channels) {
    return {.data = x.data(),
            .dtype = DType::f32,
            .rank = 3,
            .shape = {kTokens, heads, channels},
            .strides = {heads * channels, channels, 1}};
  }
  // In blocks of 3 tokens, of which the second's last is nobody's.
  void lie_in_pages() {
    k.resize(6 * kKvHeads * kHeadDim, 0.5F);
    v.resize(6 * kKvHeads * kValueDim, 0.5F);
    const auto pages = [](std::vector<float>& x, std::int64_t channels) -> ConstTensorView {
      return {.data = x.data(),
              .dtype = DType::f32,
              .rank = 4,
              .shape = {2, 3, kKvHeads, channels},
              .strides = {3 * kKvHeads * channels, kKvHeads * channels, channels, 1}};
    };
    args.k = pages(k, kHeadDim);
    args.v = pages(v, kValueDim);
    args.pages.block_table = table;
    args.inputs.cu_seqlens_q = ends;
    args.inputs.cu_seqlens_k = ends;
  }
};

struct Refused {
  const char* text;
  std::function<void(RightCall&)> spoil;
};

const std::vector<Refused>& refused() {
  static const std::vector<std::int64_t> far_orders{0, 1, 2, 3, (std::int64_t{1} << 53) + 1};
  static const std::vector<std::int64_t> falling{0, 1, 1, 3, 4};
  static const std::vector<double> far_positions{0, 1, 2, 3, 1e300};
  static std::vector<float> table(8 * kHeadDim, 0.25F);
  static const std::vector<Refused> all{
      {"[attend] q.dtype must be f32, f16 or bf16 but is f64", [](RightCall& c) { c.args.q.dtype = DType::f64; }},
      {"[attend] k.dtype must be f32, f16 or bf16 but is 77",
       [](RightCall& c) { c.args.k.dtype = static_cast<DType>(77); }},
      {"[attend] angles must be exact, float32 or bfloat16 but is 77",
       [](RightCall& c) { c.args.angles = static_cast<Angles>(77); }},
      {"[attend] products must be f32 or bf16 but is 77",
       [](RightCall& c) { c.args.products = static_cast<Products>(77); }},
      {"[attend] out.dtype must be f32, f16 or bf16 but is f64", [](RightCall& c) { c.args.out.dtype = DType::f64; }},
      {"[attend] lse.dtype must be f32 but is f16", [](RightCall& c) { c.args.lse.dtype = DType::f16; }},
      {"[attend] k.strides[2] must be 1, since channels of a head are adjacent but is 2",
       [](RightCall& c) {
         c.args.k.strides = {4 * kHeadDim, 2 * kHeadDim, 2};
       }},
      {"[attend] v.data must be aligned to its elements but is between two",
       [](RightCall& c) { c.args.v.data = reinterpret_cast<const char*>(c.v.data()) + 1; }},
      {"[attend] q must have shape [5, 4, 8] but is [5, 4, 9]", [](RightCall& c) { c.args.q.shape[2] = 9; }},
      {"[attend] k.rank must be that of q but is 4",
       [](RightCall& c) {
         c.args.k.rank = 4;
         c.args.k.shape = {1, kKvHeads, kTokens, kHeadDim};
         c.args.k.strides = {0, kHeadDim, kKvHeads * kHeadDim, 1};
       }},
      {"[attend] v.shape must have the tokens of k but is 4", [](RightCall& c) { c.args.v.shape[0] = 4; }},
      {"[attend] q.data must point to the elements but is null", [](RightCall& c) { c.args.q.data = nullptr; }},
      {"[attend] out must not share memory with q but is memory of both",
       [](RightCall& c) { c.args.out.data = c.q.data(); }},
      {"[attend] lse must not share memory with out but is memory of both",
       [](RightCall& c) { c.args.lse.data = c.out.data() + 3; }},
      {"[attend] out.strides must give every element a place of its own but is 5 parts of 1 elements, 0 apart",
       [](RightCall& c) { c.args.out.strides[0] = 0; }},
      {"[attend] lse must have shape [5, 4] but is [5, 3]", [](RightCall& c) { c.args.lse.shape[1] = 3; }},
      {"[attend] q_order must be at most 2^53 either way but is 9007199254740993",
       [](RightCall& c) { c.args.inputs.q_order = far_orders; }},
      {"[attend] k_order must have one entry for each of 5 rows but is 4 long",
       [](RightCall& c) { c.args.inputs.k_order = std::span(far_orders).first(4); }},
      {"[attend] q_positions must be at most 2^53 either way but is 1e+300",
       [](RightCall& c) {
         c.layer = with_rotation(half_rope());
         c.args.inputs.q_positions = std::span<const double>(far_positions);
       }},
      {"[attend] layer.heads must be at most 1073741824 but is 1073741825",
       [](RightCall& c) {
         c.layer.heads = kTooMany;
         c.layer.kv_heads = 1;
       }},
      {"[attend] layer.head_dim must be at most 1073741824 but is 1073741825",
       [](RightCall& c) { c.layer.head_dim = kTooMany; }},
      {"[attend] layer.value_dim must be at most 1073741824 but is 1073741825",
       [](RightCall& c) { c.layer.value_dim = kTooMany; }},
      {"[attend] parallel.threads must be at least 0 but is -1", [](RightCall& c) { c.args.parallel.threads = -1; }},
      {"[attend] carry must belong to one scheme that sums along the keys, or to CoPE and forget gates but is of 0 of "
       "the "
       "one and 0 of the other",
       [](RightCall& c) { c.args.carry = c.args.lse; }},
      {"[attend] layer.score must have CoPE once, since gates are summed for one table but is of 2",
       [](RightCall& c) {
         c.layer = with_term(ContextualPosition{.positions = 8});
         c.layer.score.push_back(ContextualPosition{.positions = 8});
         const CopeWeights rows{
             {.data = table.data(), .dtype = DType::f32, .rank = 2, .shape = {8, kHeadDim}, .strides = {kHeadDim, 1}}};
         c.args.weights.score = {rows, rows};
       }},
      {"[attend] k_order must ascend from key to key, since gates are summed along it but is 1 after 1",
       [](RightCall& c) {
         c.layer = with_term(ContextualPosition{.positions = 8});
         c.args.weights.score = {CopeWeights{
             {.data = table.data(), .dtype = DType::f32, .rank = 2, .shape = {8, kHeadDim}, .strides = {kHeadDim, 1}}}};
         c.args.inputs.k_order = falling;
       }},
      {"[attend] q must be of rank 3, with cu_seqlens_q and cu_seqlens_k, where keys are paged but is otherwise",
       [](RightCall& c) {
         c.lie_in_pages();
         c.args.inputs.cu_seqlens_k = {};
       }},
      {"[attend] pages.block_table must have 2 blocks for sequence 0 but is 1",
       [](RightCall& c) {
         c.lie_in_pages();
         c.args.pages.block_table = std::span(c.table).first(1);
       }},
      {"[attend] pages.block_table[0][1] must be from 0 to 1 but is -1",
       [](RightCall& c) {
         c.lie_in_pages();
         c.table[1] = -1;
       }},
      {"[attend] cu_seqlens_k must ascend but is -8",
       [](RightCall& c) {
         static const std::vector<std::int32_t> below_zero{0, -8};
         c.lie_in_pages();
         c.args.inputs.cu_seqlens_k = below_zero;
       }},
      {"[attend] cu_seqlens_k must begin with 0 but is -2147483648",
       [](RightCall& c) {
         static const std::vector<std::int32_t> every{INT32_MIN, INT32_MAX};
         c.lie_in_pages();
         c.args.inputs.cu_seqlens_k = every;
       }},
      // Within the time of a test, and its memory: nothing is made for so many tokens before they are found missing.
      {"[attend] pages.block_table must have 715827883 blocks for sequence 0 but is 2",
       [](RightCall& c) {
         static const std::vector<std::int32_t> many{0, INT32_MAX};
         c.lie_in_pages();
         c.args.inputs.cu_seqlens_k = many;
       }},
      {"[attend] v must have the blocks of k but is 2 blocks of 2",
       [](RightCall& c) {
         c.lie_in_pages();
         c.args.v.shape[1] = 2;
       }},
  };
  return all;
}

TEST(AttendCall, IsRightBeforeItIsSpoilt) {
  for (const bool in_pages : {false, true}) {
    RightCall call;
    if (in_pages) call.lie_in_pages();
    EXPECT_TRUE(attend(call.layer, call.args));
    EXPECT_TRUE(std::ranges::all_of(call.out, [](float x) { return x == 0.5F; }));
  }
}

TEST(AttendCall, RefusesWhatDoesNotFitAndWritesNothing) {
  for (const Refused& one : refused()) {
    SCOPED_TRACE(one.text);
    RightCall call;
    one.spoil(call);
    EXPECT_ERROR((void)attend(call.layer, call.args), one.text);
    EXPECT_TRUE(std::ranges::all_of(call.out, [](float x) { return x == kUntouched; }));
    EXPECT_TRUE(std::ranges::all_of(call.lse, [](float x) { return x == kUntouched; }));
  }
}

TEST(AttendCall, TakesNoTokensAtAll) {
  RightCall call;
  call.args.q.shape[0] = call.args.out.shape[0] = call.args.lse.shape[0] = 0;
  EXPECT_TRUE(attend(call.layer, call.args));
  RightCall no_keys;
  no_keys.args.k.shape[0] = no_keys.args.v.shape[0] = 0;
  EXPECT_TRUE(attend(no_keys.layer, no_keys.args));
  EXPECT_TRUE(std::ranges::all_of(no_keys.out, [](float x) { return x == 0.0F; }));
  EXPECT_TRUE(std::ranges::all_of(no_keys.lse, [](float x) { return x == -std::numeric_limits<float>::infinity(); }));
}

// ---- calls that are stopped ----

// Many tiles: the caller is asked more than once.
struct LongCall {
  static constexpr std::int64_t kLong = 1500;
  std::vector<float> x = std::vector<float>(kLong * kHeads * kHeadDim, 0.5F);
  std::vector<float> out = std::vector<float>(kLong * kHeads * kHeadDim);
  LayerPlan layer = plain_layer();
  AttendArgs args;
  LongCall() {
    layer.kv_heads = kHeads;
    layer.value_dim = kHeadDim;
    const TensorView one{.data = x.data(),
                         .dtype = DType::f32,
                         .rank = 3,
                         .shape = {kLong, kHeads, kHeadDim},
                         .strides = {kHeads * kHeadDim, kHeadDim, 1}};
    args = {.out = one, .q = one, .k = one, .v = one};
    args.out.data = out.data();
  }
};

TEST(AttendCall, StopsWhenItIsToldTo) {
  for (const std::int64_t threads : {1, 2}) {
    LongCall call;
    call.args.parallel.threads = threads;
    std::atomic<int> asked = 0;
    std::atomic<int> asking = 0;
    AttendWork all;
    call.args.work = &all;
    call.args.keep_going = [&] {
      EXPECT_EQ(asking.fetch_add(1), 0) << "two threads at a time";
      ++asked;
      --asking;
      return true;
    };
    EXPECT_TRUE(attend(call.layer, call.args));
    EXPECT_GT(asked, 4);
    AttendWork some;
    call.args.work = &some;
    asked = 0;
    call.out.front() = std::numeric_limits<float>::quiet_NaN();  // of the rows that are begun last
    call.args.keep_going = [&] { return ++asked < 2; };
    EXPECT_FALSE(attend(call.layer, call.args));
    EXPECT_EQ(asked, 2);
    EXPECT_TRUE(std::isnan(call.out.front())) << "rows are begun all the same";
    call.args.keep_going = []() -> bool { throw std::runtime_error("interrupted"); };
    EXPECT_THROW((void)attend(call.layer, call.args), std::runtime_error);
  }
}

}  // namespace
}  // namespace posenc::test::fused_call_test

// Calls of rotate that do not fit: the exact message, and not a byte written.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/heads.h"
#include "support/ropes.h"
#include "support/throws.h"

namespace posenc::test::bad_input_test {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

// q and k of a call that fits, for each test to spoil.
class BadRotate : public testing::Test {
 protected:
  void expect_error(const char* text) {
    const std::vector<std::byte> q_before = q.memory();
    const std::vector<std::byte> k_before = k.memory();
    EXPECT_ERROR((void)rotate(args), ("[rotate] " + std::string(text)).c_str());
    EXPECT_TRUE(q.memory() == q_before);
    EXPECT_TRUE(k.memory() == k_before);
  }
  // Moves the data by so many bytes.
  static TensorView moved(TensorView view, std::int64_t bytes) {
    view.data = static_cast<std::byte*>(view.data) + bytes;
    return view;
  }

  std::mt19937_64 random{1};
  RotaryTable table = make_table(plain_rope(8), {.start = 10, .count = 20});
  RotaryTable on_demand = table_on_demand(plain_rope(8));
  Heads q{laid_out(Layout::thd, DType::f32, {1, 4, 3, 8}), random};
  Heads k{laid_out(Layout::thd, DType::f32, {1, 4, 2, 8}), random};
  Heads batch{laid_out(Layout::bhtd, DType::f32, {2, 4, 3, 8}), random};
  RotateArgs args{.q = q.view(), .k = k.view(), .positions = PositionRange{10}, .table = &table};
};

TEST_F(BadRotate, WouldFitOtherwise) {
  const std::vector<std::byte> before = q.memory();
  EXPECT_NO_THROW((void)rotate(args));
  EXPECT_FALSE(q.memory() == before);
}

// ---- What is missing, or no value of its type ----

TEST_F(BadRotate, NoTensor) {
  args.q = args.k = {};
  expect_error("q or k must be given but is omitted");
}
TEST_F(BadRotate, NoTable) {
  args.table = nullptr;
  expect_error("table must be given but is null");
}
TEST_F(BadRotate, NoTensorToWrite) {
  args.q = {};
  args.q_from = q.view();
  expect_error("q must be given where q_from is but is omitted");
}
TEST_F(BadRotate, NullData) {
  args.k.data = nullptr;
  expect_error("k.data must point to the elements but is null");
}
TEST_F(BadRotate, NullDataToRead) {
  args.k_from = k.view();
  args.k_from.data = nullptr;
  expect_error("k_from.data must point to the elements but is null");
}
TEST_F(BadRotate, ADirectionThatIsNone) {
  args.direction = static_cast<Direction>(9);
  expect_error("direction must be forward, inverse or transpose but is 9");
}
TEST_F(BadRotate, ADtypeThatIsNone) {
  args.q.dtype = static_cast<DType>(9);
  expect_error("q.dtype must be f32, f16 or bf16 but is unknown");
}
TEST_F(BadRotate, F64) {
  args.q.dtype = DType::f64;
  expect_error("q.dtype must be f32, f16 or bf16 but is f64");
}
TEST_F(BadRotate, AnInstructionSetThatIsNone) {
  args.isa = static_cast<Isa>(77);
  EXPECT_THROW((void)rotate(args), Error);
}
TEST_F(BadRotate, APairingThatIsNone) {
  Rope rope = plain_rope(8);
  rope.pairing = static_cast<Pairing>(7);
  EXPECT_ERROR(make_table(rope, {.count = 1}), "[frequencies] pairing must be half or interleaved but is 7");
  EXPECT_ERROR(table_on_demand(rope), "[frequencies] pairing must be half or interleaved but is 7");
}

// ---- Shapes ----

TEST_F(BadRotate, Ranks) {
  for (const int rank : {-1, 1, 2, 5, 1000}) {
    args.q.rank = rank;
    const std::string text =
        "q.rank must be 3, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim] but is ";
    expect_error((text + std::to_string(rank)).c_str());
  }
}
TEST_F(BadRotate, ANegativeSize) {
  args.q.shape[1] = -3;
  expect_error("q.shape[1] must be at least 0 but is -3");
  args.q.shape[1] = kLeast;
  expect_error("q.shape[1] must be at least 0 but is -9223372036854775808");
}
TEST_F(BadRotate, AnotherHeadDim) {
  args.k.shape[2] = 16;
  expect_error("k.shape[2] must be the head_dim of the table, 8, but is 16");
}
TEST_F(BadRotate, OtherTokensInKeys) {
  args.k.shape[0] = 3;
  expect_error("k.shape[0] must be that of q, 4, but is 3");
}
TEST_F(BadRotate, AnotherRankInKeys) {
  args.k = batch.view();
  expect_error("k.rank must be that of q, 3, but is 4");
}
TEST_F(BadRotate, AnotherBatchInKeys) {
  Heads other(laid_out(Layout::bhtd, DType::f32, {3, 4, 3, 8}), random);
  args.q = batch.view();
  args.k = other.view();
  expect_error("k.shape[0] must be that of q, 2, but is 3");
}
TEST_F(BadRotate, AnotherShapeToRead) {
  args.q_from = args.q;
  args.q_from.shape[0] = 3;
  expect_error("q_from.shape must be that of q, [4, 3, 8], but is [3, 3, 8]");
}
TEST_F(BadRotate, AnotherDtypeToRead) {
  Heads from(laid_out(Layout::thd, DType::bf16, {1, 4, 3, 8}), random);
  args.q_from = from.view();
  expect_error("q_from.dtype must be that of q, f32, but is bf16");
}
TEST_F(BadRotate, MoreTokensThanCanBeCounted) {
  args.q = laid_out(Layout::bhtd, DType::f32, {1, 1, 0, 8});
  args.q.shape = {kLargest, 0, kLargest, 8};
  args.k = {};
  expect_error("q.shape must have fewer than 2^63 positions but is larger");
}

// ---- Strides and memory ----

TEST_F(BadRotate, ChannelsApart) {
  args.q.strides[2] = 2;
  expect_error("q.strides[2] must be 1, since channels of a head are adjacent, but is 2");
}
TEST_F(BadRotate, RowsThatOverlap) {
  args.q.strides[0] = 20;
  expect_error("q.strides must give every element a place of its own but is 4 parts of 24 elements, 20 apart");
}
TEST_F(BadRotate, RowsInOnePlace) {
  args.q.strides[0] = 0;
  expect_error("q.strides must give every element a place of its own but is 4 parts of 1 elements, 0 apart");
}
TEST_F(BadRotate, StridesThatLeaveTheAddressSpace) {
  for (const std::int64_t stride : {kLargest, kLeast, kLeast + 1, kLargest / 3, kLargest / 12}) {
    args.q.strides[0] = stride;
    expect_error("q.strides must reach less than 2^63 bytes but is larger");
  }
}
TEST_F(BadRotate, StridesToReadThatLeaveTheAddressSpace) {
  args.q_from = args.q;
  args.q_from.strides[1] = kLeast;
  expect_error("q_from.strides must reach less than 2^63 bytes but is larger");
}
TEST_F(BadRotate, HugeShapes) {
  args.k = {};
  args.q.shape[0] = kLargest;
  expect_error("q.strides must reach less than 2^63 bytes but is larger");
}
TEST_F(BadRotate, DataBetweenTwoElements) {
  args.q = moved(args.q, 2);
  expect_error("q.data must be aligned to its elements, 4 bytes, but is between two");
}
TEST_F(BadRotate, DataToReadOneRowBefore) {
  args.q.shape[0] = 3;
  args.k = {};
  args.q_from = args.q;
  args.q = moved(args.q, 4 * args.q.strides[0]);
  expect_error("q_from must be q itself or share no element with it but is overlapping");
}
TEST_F(BadRotate, DataToReadInOtherOrder) {
  args.q_from = args.q;
  args.q_from.data = static_cast<const std::byte*>(args.q_from.data) + 4 * 3 * args.q.strides[0];
  args.q_from.strides[0] = -args.q.strides[0];
  expect_error("q_from must be q itself or share no element with it but is overlapping");
}
TEST_F(BadRotate, KeysWhereQueriesAre) {
  args.k = args.q;
  expect_error("k must share no element with q but is overlapping");
}
TEST_F(BadRotate, KeysOfAnotherDtypeWhereQueriesAre) {
  args.k = args.q;
  args.k.dtype = DType::f16;
  expect_error("k must share no element with q but is overlapping");
}
TEST_F(BadRotate, KeysWrittenWhereQueriesAreRead) {
  Heads out(laid_out(Layout::thd, DType::f32, {1, 4, 3, 8}), random);
  args.q_from = k.view();
  args.q_from.shape[1] = 2;
  args.q = out.view();
  args.q.shape[1] = 2;
  expect_error("k must share no element with q_from but is overlapping");
}
TEST_F(BadRotate, QueriesWrittenWhereKeysAreRead) {
  args.k_from = args.q;
  args.k_from.shape[1] = 2;
  expect_error("k_from must share no element with q but is overlapping");
}

// ---- Tables and sequences ----

TEST_F(BadRotate, TablesThatDoNotFit) {
  const RotaryTable other = make_table(plain_rope(16), {.count = 1});
  const RotaryTable* two[] = {&table, &on_demand};
  args.tables = two;
  expect_error("table must be omitted where tables are given but is given");
  args.table = nullptr;
  expect_error("tables must have one table for each of 1 sequences but is 2 long");
  two[1] = nullptr;
  expect_error("tables[1] must be given but is null");
  two[1] = &other;
  expect_error("tables[1] must rotate the same channels as the first but is of another layout");
}
TEST_F(BadRotate, AnInverseOfNothing) {
  const std::vector<float> zeros(4, 0.0F);
  const RotaryTable nothing = table_from_cos_sin(table.layout(), zeros, zeros, 10, 0.0);
  args.q.shape[0] = args.k.shape[0] = 1;
  args.table = &nothing;
  args.direction = Direction::inverse;
  expect_error("table must have an attention factor whose square can be divided by but is 0");
  const RotaryTable* const tables[] = {&nothing};
  args.tables = tables;
  args.table = nullptr;
  expect_error("tables[0] must have an attention factor whose square can be divided by but is 0");
}
TEST_F(BadRotate, SequencesThatLie) {
  std::vector<std::int32_t> bounds{0, 3};
  const auto expect = [&](std::vector<std::int32_t> lying, const char* text) {
    bounds = std::move(lying);
    args.cu_seqlens = bounds;
    expect_error(text);
  };
  expect({0, 3}, "cu_seqlens[1] must be the number of tokens, 4, but is 3");
  expect({0, 5}, "cu_seqlens[1] must be the number of tokens, 4, but is 5");
  expect({0}, "cu_seqlens[0] must be the number of tokens, 4, but is 0");
  expect({1, 4}, "cu_seqlens[0] must be 0 but is 1");
  expect({-1, 4}, "cu_seqlens[0] must be 0 but is -1");
  expect({0, 3, 2, 4}, "cu_seqlens[2] must be at least 3, the one before, but is 2");
  expect({0, -2147483647 - 1, 4}, "cu_seqlens[1] must be at least 0, the one before, but is -2147483648");
}
TEST_F(BadRotate, PackedSequencesOfABatch) {
  const std::vector<std::int32_t> bounds{0, 4};
  args.q = batch.view();
  args.k = {};
  args.cu_seqlens = bounds;
  expect_error("cu_seqlens must be omitted for tensors of rank 4, whose batch are sequences, but is given");
}

// ---- Positions ----

TEST_F(BadRotate, CountedPositionsBeyondTheTable) {
  args.positions = PositionRange{9};
  expect_error("positions must lie from 10 to 29, which its table serves, but is 9");
  args.positions = PositionRange{27};
  expect_error("positions must lie from 10 to 29, which its table serves, but is 30");
  args.positions = PositionRange{kLargest};
  expect_error("positions must lie from 10 to 29, which its table serves, but is 9223372036854775807");
}
TEST_F(BadRotate, ListedPositionsBeyondTheTable) {
  const std::vector<std::int64_t> wide{10, 29, 30, 10};
  args.positions = std::span<const std::int64_t>(wide);
  expect_error("positions[2] must lie from 10 to 29, which its table serves, but is 30");
  const std::vector<std::int32_t> narrow{10, 29, 12, -2147483647 - 1};
  args.positions = std::span<const std::int32_t>(narrow);
  expect_error("positions[3] must lie from 10 to 29, which its table serves, but is -2147483648");
}
TEST_F(BadRotate, PositionsThatAreNoWholeNumbers) {
  for (const double x : {10.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> real{10, x, 12, 13};
    args.positions = std::span<const double>(real);
    expect_error(("positions[1] must be whole and lie from 10 to 29, which its table serves, but is " +
                  std::string(std::isnan(x)   ? "nan"
                              : std::isinf(x) ? "inf"
                                              : "10.5"))
                     .c_str());
  }
}
TEST_F(BadRotate, PositionsBeyondAllTables) {
  args.table = &on_demand;
  args.positions = PositionRange{(std::int64_t{1} << 53U) - 2};
  expect_error(
      "positions must lie from -9007199254740992 to 9007199254740992, which its table serves, but is "
      "9007199254740993");
  const std::vector<double> real{10, std::nan(""), 12, 13};
  args.positions = std::span<const double>(real);
  expect_error("positions[1] must lie from -9007199254740992 to 9007199254740992, which its table serves, but is nan");
}
TEST_F(BadRotate, PositionsInATableOfNone) {
  const RotaryTable empty = make_table(plain_rope(8), {.count = 0});
  args.table = &empty;
  args.positions = PositionRange{0};
  expect_error("table must hold a position but is empty");
}
TEST_F(BadRotate, TooFewOrTooManyPositions) {
  const std::vector<std::int64_t> three{10, 11, 12};
  args.positions = std::span<const std::int64_t>(three);
  expect_error("positions must have one entry for each of 1 axes and 4 tokens, 4, but is 3 long");
  args.positions = std::span<const std::int64_t>();
  expect_error("positions must have one entry for each of 1 axes and 4 tokens, 4, but is 0 long");
  args.q = batch.view();
  args.k = {};
  args.positions = std::span<const std::int64_t>(three).first(2);
  expect_error("positions must have one entry for each of 1 axes and 8 tokens, 8, but is 2 long");
}
TEST_F(BadRotate, PositionsOfTooFewAxes) {
  Rope rope = plain_rope(8);
  rope.axes = axial_axes({"h", "w"}, 4);
  const RotaryTable two = make_table(rope, {.count = 20});
  const std::vector<std::int32_t> four{1, 2, 3, 4};
  args.table = &two;
  args.positions = std::span<const std::int32_t>(four);
  expect_error("positions must have one entry for each of 2 axes and 4 tokens, 8, but is 4 long");
}

// ---- What looks odd and is fine ----

TEST_F(BadRotate, StridesOfOneElementSayNothing) {
  Heads one(laid_out(Layout::thd, DType::f16, {1, 1, 1, 8}), random);
  const std::vector<std::byte> before = one.memory();
  (void)rotate({.q = one.view(), .positions = PositionRange{11}, .table = &table});
  const std::vector<std::byte> rotated = one.memory();
  EXPECT_FALSE(rotated == before);
  for (const std::int64_t stride : {kLeast, kLargest, std::int64_t{0}, std::int64_t{-1}}) {
    one.restore(before);
    TensorView odd = one.view();
    odd.strides = {stride, stride, 1, stride};
    odd.shape[3] = stride;  // beyond the rank
    ConstTensorView from = one.view();
    (void)rotate({.q = odd, .q_from = from, .positions = PositionRange{11}, .table = &table});
    EXPECT_TRUE(one.memory() == rotated) << stride;
  }
}

}  // namespace
}  // namespace posenc::test::bad_input_test

// Paged caches: the same bits as contiguous keys, nothing else touched; block tables that lie refused before any write.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "support/every_isa.h"
#include "support/throws.h"

namespace posenc::test::pages_test {
namespace {

constexpr unsigned kSeed = 4096;
constexpr std::int64_t kBlocks = 9;
constexpr std::int64_t kBlockSize = 4;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kDim = 20;

Rope partial_rope() { return {.pairing = Pairing::half, .head_dim = kDim, .first_channel = 2, .dim = 14}; }

// Three sequences, the second without rows: tokens 2 .. 8 of the first, 0 .. 4 of the last.
struct Cache {
  std::vector<std::int32_t> bounds{0, 7, 7, 12};
  std::vector<std::int32_t> first{2, 5, 0};
  std::vector<std::int32_t> block_table{8, 3, 5, -1, -1, 9, 0, 4, -1};  // [3, 3]
  Pages pages() const { return {block_table, first}; }

  // Of each row, where token 0 of each sequence stands at `start`.
  std::vector<std::int64_t> positions(std::int64_t start) const {
    std::vector<std::int64_t> out;
    for (std::size_t s = 0; s < first.size(); ++s) {
      for (std::int32_t row = bounds[s]; row < bounds[s + 1]; ++row) out.push_back(start + first[s] + row - bounds[s]);
    }
    return out;
  }
};

// Counted in a cache, which knows its tokens; else as a list.
Positions standing(const Pages& pages, std::int64_t start, const std::vector<std::int64_t>& listed) {
  return pages.block_table.empty() ? Positions(listed) : Positions(PositionRange{start});
}

enum class Order : std::uint8_t { tokens_then_heads, heads_then_tokens };

// [kBlocks, kBlockSize, kHeads, kDim], in memory with gaps or with a head's tokens together.
TensorView cache_view(DType dtype, Order order) {
  if (order == Order::tokens_then_heads) {
    const std::int64_t row = kHeads * kDim + 3;
    return {nullptr, dtype, 4, {kBlocks, kBlockSize, kHeads, kDim}, {kBlockSize * row + 5, row, kDim, 1}};
  }
  const std::int64_t head = kBlockSize * kDim;
  return {nullptr, dtype, 4, {kBlocks, kBlockSize, kHeads, kDim}, {kHeads * head, kDim, head, 1}};
}

// Offset of the head of a row of the packed keys within the cache.
std::int64_t place(const Cache& cache, const TensorView& view, std::int64_t row, std::int64_t head) {
  std::size_t s = 0;
  while (row >= cache.bounds[s + 1]) ++s;
  const std::int64_t token = cache.first[s] + row - cache.bounds[s];
  const std::int64_t block = cache.block_table[s * 3 + static_cast<std::size_t>(token / kBlockSize)];
  return block * view.strides[0] + token % kBlockSize * view.strides[1] + head * view.strides[2];
}

// The rows of the sequences, in their order. [rows * heads * channels]
std::vector<std::uint32_t> packed_bits(const Cache& cache, const TensorView& view) {
  std::vector<std::uint32_t> out;
  for (std::int64_t row = 0; row < cache.bounds.back(); ++row) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t c = 0; c < kDim; ++c) out.push_back(bits_at(view, place(cache, view, row, h) + c));
    }
  }
  return out;
}

// Calls rotate_keys(k, pages) on the cache and rotate_keys(k, no pages) on the same rows packed: equal bits, all else
// unchanged.
void expect_as_packed(const std::function<void(const TensorView&, const Pages&, DType, Isa)>& rotate_keys) {
  std::mt19937_64 random(kSeed);
  const Cache cache;
  const std::vector<Isa> isas = every_isa("pages");
  for (const Order order : {Order::tokens_then_heads, Order::heads_then_tokens}) {
    for (const DType dtype : kDTypes) {
      for (const Isa isa : isas) {
        Heads paged(cache_view(dtype, order), random);
        Heads packed(laid_out(Layout::thd, dtype, {1, cache.bounds.back(), kHeads, kDim}), random);
        const std::vector<std::byte> before = paged.memory();
        const std::vector<std::uint32_t> rows = packed_bits(cache, paged.view());
        for_elements(packed.view(),
                     [&](std::int64_t offset, std::size_t i) { set_bits(packed.view(), offset, rows[i]); });
        rotate_keys(paged.view(), cache.pages(), dtype, isa);
        rotate_keys(packed.view(), {}, dtype, isa);
        const std::vector<std::uint32_t> rotated = packed_bits(cache, paged.view());
        EXPECT_NE(rotated, rows);
        EXPECT_EQ(rotated, bits_of(packed.view())) << name(dtype) << " " << name(isa);
        std::size_t i = 0;
        for (std::int64_t row = 0; row < cache.bounds.back(); ++row) {
          for (std::int64_t h = 0; h < kHeads; ++h) {
            for (std::int64_t c = 0; c < kDim; ++c) {
              set_bits(paged.view(), place(cache, paged.view(), row, h) + c, rows[i++]);
            }
          }
        }
        EXPECT_TRUE(paged.memory() == before) << "the cache changed beside the rows";
      }
    }
  }
}

TEST(RotatePages, EqualContiguousKeys) {
  const Rope rope = partial_rope();
  const RotaryTable table = make_table(rope, {.count = 100});
  const Cache cache;
  const std::vector<std::int64_t> listed = cache.positions(30);
  std::mt19937_64 random(kSeed + 1);
  expect_as_packed([&](const TensorView& k, const Pages& pages, DType, Isa isa) {
    (void)rotate({.k = k,
                  .positions = standing(pages, 30, listed),
                  .table = &table,
                  .cu_seqlens = cache.bounds,
                  .k_pages = pages,
                  .isa = isa});
  });
  // Beside packed queries, which have heads of their own.
  expect_as_packed([&](const TensorView& k, const Pages& pages, DType dtype, Isa isa) {
    Heads q(laid_out(Layout::gaps, dtype, {1, cache.bounds.back(), 5, kDim}), random);
    const std::vector<std::byte> before = q.memory();
    (void)rotate({.q = q.view(), .positions = listed, .table = &table, .cu_seqlens = cache.bounds, .isa = isa});
    const std::vector<std::byte> alone = q.memory();
    q.restore(before);
    (void)rotate({.q = q.view(),
                  .k = k,
                  .positions = standing(pages, 30, listed),
                  .table = &table,
                  .cu_seqlens = cache.bounds,
                  .k_pages = pages,
                  .isa = isa});
    EXPECT_TRUE(q.memory() == alone);
  });
}

TEST(RotatePages, AreRotatedAgainAsContiguousKeysAre) {
  const Rope rope = partial_rope();
  const RotaryTable from = make_table(rope, {.count = 100});
  const RotaryTable to = table_on_demand(rope);
  const Cache cache;
  const std::vector<std::int64_t> listed_from = cache.positions(30);
  const std::vector<std::int64_t> listed_to = cache.positions(2);
  expect_as_packed([&](const TensorView& k, const Pages& pages, DType, Isa isa) {
    (void)rerotate({.k = k,
                    .from_table = &from,
                    .from_positions = standing(pages, 30, listed_from),
                    .to_table = &to,
                    .to_positions = standing(pages, 2, listed_to),
                    .cu_seqlens = cache.bounds,
                    .k_pages = pages,
                    .isa = isa});
  });
}

// A token stands where its place in its sequence says, whichever rows the call has: as if all were there.
TEST(RotatePages, TokensOfAPartStandWhereTheyStandInTheWhole) {
  const RotaryTable table = make_table(partial_rope(), {.count = 100});
  std::mt19937_64 random(kSeed + 5);
  Heads cache(cache_view(DType::f32, Order::tokens_then_heads), random);
  const std::vector<std::byte> before = cache.memory();
  const std::vector<std::int32_t> blocks{8, 3, 5};
  const std::vector<std::int32_t> whole{0, 11};
  (void)rotate({.k = cache.view(), .table = &table, .cu_seqlens = whole, .k_pages = {.block_table = blocks}});
  const std::vector<std::byte> expected = cache.memory();
  cache.restore(before);
  for (const auto& [first, count] : {std::pair<std::int32_t, std::int32_t>{0, 6}, {6, 4}, {10, 1}}) {
    const std::vector<std::int32_t> firsts{first};
    const std::vector<std::int32_t> bounds{0, count};
    (void)rotate({.k = cache.view(),
                  .table = &table,
                  .cu_seqlens = bounds,
                  .k_pages = {.block_table = blocks, .first = firsts}});
  }
  EXPECT_TRUE(cache.memory() == expected);
}

TEST(RotatePages, WithoutSequencesAreLeftAlone) {
  const RotaryTable table = make_table(partial_rope(), {.count = 100});
  std::mt19937_64 random(kSeed + 2);
  Heads cache(cache_view(DType::f32, Order::tokens_then_heads), random);
  const std::vector<std::byte> before = cache.memory();
  const std::vector<std::int32_t> none{0};
  const std::vector<std::int32_t> any{1, 2, 3};
  (void)rotate({.k = cache.view(), .table = &table, .cu_seqlens = none, .k_pages = {any, {}}});
  EXPECT_TRUE(cache.memory() == before);
}

// ---- Refused, with nothing written ----

class BadPages : public testing::Test {
 protected:
  void expect_error(const char* text) {
    std::mt19937_64 random(kSeed + 3);
    Heads k(view, random);
    Heads q(laid_out(Layout::thd, DType::f32, {1, 12, 3, kDim}), random);
    const std::vector<std::byte> k_before = k.memory();
    const std::vector<std::byte> q_before = q.memory();
    const RotaryTable table = make_table(partial_rope(), {.count = 100});
    for (const bool with_queries : {false, true}) {
      EXPECT_ERROR((void)rotate({.q = with_queries ? q.view() : TensorView{},
                                 .k = k.view(),
                                 .table = &table,
                                 .cu_seqlens = cache.bounds,
                                 .k_pages = cache.pages()}),
                   ("[rotate] " + std::string(text)).c_str());
    }
    EXPECT_ERROR((void)rerotate({.k = k.view(),
                                 .from_table = &table,
                                 .to_table = &table,
                                 .cu_seqlens = cache.bounds,
                                 .k_pages = cache.pages()}),
                 ("[rerotate] " + std::string(text)).c_str());
    EXPECT_TRUE(k.memory() == k_before);
    EXPECT_TRUE(q.memory() == q_before);
  }

  Cache cache;
  TensorView view = cache_view(DType::f32, Order::tokens_then_heads);
};

TEST_F(BadPages, AHoleWhereRowsAre) {
  cache.block_table[1] = -1;
  expect_error(
      "k_pages.block_table[1] must name one of the 9 blocks, since sequence 0 has rows there, but is -1, a hole");
}
TEST_F(BadPages, ABlockBeyondTheCache) {
  cache.block_table[7] = 9;
  expect_error("k_pages.block_table[7] must name one of the 9 blocks, since sequence 2 has rows there, but is 9");
}
TEST_F(BadPages, ANegativeBlock) {
  cache.block_table[7] = std::numeric_limits<std::int32_t>::min();
  expect_error(
      "k_pages.block_table[7] must name one of the 9 blocks, since sequence 2 has rows there, but is -2147483648");
}
TEST_F(BadPages, ABlockTwiceInOneSequence) {
  cache.block_table[1] = 8;
  expect_error("k_pages.block_table[1] must name other rows than entry 0 does but is 8 again");
}
TEST_F(BadPages, APrefixThatTwoSequencesShare) {
  cache.block_table[6] = 3;
  expect_error("k_pages.block_table[6] must name other rows than entry 1 does but is 3 again");
}
TEST_F(BadPages, TooFewBlocksForTheRows) {
  cache.first[0] = 6;
  expect_error("cu_seqlens[1] must leave sequence 0 within its 3 blocks of 4 tokens but is 7, for 13 tokens");
}
TEST_F(BadPages, AFirstTokenBelowZero) {
  cache.first[2] = -1;
  expect_error("k_pages.first[2] must be at least 0 but is -1");
}
TEST_F(BadPages, ABlockTableThatTheSequencesDoNotDivide) {
  cache.block_table.pop_back();
  expect_error("k_pages.block_table must have as many blocks for each of 3 sequences but is 8 long");
}
TEST_F(BadPages, TooFewFirstTokens) {
  cache.first.pop_back();
  expect_error("k_pages.first must have one entry for each of 3 sequences but is 2 long");
}
TEST_F(BadPages, FirstTokensWithoutABlockTable) {
  cache.block_table.clear();
  expect_error("k_pages.block_table must be given where k_pages.first is but is omitted");
}
TEST_F(BadPages, NoSequences) {
  cache.bounds.clear();
  expect_error("cu_seqlens must be given where k_pages are but is omitted");
}
TEST_F(BadPages, SequencesThatRunBackwards) {
  cache.bounds = {0, 7, 5, 12};
  expect_error("cu_seqlens[2] must be at least 7, the one before, but is 5");
}
TEST_F(BadPages, SequencesThatDoNotBeginAtZero) {
  cache.bounds[0] = 1;
  expect_error("cu_seqlens[0] must be 0 but is 1");
}
TEST_F(BadPages, ACacheOfAnotherRank) {
  view = laid_out(Layout::thd, DType::f32, {1, 12, kHeads, kDim});
  expect_error("k.rank must be 4, [blocks, block_size, heads, head_dim] but is 3");
}
TEST_F(BadPages, BlocksOfNoTokens) {
  view.shape[1] = 0;
  expect_error("cu_seqlens[1] must leave sequence 0 within its 3 blocks of 0 tokens but is 7, for 9 tokens");
}

TEST(RotatePagesErrors, ATokenBeyondTheTable) {
  std::mt19937_64 random(kSeed + 6);
  const Cache cache;  // the first sequence's last token is its ninth
  const RotaryTable table = make_table(partial_rope(), {.count = 8});
  Heads k(cache_view(DType::f32, Order::tokens_then_heads), random);
  const std::vector<std::byte> before = k.memory();
  EXPECT_ERROR((void)rotate({.k = k.view(), .table = &table, .cu_seqlens = cache.bounds, .k_pages = cache.pages()}),
               "[rotate] positions must lie from 0 to 7, which its table serves, but is 8");
  EXPECT_ERROR((void)rerotate({.k = k.view(),
                               .from_table = &table,
                               .from_positions = PositionRange{-1},
                               .to_table = &table,
                               .cu_seqlens = cache.bounds,
                               .k_pages = cache.pages()}),
               "[rerotate] from_positions must lie from 0 to 7, which its table serves, but is -1");
  EXPECT_TRUE(k.memory() == before);
}

TEST(RotatePagesErrors, RowsOfQueriesAreThoseOfTheSequences) {
  std::mt19937_64 random(kSeed + 4);
  const Cache cache;
  const RotaryTable table = make_table(partial_rope(), {.count = 100});
  Heads k(cache_view(DType::f32, Order::tokens_then_heads), random);
  Heads q(laid_out(Layout::thd, DType::f32, {1, 13, 3, kDim}), random);
  Heads batch(laid_out(Layout::bhtd, DType::f32, {3, 4, 3, kDim}), random);
  const std::vector<std::byte> before = k.memory();
  RotateArgs args{.q = q.view(), .k = k.view(), .table = &table, .cu_seqlens = cache.bounds, .k_pages = cache.pages()};
  EXPECT_ERROR((void)rotate(args), "[rotate] cu_seqlens[3] must be the number of tokens, 13, but is 12");
  args.q = batch.view();
  EXPECT_ERROR((void)rotate(args), "[rotate] q.rank must be 3, packed as the rows of k are, but is 4");
  args.q = {};
  args.k_from = k.view();
  EXPECT_ERROR((void)rotate(args), "[rotate] k_from must be omitted where k is a paged cache but is given");
  args.k = {};
  args.k_from = {};
  args.q = q.view();
  EXPECT_ERROR((void)rotate(args), "[rotate] k must be given where k_pages are but is omitted");
  EXPECT_TRUE(k.memory() == before);
}

}  // namespace
}  // namespace posenc::test::pages_test

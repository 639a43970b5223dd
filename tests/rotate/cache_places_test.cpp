// rotate_into_cache at every tail, at three misalignments and beside pages that nobody may touch: what is stored is
// what comes of the same numbers in the middle of other memory, to the bit, and nothing else is written.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "posenc/cache.h"
#include "rotate/heads.h"
#include "support/every_isa.h"

namespace posenc::test::cache_places_test {
namespace {

constexpr std::int64_t kTokens = 3;
constexpr std::int64_t kHeads = 2;
const std::vector<std::int64_t> kSlots{2, -1, 0};

// Keys and values of a call, the caches they go into, and the weight of their norm.
struct Call {
  Heads k;
  Heads v;
  Heads k_cache;
  Heads v_cache;
  Heads weight;

  Call(std::int64_t head_dim, DType from, DType to, std::mt19937_64& random, Edge edge, std::int64_t misaligned)
      : k(laid_out(Layout::thd, from, {1, kTokens, kHeads, head_dim}), random, edge, misaligned),
        v(laid_out(Layout::gaps, from, {1, kTokens, kHeads, head_dim}), random, edge, misaligned),
        k_cache(laid_out(Layout::thd, to, {1, kTokens, kHeads, head_dim}), random, edge, misaligned),
        v_cache(laid_out(Layout::gaps, to, {1, kTokens, kHeads, head_dim}), random, edge, misaligned),
        weight(laid_out(Layout::thd, from, {1, 1, 1, head_dim}), random, edge, misaligned) {}

  void run(const RotaryTable& table, const std::optional<QkNorm>& norm, Isa isa) {
    CacheArgs args{.k = k.view(),
                   .v = v.view(),
                   .positions = PositionRange{5},
                   .table = &table,
                   .k_cache = k_cache.view(),
                   .v_cache = v_cache.view(),
                   .slots = kSlots,
                   .isa = isa};
    if (norm) {
      const TensorView& w = weight.view();
      args.norm = KeyNorm{.scheme = *norm, .weight = tensor(w.data, w.dtype, {w.shape[2]})};
    }
    (void)rotate_into_cache(args);
  }
};

void copy_elements(const Heads& from, const Heads& to) {
  const std::vector<std::uint32_t> bits = bits_of(from.view());
  for_elements(to.view(), [&](std::int64_t offset, std::size_t i) { set_bits(to.view(), offset, bits[i]); });
}

// The memory of a cache with its elements set back is what it was before.
void expect_nothing_beside(Heads& cache, const std::vector<std::byte>& before, const std::string& where) {
  const std::vector<std::uint32_t> old = bits_of(cache.in(before));
  for_elements(cache.view(), [&](std::int64_t offset, std::size_t i) { set_bits(cache.view(), offset, old[i]); });
  EXPECT_TRUE(cache.memory() == before) << "memory beside a cache changed: " << where;
}

// Up to twice the channels of the longest step (32, bf16 in AVX-512) and some beyond; one channel does not rotate.
TEST(CachePlaces, EveryTailAndPlaceGivesTheSameBits) {
  std::mt19937_64 random(1789);
  const std::vector<Isa> isas = every_isa("places of caches");
  const std::vector<std::optional<QkNorm>> norms{std::nullopt, QkNorm{.kind = QkNorm::Kind::rms},
                                                 QkNorm{.kind = QkNorm::Kind::layer, .order = QkNorm::Order::after}};
  for (std::int64_t pairs = 1; pairs <= 34; ++pairs) {
    const Rope rope{
        .pairing = pairs % 2 == 0 ? Pairing::half : Pairing::interleaved, .head_dim = 2 * pairs + 1, .dim = 2 * pairs};
    const RotaryTable table = make_table(rope, {.count = 10});
    for (const DType from : kDTypes) {
      for (const DType to : kDTypes) {
        Call plain(rope.head_dim, from, to, random, Edge::begin, 32);
        for (const std::int64_t misaligned : {0, 1, 3}) {
          Call edge(rope.head_dim, from, to, random, (pairs + misaligned) % 2 == 0 ? Edge::begin : Edge::end,
                    misaligned);
          copy_elements(plain.k, edge.k);
          copy_elements(plain.v, edge.v);
          copy_elements(plain.k_cache, edge.k_cache);
          copy_elements(plain.v_cache, edge.v_cache);
          copy_elements(plain.weight, edge.weight);
          const std::vector<std::byte> k_before = edge.k.memory();
          const std::vector<std::byte> v_before = edge.v.memory();
          const std::vector<std::byte> k_cache_before = edge.k_cache.memory();
          const std::vector<std::byte> v_cache_before = edge.v_cache.memory();
          const std::vector<std::byte> plain_k_cache = plain.k_cache.memory();
          const std::vector<std::byte> plain_v_cache = plain.v_cache.memory();
          const std::optional<QkNorm>& norm = norms[static_cast<std::size_t>(pairs + misaligned) % norms.size()];
          for (const Isa isa : isas) {
            const std::string where = std::to_string(pairs) + " pairs, " + std::string(name(from)) + " to " +
                                      std::string(name(to)) + ", " + std::to_string(misaligned) + " off, " +
                                      std::string(name(isa));
            plain.run(table, norm, isa);
            edge.run(table, norm, isa);
            EXPECT_EQ(bits_of(edge.k_cache.view()), bits_of(plain.k_cache.view())) << where;
            EXPECT_EQ(bits_of(edge.v_cache.view()), bits_of(plain.v_cache.view())) << where;
            EXPECT_TRUE(edge.k.memory() == k_before && edge.v.memory() == v_before) << "read and changed: " << where;
            expect_nothing_beside(edge.k_cache, k_cache_before, where);
            expect_nothing_beside(edge.v_cache, v_cache_before, where);
            plain.k_cache.restore(plain_k_cache);
            plain.v_cache.restore(plain_v_cache);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::cache_places_test

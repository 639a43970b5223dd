// Few queries of a GQA group stream the KV cache as one does (docs/performance/decode.md): beside others of its group a
// query has the bits that it has alone, which products along the lanes would not give. More of them have the same bits
// in whichever block of lanes they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "posenc/attend.h"
#include "posenc/rotate.h"
#include "support/every_isa.h"
#include "support/random_tensor.h"

namespace posenc::test::few_queries_test {
namespace {

constexpr std::int64_t kInTwoParts = 1100;  // keys
constexpr std::int64_t kInOnePart = 130;
constexpr std::int64_t kKvHeads = 3;
constexpr std::int64_t kDim = 72;

// Queries of so many heads a KV head that are few; one by the scalar kernels.
std::int64_t most_queries(Isa isa, std::int64_t group) {
  if (isa == Isa::scalar) return 1;
  if (isa == Isa::neon) return 4 / group;
  const std::int64_t wide = isa == Isa::avx2 ? 8 : 16;
  return (wide + wide / 2) / group;
}

// Calls over one KV cache, of some of the same queries, each of `group` heads a KV head.
class Calls {
 public:
  static constexpr std::int64_t kMostQueries = 40;

  Calls(std::int64_t keys, DType dtype, bool rotates, std::int64_t group)
      : keys_(keys),
        dtype_(dtype),
        layer_{.heads = group * kKvHeads,
               .kv_heads = kKvHeads,
               .head_dim = kDim,
               .value_dim = kDim,
               .softmax_scale = 1 / std::sqrt(static_cast<double>(kDim)),
               .mask = {.kind = MaskKind::bidirectional}},
        q_(words(kMostQueries * row())),
        k_(words(keys * kKvHeads * kDim)),
        v_(words(keys * kKvHeads * kDim)) {
    if (rotates) layer_.rotate = {{.scheme = Rope{.pairing = Pairing::half, .head_dim = kDim, .dim = kDim}}};
  }

  // Floats of a query's output.
  std::int64_t row() const { return layer_.heads * kDim; }

  std::vector<float> outputs(Isa isa, std::int64_t first, std::int64_t count) const {
    const std::vector<std::int64_t> here(static_cast<std::size_t>(count), keys_);  // how many there are changes nothing
    std::vector<float> out(static_cast<std::size_t>(count * row()));
    const std::size_t bytes = dtype_ == DType::f32 ? 4 : 2;
    const char* const from = reinterpret_cast<const char*>(q_.data()) + static_cast<std::size_t>(first * row()) * bytes;
    AttendArgs args{.out = tensor(out.data(), {count, layer_.heads, kDim}),
                    .q = tensor(static_cast<const void*>(from), dtype_, {count, layer_.heads, kDim}),
                    .k = tensor(static_cast<const void*>(k_.data()), dtype_, {keys_, kKvHeads, kDim}),
                    .v = tensor(static_cast<const void*>(v_.data()), dtype_, {keys_, kKvHeads, kDim}),
                    .parallel = {.threads = 1},
                    .isa = isa};
    args.inputs.q_positions = here;
    EXPECT_TRUE(attend(layer_, args));
    return out;
  }

  // The same of the first queries, of keys and values in pages of so many tokens, the last first.
  std::vector<float> outputs_of_pages(Isa isa, std::int64_t count, std::int64_t size) const {
    const std::vector<std::int64_t> here(static_cast<std::size_t>(count), keys_);
    const std::int64_t blocks = (keys_ + size - 1) / size;
    std::vector<std::int32_t> table;
    for (std::int64_t n = blocks; n-- > 0;) table.push_back(static_cast<std::int32_t>(n));
    const std::int64_t row = kKvHeads * kDim * (dtype_ == DType::f32 ? 4 : 2);
    const auto in_pages = [&](const std::vector<std::uint32_t>& from) {
      std::vector<char> out(static_cast<std::size_t>(blocks * size * row));
      for (std::int64_t t = 0; t < keys_; ++t) {
        const std::int64_t place = table[static_cast<std::size_t>(t / size)] * size + t % size;
        std::memcpy(out.data() + place * row, reinterpret_cast<const char*>(from.data()) + t * row,
                    static_cast<std::size_t>(row));
      }
      return out;
    };
    const std::vector<char> k = in_pages(k_);
    const std::vector<char> v = in_pages(v_);
    const std::array<std::int32_t, 2> of_queries{0, static_cast<std::int32_t>(count)};
    const std::array<std::int32_t, 2> of_keys{0, static_cast<std::int32_t>(keys_)};
    std::vector<float> out(static_cast<std::size_t>(count * this->row()));
    AttendArgs args{.out = tensor(out.data(), {count, layer_.heads, kDim}),
                    .q = tensor(static_cast<const void*>(q_.data()), dtype_, {count, layer_.heads, kDim}),
                    .k = tensor(static_cast<const void*>(k.data()), dtype_, {blocks, size, kKvHeads, kDim}),
                    .v = tensor(static_cast<const void*>(v.data()), dtype_, {blocks, size, kKvHeads, kDim}),
                    .pages = {.block_table = table},
                    .parallel = {.threads = 1},
                    .isa = isa};
    args.inputs.q_positions = here;
    args.inputs.cu_seqlens_q = of_queries;
    args.inputs.cu_seqlens_k = of_keys;
    EXPECT_TRUE(attend(layer_, args));
    return out;
  }

  // Queries first .. first + count - 1 have the same bits beside `more` of them.
  void expect_same(Isa isa, std::int64_t first, std::int64_t count, const std::vector<float>& more) const {
    const std::vector<float> own = outputs(isa, first, count);
    EXPECT_EQ(std::memcmp(own.data(), more.data() + first * row(), own.size() * sizeof(float)), 0)
        << name(isa) << ", " << name(dtype_) << ", group " << layer_.heads / kKvHeads << ", rotated on load "
        << !layer_.rotate.empty() << ": queries " << first << " to " << first + count - 1 << " of "
        << std::ssize(more) / row();
  }

 private:
  std::vector<std::uint32_t> words(std::int64_t count) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(count));
    for (std::uint32_t& x : out) {
      const auto number = static_cast<float>(random_.number());
      std::memcpy(&x, &number, sizeof x);
      if (dtype_ == DType::bf16) x = x >> 16 << 16 | x >> 16;  // two, of a float cut off
    }
    return out;
  }

  Random random_{20251129};
  std::int64_t keys_;
  DType dtype_;
  LayerPlan layer_;
  std::vector<std::uint32_t> q_, k_, v_;
};

template <typename Use>
void for_calls(std::int64_t keys, const Use& use) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool rotates : {false, true}) {
      for (const std::int64_t group : {4, 1}) use(Calls(keys, dtype, rotates, group), group);
    }
  }
}

// Keys are cut beside up to 16 queries.
TEST(FewQueries, HaveTheBitsOfEachAlone) {
  for_calls(kInTwoParts, [](const Calls& calls, std::int64_t group) {
    for (const Isa isa : every_isa("few queries")) {
      const std::int64_t most = std::min<std::int64_t>(most_queries(isa, group), 16);
      for (const std::int64_t count : {most / 2, most}) {
        if (count < 2) continue;
        const std::vector<float> together = calls.outputs(isa, 0, count);
        for (std::int64_t n = 0; n < count; ++n) calls.expect_same(isa, n, 1, together);
      }
    }
  });
}

// What is fetched ahead lies in other pages than what is multiplied, of which some have less than what is fetched at a
// time.
TEST(FewQueries, HaveTheSameBitsInPagesOfAnySize) {
  for_calls(kInTwoParts, [](const Calls& calls, std::int64_t) {
    for (const Isa isa : every_isa("few queries in pages")) {
      const std::vector<float> wanted = calls.outputs(isa, 0, 1);
      for (const std::int64_t size : {3, 6, 7, 16, 64}) {
        EXPECT_EQ(calls.outputs_of_pages(isa, 1, size), wanted) << name(isa) << ", pages of " << size;
      }
    }
  });
}

// Where they are more, a block has some of them, of one head or of several, whichever the counts.
TEST(FewQueries, HaveTheSameBitsInAnyBlock) {
  for_calls(kInOnePart, [](const Calls& calls, std::int64_t group) {
    for (const Isa isa : every_isa("blocks of queries")) {
      const std::vector<float> many = calls.outputs(isa, 0, Calls::kMostQueries);
      for (const std::int64_t count : {9, 17, 25}) {
        if (count > most_queries(isa, group)) calls.expect_same(isa, 3, count, many);
      }
    }
  });
}

}  // namespace
}  // namespace posenc::test::few_queries_test

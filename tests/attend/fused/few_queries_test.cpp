// Few queries of a GQA group stream the KV cache as one does (docs/performance/decode.md): beside others of its group a
// query has the bits that it has alone, which products along the lanes would not give.
#include <gtest/gtest.h>

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

constexpr std::int64_t kKeys = 1100;  // in two parts
constexpr std::int64_t kKvHeads = 3;
constexpr std::int64_t kHeads = 4 * kKvHeads;
constexpr std::int64_t kDim = 72;
constexpr std::int64_t kMostQueries = 8;

// Queries of 4 heads each; none by the scalar kernels.
std::int64_t most_queries(Isa isa, DType dtype) {
  if (isa == Isa::scalar || isa == Isa::neon) return 1;
  const std::int64_t wide = isa == Isa::avx2 ? 8 : 16;
  return (dtype == DType::f32 ? wide + wide / 2 : 2 * wide) / 4;
}

TEST(FewQueries, HaveTheBitsOfEachAlone) {
  Random random(20251129);
  const auto words = [&](std::int64_t count, DType dtype) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(count));
    for (std::uint32_t& x : out) {
      const auto number = static_cast<float>(random.number());
      std::memcpy(&x, &number, sizeof x);
      if (dtype == DType::bf16) x = x >> 16 << 16 | x >> 16;  // two, of a float cut off
    }
    return out;
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto q = words(kMostQueries * kHeads * kDim, dtype);
    const auto k = words(kKeys * kKvHeads * kDim, dtype);
    const auto v = words(kKeys * kKvHeads * kDim, dtype);
    const std::size_t bytes = dtype == DType::f32 ? 4 : 2;
    for (const bool rotates : {false, true}) {
      LayerPlan layer{.heads = kHeads,
                      .kv_heads = kKvHeads,
                      .head_dim = kDim,
                      .value_dim = kDim,
                      .softmax_scale = 1 / std::sqrt(static_cast<double>(kDim)),
                      .mask = {.kind = MaskKind::bidirectional}};
      if (rotates) layer.rotate = {{.scheme = Rope{.pairing = Pairing::half, .head_dim = kDim, .dim = kDim}}};
      const std::vector<std::int64_t> here(kMostQueries,
                                           kKeys);  // one place for all: how many there are changes nothing
      const auto outputs = [&](Isa isa, std::int64_t first, std::int64_t count) {
        const std::int64_t row = kHeads * kDim;
        std::vector<float> out(static_cast<std::size_t>(count * row));
        const char* const from =
            reinterpret_cast<const char*>(q.data()) + static_cast<std::size_t>(first * row) * bytes;
        AttendArgs args{.out = tensor(out.data(), {count, kHeads, kDim}),
                        .q = tensor(static_cast<const void*>(from), dtype, {count, kHeads, kDim}),
                        .k = tensor(static_cast<const void*>(k.data()), dtype, {kKeys, kKvHeads, kDim}),
                        .v = tensor(static_cast<const void*>(v.data()), dtype, {kKeys, kKvHeads, kDim}),
                        .parallel = {.threads = 1},
                        .isa = isa};
        args.inputs.q_positions = std::span(here).first(static_cast<std::size_t>(count));
        EXPECT_TRUE(attend(layer, args));
        return out;
      };
      for (const Isa isa : every_isa("few queries")) {
        for (std::int64_t count = 2; count <= most_queries(isa, dtype); ++count) {
          const std::vector<float> together = outputs(isa, 0, count);
          for (std::int64_t n = 0; n < count; ++n) {
            const std::vector<float> alone = outputs(isa, n, 1);
            EXPECT_EQ(std::memcmp(alone.data(), together.data() + n * kHeads * kDim, alone.size() * sizeof(float)), 0)
                << name(isa) << ", " << name(dtype) << ", rotated on load: " << rotates << ", query " << n << " of "
                << count;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::few_queries_test

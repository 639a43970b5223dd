#include "posenc/rotate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "posenc/reference.h"
#include "support/ropes.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

TEST(RotateSmoke, EqualsReference) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const Isa isa : supported_isas()) {
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
      for (std::int64_t dim = 2; dim <= 140; dim += 2) {
        Rope rope = plain_rope(dim + 5);
        rope.pairing = pairing;
        rope.head_dim = dim + 5;
        rope.first_channel = 2;
        rope.dim = dim;
        const RotaryTable table = make_table(rope, {.start = 3, .count = 20});
        const std::int64_t tokens = 5;
        const std::int64_t heads = 3;
        std::vector<float> q(static_cast<std::size_t>(tokens * heads * rope.head_dim));
        for (float& x : q) x = uniform(random);
        const std::vector<float> before = q;
        std::vector<float> out(q.size(), 9.0F);
        rotate({.q = tensor(out.data(), {tokens, heads, rope.head_dim}),
                .q_from = tensor(static_cast<const float*>(q.data()), {tokens, heads, rope.head_dim}),
                .positions = PositionRange{4},
                .table = &table,
                .isa = isa});
        rotate({.q = tensor(q.data(), {tokens, heads, rope.head_dim}),
                .positions = PositionRange{4},
                .table = &table,
                .isa = isa});
        EXPECT_EQ(q, out);
        for (std::int64_t t = 0; t < tokens; ++t) {
          std::vector<double> angles;
          for (const double f : frequencies(rope).inv_freq) angles.push_back(f * static_cast<double>(t + 4));
          for (std::int64_t h = 0; h < heads; ++h) {
            const auto at = static_cast<std::size_t>((t * heads + h) * rope.head_dim);
            const std::vector<double> x(before.begin() + static_cast<std::ptrdiff_t>(at),
                                        before.begin() + static_cast<std::ptrdiff_t>(at) + rope.head_dim);
            const std::vector<double> expected = reference::rotate_pairwise(layout(rope), x, angles);
            for (std::size_t c = 0; c < expected.size(); ++c) {
              ASSERT_NEAR(q[at + c], expected[c], 2.5e-7) << name(isa) << " dim " << dim << " channel " << c;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test

// Rows of lanes to columns and back, of each instruction set, against one product of floats for each number: what they
// write, and that they touch nothing beside it.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "support/guarded_memory.h"

namespace posenc::test::transpose_test {
namespace {

using Kernel = void (*)(const kernels::Transpose&) noexcept;

constexpr std::uint32_t kSeed = 20251128;

struct Shape {
  std::int64_t lanes;
  std::int64_t channels;
  bool is_scaled;
  Edge edge;
  std::string name() const {
    return std::to_string(lanes) + " lanes of " + std::to_string(channels) + (is_scaled ? ", scaled" : "");
  }
};

// Numbers of [outer][inner] become those of [inner][outer]; `lanes_are_outer` of what is read.
void expect_transposed(Kernel kernel, const Shape& s, bool lanes_are_outer) {
  const std::int64_t count = s.lanes * s.channels;
  const auto bytes = count * static_cast<std::int64_t>(sizeof(float));
  GuardedMemory given(bytes, s.edge, 0);
  GuardedMemory made(bytes, s.edge, 0);
  GuardedMemory scales(s.lanes * static_cast<std::int64_t>(sizeof(float)), s.edge, 0);
  auto* const from = reinterpret_cast<float*>(given.data());
  auto* const to = reinterpret_cast<float*>(made.data());
  auto* const by = reinterpret_cast<float*>(scales.data());
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> number(-1.0F, 1.0F);
  for (std::int64_t n = 0; n < count; ++n) from[n] = number(random);
  for (std::int64_t n = 0; n < count; ++n) to[n] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t l = 0; l < s.lanes; ++l) by[l] = number(random);
  kernel({.from = from, .to = to, .by = s.is_scaled ? by : nullptr, .lanes = s.lanes, .channels = s.channels});
  for (std::int64_t l = 0; l < s.lanes; ++l) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const float x = from[lanes_are_outer ? l * s.channels + c : c * s.lanes + l];
      const float y = to[lanes_are_outer ? c * s.lanes + l : l * s.channels + c];
      ASSERT_EQ(y, s.is_scaled ? by[l] * x : x) << s.name() << ", lane " << l << ", channel " << c;
    }
  }
}

// Squares of four, and what is left where lanes or channels are no multiple of it.
TEST(Transpose, IsExact) {
  for (const cpu::IsaKernels& isa : cpu::runnable_kernels()) {
    SCOPED_TRACE(std::string(name(isa.isa)));
    for (const std::int64_t lanes : {2, 4, 6, 16, 48}) {
      for (const std::int64_t channels : {1, 3, 4, 7, 64, 129}) {
        for (const bool is_scaled : {false, true}) {
          for (const Edge edge : {Edge::begin, Edge::end}) {
            const Shape s{lanes, channels, is_scaled, edge};
            expect_transposed(isa.table.attention->columns_of_rows, s, true);
            expect_transposed(isa.table.attention->rows_of_columns, s, false);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::transpose_test

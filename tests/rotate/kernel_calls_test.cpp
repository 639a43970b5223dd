// What a call asks of its kernels, noted by a table of them that computes nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/call/row_floats.h"
#include "cpu/machine/dispatch.h"
#include "cpu/rotate/check_rotate.h"
#include "cpu/rotate/rotate_tensor.h"
#include "posenc/rotate.h"
#include "rotate/heads.h"

namespace posenc::test::kernel_calls_test {
namespace {

struct Noted {
  int rotations = 0;
  bool fetched = false;  // lines ahead, by the last of them
  int conversions = 0;
  std::int64_t converted_rows = 0;
};
Noted noted;

kernels::KernelTable noting() {
  noted = {};
  kernels::KernelTable table = cpu::kernels_for("test", Isa::scalar);
  table.rotate = [](const kernels::RotateRows& rows) noexcept {
    ++noted.rotations;
    noted.fetched = rows.fetch_end != nullptr;
  };
  table.convert = [](const kernels::ConvertRows& rows) noexcept {
    ++noted.conversions;
    noted.converted_rows += rows.rows;
  };
  return table;
}

// Whether lines are fetched ahead where `tokens` rows of 1 KiB are rotated.
bool fetches(std::int64_t tokens, bool fetches_ahead) {
  TensorView x = laid_out(Layout::thd, DType::f32, {.tokens = tokens, .heads = 2, .head_dim = 128});
  std::vector<float> memory(static_cast<std::size_t>(tokens) * 256);
  x.data = memory.data();
  const RotaryTable table = make_table({.pairing = Pairing::half, .head_dim = 128, .dim = 128}, {.count = 1});
  const std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens));
  const RotateArgs args{.k = x, .positions = std::span<const std::int64_t>(positions), .table = &table};
  const cpu::RotateCall call = cpu::check_rotate("test", args);
  kernels::KernelTable kernels = noting();
  kernels.fetches_ahead = fetches_ahead;
  cpu::TensorRotation(args, call, kernels).rotate(0, 0, tokens, {});
  EXPECT_EQ(noted.rotations, 1);
  return noted.fetched;
}

TEST(KernelCalls, FetchAheadWhatComesFromMemoryWhereThatPays) {
  constexpr std::int64_t kTokens = cpu::kFetchFromBytes / 1024;
  EXPECT_TRUE(fetches(kTokens, true));
  EXPECT_FALSE(fetches(kTokens - 1, true));
  EXPECT_FALSE(fetches(kTokens, false));
}

TEST(KernelCalls, ConvertARowOnce) {
  const kernels::KernelTable kernels = noting();
  std::vector<std::uint16_t> halves(5);
  std::vector<float> floats(5);
  cpu::read_floats(kernels, kernels::Element::f16, halves.data(), 5, floats.data());
  cpu::write_floats(kernels, floats.data(), 5, kernels::Element::bf16, halves.data());
  EXPECT_EQ(noted.conversions, 2);
  EXPECT_EQ(noted.converted_rows, 2);
}

}  // namespace
}  // namespace posenc::test::kernel_calls_test

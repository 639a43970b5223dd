#include "fuzz/calls/rotated_rows.h"

#include <algorithm>
#include <cmath>

#include "fuzz/calls/elements.h"
#include "fuzz/calls/heads_rows.h"
#include "fuzz/target.h"
#include "math/rope/rotation.h"
#include "support/tolerances.h"

namespace posenc::fuzz {

void for_rows(const RotateArgs& args, const TensorView& x, const ConstTensorView& from,
              const std::function<void(const Row&)>& visit) {
  if (count_of(x) == 0) return;
  const auto& [block_table, first] = args.k_pages;
  const bool in_blocks = !block_table.empty() && x == args.k;
  const std::span<const std::int32_t> ends = args.cu_seqlens;
  const std::int64_t batch = x.rank == 4 && !in_blocks ? x.shape[0] : 1;
  const std::int64_t tokens = in_blocks ? ends.back() : x.shape[x.rank == 4 ? 2 : 0];
  std::size_t s = 0;
  for (std::int64_t row = 0; row < batch * tokens; ++row) {
    std::int64_t token = row % tokens;  // of its sequence
    if (!ends.empty()) {
      while (row >= ends[s + 1]) ++s;
      token = row - ends[s] + (first.empty() ? 0 : first[s]);
    }
    std::int64_t b = row / tokens;
    std::int64_t t = row % tokens;
    if (in_blocks) {
      const std::int64_t of_sequence = std::ssize(block_table) / (std::ssize(ends) - 1);
      b = block_table[s * static_cast<std::size_t>(of_sequence) + static_cast<std::size_t>(token / x.shape[1])];
      t = token % x.shape[1];
    }
    visit({.from = from,
           .from_heads = heads_at(from, b, t, in_blocks),
           .to = x,
           .to_heads = heads_at(x, b, t, in_blocks),
           .sequence = ends.empty() ? row / tokens : static_cast<std::int64_t>(s),
           .at = {.row = row, .rows = batch * tokens, .token = row % tokens, .tokens = tokens, .counted = token}});
  }
}

void must_be_near(const Row& row, std::span<const double> x, const Rope& rope, const RotatedRow& wanted) {
  const double largest = row.to.dtype == DType::f16 ? 65000.0 : 3e38;
  for (std::size_t h = 0; h < row.to_heads.size(); ++h) {
    std::vector<bool> rotates(static_cast<std::size_t>(rope.head_dim));
    const auto must_be_near = [&](std::int64_t c, std::int64_t partner) {
      const std::size_t n = h * rotates.size() + static_cast<std::size_t>(c);
      const std::size_t other = h * rotates.size() + static_cast<std::size_t>(partner);
      rotates[static_cast<std::size_t>(c)] = true;
      // No product overflows, either.
      if (!((std::abs(x[n]) + std::abs(x[other])) * std::max(wanted.size, 1.0) < largest)) return;
      const double bound =
          test::rotated_bound(row.to.dtype, x[n], x[other], wanted.values[n], wanted.size, wanted.error);
      const double is = reference::read(row.to, row.to_heads[h] + c);
      must(std::abs(is - wanted.values[n]) <= bound, "a rotated channel is what the reference says");
    };
    for (std::int64_t p = 0; p < rope.pairs(); ++p) {
      const auto [a, b] = math::channels_of_pair(rope.pairing, rope.first_channel, rope.dim, p);
      must_be_near(a, b);
      must_be_near(b, a);
    }
    for (std::int64_t c = 0; c < rope.head_dim; ++c) {
      if (rotates[static_cast<std::size_t>(c)]) continue;
      const bool same = std::memcmp(at(row.from, row.from_heads[h] + c), at(row.to, row.to_heads[h] + c),
                                    static_cast<std::size_t>(bytes_of(row.to.dtype))) == 0;
      must(same, "a channel that does not rotate keeps its bits");
    }
  }
}

}  // namespace posenc::fuzz

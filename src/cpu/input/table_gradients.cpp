// Tokens by their row, by counting; and a piece of a row, rounded once.
#include "cpu/input/table_gradients.h"

#include "cpu/call/heads_view.h"
#include "cpu/call/row_floats.h"

namespace posenc::cpu {

TokensByRow tokens_by_row(const std::vector<std::int64_t>& rows, std::int64_t count) {
  TokensByRow out{.first = std::vector<std::int64_t>(index(count + 1)),
                  .token = std::vector<std::int64_t>(rows.size())};
  for (const std::int64_t row : rows) ++out.first[index(row + 1)];
  for (std::int64_t row = 0; row < count; ++row) out.first[index(row + 1)] += out.first[index(row)];
  std::vector<std::int64_t> next(out.first.begin(), out.first.end() - 1);
  for (std::int64_t t = 0; t < std::ssize(rows); ++t) {
    out.token[index(next[index(rows[index(t)])]++)] = t;
  }
  return out;
}

void write_sums(const TensorView& d, std::int64_t row, std::int64_t first, std::int64_t count,
                const kernels::KernelTable& kernels, const double* sums) {
  const std::int64_t at = row * d.strides[0] + first;
  if (d.dtype == DType::f64) {
    std::copy_n(sums, count, static_cast<double*>(d.data) + at);
    return;
  }
  std::array<float, kTablePiece> floats;
  std::transform(sums, sums + count, floats.begin(), [](double x) { return static_cast<float>(x); });
  write_floats(kernels, floats.data(), count, element_of(d.dtype), static_cast<char*>(d.data) + at * bytes_of(d.dtype));
}

}  // namespace posenc::cpu

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

void PieceSums::begin(std::int64_t count) {
  count_ = count;
  tokens_ = 0;
  is_flushed_ = false;
  std::fill_n(floats_.begin(), count, 0.0F);
}

// By the kernel of add_input: floats_ = 1 floats_ + row.
void PieceSums::add(const float* row) {
  if (tokens_ == kTokensInFloats) flush();
  const void* const rows = row;
  kernels_.input({.rows = 1, .count = count_, .positions = &rows, .from = floats_.data(), .to = floats_.data()});
  ++tokens_;
}

void PieceSums::flush() {
  if (!is_flushed_) std::fill_n(doubles_.begin(), count_, 0.0);
  for (std::int64_t c = 0; c < count_; ++c) doubles_[index(c)] += static_cast<double>(floats_[index(c)]);
  std::fill_n(floats_.begin(), count_, 0.0F);
  tokens_ = 0;
  is_flushed_ = true;
}

void PieceSums::write(const TensorView& d, std::int64_t row, std::int64_t first) {
  const std::int64_t at = row * d.strides[0] + first;
  if (is_flushed_ || d.dtype == DType::f64) flush();
  if (d.dtype == DType::f64) {
    std::copy_n(doubles_.begin(), count_, static_cast<double*>(d.data) + at);
    return;
  }
  for (std::int64_t c = 0; is_flushed_ && c < count_; ++c) floats_[index(c)] = static_cast<float>(doubles_[index(c)]);
  write_floats(kernels_, floats_.data(), count_, element_of(d.dtype),
               static_cast<char*>(d.data) + at * bytes_of(d.dtype));
}

}  // namespace posenc::cpu

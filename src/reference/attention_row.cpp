// Heads of tokens as vectors of doubles, dot products, and W x + b: what the score terms of the reference are written
// with.
#include "reference/attention_row.h"

#include "posenc/reference.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::reference {

std::vector<double> Tokens::head(std::int64_t row, std::int64_t h) const {
  std::vector<double> out(index(x.shape[2]));
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = element(x, {row, h, static_cast<std::int64_t>(c)});
  return out;
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

std::vector<double> transformed(const Linear& linear, std::span<const double> x) {
  std::vector<double> out(index(linear.weight.shape[0]));
  for (std::size_t row = 0; row < out.size(); ++row) {
    const auto r = static_cast<std::int64_t>(row);
    out[row] = linear.bias.empty() ? 0.0 : element(linear.bias, {r});
    for (std::size_t column = 0; column < x.size(); ++column) {
      out[row] += element(linear.weight, {r, static_cast<std::int64_t>(column)}) * x[column];
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::reference

// Random numbers by std::mt19937_64 and sums of uniform ones, the same on every machine and library.
#include "properties/numbers.h"

#include <functional>
#include <numeric>

namespace posenc::properties {

// Twelve uniform numbers have mean 6 and variance 12 / 12 = 1 (Irwin-Hall); no sum is beyond 6 standard deviations.
double Numbers::normal() {
  double sum = -6.0;
  for (int n = 0; n < 12; ++n) sum += uniform();
  return sum;
}

Rows normal_rows(Numbers& numbers, std::int64_t count, std::int64_t width) {
  Rows out{width, std::vector<double>(static_cast<std::size_t>(count * width))};
  for (double& x : out.values) x = numbers.normal();
  return out;
}

template <typename Next>
ConstTensorView Tables::filled(std::initializer_list<std::int64_t> shape, const Next& next) {
  const std::int64_t size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<double>& made = kept_.emplace_back(static_cast<std::size_t>(size));
  for (double& x : made) x = next();
  count_ += size;
  return tensor(static_cast<const double*>(made.data()), shape);
}

ConstTensorView Tables::normal(std::initializer_list<std::int64_t> shape, double spread) {
  return filled(shape, [&] { return spread * numbers_.normal(); });
}

ConstTensorView Tables::between(double low, double high, std::initializer_list<std::int64_t> shape) {
  return filled(shape, [&] { return low + (high - low) * numbers_.uniform(); });
}

double Tables::number(double value) {
  ++count_;
  return value;
}

}  // namespace posenc::properties

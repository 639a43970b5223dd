// Tensors of random numbers, in double, that own their memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "posenc/tensor.h"

namespace posenc::test {

// Numbers that look like a standard normal distribution's: the engine's are the same everywhere, the library's
// distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double number() {
    double sum = -6.0;
    for (int n = 0; n < 12; ++n) sum += uniform();
    return sum;
  }
  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
  }

 private:
  std::mt19937_64 engine_;
};

struct Tensor {
  std::vector<double> values{};
  std::vector<std::int64_t> shape{};

  operator ConstTensorView() const { return tensor(values.data(), DType::f64, shape); }  // NOLINT: as a view
  TensorView writable() { return tensor(values.data(), DType::f64, shape); }
};

inline Tensor zeros(std::initializer_list<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return {std::vector<double>(static_cast<std::size_t>(count)), shape};
}

inline Tensor random_tensor(Random& random, std::initializer_list<std::int64_t> shape, double scale = 1.0) {
  Tensor out = zeros(shape);
  for (double& x : out.values) x = scale * random.number();
  return out;
}

// Of whole numbers from -largest to largest: sums and products of a few thousand are exact, in whichever order.
inline Tensor whole_tensor(Random& random, std::initializer_list<std::int64_t> shape, std::int64_t largest = 4) {
  Tensor out = zeros(shape);
  for (double& x : out.values) x = static_cast<double>(random.whole(-largest, largest));
  return out;
}

}  // namespace posenc::test

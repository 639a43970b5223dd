// A port's rotation in plain loops over double, and the formulas of scaling rules as their papers have them. Nothing
// here is the library's: what diagnose() is judged by must not share its mistakes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "posenc/tensor.h"

namespace posenc::test {

struct Sizes {
  std::size_t sequences = 1;
  std::size_t tokens = 0;
  std::size_t heads = 0;
  std::size_t channels = 0;
};

// [sequences, heads, tokens, channels] as doubles that the dtype holds.
struct Tensor {
  Sizes sizes;
  DType dtype = DType::f32;
  std::vector<double> values;

  double& at(std::size_t s, std::size_t h, std::size_t t, std::size_t c) {
    return values[((s * sizes.heads + h) * sizes.tokens + t) * sizes.channels + c];
  }
  double at(std::size_t s, std::size_t h, std::size_t t, std::size_t c) const {
    return values[((s * sizes.heads + h) * sizes.tokens + t) * sizes.channels + c];
  }
};

double rounded_to(DType dtype, double x);
void round_all(Tensor& tensor);

// Standard normal, with channels of unequal size as projections have them.
Tensor random_tensor(const Sizes& sizes, DType dtype, std::mt19937_64& random);
// Of each element `share` of the root mean square of all.
void add_noise(Tensor& tensor, double share, std::mt19937_64& random);

// A view for the library, of bytes in the tensor's dtype.
struct Bytes {
  std::vector<unsigned char> bytes;
  ConstTensorView view;
};
Bytes bytes_of(const Tensor& tensor);

enum class PortSteps {
  exact,
  float32,
  bfloat16_table,
  bfloat16_table_exact,  // cos and sin of float64's angles, rounded once
  float16_table_exact,
  bfloat16_angles,
  bfloat16_frequencies,
  float16_angles,
  bfloat16_products,  // cos and sin stay as they are
  bfloat16_products_of_frequencies,
  bfloat16_products_of_both,
  float16_products,
  recurrence,
  float16_recurrence
};

// What one port does. `position(s, h, t, axis)`.
struct Port {
  bool interleaved = false;
  std::size_t first = 0;
  std::vector<double> inv_freq;  // [pairs]; pair p has channels first + p and first + p + pairs, or 2p and 2p + 1
  double factor = 1.0;
  std::function<double(std::size_t s, std::size_t h, std::size_t t, std::size_t axis)> position;
  std::vector<std::size_t> axis_of_pair{};  // empty: axis 0
  double direction = 1.0;
  PortSteps steps = PortSteps::exact;
};

Tensor rotated(const Port& port, const Tensor& before);

// base^(-2p/dim).
std::vector<double> plain_frequencies(double base, std::size_t dim);
// Llama 3.1: by wavelength, in between linear in length / wavelength.
std::vector<double> llama3_frequencies(std::vector<double> f, double factor, double low, double high, double length);
// YaRN, arXiv 2309.00071: a ramp over pairs between those that turn beta_fast and beta_slow times in `length`.
std::vector<double> yarn_frequencies(std::vector<double> f, double base, double factor, double length, double fast,
                                     double slow, bool truncate);

}  // namespace posenc::test

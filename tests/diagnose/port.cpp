#include "diagnose/port.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace posenc::test {
namespace {

// To `bits` significant bits, ties to even; no smaller last place than 2^least.
double significant(double x, int bits, int least) {
  if (x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent - bits, least);
  return std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
}

double half(double x) { return significant(x, 11, -24); }

double bf16(double x) { return significant(static_cast<double>(static_cast<float>(x)), 8, -133); }

std::uint16_t half_bits(double x) {
  if (x == 0) return 0;
  const auto sign = static_cast<std::uint16_t>(x < 0 ? 0x8000 : 0);
  int exponent = 0;
  std::frexp(x, &exponent);
  exponent -= 1;
  if (exponent < -14) return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(std::fabs(x), 24)));
  const int mantissa = static_cast<int>(std::ldexp(std::fabs(x), 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | mantissa);
}

}  // namespace

double rounded_to(DType dtype, double x) {
  switch (dtype) {
    case DType::f64: return x;
    case DType::f32: return static_cast<double>(static_cast<float>(x));
    case DType::f16: return half(x);
    case DType::bf16: return bf16(x);
  }
  return x;
}

void round_all(Tensor& tensor) {
  for (double& x : tensor.values) x = rounded_to(tensor.dtype, x);
}

Tensor random_tensor(const Sizes& sizes, DType dtype, std::mt19937_64& random) {
  Tensor out{sizes, dtype, {}};
  std::normal_distribution<double> normal;
  std::vector<double> scale(sizes.channels);
  for (double& x : scale) x = std::exp(0.4 * normal(random));
  out.values.resize(sizes.sequences * sizes.heads * sizes.tokens * sizes.channels);
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = scale[i % sizes.channels] * normal(random);
  round_all(out);
  return out;
}

void add_noise(Tensor& tensor, double share, std::mt19937_64& random) {
  double square = 0;
  for (const double x : tensor.values) square += x * x;
  std::normal_distribution<double> normal(0.0, share * std::sqrt(square / static_cast<double>(tensor.values.size())));
  for (double& x : tensor.values) x = rounded_to(tensor.dtype, x + normal(random));
}

Bytes bytes_of(const Tensor& tensor) {
  Bytes out;
  out.bytes.resize(tensor.values.size() * static_cast<std::size_t>(bytes_of(tensor.dtype)));
  unsigned char* to = out.bytes.data();
  const auto put = [&](auto value) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  };
  for (const double x : tensor.values) {
    switch (tensor.dtype) {
      case DType::f64: put(x); break;
      case DType::f32: put(static_cast<float>(x)); break;
      case DType::f16: put(half_bits(x)); break;
      case DType::bf16: {
        std::uint32_t bits = 0;
        const auto f = static_cast<float>(x);
        std::memcpy(&bits, &f, sizeof bits);
        put(static_cast<std::uint16_t>(bits >> 16));
        break;
      }
    }
  }
  const Sizes& s = tensor.sizes;
  out.view = posenc::tensor(static_cast<const void*>(out.bytes.data()), tensor.dtype,
                            {static_cast<std::int64_t>(s.sequences), static_cast<std::int64_t>(s.heads),
                             static_cast<std::int64_t>(s.tokens), static_cast<std::int64_t>(s.channels)});
  return out;
}

Tensor rotated(const Port& port, const Tensor& before) {
  Tensor after = before;
  const std::size_t pairs = port.inv_freq.size();
  const auto f32 = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  for (std::size_t s = 0; s < before.sizes.sequences; ++s) {
    for (std::size_t h = 0; h < before.sizes.heads; ++h) {
      for (std::size_t t = 0; t < before.sizes.tokens; ++t) {
        for (std::size_t p = 0; p < pairs; ++p) {
          const double position = port.position(s, h, t, port.axis_of_pair.empty() ? 0 : port.axis_of_pair[p]);
          double f = port.inv_freq[p];
          double cosine = 0;
          double sine = 0;
          const bool exact_table =
              port.steps == PortSteps::bfloat16_table_exact || port.steps == PortSteps::float16_table_exact;
          if (port.steps == PortSteps::exact || exact_table) {
            cosine = std::cos(position * f);
            sine = std::sin(position * f);
          } else if (port.steps == PortSteps::recurrence) {
            const float c1 = static_cast<float>(std::cos(f));
            const float s1 = static_cast<float>(std::sin(f));
            float c = 1;
            float sn = 0;
            for (double i = 0; i < position; i += 1) {
              const float c2 = c * c1 - sn * s1;
              sn = c * s1 + sn * c1;
              c = c2;
            }
            cosine = c;
            sine = sn;
          } else if (port.steps == PortSteps::float16_recurrence) {
            const double c1 = half(std::cos(f));
            const double s1 = half(std::sin(f));
            double c = 1;
            double sn = 0;
            for (double i = 0; i < position; i += 1) {
              const double c2 = half(half(c * c1) - half(sn * s1));
              sn = half(half(c * s1) + half(sn * c1));
              c = c2;
            }
            cosine = c;
            sine = sn;
          } else {
            f = f32(f);
            double angle = f32(f32(position) * f);
            if (port.steps == PortSteps::bfloat16_angles) angle = bf16(bf16(position) * bf16(f));
            if (port.steps == PortSteps::bfloat16_frequencies) angle = f32(position * bf16(f));
            if (port.steps == PortSteps::bfloat16_products) angle = bf16(position * port.inv_freq[p]);
            if (port.steps == PortSteps::bfloat16_products_of_frequencies) angle = bf16(position * bf16(f));
            if (port.steps == PortSteps::bfloat16_products_of_both) angle = bf16(bf16(position) * bf16(f));
            if (port.steps == PortSteps::float16_products) angle = half(position * port.inv_freq[p]);
            if (port.steps == PortSteps::float16_angles) angle = half(half(position) * half(f));
            cosine = f32(std::cos(angle));
            sine = f32(std::sin(angle));
          }
          cosine *= port.factor;
          sine *= port.factor * port.direction;
          if (port.steps == PortSteps::bfloat16_table || port.steps == PortSteps::bfloat16_table_exact ||
              port.steps == PortSteps::bfloat16_angles) {
            cosine = bf16(cosine);
            sine = bf16(sine);
          }
          if (port.steps == PortSteps::float16_table_exact || port.steps == PortSteps::float16_angles) {
            cosine = half(cosine);
            sine = half(sine);
          }
          const std::size_t a = port.first + (port.interleaved ? 2 * p : p);
          const std::size_t b = port.interleaved ? a + 1 : a + pairs;
          const double x = before.at(s, h, t, a);
          const double y = before.at(s, h, t, b);
          after.at(s, h, t, a) = x * cosine - y * sine;
          after.at(s, h, t, b) = x * sine + y * cosine;
        }
      }
    }
  }
  round_all(after);
  return after;
}

std::vector<double> plain_frequencies(double base, std::size_t dim) {
  std::vector<double> out;
  for (std::size_t p = 0; p < dim / 2; ++p) {
    out.push_back(std::pow(base, -2.0 * static_cast<double>(p) / static_cast<double>(dim)));
  }
  return out;
}

std::vector<double> llama3_frequencies(std::vector<double> f, double factor, double low, double high, double length) {
  for (double& x : f) {
    const double wavelength = 2 * std::numbers::pi / x;
    if (wavelength < length / high) continue;
    if (wavelength > length / low) {
      x /= factor;
      continue;
    }
    const double smooth = (length / wavelength - low) / (high - low);
    x = (1 - smooth) * x / factor + smooth * x;
  }
  return f;
}

std::vector<double> yarn_frequencies(std::vector<double> f, double base, double factor, double length, double fast,
                                     double slow, bool truncate) {
  const double dim = 2 * static_cast<double>(f.size());
  const auto pair_that_turns = [&](double times) {
    return dim * std::log(length / (times * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  double low = pair_that_turns(fast);
  double high = pair_that_turns(slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  for (std::size_t p = 0; p < f.size(); ++p) {
    const double ramp = std::clamp((static_cast<double>(p) - low) / (high - low), 0.0, 1.0);
    f[p] = f[p] / factor * ramp + f[p] * (1 - ramp);
  }
  return f;
}

}  // namespace posenc::test

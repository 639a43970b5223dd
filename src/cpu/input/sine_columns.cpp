// Frequencies of the sinusoidal conventions and of axis_sines, and their sines and cosines put into columns.
//
//   w_p = 10000^(-2p/d), or 10000^(-p/(d/2 - 1))      arXiv 1706.03762, 3.5; math/input/sinusoid.cpp lists who has
//   which w_k = base^(-2k/m), m channels an axis            arXiv 2005.12872
//
// Each is the double nearest to that number (math/elementary.h), not what pow of a rounded exponent gives: at position
// 2^20 the first is off by 2^-33 radians, the second by ten times as much.
#include "cpu/input/sine_columns.h"

#include <cmath>
#include <utility>

#include "math/elementary.h"
#include "math/input/sinusoid.h"

namespace posenc::cpu {
namespace {

constexpr double kSinusoidBase = 10000.0;

SineColumns::Order order_of(SinusoidConvention convention) {
  switch (convention) {
    case SinusoidConvention::paper: return SineColumns::Order::interleaved;
    case SinusoidConvention::musicgen: return SineColumns::Order::cosines_first;
    case SinusoidConvention::tensor2tensor:
    case SinusoidConvention::marian:
    case SinusoidConvention::whisper:
    case SinusoidConvention::xlnet: break;
  }
  return SineColumns::Order::sines_first;
}

// An odd d has one sine more, or a last channel of 0.
std::vector<double> sinusoid_frequencies(SinusoidConvention convention, std::int64_t channels) {
  if (!math::ends_at_base(convention)) {
    return math::power_sequence(kSinusoidBase, -2.0, static_cast<double>(channels), (channels + 1) / 2);
  }
  const std::int64_t pairs = channels / 2;
  if (pairs < 2) return std::vector<double>(static_cast<std::size_t>(pairs), 1.0);
  return math::power_sequence(kSinusoidBase, -1.0, static_cast<double>(pairs - 1), pairs);
}

}  // namespace

SineColumns::SineColumns(std::vector<double> inv_freq, std::int64_t width, Order order, double factor)
    : inv_freq_(std::move(inv_freq)),
      width_(width),
      order_(order),
      factor_(factor),
      rule_(inv_freq_, {}, factor, Angles::exact) {}

SineColumns SineColumns::of(const SinusoidalInput& scheme, std::int64_t channels, double factor) {
  return {sinusoid_frequencies(scheme.convention, channels), channels, order_of(scheme.convention), factor};
}

SineColumns SineColumns::of(const AxisSinesInput& scheme, std::int64_t channels) {
  const std::int64_t width = channels / std::ssize(scheme.axes);
  return {math::power_sequence(scheme.base, -2.0, static_cast<double>(width), width / 2), width,
          scheme.interleaved ? Order::interleaved : Order::sines_first, 1.0};
}

std::int64_t SineColumns::sine_at(std::int64_t pair) const noexcept {
  return order_ == Order::interleaved ? 2 * pair : order_ == Order::sines_first ? pair : pairs() + pair;
}

std::int64_t SineColumns::cosine_at(std::int64_t pair) const noexcept {
  return order_ == Order::interleaved ? 2 * pair + 1 : order_ == Order::sines_first ? pairs() + pair : pair;
}

void SineColumns::write(const kernels::KernelTable& kernels, const double* x, std::int64_t count, float* rows,
                        std::int64_t stride, float* waves) const {
  const std::int64_t pairs = this->pairs();
  if (order_ == Order::interleaved) {
    rule_.write(kernels, x, count, count, waves, waves + pairs, 2 * pairs);
    for (std::int64_t t = 0; t < count; ++t) {
      const float* const cosines = waves + t * 2 * pairs;
      const float* const sines = cosines + pairs;
      float* const row = rows + t * stride;
      for (std::int64_t p = 0; p < width_ / 2; ++p) {
        row[2 * p] = sines[p];
        row[2 * p + 1] = cosines[p];
      }
      if (width_ % 2 != 0) row[width_ - 1] = sines[pairs - 1];
    }
    return;
  }
  if (pairs > 0) rule_.write(kernels, x, count, count, rows + cosine_at(0), rows + sine_at(0), stride);
  for (std::int64_t t = 0; t < count && 2 * pairs < width_; ++t) rows[t * stride + width_ - 1] = 0.0F;
}

void SineColumns::write(const double* x, std::int64_t count, double* rows, std::int64_t stride) const {
  for (std::int64_t t = 0; t < count; ++t) {
    double* const row = rows + t * stride;
    if (2 * pairs() < width_) row[width_ - 1] = 0.0;
    for (std::int64_t p = 0; p < pairs(); ++p) {
      const double angle = x[t] * inv_freq_[static_cast<std::size_t>(p)];
      if (sine_at(p) < width_) row[sine_at(p)] = factor_ * std::sin(angle);
      if (cosine_at(p) < width_) row[cosine_at(p)] = factor_ * std::cos(angle);
    }
  }
}

}  // namespace posenc::cpu

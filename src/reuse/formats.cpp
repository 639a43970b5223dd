#include "reuse/formats.h"

#include <algorithm>
#include <cmath>

namespace posenc::reuse {
namespace {

constexpr std::int64_t kBlock = 32;  // ggml's

// A floating-point format: bits of the significand behind the point, the exponent of the least normal number, and the
// largest number, at which what is beyond is cut (fp8 as engines store it; f16 and bf16 hold all that keys are).
struct Floating {
  int bits;
  int least;
  double largest;
};
constexpr Floating kF16{10, -14, 65504.0};
constexpr Floating kBf16{7, -126, 0x1.FEp127};
constexpr Floating kE4m3{3, -6, 448.0};
constexpr Floating kE5m2{2, -14, 57344.0};

// To nearest, ties to even: the default mode of the machine.
float rounded(const Floating& format, float x) {
  if (x == 0.0F || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), format.least);
  const double step = std::ldexp(1.0, exponent - format.bits);
  const double near = std::nearbyint(static_cast<double>(x) / step) * step;
  return static_cast<float>(std::clamp(near, -format.largest, format.largest));
}

float f16(float x) { return rounded(kF16, x); }

float largest_of(std::span<const float> x) {
  float out = 0.0F;
  for (const float one : x) out = std::max(out, std::fabs(one));
  return out;
}

void store_symmetric(std::span<float> x, bool is_f16) {
  const float step = largest_of(x) / 127.0F;
  const float inverse = step != 0.0F ? 1.0F / step : 0.0F;
  const float kept = is_f16 ? f16(step) : step;
  for (float& one : x) one = std::round(one * inverse) * kept;
}

// The number of the largest size is -8 steps.
void store_q4_0(std::span<float> x) {
  float largest = 0.0F;
  for (const float one : x) {
    if (std::fabs(one) > std::fabs(largest)) largest = one;
  }
  const float step = largest / -8.0F;
  const float inverse = step != 0.0F ? 1.0F / step : 0.0F;
  for (float& one : x) one = (std::min(15.0F, std::trunc(one * inverse + 8.5F)) - 8.0F) * f16(step);
}

void store_q5_1(std::span<float> x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const float least = *low;
  const float step = (*high - least) / 31.0F;
  const float inverse = step != 0.0F ? 1.0F / step : 0.0F;
  for (float& one : x) one = std::trunc((one - least) * inverse + 0.5F) * f16(step) + f16(least);
}

void store_blocks(std::span<float> head, void (*store_block)(std::span<float>)) {
  for (std::size_t at = 0; at + kBlock <= head.size(); at += kBlock) store_block(head.subspan(at, kBlock));
}

void store_floating(const Floating& format, std::span<float> head) {
  for (float& x : head) x = rounded(format, x);
}

}  // namespace

std::optional<double> bytes_of_head(KvFormat format, std::int64_t channels) {
  const auto count = static_cast<double>(channels);
  const auto of_blocks = [&](double bytes) {
    return channels % kBlock == 0 ? std::optional(count / static_cast<double>(kBlock) * bytes) : std::nullopt;
  };
  switch (format) {
    case KvFormat::f32: return 4 * count;
    case KvFormat::f16:
    case KvFormat::bf16: return 2 * count;
    case KvFormat::fp8_e4m3:
    case KvFormat::fp8_e5m2: return count;
    case KvFormat::int8: return count + 4;
    case KvFormat::q8_0: return of_blocks(34);  // 32 and a scale
    case KvFormat::q5_1: return of_blocks(24);  // 20, a scale and the least value
    case KvFormat::q4_0: return of_blocks(18);  // 16 and a scale
  }
  return {};
}

void store(KvFormat format, std::span<float> head) {
  switch (format) {
    case KvFormat::f32: return;
    case KvFormat::f16: return store_floating(kF16, head);
    case KvFormat::bf16: return store_floating(kBf16, head);
    case KvFormat::fp8_e4m3: return store_floating(kE4m3, head);
    case KvFormat::fp8_e5m2: return store_floating(kE5m2, head);
    case KvFormat::int8: return store_symmetric(head, false);
    case KvFormat::q8_0: return store_blocks(head, [](std::span<float> block) { store_symmetric(block, true); });
    case KvFormat::q5_1: return store_blocks(head, store_q5_1);
    case KvFormat::q4_0: return store_blocks(head, store_q4_0);
  }
}

}  // namespace posenc::reuse

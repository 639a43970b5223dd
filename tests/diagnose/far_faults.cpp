// Where numbers end: positions that wrap, that a short float cannot hold, and rules that switch.
#include <cmath>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

// Positions from `start` on, spoiled.
template <typename Position>
Fault far_fault(const std::string& name, const std::vector<PortFact>& facts, std::int64_t start, Position position,
                std::size_t least_tokens = 8) {
  const auto make = [=](const PortedPlan& plan, const Tensor& before, std::mt19937_64&) -> std::optional<Tensor> {
    if (before.sizes.tokens < least_tokens || plan.axes > 1) return {};
    // There the other list is right.
    if (start >= 4096 && std::holds_alternative<LongRopeScaling>(rope(plan.rotate).scaling)) return {};
    Port port = plan.port;
    port.position = [=](std::size_t, std::size_t, std::size_t t, std::size_t) {
      return position(static_cast<double>(start) + static_cast<double>(t));
    };
    return rotated(port, before);
  };
  return {.name = name, .facts = facts, .make = make, .start = start};
}

double wrapped(double x, double turn) { return x >= turn / 2 ? x - turn : x; }

double to_bits(double x, int bits) {
  int e = 0;
  std::frexp(x, &e);
  return x == 0 ? 0.0 : std::ldexp(std::nearbyint(std::ldexp(x, bits - e)), e - bits);
}

// Tokens before `at` by `early`, the others by `late`.
Tensor spliced(const Tensor& early, const Tensor& late, std::size_t at) {
  Tensor out = early;
  for (std::size_t s = 0; s < out.sizes.sequences; ++s) {
    for (std::size_t h = 0; h < out.sizes.heads; ++h) {
      for (std::size_t t = at; t < out.sizes.tokens; ++t) {
        for (std::size_t c = 0; c < out.sizes.channels; ++c) out.at(s, h, t, c) = late.at(s, h, t, c);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Fault> far_faults() {
  std::vector<Fault> out;
  out.push_back(far_fault(
      "right, from 32760 on", {}, 32760, [](double x) { return x; }, 1));
  out.back().right = true;
  out.push_back(far_fault(
      "right, from 1000000 on", {}, 1000000, [](double x) { return x; }, 1));
  out.back().right = true;
  out.push_back(far_fault(
      "int16 positions, from 32760 on", {PortFact::positions}, 32760, [](double x) { return wrapped(x, 65536); }, 12));
  out.push_back(far_fault(
      "uint16 positions, from 65530 on", {PortFact::positions}, 65530, [](double x) { return std::fmod(x, 65536); },
      12));
  out.push_back(far_fault("float16 positions, from 3000 on", {PortFact::precision}, 3000,
                          [](double x) { return to_bits(x, 11); }));
  out.push_back(far_fault("bfloat16 positions, from 3000 on", {PortFact::precision}, 3000,
                          [](double x) { return to_bits(x, 8); }));
  out.push_back(far_fault(
      "clamped at 8191, from 8180 on", {PortFact::positions}, 8180, [](double x) { return std::min(x, 8191.0); }, 20));
  out.push_back(far_fault(
      "off by one, from 4096 on", {PortFact::offset}, 4096, [](double x) { return x - 1; }, 2));
  out.push_back(far_fault(
      "counted from 0 instead of 5000", {PortFact::offset}, 5000, [](double x) { return x - 5000; }, 2));
  out.push_back({.name = "the short list up to token 20, the long one after",
                 .facts = {PortFact::scaling},
                 .make = [](const PortedPlan& plan, const Tensor& before, std::mt19937_64&) -> std::optional<Tensor> {
                   const auto* rule = std::get_if<LongRopeScaling>(&rope(plan.rotate).scaling);
                   if (rule == nullptr || before.sizes.tokens < 33) return {};
                   Port early = plan.port;
                   early.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
                     return 4076.0 + static_cast<double>(t);
                   };
                   Port late = early;
                   late.inv_freq = plain_frequencies(rope(plan.rotate).base, plan.channels);
                   for (std::size_t p = 0; p < late.inv_freq.size(); ++p) late.inv_freq[p] /= rule->long_factor[p];
                   return spliced(rotated(early, before), rotated(late, before), 20);
                 },
                 .start = 4076});
  return out;
}

}  // namespace posenc::test

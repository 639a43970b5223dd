// Faults that people made up who had not read the code, and that it did not name then.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

using Spoil = std::function<std::optional<Tensor>(Port port, const PortedPlan& plan, const Tensor& before)>;

Fault found(const std::string& name, const std::vector<PortFact>& facts, std::int64_t start, Spoil spoil) {
  const auto make = [=](const PortedPlan& plan, const Tensor& before, std::mt19937_64&) -> std::optional<Tensor> {
    if (before.sizes.tokens < 3) return {};
    // There the other list is right.
    if (start >= 4000 && std::holds_alternative<LongRopeScaling>(rope(plan.rotate).scaling)) return {};
    Port port = plan.port;
    if (!plan.coordinate) {
      port.position = [=](std::size_t, std::size_t, std::size_t t, std::size_t) {
        return static_cast<double>(start) + static_cast<double>(t);
      };
    }
    return spoil(std::move(port), plan, before);
  };
  return {.name = name, .facts = facts, .make = make, .start = start};
}

// `of(value of the plan's port, value before, whether the channel rotates)` of every element.
template <typename Of>
Tensor mixed(const Port& port, const Tensor& before, Of of) {
  Tensor after = rotated(port, before);
  const std::size_t first = port.first;
  const std::size_t end = first + 2 * port.inv_freq.size();
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    const std::size_t c = i % before.sizes.channels;
    after.values[i] = of(after.values[i], before.values[i], c >= first && c < end);
  }
  round_all(after);
  return after;
}

// cos and sin of the port's factor, each its own.
Tensor with_factors(const Port& port, const Tensor& before, double of_cos, double of_sin) {
  Port cos_and_sin = port;
  cos_and_sin.factor = 1;
  Port other_way = cos_and_sin;
  other_way.direction = -port.direction;
  const Tensor plus = rotated(cos_and_sin, before);
  const Tensor minus = rotated(other_way, before);
  Tensor after = before;
  const std::size_t end = port.first + 2 * port.inv_freq.size();
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    const std::size_t c = i % before.sizes.channels;
    if (c < port.first || c >= end) continue;
    // Half of the sum is x cos, half of the difference rotate_half(x) sin.
    after.values[i] = of_cos * (plus.values[i] + minus.values[i]) / 2 + of_sin * (plus.values[i] - minus.values[i]) / 2;
  }
  round_all(after);
  return after;
}

// What others found later, and saw called "nothing known" or something else.
std::vector<Fault> missed_faults() {
  std::vector<Fault> out;
  // Every position is 8 times as far, and one further: 8, 16, 24, ... of the plan's frequencies.
  out.push_back(found("a linear rule dropped, off by one", {PortFact::scaling, PortFact::offset}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.name != "gemma-3") return {};
                        port.inv_freq = plain_frequencies(1e6, 128);
                        port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
                          return static_cast<double>(t) + 1;
                        };
                        return rotated(port, before);
                      }));
  out.push_back(found("exponents over the hidden size", {PortFact::dim}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.name != "llama-2" && plan.name != "gpt-j") return {};
                        const std::size_t pairs = port.inv_freq.size();
                        port.inv_freq = plain_frequencies(10000, 32 * plan.channels);
                        port.inv_freq.resize(pairs);
                        return rotated(port, before);
                      }));
  // Pairs that turn 32 times and once in 32768 tokens, by c(r) = 64 log(32768 / (2 pi r)) / log(1e6).
  const auto yarn = [&out](const std::string& name, double low, double high) {
    out.push_back(found(name, {PortFact::scaling}, 0,
                        [=](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                          if (plan.name != "qwen-yarn") return {};
                          port.inv_freq = plain_frequencies(1e6, 128);
                          for (std::size_t p = 0; p < port.inv_freq.size(); ++p) {
                            const double ramp = std::clamp((static_cast<double>(p) - low) / (high - low), 0.0, 1.0);
                            port.inv_freq[p] *= 1 - ramp + ramp / 4;
                          }
                          return rotated(port, before);
                        }));
  };
  const auto turns = [](double times) { return 32768 / (2 * 3.141592653589793 * times); };
  yarn("yarn by log10 over ln", std::floor(64 * std::log10(turns(32)) / std::log(1e6)),
       std::ceil(64 * std::log10(turns(1)) / std::log(1e6)));
  yarn("yarn by ln over log10", std::floor(64 * std::log(turns(32)) / 6), 127);
  yarn("yarn with a ramp of its own", 11, 33);
  out.push_back(found("float32 positions, from 16777216 on", {PortFact::precision}, 1 << 24,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.name != "llama-2" && plan.name != "glm-4") return {};
                        port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
                          return static_cast<double>(static_cast<float>((1 << 24) + static_cast<int>(t)));
                        };
                        return rotated(port, before);
                      }));
  out.push_back(found("right, from 16777216 on", {}, 1 << 24,
                      [](const Port& port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.name != "llama-2" && plan.name != "glm-4") return {};
                        return rotated(port, before);
                      }));
  out.back().right = true;
  return out;
}

// What was called another base, or nothing known, by a tool that does not look for it.
std::vector<Fault> misnamed_faults() {
  std::vector<Fault> out;
  const auto with_frequencies = [&out](const std::string& name, const std::vector<PortFact>& facts, auto of) {
    out.push_back(
        found(name, facts, 0, [of](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
          std::vector<double> f = of(rope(plan.rotate), plan);
          if (f.empty()) return {};
          port.inv_freq = std::move(f);
          return rotated(port, before);
        }));
  };
  const auto is_plain = [](const Rope& rope, const PortedPlan& plan) {
    return rope.scaling == Scaling{} && plan.axes == 1;
  };
  const auto with_exponents = [&](const std::string& name, PortFact fact, auto of_pair) {
    with_frequencies(name, {fact}, [is_plain, of_pair](const Rope& rope, const PortedPlan& plan) {
      std::vector<double> f;
      for (std::int64_t p = 0; is_plain(rope, plan) && p < rope.dim / 2; ++p) {
        f.push_back(std::pow(rope.base, -of_pair(static_cast<double>(p), static_cast<double>(rope.dim))));
      }
      return f;
    });
  };
  with_exponents("exponents from 0 to 1, both ends", PortFact::dim,
                 [](double p, double dim) { return p / (dim / 2 - 1); });
  with_exponents("exponents of odd numbers", PortFact::scaling, [](double p, double dim) { return (2 * p + 1) / dim; });
  with_exponents("exponents that start at pair 1", PortFact::scaling,
                 [](double p, double dim) { return 2 * (p + 1) / dim; });
  with_frequencies(
      "two channels more, interleaved", {PortFact::dim}, [is_plain](const Rope& rope, const PortedPlan& plan) {
        const bool fits = rope.pairing == Pairing::interleaved && rope.dim + 2 <= rope.head_dim;
        return fits && is_plain(rope, plan) ? plain_frequencies(rope.base, static_cast<std::size_t>(rope.dim) + 2)
                                            : std::vector<double>{};
      });
  // Bases of dynamic NTK; the plan's is base (s L / M - (s - 1))^(d / (d - 2)).
  const auto with_base = [&](const std::string& name, auto base_of) {
    with_frequencies(name, {PortFact::scaling}, [base_of](const Rope& rope, const PortedPlan& plan) {
      const auto* const rule = std::get_if<DynamicScaling>(&rope.scaling);
      if (rule == nullptr) return std::vector<double>{};
      const double ratio = static_cast<double>(*plan.plan.length) / static_cast<double>(rule->max_position_embeddings);
      const auto dim = static_cast<double>(rope.dim);
      return plain_frequencies(rope.base * base_of(rule->factor, ratio, dim / (dim - 2)),
                               static_cast<std::size_t>(rope.dim));
    });
  };
  with_base("dynamic, of a longer length", [](double factor, double ratio, double exponent) {
    return std::pow(factor * 4 * ratio - (factor - 1), exponent);
  });
  with_base("dynamic, of a length that is not round", [](double factor, double ratio, double exponent) {
    return std::pow(factor * (2777.0 / 4096) * ratio - (factor - 1), exponent);
  });
  with_base("dynamic, nothing taken off",
            [](double factor, double ratio, double exponent) { return std::pow(factor * ratio, exponent); });
  with_base("dynamic, without the exponent",
            [](double factor, double ratio, double) { return factor * ratio - (factor - 1); });
  out.push_back(found("twice in half of the heads", {PortFact::rotation}, 500,
                      [](const Port& port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes > 1 || before.sizes.heads < 2) return {};
                        Tensor after = rotated(port, before);
                        const Tensor again = rotated(port, after);
                        for (std::size_t h = before.sizes.heads / 2; h < before.sizes.heads; ++h) {
                          for (std::size_t t = 0; t < before.sizes.tokens; ++t) {
                            for (std::size_t c = 0; c < before.sizes.channels; ++c) {
                              after.at(0, h, t, c) = again.at(0, h, t, c);
                            }
                          }
                        }
                        return after;
                      }));
  return out;
}

}  // namespace

std::vector<Fault> found_faults() {
  std::vector<Fault> out;
  for (const std::int64_t start : {0, 1000}) {
    out.push_back(found("float16 recurrence, from " + std::to_string(start) + " on", {PortFact::precision}, start,
                        [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                          if (plan.axes > 1 || before.sizes.tokens < 17) return {};
                          port.steps = PortSteps::float16_recurrence;
                          return rotated(port, before);
                        }));
  }
  out.push_back(found("float32 recurrence, from 4000 on", {PortFact::precision}, 4000,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        // Of few pairs it errs no more than float32 angles may.
                        if (plan.name != "llama-2" || before.dtype != DType::f32) return {};
                        port.steps = PortSteps::recurrence;
                        return rotated(port, before);
                      }));
  out.push_back(found("the factor on cos alone", {PortFact::attention_factor}, 0,
                      [](const Port& port, const PortedPlan&, const Tensor& before) -> std::optional<Tensor> {
                        if (port.factor == 1) return {};
                        return with_factors(port, before, port.factor, 1);
                      }));
  out.push_back(found("the factor on sin alone", {PortFact::attention_factor}, 0,
                      [](const Port& port, const PortedPlan&, const Tensor& before) -> std::optional<Tensor> {
                        if (port.factor == 1) return {};
                        return with_factors(port, before, 1, port.factor);
                      }));
  out.push_back(found("a factor on part of an interleaved head", {PortFact::attention_factor}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (!port.interleaved || plan.channels == 2 * port.inv_freq.size()) return {};
                        port.factor = 1.26;
                        return rotated(port, before);
                      }));
  const std::vector<std::pair<std::string, double>> beside{{"0", 0.0}, {"a tenth more", 1.1}, {"twice", 2.0}};
  for (const auto& [words, times] : beside) {
    const auto make = [times = times](const Port& port, const PortedPlan& plan,
                                      const Tensor& before) -> std::optional<Tensor> {
      if (plan.channels == 2 * port.inv_freq.size()) return {};
      return mixed(port, before, [=](double y, double x, bool rotates) { return rotates ? y : times * x; });
    };
    out.push_back(
        found("channels beside the rotation: " + words, {PortFact::attention_factor, PortFact::rotation}, 0, make));
  }
  out.push_back(found("added to the whole head", {PortFact::rotation}, 0,
                      [](const Port& port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes > 1) return {};
                        return mixed(port, before, [](double y, double x, bool) { return x + y; });
                      }));
  out.push_back(found("the other end of an interleaved head", {PortFact::first_channel}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        const std::size_t width = 2 * port.inv_freq.size();
                        if (!port.interleaved || plan.channels == width) return {};
                        port.first = plan.channels - width;
                        return rotated(port, before);
                      }));
  out.push_back(found("base 87654, from 4000 on", {PortFact::base}, 4000,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes > 1 || rope(plan.rotate).scaling != Scaling{}) return {};
                        port.inv_freq = plain_frequencies(87654, 2 * port.inv_freq.size());
                        return rotated(port, before);
                      }));
  out.push_back(found("half of the heads of an image's tokens", {PortFact::rotation}, 0,
                      [](const Port& port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes < 2 || before.sizes.heads < 2 || before.sizes.tokens < 17) return {};
                        Tensor after = rotated(port, before);
                        const Sizes& s = before.sizes;
                        for (std::size_t h = s.heads / 2; h < s.heads; ++h) {
                          for (std::size_t t = 0; t < s.tokens; ++t) {
                            for (std::size_t c = 0; c < s.channels; ++c) after.at(0, h, t, c) = before.at(0, h, t, c);
                          }
                        }
                        return after;
                      }));
  out.push_back(found("an image one further and the other way", {PortFact::offset, PortFact::direction}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes < 2 || before.sizes.tokens < 17) return {};
                        const auto own = plan.coordinate;
                        port.position = [own](std::size_t, std::size_t, std::size_t t, std::size_t axis) {
                          return own(axis, t) + 1;
                        };
                        port.direction = -1;
                        return rotated(port, before);
                      }));
  out.push_back(found("an image's base 20000 and the other way", {PortFact::base, PortFact::direction}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes < 2 || plan.name == "vision" || before.sizes.tokens < 17) return {};
                        port.inv_freq = plain_frequencies(20000, 2 * port.inv_freq.size());
                        port.direction = -1;
                        return rotated(port, before);
                      }));
  out.push_back(found("a sixteenth of the token before besides", {}, 0,
                      [](const Port& port, const PortedPlan&, const Tensor& before) -> std::optional<Tensor> {
                        Tensor after = rotated(port, before);
                        const Sizes& s = before.sizes;
                        for (std::size_t h = 0; h < s.heads; ++h) {
                          for (std::size_t t = 1; t < s.tokens; ++t) {
                            for (std::size_t c = 0; c < s.channels; ++c) {
                              after.at(0, h, t, c) += before.at(0, h, t - 1, c) / 16;
                            }
                          }
                        }
                        round_all(after);
                        return after;
                      }));
  out.push_back(found("yarn with beta_fast and beta_slow exchanged", {PortFact::scaling}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.name != "qwen-yarn") return {};
                        // The ramp from the pair that turns 1 time in 32768 tokens to that which turns 32 times.
                        const auto pair_of = [](double turns) {
                          return 128 * std::log(32768 / (2 * 3.141592653589793 * turns)) / (2 * std::log(1e6));
                        };
                        const double from = std::floor(pair_of(1));
                        const double to = std::ceil(pair_of(32));
                        port.inv_freq = plain_frequencies(1e6, 128);
                        for (std::size_t p = 0; p < port.inv_freq.size(); ++p) {
                          const double ramp = std::clamp((static_cast<double>(p) - from) / (to - from), 0.0, 1.0);
                          port.inv_freq[p] *= 1 - ramp + ramp / 4;
                        }
                        return rotated(port, before);
                      }));
  out.push_back(found("exponents that are 0", {PortFact::dim}, 0,
                      [](Port port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                        if (plan.axes > 1 || rope(plan.rotate).scaling != Scaling{}) return {};
                        for (double& f : port.inv_freq) f = 1;
                        return rotated(port, before);
                      }));
  for (const int levels : {16, 64, 256}) {
    out.push_back(
        found("right, in " + std::to_string(levels) + " levels a channel", {}, 0,
              [levels](const Port& port, const PortedPlan& plan, const Tensor& before) -> std::optional<Tensor> {
                if (plan.axes > 1 || before.sizes.tokens < 32) return {};
                Tensor after = rotated(port, before);
                const Sizes& s = before.sizes;
                for (std::size_t h = 0; h < s.heads; ++h) {
                  for (std::size_t c = 0; c < s.channels; ++c) {
                    for (std::size_t from = 0; from < s.tokens; from += 32) {
                      const std::size_t end = std::min(from + 32, s.tokens);
                      double low = after.at(0, h, from, c);
                      double high = low;
                      for (std::size_t t = from; t < end; ++t) {
                        low = std::min(low, after.at(0, h, t, c));
                        high = std::max(high, after.at(0, h, t, c));
                      }
                      const double step = std::max(high - low, 1e-9) / (levels - 1);
                      for (std::size_t t = from; t < end; ++t) {
                        double& y = after.at(0, h, t, c);
                        y = low + step * std::nearbyint((y - low) / step);
                      }
                    }
                  }
                }
                round_all(after);
                return after;
              }));
    out.back().right = true;
  }
  for (Fault& fault : missed_faults()) out.push_back(std::move(fault));
  for (Fault& fault : misnamed_faults()) out.push_back(std::move(fault));
  return out;
}

}  // namespace posenc::test

// What ports do wrong. Each is a few plain words over port.h.
#include "diagnose/faults.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace posenc::test {
namespace {

using Made = std::optional<Tensor>;
using Random = std::mt19937_64;

const Rope& rope_of(const PortedPlan& plan) { return posenc::rope(plan.rotate); }

// Whether plain_frequencies() are the plan's.
bool is_plain(const PortedPlan& plan) {
  return std::holds_alternative<std::monostate>(rope_of(plan).scaling) &&
         rope_of(plan).axis_frequencies == AxisFrequencies::shared;
}

// A fault of the port's numbers alone. `spoil` returns whether it applies.
template <typename Spoil>
Fault port_fault(std::string name, std::vector<PortFact> facts, Spoil spoil, std::size_t sequences = 1) {
  return {.name = std::move(name),
          .facts = std::move(facts),
          .make = [spoil](const PortedPlan& plan, const Tensor& before, Random&) -> Made {
            Port port = plan.port;
            if (!spoil(port, plan, before)) return {};
            return rotated(port, before);
          },
          .sequences = sequences};
}

// A fault of positions: `position(t, tokens)`.
template <typename Position>
Fault position_fault(std::string name, std::vector<PortFact> facts, Position position, std::size_t least_tokens = 2) {
  return port_fault(std::move(name), std::move(facts),
                    [position, least_tokens](Port& port, const PortedPlan& plan, const Tensor& before) {
                      const std::size_t tokens = before.sizes.tokens;
                      port.position = [position, tokens](std::size_t, std::size_t, std::size_t t, std::size_t) {
                        return position(static_cast<double>(t), static_cast<double>(tokens));
                      };
                      return tokens >= least_tokens && plan.axes == 1;
                    });
}

// A fault of what is done to a tensor beside the port's rotation.
template <typename Change>
Fault tensor_fault(std::string name, std::vector<PortFact> facts, Change change) {
  return {.name = std::move(name),
          .facts = std::move(facts),
          .make = [change](const PortedPlan& plan, const Tensor& before, Random& random) -> Made {
            Tensor after = rotated(plan.port, before);
            if (!change(after, before, plan, random)) return {};
            round_all(after);
            return after;
          }};
}

void scale(std::vector<double>& f, double by) {
  for (double& x : f) x *= by;
}

std::vector<Fault> right_ports() {
  std::vector<Fault> out;
  for (const auto& [name, steps] :
       {std::pair{"right, float64 angles", PortSteps::exact}, {"right, float32 angles", PortSteps::float32}}) {
    const PortSteps taken = steps;
    out.push_back(port_fault(name, {}, [taken](Port& port, const PortedPlan&, const Tensor&) {
      port.steps = taken;
      return true;
    }));
    out.back().right = true;
  }
  out.push_back(port_fault("right, bfloat16 table in bfloat16", {}, [](Port& port, const PortedPlan&, const Tensor& x) {
    port.steps = PortSteps::bfloat16_table;
    return x.dtype == DType::bf16;
  }));
  out.back().right = true;
  out.push_back(port_fault(
      "right, 3 sequences", {}, [](Port&, const PortedPlan&, const Tensor&) { return true; }, 3));
  out.back().right = true;
  return out;
}

std::vector<Fault> channel_faults() {
  std::vector<Fault> out;
  out.push_back(port_fault("the other pairing", {PortFact::pairing}, [](Port& port, const PortedPlan&, const Tensor&) {
    port.interleaved = !port.interleaved;
    return true;
  }));
  out.push_back(port_fault("from the last channels", {PortFact::first_channel},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             port.first = plan.channels - 2 * port.inv_freq.size();
                             return port.first > 0 && !port.interleaved;
                           }));
  out.push_back(port_fault("the whole head instead of a part", {PortFact::dim},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             if (rope_of(plan).dim == rope_of(plan).head_dim) return false;
                             port.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels);
                             return true;
                           }));
  out.push_back(port_fault("half of the head instead of all", {PortFact::dim},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             if (rope_of(plan).dim != rope_of(plan).head_dim) return false;
                             if (!is_plain(plan) || plan.axes > 1) return false;
                             port.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels / 2);
                             return true;
                           }));
  out.push_back(port_fault("exponents over the whole head", {PortFact::dim},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             if (rope_of(plan).dim == rope_of(plan).head_dim) return false;
                             port.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels);
                             port.inv_freq.resize(static_cast<std::size_t>(rope_of(plan).dim / 2));
                             return true;
                           }));
  out.push_back(
      port_fault("exponents without the 2", {PortFact::dim}, [](Port& port, const PortedPlan& plan, const Tensor&) {
        if (!is_plain(plan)) return false;
        for (double& f : port.inv_freq) f = std::sqrt(f);
        return true;
      }));
  const auto reorder = [](Tensor& after, const PortedPlan& plan, bool to_interleaved) {
    const std::size_t pairs = static_cast<std::size_t>(rope_of(plan).dim / 2);
    const Tensor was = after;
    for (std::size_t s = 0; s < after.sizes.sequences; ++s) {
      for (std::size_t h = 0; h < after.sizes.heads; ++h) {
        for (std::size_t t = 0; t < after.sizes.tokens; ++t) {
          for (std::size_t p = 0; p < pairs; ++p) {
            for (const std::size_t second : {0U, 1U}) {
              const std::size_t half = second * pairs + p;
              const std::size_t side = 2 * p + second;
              after.at(s, h, t, to_interleaved ? side : half) = was.at(s, h, t, to_interleaved ? half : side);
            }
          }
        }
      }
    }
  };
  out.push_back(tensor_fault("channels come out in the other order", {PortFact::channel_order},
                             [reorder](Tensor& after, const Tensor&, const PortedPlan& plan, Random&) {
                               reorder(after, plan, !plan.port.interleaved);
                               return true;
                             }));
  out.push_back(
      port_fault("frequencies reversed", {PortFact::channel_order}, [](Port& port, const PortedPlan&, const Tensor&) {
        std::ranges::reverse(port.inv_freq);
        return true;
      }));
  out.push_back(
      port_fault("along the heads", {PortFact::layout}, [](Port& port, const PortedPlan& plan, const Tensor& x) {
        port.position = [](std::size_t, std::size_t h, std::size_t, std::size_t) { return static_cast<double>(h); };
        return x.sizes.tokens > 1 && x.sizes.heads > 1 && plan.axes == 1;
      }));
  out.push_back(
      port_fault("the other direction", {PortFact::direction}, [](Port& port, const PortedPlan&, const Tensor&) {
        port.direction = -1;
        return true;
      }));
  out.push_back(tensor_fault("second channels negated", {PortFact::direction},
                             [](Tensor& after, const Tensor&, const PortedPlan& plan, Random&) {
                               const std::size_t pairs = plan.port.inv_freq.size();
                               for (std::size_t i = 0; i < after.values.size(); ++i) {
                                 const std::size_t c = i % plan.channels;
                                 for (std::size_t p = 0; p < pairs; ++p) {
                                   const std::size_t b = plan.port.interleaved ? 2 * p + 1 : p + pairs;
                                   if (c == plan.port.first + b) after.values[i] = -after.values[i];
                                 }
                               }
                               return true;
                             }));
  return out;
}

std::vector<Fault> frequency_faults() {
  std::vector<Fault> out;
  // What the rule was made of, without it.
  out.push_back(
      port_fault("scaling dropped", {PortFact::scaling}, [](Port& port, const PortedPlan& plan, const Tensor&) {
        if (std::holds_alternative<std::monostate>(rope_of(plan).scaling)) return false;
        port.inv_freq = plain_frequencies(rope_of(plan).base, 2 * port.inv_freq.size());
        port.factor = 1.0;
        return true;
      }));
  out.push_back(port_fault("linear factor applied twice", {PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             const auto* linear = std::get_if<LinearScaling>(&rope_of(plan).scaling);
                             if (linear != nullptr) scale(port.inv_freq, 1 / linear->factor);
                             return linear != nullptr;
                           }));
  out.push_back(port_fault("scaled by 1/4 without a rule", {PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             scale(port.inv_freq, 0.25);
                             return is_plain(plan);
                           }));
  out.push_back(
      port_fault("llama3 rule as linear", {PortFact::scaling}, [](Port& port, const PortedPlan& plan, const Tensor&) {
        const auto* rule = std::get_if<Llama3Scaling>(&rope_of(plan).scaling);
        if (rule == nullptr) return false;
        port.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels);
        scale(port.inv_freq, 1 / rule->factor);
        return true;
      }));
  out.push_back(port_fault("llama3 to a high_freq_factor of 8", {PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor& x) {
                             if (!std::holds_alternative<Llama3Scaling>(rope_of(plan).scaling) || x.sizes.tokens < 8)
                               return false;
                             port.inv_freq = llama3_frequencies(plain_frequencies(rope_of(plan).base, plan.channels), 8,
                                                                1, 8, 8192);
                             return true;
                           }));
  out.push_back(port_fault("longrope's list from its end", {PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor& x) {
                             const auto* const rule = std::get_if<LongRopeScaling>(&rope_of(plan).scaling);
                             if (rule == nullptr || x.sizes.tokens < 8) return false;
                             std::vector<double> list = rule->short_factor;
                             std::ranges::reverse(list);
                             port.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels);
                             for (std::size_t p = 0; p < list.size(); ++p) port.inv_freq[p] /= list[p];
                             return true;
                           }));
  out.push_back(port_fault(
      "llama3 of another length", {PortFact::scaling}, [](Port& port, const PortedPlan& plan, const Tensor&) {
        if (!std::holds_alternative<Llama3Scaling>(rope_of(plan).scaling)) return false;
        port.inv_freq = llama3_frequencies(plain_frequencies(rope_of(plan).base, plan.channels), 8, 1, 4, 131072);
        return true;
      }));
  out.push_back(
      port_fault("yarn without truncation", {PortFact::scaling}, [](Port& port, const PortedPlan& plan, const Tensor&) {
        if (!std::holds_alternative<YarnScaling>(rope_of(plan).scaling)) return false;
        port.inv_freq = yarn_frequencies(plain_frequencies(1e6, 128), 1e6, 4, 32768, 32, 1, false);
        return true;
      }));
  out.push_back(port_fault("yarn of the extended length", {PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             if (!std::holds_alternative<YarnScaling>(rope_of(plan).scaling)) return false;
                             port.inv_freq = yarn_frequencies(plain_frequencies(1e6, 128), 1e6, 4, 131072, 32, 1, true);
                             return true;
                           }));
  out.push_back(port_fault("the long list below its length", {PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             const auto* rule = std::get_if<LongRopeScaling>(&rope_of(plan).scaling);
                             if (rule == nullptr) return false;
                             port.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels);
                             for (std::size_t p = 0; p < port.inv_freq.size(); ++p)
                               port.inv_freq[p] /= rule->long_factor[p];
                             return true;
                           }));
  out.push_back({.name = "the long list from token 40 on", .facts = {PortFact::scaling}});
  out.back().make = [](const PortedPlan& plan, const Tensor& before, Random&) -> Made {
    const auto* rule = std::get_if<LongRopeScaling>(&rope_of(plan).scaling);
    if (rule == nullptr || before.sizes.tokens < 48) return {};
    Port late = plan.port;
    late.inv_freq = plain_frequencies(rope_of(plan).base, plan.channels);
    for (std::size_t p = 0; p < late.inv_freq.size(); ++p) late.inv_freq[p] /= rule->long_factor[p];
    Tensor after = rotated(plan.port, before);
    const Tensor other = rotated(late, before);
    for (std::size_t s = 0; s < before.sizes.sequences; ++s) {
      for (std::size_t h = 0; h < before.sizes.heads; ++h) {
        for (std::size_t t = 40; t < before.sizes.tokens; ++t) {
          for (std::size_t c = 0; c < plan.channels; ++c) after.at(s, h, t, c) = other.at(s, h, t, c);
        }
      }
    }
    return after;
  };
  for (const double base : {10000.0, 500000.0, 1e6}) {
    out.push_back(port_fault("base " + std::to_string(static_cast<int>(base)), {PortFact::base},
                             [base](Port& port, const PortedPlan& plan, const Tensor&) {
                               if (base == rope_of(plan).base) return false;
                               if (!is_plain(plan)) return false;
                               port.inv_freq = plain_frequencies(base, 2 * port.inv_freq.size());
                               return true;
                             }));
  }
  out.push_back(port_fault("base 26000, which nobody has", {PortFact::base},
                           [](Port& port, const PortedPlan& plan, const Tensor& x) {
                             if (!is_plain(plan)) return false;
                             port.inv_freq = plain_frequencies(26000, 2 * port.inv_freq.size());
                             return x.sizes.tokens > 1;
                           }));
  out.push_back(port_fault("another base and no scaling", {PortFact::base, PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             if (!std::holds_alternative<Llama3Scaling>(rope_of(plan).scaling)) return false;
                             port.inv_freq = plain_frequencies(10000, 2 * port.inv_freq.size());
                             return true;
                           }));
  out.push_back(port_fault("the other layers' rotation", {PortFact::base, PortFact::scaling},
                           [](Port& port, const PortedPlan& plan, const Tensor&) {
                             if (plan.plan.stacks[0].layers.size() < 2) return false;
                             port.inv_freq = plain_frequencies(10000, plan.channels);
                             return true;
                           }));
  out.push_back(port_fault("attention factor dropped", {PortFact::attention_factor},
                           [](Port& port, const PortedPlan&, const Tensor&) {
                             const bool has = port.factor != 1.0;
                             port.factor = 1.0;
                             return has;
                           }));
  out.push_back(port_fault("attention factor twice", {PortFact::attention_factor},
                           [](Port& port, const PortedPlan&, const Tensor&) {
                             const bool has = port.factor != 1.0;
                             port.factor *= port.factor;
                             return has;
                           }));
  out.push_back(port_fault("an attention factor of 1.25 too many", {PortFact::attention_factor},
                           [](Port& port, const PortedPlan&, const Tensor&) {
                             port.factor *= 1.25;
                             return true;
                           }));
  for (const auto& [name, steps] : {std::pair{"bfloat16 angles", PortSteps::bfloat16_angles},
                                    {"bfloat16 frequencies", PortSteps::bfloat16_frequencies},
                                    {"bfloat16 products", PortSteps::bfloat16_products},
                                    {"bfloat16 products of frequencies", PortSteps::bfloat16_products_of_frequencies},
                                    {"bfloat16 products of both", PortSteps::bfloat16_products_of_both},
                                    {"float16 products", PortSteps::float16_products},
                                    {"float32 recurrence", PortSteps::recurrence}}) {
    const PortSteps taken = steps;
    out.push_back(port_fault(name, {PortFact::precision}, [taken](Port& port, const PortedPlan& plan, const Tensor& x) {
      port.steps = taken;
      // One tensor of each is enough, and too short ones show nothing.
      return plan.name == "llama-2" && x.sizes.tokens >= 64;
    }));
  }
  out.push_back(port_fault("bfloat16 table in float32", {PortFact::precision},
                           [](Port& port, const PortedPlan&, const Tensor& x) {
                             port.steps = PortSteps::bfloat16_table;
                             return x.dtype == DType::f32;
                           }));
  return out;
}

std::vector<Fault> position_faults() {
  std::vector<Fault> out;
  out.push_back(position_fault("off by one", {PortFact::offset}, [](double t, double) { return t + 1; }));
  out.push_back(position_fault("off by 100000", {PortFact::offset}, [](double t, double) { return t + 100000; }));
  out.push_back(
      position_fault("rotated twice", {PortFact::rotation, PortFact::step}, [](double t, double) { return 2 * t; }));
  out.push_back(position_fault("steps of 3", {PortFact::step}, [](double t, double) { return 3 * t; }));
  out.push_back(position_fault("not rotated", {PortFact::rotation}, [](double, double) { return 0.0; }));
  out.push_back(position_fault("every token at 7", {PortFact::repeated}, [](double, double) { return 7.0; }));
  out.push_back(position_fault(
      "each position twice", {PortFact::repeated}, [](double t, double) { return std::floor(t / 2); }, 4));
  out.push_back(position_fault(
      "tokens in reverse", {PortFact::positions}, [](double t, double n) { return n - 1 - t; }, 3));
  out.push_back(position_fault(
      "chunks of 16 start again", {PortFact::positions}, [](double t, double) { return std::fmod(t, 16); }, 32));
  out.push_back(position_fault(
      "padding of 5 on the left", {PortFact::positions}, [](double t, double) { return std::max(0.0, t - 5); }, 12));
  out.push_back(position_fault(
      "cache shifted by 9 from token 30 on", {PortFact::positions}, [](double t, double) { return t < 30 ? t : t - 9; },
      40));
  out.push_back(position_fault(
      "clamped at 31", {PortFact::positions}, [](double t, double) { return std::min(t, 31.0); }, 48));
  out.push_back(position_fault(
      "int8 positions", {PortFact::positions}, [](double t, double) { return t < 128 ? t : t - 256; }, 256));
  out.push_back(position_fault(
      "bfloat16 positions", {PortFact::precision},
      [](double t, double) {
        int e = 0;
        std::frexp(t, &e);
        return t == 0 ? 0.0 : std::ldexp(std::nearbyint(std::ldexp(t, 8 - e)), e - 8);
      },
      400));
  out.push_back(port_fault(
      "positions count on over sequences", {PortFact::positions},
      [](Port& port, const PortedPlan& plan, const Tensor& before) {
        const std::size_t tokens = before.sizes.tokens;
        port.position = [tokens](std::size_t s, std::size_t, std::size_t t, std::size_t) {
          return static_cast<double>(s * tokens + t);
        };
        return tokens > 1 && plan.axes == 1;
      },
      3));
  out.push_back(port_fault(
      "two faults: pairing, off by one", {PortFact::pairing}, [](Port& port, const PortedPlan& plan, const Tensor& x) {
        port.interleaved = !port.interleaved;
        port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) { return static_cast<double>(t + 1); };
        return x.sizes.tokens > 1 && plan.axes == 1;
      }));
  return out;
}

std::vector<Fault> other_faults() {
  std::vector<Fault> out;
  const auto norm = [](Tensor& x, bool weights, std::size_t channels) {
    for (std::size_t from = 0; from < x.values.size(); from += channels) {
      double square = 0;
      for (std::size_t c = 0; c < channels; ++c) square += x.values[from + c] * x.values[from + c];
      const double rms = std::sqrt(square / static_cast<double>(channels));
      for (std::size_t c = 0; c < channels; ++c) {
        x.values[from + c] *= (weights ? 0.5 + static_cast<double>((c * 7) % 11) / 8 : 1.0) / rms;
      }
    }
  };
  for (const bool weights : {false, true}) {
    out.push_back({.name = weights ? "a norm with weights before" : "a norm without weights",
                   .facts = {PortFact::norm},
                   .make = [norm, weights](const PortedPlan& plan, const Tensor& before, Random&) -> Made {
                     Tensor normed = before;
                     norm(normed, weights, plan.channels);
                     return rotated(plan.port, normed);
                   }});
  }
  out.push_back(tensor_fault("a norm with weights after", {PortFact::norm},
                             [norm](Tensor& after, const Tensor&, const PortedPlan& plan, Random&) {
                               norm(after, true, plan.channels);
                               return true;
                             }));
  // ---- nothing known names these ----
  out.push_back(tensor_fault("nothing known: channels of pair 1 exchanged", {},
                             [](Tensor& after, const Tensor&, const PortedPlan& plan, Random&) {
                               const std::size_t a = plan.port.interleaved ? 2 : 1;
                               const std::size_t b = plan.port.interleaved ? 3 : 1 + plan.port.inv_freq.size();
                               for (std::size_t from = 0; from < after.values.size(); from += plan.channels) {
                                 std::swap(after.values[from + a], after.values[from + b]);
                               }
                               return true;
                             }));
  out.push_back(tensor_fault("nothing known: neighbouring channels summed", {},
                             [](Tensor& after, const Tensor&, const PortedPlan& plan, Random&) {
                               for (std::size_t i = 0; i + 1 < after.values.size(); i += 2) {
                                 const double a = after.values[i];
                                 const double b = after.values[i + 1];
                                 after.values[i] = (a + b) * std::sqrt(0.5);
                                 after.values[i + 1] = (a - b) * std::sqrt(0.5);
                               }
                               return !plan.port.interleaved;
                             }));
  out.push_back(port_fault("nothing known: angles wobble", {}, [](Port& port, const PortedPlan&, const Tensor& x) {
    for (std::size_t p = 0; p < port.inv_freq.size(); ++p)
      port.inv_freq[p] *= 1 + 0.2 * std::sin(3.0 * static_cast<double>(p) + 1);
    return x.sizes.tokens > 1;
  }));
  out.push_back(port_fault("nothing known: positions squared over 8", {},
                           [](Port& port, const PortedPlan& plan, const Tensor& x) {
                             port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
                               return static_cast<double>(t) * static_cast<double>(t) / 8;
                             };
                             return x.sizes.tokens > 8 && plan.axes == 1;
                           }));
  out.push_back(port_fault("nothing known: a frequency wrong in one pair", {},
                           [](Port& port, const PortedPlan&, const Tensor& x) {
                             port.inv_freq[2] *= 1.3;
                             return x.sizes.tokens > 1;
                           }));
  out.push_back({.name = "nothing known: heads in another order",
                 .facts = {},
                 .make = [](const PortedPlan& plan, const Tensor& before, Random&) -> Made {
                   Tensor other = before;
                   const std::size_t heads = before.sizes.heads;
                   if (heads < 2) return {};
                   for (std::size_t s = 0; s < before.sizes.sequences; ++s) {
                     for (std::size_t h = 0; h < heads; ++h) {
                       for (std::size_t t = 0; t < before.sizes.tokens; ++t) {
                         for (std::size_t c = 0; c < plan.channels; ++c) {
                           other.at(s, h, t, c) = before.at(s, (h + 1) % heads, t, c);
                         }
                       }
                     }
                   }
                   return rotated(plan.port, other);
                 }});
  out.push_back({.name = "pure noise",
                 .facts = {},
                 .noise = true,
                 .make = [](const PortedPlan&, const Tensor& before, Random& random) -> Made {
                   return random_tensor(before.sizes, before.dtype, random);
                 }});
  return out;
}

}  // namespace

std::vector<Fault> faults() {
  std::vector<Fault> out = right_ports();
  for (auto* more : {channel_faults, frequency_faults, position_faults, far_faults, axis_faults, slip_faults,
                     other_faults, reported_faults, found_faults}) {
    for (Fault& fault : more()) out.push_back(std::move(fault));
  }
  return out;
}

}  // namespace posenc::test

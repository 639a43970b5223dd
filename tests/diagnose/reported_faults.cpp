// Faults that others' projects had, each with the thread that tells of it. diagnose() was not built with them: they
// were written before anybody looked at what it says of them.
#include <algorithm>
#include <cmath>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

using Facts = std::vector<PortFact>;
using Rotated = std::optional<Tensor>;

const Rope& reported_rope(const PortedPlan& plan) { return rope(plan.rotate); }

bool has_rule(const PortedPlan& plan) { return !std::holds_alternative<std::monostate>(reported_rope(plan).scaling); }

// `spoil` returns whether it applies.
template <typename Spoil>
Fault reported(const std::string& name, const Facts& facts, Spoil spoil, std::size_t sequences = 1,
               std::int64_t start = 0) {
  const auto make = [spoil, start](const PortedPlan& plan, const Tensor& before, std::mt19937_64&) -> Rotated {
    Port port = plan.port;
    if (plan.axes == 1) {
      port.position = [start](std::size_t, std::size_t, std::size_t t, std::size_t) {
        return static_cast<double>(start) + static_cast<double>(t);
      };
    }
    if (!spoil(port, plan, before)) return {};
    return rotated(port, before);
  };
  return {.name = name, .facts = facts, .make = make, .sequences = sequences, .start = start};
}

// One token after the other, each by a port of its own: `of(port, t)` spoils the plan's.
template <typename Of>
Tensor token_by_token(const Port& own, const Tensor& before, std::int64_t start, Of of) {
  Tensor out = before;
  Tensor one{{before.sizes.sequences, 1, before.sizes.heads, before.sizes.channels}, before.dtype, {}};
  one.values.resize(before.values.size() / before.sizes.tokens);
  for (std::size_t t = 0; t < before.sizes.tokens; ++t) {
    Port port = own;
    const double position = static_cast<double>(start) + static_cast<double>(t);
    port.position = [position](std::size_t, std::size_t, std::size_t, std::size_t) { return position; };
    of(port, t);
    const auto each = [&](auto act) {
      for (std::size_t s = 0; s < before.sizes.sequences; ++s) {
        for (std::size_t h = 0; h < before.sizes.heads; ++h) {
          for (std::size_t c = 0; c < before.sizes.channels; ++c) act(s, h, c);
        }
      }
    };
    each([&](std::size_t s, std::size_t h, std::size_t c) { one.at(s, h, 0, c) = before.at(s, h, t, c); });
    const Tensor turned = rotated(port, one);
    each([&](std::size_t s, std::size_t h, std::size_t c) { out.at(s, h, t, c) = turned.at(s, h, 0, c); });
  }
  return out;
}

template <typename Of>
Fault reported_by_token(const std::string& name, const Facts& facts, std::int64_t start, Of of) {
  const auto make = [of, start](const PortedPlan& plan, const Tensor& before, std::mt19937_64&) -> Rotated {
    const auto spoil = of(plan, before.sizes.tokens);
    if (!spoil) return {};
    return token_by_token(plan.port, before, start, *spoil);
  };
  return {.name = name, .facts = facts, .make = make, .start = start};
}

using Spoiled = std::optional<std::function<void(Port&, std::size_t)>>;

// Positions of one sequence: `at(t)`.
template <typename At>
auto positions(At at, std::size_t least) {
  return [at, least](Port& port, const PortedPlan& plan, const Tensor& before) {
    port.position = [at](std::size_t, std::size_t, std::size_t t, std::size_t) { return at(static_cast<double>(t)); };
    return plan.axes == 1 && before.sizes.tokens >= least;
  };
}

void add_of_layouts(std::vector<Fault>& out) {
  // paiml/aprender 2079, oxiglade/mlx-rs 359: the grid covers one head, the others stay as they are.
  out.push_back(reported("reported: head 0 alone is rotated", {PortFact::rotation, PortFact::layout},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           const auto own = port.position;
                           port.position = [own](std::size_t s, std::size_t h, std::size_t t, std::size_t axis) {
                             return h == 0 ? own(s, h, t, axis) : 0.0;
                           };
                           return x.sizes.tokens > 2 && x.sizes.heads > 1 && plan.axes == 1;
                         }));
  // ml-explore/mlx 3949: rows of the batch after the first are not written.
  out.push_back(reported(
      "reported: sequence 0 alone is rotated", {PortFact::rotation, PortFact::repeated, PortFact::positions},
      [](Port& port, const PortedPlan& plan, const Tensor& x) {
        const auto own = port.position;
        port.position = [own](std::size_t s, std::size_t h, std::size_t t, std::size_t axis) {
          return s == 0 ? own(s, h, t, axis) : 0.0;
        };
        return x.sizes.tokens > 2 && plan.axes == 1;
      },
      3));
  // elixir-nx/emlx 121: each head at the position of the token and its own number.
  out.push_back(reported("reported: each head one position further", {PortFact::layout},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           port.position = [](std::size_t, std::size_t h, std::size_t t, std::size_t) {
                             return static_cast<double>(t + h);
                           };
                           return x.sizes.tokens > 1 && x.sizes.heads > 1 && plan.axes == 1;
                         }));
  // pie-project/pie 602: pairs and exponents of the whole head, as many pairs as the rotated part has.
  out.push_back(reported("reported: partial, pairs and exponents of the head", {PortFact::dim},
                         [](Port& port, const PortedPlan& plan, const Tensor&) {
                           const Rope& of = reported_rope(plan);
                           if (of.dim == of.head_dim || port.interleaved) return false;
                           std::vector<double> f = plain_frequencies(of.base, plan.channels);
                           std::fill(f.begin() + of.dim / 2, f.end(), 0.0);
                           port.inv_freq = std::move(f);
                           return true;
                         }));
  // apple/coreai-models 66: the frequencies are right, channel i goes with i + head_dim / 2.
  out.push_back(reported("reported: partial, pairs across the head", {PortFact::dim},
                         [](Port& port, const PortedPlan& plan, const Tensor&) {
                           const Rope& of = reported_rope(plan);
                           if (of.dim == of.head_dim || port.interleaved) return false;
                           port.inv_freq.resize(plan.channels / 2, 0.0);
                           return true;
                         }));
  // Tencent/ncnn 6833: the second half of cos and sin is dropped.
  out.push_back(reported("reported: the slow half of the pairs stays", {PortFact::dim, PortFact::scaling},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           auto& f = port.inv_freq;
                           std::fill(f.begin() + static_cast<std::ptrdiff_t>(f.size() / 2), f.end(), 0.0);
                           return x.sizes.tokens > 2 && plan.axes == 1;
                         }));
}

void add_of_numbers(std::vector<Fault>& out) {
  // EleutherAI/gpt-neox 1003: frequencies, positions, angles, cos and sin in float16.
  out.push_back(reported("reported: float16 angles", {PortFact::precision},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           port.steps = PortSteps::float16_angles;
                           return plan.axes == 1 && x.sizes.tokens > 300;
                         }));
  // lablup/mlxcel 1324: a rule that is not linear falls through to a scale of 2.
  out.push_back(reported("reported: positions times 2", {PortFact::step, PortFact::rotation, PortFact::scaling},
                         positions([](double t) { return 2 * t; }, 2)));
  // NVIDIA/TensorRT-LLM 16378: rotated in Python and again in the kernel, mscale squared.
  out.push_back(reported("reported: twice, with the factor squared",
                         {PortFact::rotation, PortFact::step, PortFact::attention_factor},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           for (double& f : port.inv_freq) f *= 2;
                           port.factor *= port.factor;
                           return port.factor != 1 && plan.axes == 1 && x.sizes.tokens > 1;
                         }));
  // Of the sinusoids that tensor2tensor has: exponents p / (pairs - 1).
  out.push_back(reported("reported: exponents that end at the base", {PortFact::base, PortFact::dim},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           if (has_rule(plan) || plan.axes > 1) return false;
                           const double last = static_cast<double>(port.inv_freq.size()) - 1;
                           for (std::size_t p = 0; p < port.inv_freq.size(); ++p) {
                             port.inv_freq[p] = std::pow(reported_rope(plan).base, -static_cast<double>(p) / last);
                           }
                           return x.sizes.tokens > 8;
                         }));
  // vllm-project/vllm 3488: dynamic NTK made once, at the factor, whatever the length.
  out.push_back(reported("reported: dynamic NTK at its factor", {PortFact::base, PortFact::scaling},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           const auto* rule = std::get_if<DynamicScaling>(&reported_rope(plan).scaling);
                           if (rule == nullptr) return false;
                           const auto d = static_cast<double>(reported_rope(plan).dim);
                           const double base = reported_rope(plan).base * std::pow(rule->factor, d / (d - 2));
                           port.inv_freq = plain_frequencies(base, plan.channels);
                           return x.sizes.tokens > 1;
                         }));
  // Factors of frequencies multiplied where they divide.
  out.push_back(reported("reported: factors of frequencies the wrong way", {PortFact::scaling},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           const Rope& of = reported_rope(plan);
                           const bool lists = std::holds_alternative<LongRopeScaling>(of.scaling) ||
                                              std::holds_alternative<Llama3Scaling>(of.scaling);
                           const std::vector<double> plain = plain_frequencies(of.base, plan.channels);
                           for (std::size_t p = 0; p < port.inv_freq.size(); ++p) {
                             port.inv_freq[p] = plain[p] * plain[p] / port.inv_freq[p];
                           }
                           return lists && x.sizes.tokens > 1;
                         }));
  // Llama 3's rule as a switch: what lies between the two wavelengths is not smoothed.
  out.push_back(reported("reported: llama3 without its middle band", {PortFact::scaling},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           const auto* rule = std::get_if<Llama3Scaling>(&reported_rope(plan).scaling);
                           if (rule == nullptr) return false;
                           port.inv_freq = plain_frequencies(reported_rope(plan).base, plan.channels);
                           const auto length = static_cast<double>(rule->original_max_position_embeddings);
                           for (double& f : port.inv_freq) {
                             if (2 * 3.14159265358979323846 / f > length / rule->low_freq_factor) f /= rule->factor;
                           }
                           return x.sizes.tokens > 8;
                         }));
  // YaRN's ramp the wrong way round: fast pairs interpolated, slow ones kept (found in ports that name the mask after
  // what it extrapolates).
  out.push_back(reported("reported: YaRN's ramp the wrong way round", {PortFact::scaling},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           const auto* rule = std::get_if<YarnScaling>(&reported_rope(plan).scaling);
                           if (rule == nullptr) return false;
                           const std::vector<double> plain = plain_frequencies(reported_rope(plan).base, plan.channels);
                           for (std::size_t p = 0; p < plain.size(); ++p) {
                             port.inv_freq[p] = plain[p] + plain[p] / rule->factor - port.inv_freq[p];
                           }
                           return x.sizes.tokens > 1;
                         }));
  // Queries that come multiplied by the softmax scale, as OPT's do.
  out.push_back(reported("reported: the softmax scale in the queries", {PortFact::attention_factor, PortFact::norm},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           port.factor /= std::sqrt(static_cast<double>(plan.channels));
                           return x.sizes.tokens > 1 && port.inv_freq.size() * 2 == plan.channels;
                         }));
  // huggingface/transformers 25104: keys in a cache have the base of the length when they came.
  out.push_back(reported_by_token(
      "reported: dynamic NTK token by token", {PortFact::scaling, PortFact::base}, 3000,
      [](const PortedPlan& plan, std::size_t tokens) -> Spoiled {
        const auto* rule = std::get_if<DynamicScaling>(&reported_rope(plan).scaling);
        if (rule == nullptr || tokens < 8) return {};
        return [rule, &plan](Port& port, std::size_t t) {
          const auto d = static_cast<double>(reported_rope(plan).dim);
          const double length = 3001.0 + static_cast<double>(t);
          const double times =
              rule->factor * length / static_cast<double>(rule->max_position_embeddings) - (rule->factor - 1);
          port.inv_freq = plain_frequencies(reported_rope(plan).base * std::pow(times, d / (d - 2)), plan.channels);
        };
      }));
  // The table of the prompt is scaled, that of new tokens is not: NVIDIA/TensorRT-Model-Connect 399 in one half.
  out.push_back(reported_by_token("reported: the last 6 tokens without the rule",
                                  {PortFact::scaling, PortFact::attention_factor}, 0,
                                  [](const PortedPlan& plan, std::size_t tokens) -> Spoiled {
                                    if (!has_rule(plan) || tokens < 12) return {};
                                    return [&plan, tokens](Port& port, std::size_t t) {
                                      if (t + 6 < tokens) return;
                                      port.inv_freq = plain_frequencies(reported_rope(plan).base, plan.channels);
                                      port.factor = 1.0;
                                    };
                                  }));
}

void add_of_positions(std::vector<Fault>& out) {
  // pegainfer 220, and flash-attention's rotary beyond its table: identity from 4096 on.
  out.push_back(reported(
      "reported: not rotated beyond a table of 4096", {PortFact::positions, PortFact::rotation, PortFact::repeated},
      [](Port& port, const PortedPlan& plan, const Tensor& x) {
        port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
          const double at = 4088.0 + static_cast<double>(t);
          return at < 4096 ? at : 0.0;
        };
        const bool switches = std::holds_alternative<LongRopeScaling>(reported_rope(plan).scaling);
        return plan.axes == 1 && x.sizes.tokens > 12 && !switches;
      },
      1, 4088));
  // RobertCsordas/moeut 6: while decoding, a query stands at 0.
  out.push_back(reported(
      "reported: one token of many, at 0", {PortFact::offset, PortFact::rotation, PortFact::repeated},
      [](Port& port, const PortedPlan& plan, const Tensor& x) {
        port.position = [](std::size_t, std::size_t, std::size_t, std::size_t) { return 0.0; };
        return plan.axes == 1 && x.sizes.tokens == 1;
      },
      1, 37));
  // unslothai/unsloth 3795: cumsum of the mask less 1, and 1 where it hides: the padding on the left is at 1.
  out.push_back(reported("reported: padding of 6 at position 1", {PortFact::positions},
                         positions([](double t) { return t < 6 ? 1.0 : t - 6; }, 12)));
  // vllm-project/vllm 10403: a later chunk of the prompt is counted from one too far.
  out.push_back(reported("reported: the second chunk one too far", {PortFact::positions},
                         positions([](double t) { return t < 16 ? t : t + 1; }, 24)));
  // A rank of context parallelism has the first and the last chunk, and the last chunk's positions.
  out.push_back(reported("reported: chunks 0 and 3 of four", {PortFact::positions},
                         positions([](double t) { return t < 12 ? t : t + 24; }, 24)));
  // Of a mask with holes: hidden tokens do not count, and stand where the one before them does.
  out.push_back(reported("reported: three hidden tokens do not count", {PortFact::positions, PortFact::repeated},
                         positions([](double t) { return t < 8    ? t
                                                         : t < 11 ? 7.0
                                                                  : t - 3; }, 17)));
}

void add_of_images(std::vector<Fault>& out) {
  const auto at = [](Port& port, const PortedPlan& plan, auto of) {
    const auto own = plan.coordinate;
    port.position = [own, of](std::size_t, std::size_t, std::size_t t, std::size_t axis) {
      return of(own(axis, t), axis, t);
    };
    return plan.axes == 3;
  };
  // The grid's own rows and columns, not those after the text.
  out.push_back(reported("reported: rows and columns counted from 0", {PortFact::offset, PortFact::positions},
                         [at](Port& port, const PortedPlan& plan, const Tensor& x) {
                           return x.sizes.tokens > 12 &&
                                  at(port, plan, [](double own, std::size_t axis, std::size_t t) {
                                    return axis > 0 && t >= 4 ? own - 4 : own;
                                  });
                         }));
  // huggingface/transformers 45381: the time of a picture's tokens goes on with each of them.
  out.push_back(reported("reported: time counted by token", {PortFact::positions, PortFact::axes},
                         [at](Port& port, const PortedPlan& plan, const Tensor& x) {
                           return x.sizes.tokens > 12 &&
                                  at(port, plan, [](double own, std::size_t axis, std::size_t t) {
                                    return axis == 0 ? static_cast<double>(t) : own;
                                  });
                         }));
  // Sections with frequencies of their own, as vision towers have them.
  out.push_back(reported("reported: each section from the first frequency on", {PortFact::axes},
                         [](Port& port, const PortedPlan& plan, const Tensor& x) {
                           if (plan.name != "qwen2-vl" || x.sizes.tokens < 12) return false;
                           const std::vector<double> all = port.inv_freq;
                           std::vector<std::size_t> seen(3, 0);
                           for (std::size_t p = 0; p < all.size(); ++p) {
                             port.inv_freq[p] = all[seen[port.axis_of_pair[p]]++];
                           }
                           return true;
                         }));
}

}  // namespace

std::vector<Fault> reported_faults() {
  std::vector<Fault> out;
  add_of_layouts(out);
  add_of_numbers(out);
  add_of_positions(out);
  add_of_images(out);
  return out;
}

}  // namespace posenc::test

#include "diagnose/tried_frequencies.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "diagnose/misread/misread_length.h"
#include "diagnose/misread/misread_yarn.h"

namespace posenc::inline v0_2::port {
namespace {

// Lengths that configs give as the original one; and factors.
constexpr std::array<std::int64_t, 8> kLengths{2048, 4096, 8192, 16384, 32768, 40960, 65536, 131072};
constexpr std::array<double, 8> kFactors{2, 4, 8, 16, 32, 40, 64, 128};

using Scalings = std::vector<std::pair<Scaling, std::string>>;  // and what was done in words

// In a function of its own: GCC 12 warns of what it inlines here.
[[gnu::noinline]] void add(Scalings& out, Scaling scaling, std::string words) {
  out.emplace_back(std::move(scaling), std::move(words));
}

void add_plain(Scalings& out) { add(out, std::monostate{}, "none: the rule was dropped"); }

void others(const std::monostate&, Scalings& out) {
  for (const double factor : kFactors) {
    add(out, LinearScaling{.factor = factor}, "");
    for (const std::int64_t length : kLengths) {
      add(out,
          Llama3Scaling{.factor = factor,
                        .low_freq_factor = 1.0,
                        .high_freq_factor = 4.0,
                        .original_max_position_embeddings = length},
          "");
      add(out, YarnScaling{.factor = factor, .original_max_position_embeddings = length}, "");
    }
  }
}

void others(const LinearScaling& rule, Scalings& out) {
  add_plain(out);
  add(out, LinearScaling{.factor = rule.factor * rule.factor}, "linear, the factor applied twice");
  if (rule.factor != 0) {
    add(out, LinearScaling{.factor = 1 / rule.factor}, "linear, frequencies multiplied by the factor");
  }
  add(out, NtkScaling{.alpha = rule.factor}, "");
  for (const double factor : kFactors) add(out, LinearScaling{.factor = factor}, "");
}

void others(const NtkScaling& rule, Scalings& out) {
  add_plain(out);
  add(out, LinearScaling{.factor = rule.alpha}, "");
  for (const double factor : kFactors) add(out, NtkScaling{.alpha = factor}, "");
}

void others(const DynamicScaling& rule, Scalings& out) {
  add_plain(out);
  add(out, LinearScaling{.factor = rule.factor}, "");
  add(out, NtkScaling{.alpha = rule.factor}, "NTK with the factor as alpha, at every length");
  for (const double factor : kFactors) {
    add(out, DynamicScaling{.factor = factor, .max_position_embeddings = rule.max_position_embeddings}, "");
  }
  for (const std::int64_t length : kLengths) {
    add(out, DynamicScaling{.factor = rule.factor, .max_position_embeddings = length}, "");
  }
}

void others(const QwenNtkScaling& rule, Scalings& out) {
  add_plain(out);
  for (const std::int64_t length : kLengths) add(out, QwenNtkScaling{.seq_length = length}, "");
  (void)rule;
}

// The rule with another original length, or another factor.
template <typename Rule>
void add_other_numbers(const Rule& rule, std::span<const std::int64_t> lengths, Scalings& out) {
  for (const std::int64_t length : lengths) {
    Rule other = rule;
    other.original_max_position_embeddings = length;
    add(out, other, "");
  }
  for (const double factor : kFactors) {
    Rule other = rule;
    other.factor = factor;
    add(out, other, "");
  }
}

void others(const YarnScaling& rule, Scalings& out) {
  add_plain(out);
  YarnScaling other = rule;
  other.truncate = !rule.truncate;
  add(out, other, "");
  add(out, LinearScaling{.factor = rule.factor}, "linear with YaRN's factor");
  add(out, NtkScaling{.alpha = rule.factor}, "NTK with YaRN's factor as alpha");
  other = rule;
  other.beta_fast = std::nullopt;
  other.beta_slow = std::nullopt;
  add(out, other, "yarn with the default betas, 32 and 1");
  for (const auto& [fast, slow] : {std::pair{16.0, 1.0}, {32.0, 2.0}, {64.0, 1.0}, {32.0, 4.0}, {4.0, 1.0}}) {
    other.beta_fast = fast;
    other.beta_slow = slow;
    add(out, other, "");
  }
  const double extended = rule.factor * static_cast<double>(rule.original_max_position_embeddings);
  std::vector<std::int64_t> lengths(kLengths.begin(), kLengths.end());
  if (extended < 0x1p53) lengths.push_back(static_cast<std::int64_t>(extended));
  add_other_numbers(rule, lengths, out);
}

void others(const Llama3Scaling& rule, Scalings& out) {
  add_plain(out);
  add(out, LinearScaling{.factor = rule.factor}, "linear with Llama 3's factor");
  Llama3Scaling other = rule;
  std::swap(other.low_freq_factor, other.high_freq_factor);
  add(out, other, "llama3 with low_freq_factor and high_freq_factor exchanged");
  for (const double by : {2.0, 0.5}) {
    other = rule;
    other.high_freq_factor = by * rule.high_freq_factor;
    add(out, other, formatted("llama3 with high_freq_factor {}", other.high_freq_factor));
    other = rule;
    other.low_freq_factor = by * rule.low_freq_factor;
    add(out, other, formatted("llama3 with low_freq_factor {}", other.low_freq_factor));
  }
  add_other_numbers(rule, kLengths, out);
  add(out,
      YarnScaling{.factor = rule.factor, .original_max_position_embeddings = rule.original_max_position_embeddings},
      "yarn with Llama 3's factor");
}

void others(const LongRopeScaling& rule, Scalings& out) {
  add_plain(out);
  LongRopeScaling other = rule;
  other.long_factor = rule.short_factor;
  add(out, other, "longrope, the short list at every length");
  other = rule;
  other.short_factor = rule.long_factor;
  add(out, other, "longrope, the long list at every length");
  other = rule;
  std::swap(other.short_factor, other.long_factor);
  add(out, other, "longrope, the lists exchanged");
  other = rule;
  std::ranges::reverse(other.short_factor);
  std::ranges::reverse(other.long_factor);
  add(out, other, "longrope, both lists from their end");
  add(out, LinearScaling{.factor = rule.factor}, "linear with LongRoPE's factor");
}

void others(const ProportionalScaling& rule, Scalings& out) {
  add_plain(out);
  add(out, ProportionalScaling{.partial_rotary_factor = rule.partial_rotary_factor}, "");
  add(out, ProportionalScaling{.partial_rotary_factor = 1.0, .factor = rule.factor}, "");
}

void others(const FactorListScaling& rule, Scalings& out) {
  add_plain(out);
  FactorListScaling inverse = rule;
  for (double& factor : inverse.factors) factor = factor != 0 ? 1 / factor : 1.0;
  add(out, inverse, "the list of factors, multiplied instead of divided by");
}

// The rotation at the other end of the head. Half-split pairs say by themselves where they begin.
void add_other_end(std::vector<FrequencyList>& out, const FrequencyList& plan, const Rope& rope,
                   const ChannelPairs& pairs) {
  const std::int64_t last = rope.head_dim - rope.dim;
  Rope other = rope;
  other.first_channel = rope.first_channel == 0 ? last : 0;
  if (rope.pairing != Pairing::interleaved || pairs.in != rope.pairing || last <= 0 || last % 2 != 0) return;
  auto list = frequency_list(
      other, plan.length, pairs,
      {{PortFact::first_channel, formatted("{}", other.first_channel), formatted("{}", rope.first_channel),
        formatted("rotate channels {} to {} of each head", rope.first_channel, rope.first_channel + rope.dim - 1)}});
  if (list) out.push_back(std::move(*list));
}

void add_widths(std::vector<FrequencyList>& out, const Rope& rope, const ChannelPairs& pairs) {
  if (!std::holds_alternative<std::monostate>(rope.scaling)) return;
  std::vector<std::int64_t> widths{rope.head_dim, 2 * rope.dim, rope.dim / 2, rope.dim - 2, 2 * rope.head_dim};
  for (const std::int64_t width : widths) {
    if (width == rope.dim || width < 2 || width % 2 != 0) continue;
    // Of as many channels as rotate it is another width, which add_dims() tries.
    if (pairs.in == Pairing::half && width == pairs.dim) continue;
    out.push_back({.inv_freq = over_pairs(exponents_over(rope, static_cast<double>(width)), rope, pairs),
                   .changes = {width_change(rope, width)}});
  }
  std::vector<double> half_a_step = exponents_over(rope, static_cast<double>(rope.dim));
  for (double& f : half_a_step) f *= std::pow(rope.base, -1.0 / static_cast<double>(rope.dim));
  out.push_back({.inv_freq = over_pairs(half_a_step, rope, pairs),
                 .changes = {{PortFact::scaling, "exponents (2p + 1)/dim", "exponents 2p/dim",
                              "take the even numbers from 0 on in base^(-2p/dim)"}}});
  out.push_back({.inv_freq = over_pairs(std::vector<double>(static_cast<std::size_t>(rope.pairs()), 1.0), rope, pairs),
                 .changes = {{PortFact::dim, "exponents that are 0: each pair turns by 1 radian a position",
                              formatted("exponents over {} channels", rope.dim),
                              "divide 2p by dim as numbers with a fraction"}}});
}

// The rotation of as many channels as there are, with exponents over them: partial rotation ignored, or another part.
void add_dims(std::vector<FrequencyList>& out, const Rope& rope, std::optional<std::int64_t> length,
              const ChannelPairs& pairs) {
  std::vector<std::int64_t> dims{pairs.dim, rope.head_dim, rope.head_dim / 2, rope.head_dim / 4, rope.dim / 2};
  // Half-split pairs show by themselves how many channels rotate.
  if (pairs.in == Pairing::interleaved) dims.insert(dims.end(), {rope.dim - 2, rope.dim + 2});
  for (const std::int64_t dim : dims) {
    Rope other = rope;
    other.dim = dim / 2 * 2;
    other.pairing = pairs.in;
    other.axes = {};
    other.axis_frequencies = AxisFrequencies::shared;
    if (other.dim == rope.dim || other.dim < 2 || other.first_channel + other.dim > rope.head_dim) continue;
    // More than rotate: that is the width of the exponents alone.
    if (other.dim > 2 * static_cast<std::int64_t>(pairs.pairs())) continue;
    Change change{PortFact::dim, formatted("{}", other.dim), formatted("{}", rope.dim),
                  formatted("rotate {} channels of each head (partial_rotary_factor {})", rope.dim,
                            number_words(static_cast<double>(rope.dim) / static_cast<double>(rope.head_dim)))};
    if (auto list = frequency_list(other, length, pairs, {std::move(change)})) out.push_back(std::move(*list));
  }
}

// Pairs in an order of their own: what reads a table wrongly makes of the right frequencies.
void add_orders(std::vector<FrequencyList>& out, const FrequencyList& plan, const Rope& rope,
                const ChannelPairs& pairs) {
  std::vector<double> own = frequencies(rope, plan.length).inv_freq;
  std::ranges::reverse(own);
  out.push_back({.inv_freq = over_pairs(own, rope, pairs),
                 .attention_factor = plan.attention_factor,
                 .changes = {{PortFact::channel_order, "frequencies in descending order of pairs",
                              "the first pair turns fastest", "do not reverse the frequencies"}}});
  if (own.size() < 2) return;
  std::ranges::reverse(own);
  // base^(-2(p + 1)/dim): each pair has the next one's frequency, and the last goes on as the first two do.
  const double ratio = own[1] / own[0];
  std::rotate(own.begin(), own.begin() + 1, own.end());
  own.back() = own[own.size() - 2] * ratio;
  out.push_back({.inv_freq = over_pairs(own, rope, pairs),
                 .attention_factor = plan.attention_factor,
                 .changes = {{PortFact::scaling, "exponents that start at pair 1", "exponents that start at pair 0",
                              "count pairs from 0 in base^(-2p/dim)"}}});
}

// What is done with a rule's frequencies instead of what it says, pair by pair: [pairs of the rope], of these and of
// those without the rule.
void add_misread_rules(std::vector<FrequencyList>& out, const FrequencyList& plan, const Rope& rope,
                       const ChannelPairs& pairs) {
  Rope without = rope;
  without.scaling = std::monostate{};
  if (check(without)) return;
  const std::vector<double> own = frequencies(rope, plan.length).inv_freq;
  const std::vector<double> plain = frequencies(without).inv_freq;
  const auto with = [&](std::string found, auto of) {
    std::vector<double> f(own.size());
    for (std::size_t p = 0; p < f.size(); ++p) f[p] = of(own[p], plain[p]);
    Change change = scaling_change(rope.scaling, rope.scaling);
    change.found = std::move(found);
    out.push_back({.inv_freq = over_pairs(f, rope, pairs),
                   .attention_factor = plan.attention_factor,
                   .changes = {std::move(change)}});
  };
  const auto* llama3 = std::get_if<Llama3Scaling>(&rope.scaling);
  const auto* yarn = std::get_if<YarnScaling>(&rope.scaling);
  if (llama3 != nullptr || yarn != nullptr || std::holds_alternative<LongRopeScaling>(rope.scaling)) {
    with("the rule the wrong way: frequencies multiplied where it divides them",
         [](double f, double unscaled) { return f != 0 ? unscaled * unscaled / f : 0.0; });
  }
  if (yarn != nullptr) {
    with("yarn, its ramp the wrong way round: fast pairs divided by the factor, slow ones as they are",
         [&](double f, double unscaled) { return unscaled + unscaled / yarn->factor - f; });
    for (FrequencyList& list : misread_yarn(plan, rope, pairs)) out.push_back(std::move(list));
  }
  if (llama3 == nullptr) return;
  for (const double turns : {llama3->low_freq_factor, llama3->high_freq_factor}) {
    with(formatted("llama3 as a switch: pairs that turn less than {} times in {} tokens divided by the factor, and no "
                   "others",
                   number_words(turns), llama3->original_max_position_embeddings),
         [&](double, double unscaled) {
           constexpr double kTurn = 6.283185307179586;  // 2 pi
           const auto length = static_cast<double>(llama3->original_max_position_embeddings);
           return unscaled * length < turns * kTurn ? unscaled / llama3->factor : unscaled;
         });
  }
}

// The second half of a table that is dropped, and with it the slow pairs.
void add_half(std::vector<FrequencyList>& out, const FrequencyList& plan, const Rope& rope, const ChannelPairs& pairs) {
  std::vector<double> own = frequencies(rope, plan.length).inv_freq;
  if (own.size() < 4 || !rope.axes.of_pair.empty()) return;
  std::fill(own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2), own.end(), 0.0);
  out.push_back({.inv_freq = over_pairs(own, rope, pairs),
                 .attention_factor = plan.attention_factor,
                 .changes = {{PortFact::dim, formatted("{}: the slower half of the pairs stays", rope.dim / 2),
                              formatted("{}", rope.dim), "read cos and sin of all pairs"}}});
}

// Keys that stay in a cache as they were rotated when they came, while the rule's frequencies go on with the length.
void add_cached(std::vector<FrequencyList>& out, const FrequencyList& plan, const Rope& rope,
                const ChannelPairs& pairs) {
  if (!std::holds_alternative<DynamicScaling>(rope.scaling) && !std::holds_alternative<QwenNtkScaling>(rope.scaling)) {
    return;
  }
  FrequencyList list = plan;
  list.changes = {{PortFact::scaling, "each token by the length of the sequence when it came, as in a cache",
                   formatted("all tokens by one length{}", plan.length ? formatted(", {}", *plan.length) : ""),
                   "keep keys in the cache unrotated, or rotate them again as the sequence grows (posenc.rerotate)"}};
  list.at_place = [rope, pairs](double place) {
    const auto length = static_cast<std::int64_t>(std::clamp(std::floor(place), 0.0, 0x1p52)) + 1;
    if (check(rope, length)) return std::vector<double>(pairs.pairs(), 0.0);
    return over_pairs(frequencies(rope, length).inv_freq, rope, pairs);
  };
  out.push_back(std::move(list));
}

std::string layer_words(const Stack& stack, const LayerPlan& layer) {
  return formatted("that of {} layer {}", stack.name, layer.index);
}

// What tells another rope of the plan from this one, in the order in which they would be named.
Change rope_change(const Rope& other, const Rope& rope, const std::string& whose) {
  const std::string mend = "take the rotation of the layer itself";
  if (other.base != rope.base) {
    return {PortFact::base, formatted("{}, {}", number_words(other.base), whose), number_words(rope.base), mend};
  }
  if (other.scaling != rope.scaling) {
    return {PortFact::scaling, formatted("{}, {}", describe(other.scaling), whose), describe(rope.scaling), mend};
  }
  return {PortFact::dim, formatted("{}, {}", other.dim, whose), formatted("{}", rope.dim), mend};
}

void add_layers(std::vector<FrequencyList>& out, const Rope& rope, std::optional<std::int64_t> length, const Plan* plan,
                const ChannelPairs& pairs) {
  if (plan == nullptr) return;
  std::vector<Rope> seen{rope};
  for (const Stack& stack : plan->stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        const Rope& other = posenc::rope(rotate);
        if (std::ranges::find(seen, other) != seen.end() || other.head_dim != rope.head_dim) continue;
        if (other.pairing != rope.pairing || seen.size() > 16) continue;  // no plan has more that differ
        seen.push_back(other);
        auto list = frequency_list(other, length, pairs, {rope_change(other, rope, layer_words(stack, layer))});
        if (list) out.push_back(std::move(*list));
      }
    }
  }
}

std::string_view words(AxisFrequencies of) {
  switch (of) {
    case AxisFrequencies::shared: return "shared by all axes";
    case AxisFrequencies::per_axis: return "those of a rotation of its own for each axis";
    case AxisFrequencies::strided: return "every axis taking its turn";
  }
  return "";
}

void add_axis_frequencies(std::vector<FrequencyList>& out, const Rope& rope, std::optional<std::int64_t> length,
                          const ChannelPairs& pairs) {
  if (rope.axes.names.size() < 2 || rope.axes.of_pair.empty()) return;
  for (const AxisFrequencies of : {AxisFrequencies::shared, AxisFrequencies::per_axis, AxisFrequencies::strided}) {
    if (of == rope.axis_frequencies) continue;
    Rope other = rope;
    other.axis_frequencies = of;
    Change change{PortFact::axes, formatted("frequencies {}", words(of)),
                  formatted("frequencies {}", words(rope.axis_frequencies)),
                  "give each axis the frequencies that the plan says"};
    if (auto list = frequency_list(other, length, pairs, {std::move(change)})) out.push_back(std::move(*list));
  }
  // Each axis's pairs counted by themselves, of the frequencies that all of them share.
  const std::vector<double> own = frequencies(rope, length).inv_freq;
  std::vector<double> restarted(own.size());
  std::vector<std::size_t> seen(rope.axes.names.size(), 0);
  for (std::size_t p = 0; p < own.size(); ++p) {
    restarted[p] = own[seen[static_cast<std::size_t>(rope.axes.of_pair[p])]++];
  }
  if (restarted == own) return;
  out.push_back({.inv_freq = over_pairs(restarted, rope, pairs),
                 .changes = {{PortFact::axes, "each axis from the first frequency on",
                              formatted("frequencies {}", words(rope.axis_frequencies)),
                              "give each pair the frequency of its own number"}}});
}

}  // namespace

std::string number_words(double value) { return formatted("{}", value); }

Change base_change(double found, double expected) {
  return {PortFact::base, number_words(found), number_words(expected),
          formatted("rope_theta is {}: read it, do not take a default", number_words(expected))};
}

std::vector<double> exponents_over(const Rope& rope, double width) {
  std::vector<double> out;
  for (std::int64_t p = 0; p < rope.pairs(); ++p)
    out.push_back(std::pow(rope.base, -2 * static_cast<double>(p) / width));
  return out;
}

Change width_change(const Rope& rope, std::int64_t width) {
  Change out{PortFact::dim, formatted("exponents over {} channels", width), formatted("{}", rope.dim),
             formatted("divide the exponent 2p by {}", rope.dim)};
  if (width == rope.dim - 2) {
    out.found += formatted(": from 0 to 1 with both ends, as linspace(0, 1, {}) has them", rope.pairs());
    out.mend += ": the last pair has less than 1";
  }
  return out;
}

Change scaling_change(const Scaling& found, const Scaling& expected) {
  const bool none = std::holds_alternative<std::monostate>(expected);
  return {PortFact::scaling, describe(found), describe(expected),
          none ? std::string("the config has no rope_scaling: do not scale")
               : formatted("apply the config's rope_scaling: {}", describe(expected))};
}

std::vector<double> over_pairs(const std::vector<double>& inv_freq, const Rope& rope, const ChannelPairs& pairs) {
  std::vector<double> out(pairs.pairs(), 0.0);
  std::size_t to = 0;
  if (pairs.in == Pairing::interleaved && rope.pairing == pairs.in && rope.first_channel >= pairs.first) {
    to = static_cast<std::size_t>((rope.first_channel - pairs.first) / 2);
  }
  for (std::size_t p = 0; p < inv_freq.size() && to + p < out.size(); ++p) out[to + p] = inv_freq[p];
  return out;
}

std::optional<FrequencyList> frequency_list(const Rope& rope, std::optional<std::int64_t> length,
                                            const ChannelPairs& pairs, std::vector<Change> changes) {
  if (check(rope, length)) return {};
  const Frequencies f = frequencies(rope, length);
  return FrequencyList{.inv_freq = over_pairs(f.inv_freq, rope, pairs),
                       .attention_factor = f.attention_factor,
                       .rope = rope,
                       .length = length,
                       .changes = std::move(changes)};
}

std::vector<FrequencyList> tried_frequencies(const Rope& rope, std::optional<std::int64_t> length, const Plan* plan,
                                             const ChannelPairs& pairs) {
  std::vector<FrequencyList> out;
  auto own = frequency_list(rope, length, pairs, {});
  if (!own) return out;
  out.push_back(*own);
  Scalings scalings;
  std::visit([&](const auto& rule) { others(rule, scalings); }, rope.scaling);
  const auto with = [&](const Rope& other, std::vector<Change> changes) {
    if (auto list = frequency_list(other, length, pairs, std::move(changes))) out.push_back(std::move(*list));
  };
  for (const auto& [scaling, words] : scalings) {
    if (scaling == rope.scaling) continue;
    Rope other = rope;
    other.scaling = scaling;
    Change change = scaling_change(scaling, rope.scaling);
    if (!words.empty()) change.found = words;
    with(other, {std::move(change)});
    // Of a plan without a rule only a linear one is likely.
    const bool unlikely =
        std::holds_alternative<std::monostate>(rope.scaling) && !std::holds_alternative<LinearScaling>(scaling);
    if (!out.back().changes.empty()) out.back().guess = unlikely;
  }
  for (const double base : kKnownBases) {
    if (base == rope.base) continue;
    Rope other = rope;
    other.base = base;
    with(other, {base_change(base, rope.base)});
  }
  add_other_end(out, *own, rope, pairs);
  add_dims(out, rope, length, pairs);
  add_widths(out, rope, pairs);
  add_layers(out, rope, length, plan, pairs);
  add_orders(out, *own, rope, pairs);
  add_half(out, *own, rope, pairs);
  add_misread_rules(out, *own, rope, pairs);
  for (FrequencyList& list : misread_length(rope, length, pairs)) out.push_back(std::move(list));
  add_cached(out, *own, rope, pairs);
  add_axis_frequencies(out, rope, length, pairs);
  if (std::holds_alternative<std::monostate>(rope.scaling)) return out;
  for (const double base : kKnownBases) {
    if (base == rope.base) continue;
    Rope other = rope;
    other.base = base;
    other.scaling = std::monostate{};
    Change dropped = scaling_change(other.scaling, rope.scaling);
    dropped.found = "none: the rule was dropped";
    with(other, {base_change(base, rope.base), std::move(dropped)});
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

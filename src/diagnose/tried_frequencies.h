// Frequencies that a port may have used instead of the plan's: the plan's rope with one thing changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/channel_pairs.h"
#include "diagnose/hypothesis.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2::port {

// Bases that published models have; others are fitted. RoFormer 1e4, vision towers 100, Gemma 3 1e6 and 1e4, Llama 3
// 5e5, gpt-oss 1.5e5, Yi 5e6, Qwen2.5-1M 1e7, ...
inline constexpr std::array<double, 17> kKnownBases{100,    1000,   10000, 20000, 40000, 50000, 100000, 150000, 160000,
                                                    250000, 500000, 1e6,   2e6,   4e6,   5e6,   8e6,    1e7};

// A rope's frequencies over the pairs that were found: its p-th pair is theirs, where they are wider from its first
// channel on. Pairs beyond have 0.
std::vector<double> over_pairs(const std::vector<double>& inv_freq, const Rope& rope, const ChannelPairs& pairs);

// The rope's own; `changes` are said of it. Nothing where the rope does not pass check().
std::optional<FrequencyList> frequency_list(const Rope& rope, std::optional<std::int64_t> length,
                                            const ChannelPairs& pairs, std::vector<Change> changes);

// The plan's first, with no changes; then one thing changed, then two.
std::vector<FrequencyList> tried_frequencies(const Rope& rope, std::optional<std::int64_t> length, const Plan* plan,
                                             const ChannelPairs& pairs);

// "base 500000"; shortest that reads back.
std::string number_words(double value);

// base^(-2p/width) for as many pairs as the rope has, whatever width the exponent is made with.
std::vector<double> exponents_over(const Rope& rope, double width);

// What the config says of a base, of the width of its exponents and of a rule.
Change base_change(double found, double expected);
Change width_change(const Rope& rope, std::int64_t width);
Change scaling_change(const Scaling& found, const Scaling& expected);

}  // namespace posenc::inline v0_2::port

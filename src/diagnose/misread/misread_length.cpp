#include "diagnose/misread/misread_length.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {
namespace {

// Qwen's alpha is 2^k - 1: so many k are looked at.
constexpr int kDoublings = 6;

}  // namespace

Change length_change(std::int64_t found, std::optional<std::int64_t> expected) {
  return {PortFact::scaling, formatted("the rule as at length {}", found),
          expected ? formatted("as at length {}", *expected) : std::string("as up to the trained length"),
          "make frequencies of the length that the sequence has, and again when it has grown"};
}

std::vector<FrequencyList> misread_length(const Rope& rope, std::optional<std::int64_t> length,
                                          const ChannelPairs& pairs) {
  std::vector<FrequencyList> out;
  if (const auto* const rule = std::get_if<DynamicScaling>(&rope.scaling)) {
    if (length.value_or(0) <= rule->max_position_embeddings) return out;
    const double ratio = static_cast<double>(*length) / static_cast<double>(rule->max_position_embeddings);
    const auto add = [&](const Rope& other, std::string found) {
      Change change = scaling_change(rope.scaling, rope.scaling);
      change.found = std::move(found);
      change.mend = formatted("base * (factor * n / max - (factor - 1))^(dim / (dim - 2)), n = {}", *length);
      if (auto list = frequency_list(other, length, pairs, {std::move(change)})) out.push_back(std::move(*list));
    };
    const auto stretched = [&](double by, std::string found) {
      Rope other = rope;
      other.scaling = NtkScaling{.alpha = by};
      add(other, std::move(found));
    };
    if (rule->factor != 1) {
      stretched(rule->factor * ratio, "dynamic, stretched by factor * n / max, the factor - 1 not taken off");
      stretched(ratio, "dynamic, stretched by n / max, without the factor");
    }
    Rope other = rope;
    other.scaling = std::monostate{};
    other.base *= 1 + rule->factor * (ratio - 1);
    add(other, "dynamic, the base times the stretch, without the exponent dim / (dim - 2)");
  }
  if (const auto* const rule = std::get_if<QwenNtkScaling>(&rope.scaling)) {
    std::int64_t longest = rule->seq_length;
    for (int k = 0; k < kDoublings && longest < (std::int64_t{1} << 40); ++k) {
      longest *= 2;
      if (longest == length) continue;
      if (auto list = frequency_list(rope, longest, pairs, {length_change(longest, length)})) {
        out.push_back(std::move(*list));
      }
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::port

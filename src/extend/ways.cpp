#include "extend/ways.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "posenc/rope.h"

namespace posenc::extend {
namespace {

std::string list(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += formatted("{}{}", text.empty() ? "" : ",", number);
  return "[" + text + "]";
}

// One factor a pair, the least that leaves no pair beyond its trained angles: 1 for pairs that completed a turn, else
// the whole stretch. Of a model that has such a list for long texts, no less than its own, which its weights know.
std::vector<double> least_factors(const Rope& plain, const Stretch& stretch, const LongRopeScaling* own) {
  std::vector<double> factors;
  for (const double w : frequencies(plain).inv_freq) {
    const bool completes = static_cast<double>(stretch.from) * std::abs(w) >= 2.0 * std::numbers::pi;
    const double known = own == nullptr ? 1.0 : own->long_factor[factors.size()];
    factors.push_back(completes ? known : std::max(known, stretch.factor()));
  }
  return factors;
}

std::string by_pair(const Rope& rope, const Rope& plain, const Stretch& stretch) {
  const auto* const own = std::get_if<LongRopeScaling>(&rope.scaling);
  const std::string factors = list(least_factors(plain, stretch, own));
  if (own == nullptr) return "rope_scaling=factors,factors=" + factors;
  std::string text = formatted("rope_scaling=longrope,factor={},original={},short_factor={},long_factor={}",
                               stretch.factor(), stretch.from, list(own->short_factor), factors);
  const auto add = [&](std::string_view word, const std::optional<double>& number) {
    if (number) text += formatted(",{}={}", word, *number);
  };
  add("attention_factor", own->attention_factor);
  add("short_mscale", own->short_mscale);
  add("long_mscale", own->long_mscale);
  return text;
}

// The base b with which the slowest pair turns `factor` times slower and the fastest as before.
std::string ntk_alpha(const Rope& rope, const Stretch& stretch) {
  return formatted("{}", rope.dim > 2 ? stretch.factor() : 1.0);
}

// Neighbours that SelfExtend leaves as they are: half the trained length, so that the groups have room in the rest.
std::string self_extend(const Stretch& stretch) {
  const std::int64_t window = std::max<std::int64_t>(stretch.from / 2, 1);
  const std::int64_t rest = std::max<std::int64_t>(stretch.from - window, 1);
  const std::int64_t far = std::max<std::int64_t>(stretch.to - window, 1);
  // One more than the quotient: both ends of a group are rounded.
  const std::int64_t group = std::max<std::int64_t>((far + rest - 1) / rest + 1, 2);
  return formatted("self_extend={}/{}", group, window);
}

// Chunks of the trained length less the part in which neighbouring chunks are told apart: a 32nd, as Qwen's files have.
std::string dual_chunk(const Stretch& stretch) {
  const std::int64_t size = std::max<std::int64_t>(stretch.from - 1, 1);
  return formatted("dual_chunk={}/{}", size, stretch.from / 32 < size ? stretch.from / 32 : 0);
}

}  // namespace

std::string_view title(std::string_view way) {
  constexpr std::pair<std::string_view, std::string_view> kTitles[] = {
      {"linear", "linear scaling"},  {"ntk", "NTK scaling"},
      {"dynamic", "dynamic NTK"},    {"yarn", "YaRN"},
      {"by_parts", "NTK by parts"},  {"temperature", "a temperature alone"},
      {"llama3", "Llama 3's rule"},  {"by_pair", "a factor for each pair"},
      {"self_extend", "SelfExtend"}, {"dual_chunk", "dual chunk attention"}};
  for (const auto& [name, words] : kTitles) {
    if (name == way) return words;
  }
  return way;
}

std::vector<Extension> ways_of(const Rope& rope, const Stretch& stretch) {
  const double factor = stretch.factor();
  Rope plain = rope;
  plain.scaling = std::monostate{};
  std::vector<Extension> out;
  const auto add = [&](std::string name, std::string about, std::vector<std::string> settings) {
    out.push_back({.name = std::move(name), .about = std::move(about), .settings = std::move(settings), .refused = {}});
  };
  add("linear", "Position interpolation: all pairs turn slower by the same factor (arXiv 2306.15595).",
      {formatted("rope_scaling=linear,factor={}", factor)});
  add("ntk", "Static NTK: a larger base, so that slow pairs are stretched most and the fastest not.",
      {formatted("rope_scaling=ntk,alpha={}", ntk_alpha(rope, stretch))});
  add("dynamic", "Dynamic NTK: the base grows with the sequence; short ones stay as they are.",
      {formatted("rope_scaling=dynamic,factor={},original={}", factor, stretch.from)});
  add("yarn", "YaRN: NTK by parts and a sharper softmax; pairs that turn often stay (arXiv 2309.00071).",
      {formatted("rope_scaling=yarn,factor={},original={}", factor, stretch.from)});
  // The paper's two parts, each by itself (its sections 3.2 and 3.4).
  add("by_parts", "NTK by parts: YaRN's frequencies without its sharper softmax.",
      {formatted("rope_scaling=yarn,factor={},original={},attention_factor=1", factor, stretch.from)});
  add("temperature", "YaRN's sharper softmax alone: all pairs turn as without a rule.",
      {formatted("rope_scaling=yarn,factor=1,original={},attention_factor={}", stretch.from,
                 0.1 * std::log(factor) + 1.0)});
  add("llama3", "Llama 3's rule: by wavelength, long ones stretched, smooth between.",
      {formatted("rope_scaling=llama3,factor={},low_freq_factor=1,high_freq_factor=4,original={}", factor,
                 stretch.from)});
  add("by_pair", "LongRoPE's form: the least factor of each pair that leaves none beyond its trained angles.",
      {by_pair(rope, plain, stretch)});
  add("self_extend",
      "SelfExtend: near distances as they are, far ones in groups, so that none exceeds the trained "
      "length (arXiv 2401.01325).",
      {self_extend(stretch)});
  add("dual_chunk",
      "Dual chunk attention: chunks as long as the model was trained for, and no distance beyond it "
      "(arXiv 2402.17463).",
      {dual_chunk(stretch)});
  return out;
}

}  // namespace posenc::extend

// What the keys of a scaling rule mean, and whether they fit each other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/formatted.h"
#include "extend/ways.h"

namespace posenc::extend {
namespace {

class Explaining {
 public:
  explicit Explaining(std::optional<std::int64_t> trained) : trained_(trained) {}

  void operator()(std::monostate) {}
  void operator()(const LinearScaling& s) {
    add("factor", formatted("{}", s.factor), "Every pair turns so many times slower.", not_longer(s.factor));
  }
  void operator()(const NtkScaling& s) {
    add("alpha", formatted("{}", s.alpha), "The base is multiplied by alpha^(dim / (dim - 2)).");
  }
  void operator()(const DynamicScaling& s) {
    add("factor", formatted("{}", s.factor), "How fast the base grows with a sequence beyond the trained length.",
        not_longer(s.factor));
    add("max_position_embeddings", formatted("{}", s.max_position_embeddings), "Tokens up to which nothing changes.");
  }
  void operator()(const QwenNtkScaling& s) {
    add("seq_length", formatted("{}", s.seq_length), "Tokens up to which nothing changes.");
  }
  void operator()(const YarnScaling& s) {
    factor_of(s.factor, s.original_max_position_embeddings);
    add("beta_fast", s.beta_fast ? formatted("{}", *s.beta_fast) : "32 (not given)",
        "Pairs that turn so often within the original length keep their frequency.",
        s.beta_fast && s.beta_slow && *s.beta_fast <= *s.beta_slow ? "is not above beta_slow: the ramp between is empty"
                                                                   : "");
    add("beta_slow", s.beta_slow ? formatted("{}", *s.beta_slow) : "1 (not given)",
        "Pairs that turn no more often are stretched by the whole factor.");
    if (s.attention_factor) {
      add("attention_factor", formatted("{}", *s.attention_factor), "Multiplies cos and sin, instead of the paper's.",
          s.mscale || s.mscale_all_dim ? "stands beside mscale, which is then not used" : "");
    }
    if (s.mscale) add("mscale", formatted("{}", *s.mscale), "DeepSeek's: how much cos and sin grow with the factor.");
    if (s.mscale_all_dim) {
      add("mscale_all_dim", formatted("{}", *s.mscale_all_dim),
          "DeepSeek's: how much the softmax scale grows instead.");
    }
    add("truncate", s.truncate ? "yes" : "no", "Whether the ramp's ends are whole pairs.");
  }
  void operator()(const LongRopeScaling& s) {
    factor_of(s.factor, s.original_max_position_embeddings);
    add("short_factor", formatted("{} numbers", s.short_factor.size()),
        "A divisor of each pair, for sequences up to the original length.", faster(s.short_factor));
    add("long_factor", formatted("{} numbers", s.long_factor.size()),
        "The same for longer ones, from their first token.", faster(s.long_factor));
    if (s.attention_factor) {
      add("attention_factor", formatted("{}", *s.attention_factor), "Multiplies cos and sin, instead of the paper's.",
          s.short_mscale || s.long_mscale ? "stands beside the mscales, and is then not used" : "");
    }
    if (s.short_mscale) {
      add("short_mscale", formatted("{}", *s.short_mscale), "Multiplies cos and sin up to the original length.");
    }
    if (s.long_mscale) {
      add("long_mscale", formatted("{}", *s.long_mscale), "Multiplies cos and sin of longer sequences.");
    }
  }
  void operator()(const Llama3Scaling& s) {
    add("factor", formatted("{}", s.factor), "Pairs of the longest wavelengths turn so many times slower.",
        not_longer(s.factor));
    add("original_max_position_embeddings", formatted("{}", s.original_max_position_embeddings),
        "The length that wavelengths are held against.", original(s.original_max_position_embeddings));
    add("low_freq_factor", formatted("{}", s.low_freq_factor),
        "Wavelengths above the original length over this are stretched in full.",
        s.low_freq_factor > s.high_freq_factor ? "is above high_freq_factor" : "");
    add("high_freq_factor", formatted("{}", s.high_freq_factor), "Wavelengths below that over this stay.");
  }
  void operator()(const ProportionalScaling& s) {
    add("partial_rotary_factor", formatted("{}", s.partial_rotary_factor), "The part of the pairs that turns.");
    add("factor", formatted("{}", s.factor), "Every pair turns so many times slower.");
  }
  void operator()(const FactorListScaling& s) {
    add("factors", formatted("{} numbers", s.factors.size()), "A divisor of each pair.", faster(s.factors));
  }

  std::vector<ExplainedKey> take() { return std::move(out_); }

 private:
  void add(std::string key, std::string value, std::string meaning, std::string problem = {}) {
    out_.push_back({std::move(key), std::move(value), std::move(meaning), std::move(problem)});
  }
  void factor_of(double factor, std::int64_t before) {
    const double reaches = factor * static_cast<double>(before);
    const bool fits = !trained_ || std::abs(reaches - static_cast<double>(*trained_)) < 1.0;
    std::string problem = not_longer(factor);
    if (problem.empty() && !fits) {
      problem = formatted("times {} is {:.6g} tokens, and the trained length is {}", before, reaches, *trained_);
    }
    add("factor", formatted("{}", factor), "The longest sequence over the original length.", problem);
    add("original_max_position_embeddings", formatted("{}", before), "The length trained for before the rule.",
        original(before));
  }
  static std::string faster(const std::vector<double>& factors) {
    return std::ranges::any_of(factors, [](double factor) { return factor < 1.0; })
               ? "has numbers below 1: these pairs turn faster"
               : "";
  }
  static std::string not_longer(double factor) { return factor < 1.0 ? "is below 1: sequences become shorter" : ""; }
  std::string original(std::int64_t before) const {
    return trained_ && before > *trained_ ? formatted("is above the trained length, {}", *trained_) : "";
  }

  std::optional<std::int64_t> trained_;
  std::vector<ExplainedKey> out_;
};

}  // namespace

std::vector<ExplainedKey> explained(const Rope& rope, std::optional<std::int64_t> trained) {
  Explaining explaining(trained);
  std::visit(explaining, rope.scaling);
  return explaining.take();
}

}  // namespace posenc::extend

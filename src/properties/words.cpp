// A vocabulary of random embeddings with W_Q, W_K and W_V: sentences of it go through reference::attend to see what
// order and distance do to outputs.
#include "properties/words.h"

#include <cmath>
#include <numeric>

#include "properties/input_rows.h"

namespace posenc::properties {
namespace {

constexpr std::uint64_t kWordSeed = 3;  // any

constexpr double kLowestGate = 0.8;  // f up to 1: a tenth is forgotten at each token, on average

// Entries of variance 1 / channels.
Rows projection(Numbers& numbers, std::int64_t channels) {
  Rows out = normal_rows(numbers, channels, channels);
  for (double& x : out.values) x /= std::sqrt(static_cast<double>(channels));
  return out;
}

Rows log_gates(Numbers& numbers, std::int64_t words, std::int64_t heads) {
  Rows out{heads, std::vector<double>(static_cast<std::size_t>(words * heads))};
  for (double& x : out.values) x = std::log(kLowestGate + (1.0 - kLowestGate) * numbers.uniform());
  return out;
}

}  // namespace

Rows projected(const Rows& x, const Rows& w) {
  Rows out{w.count(), {}};
  for (std::int64_t row = 0; row < x.count(); ++row) {
    for (std::int64_t c = 0; c < w.count(); ++c) {
      out.values.push_back(std::inner_product(x[row].begin(), x[row].end(), w[c].begin(), 0.0));
    }
  }
  return out;
}

Vocabulary::Vocabulary(const Size& size, std::int64_t words) {
  Numbers numbers(kWordSeed);
  w_q_ = projection(numbers, size.channels());
  w_k_ = projection(numbers, size.channels());
  w_v_ = projection(numbers, size.channels());
  embeddings_ = normal_rows(numbers, words, size.channels());
  log_forget_ = log_gates(numbers, words, size.heads);
  row_gate_ = normal_rows(numbers, words, size.heads);
}

Rows Vocabulary::embedded(const std::vector<std::int64_t>& words) const {
  return {embeddings_.width, of_words(embeddings_, words)};
}

std::vector<double> Vocabulary::of_words(const Rows& by_word, const std::vector<std::int64_t>& words) const {
  std::vector<double> out;
  for (const std::int64_t word : words) out.insert(out.end(), by_word[word].begin(), by_word[word].end());
  return out;
}

// The input stage comes before the projections, as in a model's first layer; gates are made of the word alone.
Call Vocabulary::call(const Specimen& specimen, const std::vector<std::int64_t>& q_words,
                      const std::vector<std::int64_t>& q_places, const std::vector<std::int64_t>& k_words,
                      MaskKind mask) const {
  const std::vector<std::int64_t> k_places = first_places(std::ssize(k_words));
  const Rows asking = with_positions(specimen, embedded(q_words), q_places, std::ssize(k_words));
  const Rows asked = with_positions(specimen, embedded(k_words), k_places, std::ssize(k_words));
  return {.q = projected(asking, w_q_),
          .k = projected(asked, w_k_),
          .v = projected(asked, w_v_),
          .q_places = q_places,
          .k_places = k_places,
          .mask = mask,
          .log_forget = of_words(log_forget_, k_words),
          .row_gate = of_words(row_gate_, q_words)};
}

}  // namespace posenc::properties

// Is order seen? Two "dog" tokens in one sentence, and one sentence in two orders, over random embeddings.
//
// Attention without positions and without a mask is equivariant to permutations of its queries and invariant to
// permutations of its keys and values together; a causal mask alone ends both.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/properties.h"
#include "properties/input_rows.h"
#include "properties/words.h"

namespace posenc::inline v0_2 {
namespace {

using properties::Rows;
using properties::Specimen;
using properties::Vocabulary;

using Words = std::vector<std::int64_t>;

// With the token that starts a text, so that the dogs are tokens 2 and 5 as in the experiment that this repeats.
constexpr std::int64_t kFirstDog = 2;
constexpr std::int64_t kSecondDog = 5;
const Words kDogs{0, 1, 2, 3, 4, 2};  // (start) the dog chased another dog
// "I" and "me" are one word here, as they are in Chinese.
const Words kSentence{5, 6, 7};  // I love you
const Words kReversed{7, 6, 5};  // you love me
constexpr std::int64_t kWords = 8;

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
  return largest;
}

// Outputs of those words as queries, one after another, over those as keys and values.
// Queries and keys are as many, and stand at places 0, 1, ... each.
struct Reader {
  const Specimen& specimen;
  const Vocabulary& vocabulary;
  MaskKind mask;

  Rows operator()(const Words& queries, const Words& keys) const {
    const auto places = properties::first_places(std::ssize(queries));
    return attend(specimen, vocabulary.call(specimen, queries, places, keys, mask)).out;
  }
};

// Row n of `a` against row n of `b`, read backwards.
double difference_backwards(const Rows& a, const Rows& b) {
  double largest = 0.0;
  for (std::int64_t n = 0; n < a.count(); ++n) {
    largest = std::max(largest, largest_difference(a[n], b[b.count() - 1 - n]));
  }
  return largest;
}

// 0 in each number (but for rounding) means that the layer does not see that change of order.
OrderSeen order_seen(const Specimen& specimen, const Vocabulary& vocabulary, MaskKind mask) {
  const Reader read{specimen, vocabulary, mask};
  const Rows dogs = read(kDogs, kDogs);
  const Rows sentence = read(kSentence, kSentence);
  return {.dogs = largest_difference(dogs[kFirstDog], dogs[kSecondDog]),
          .sentences = difference_backwards(sentence, read(kReversed, kReversed)),
          .equivariance = difference_backwards(sentence, read(kReversed, kSentence)),
          .invariance = largest_difference(sentence.values, read(kSentence, kReversed).values)};
}

}  // namespace

OrderExperiment order_experiment(std::string_view scheme) {
  const properties::Made made(properties::entry("order_experiment", scheme), {.places = std::ssize(kDogs)});
  const Vocabulary vocabulary(made->size, kWords);
  return {.all_see_all = order_seen(*made, vocabulary, MaskKind::bidirectional),
          .causal = order_seen(*made, vocabulary, MaskKind::causal)};
}

}  // namespace posenc::inline v0_2

// Properties of scores, of words at places: whether they depend on i - j alone, how far they rise beyond the trained
// length, how they fall with distance. Definitions: docs/properties.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/formatted.h"
#include "properties/input_rows.h"
#include "properties/measures.h"
#include "properties/words.h"

namespace posenc::properties {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of scores. Without any, low is above high.
struct Range {
  double low = kInfinity;
  double high = -kInfinity;

  void take(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  double width() const { return high - low; }
};

// [queries, keys]
std::span<const double> of_head(const Answer& answer, const Size& size, std::int64_t h) {
  const std::size_t each = answer.scores.size() / static_cast<std::size_t>(size.heads);
  return std::span(answer.scores).subspan(static_cast<std::size_t>(h) * each, each);
}

double mean(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// Places from `first` to `end` - 1, the last among them: not every query is asked. Steps are primes, so that no window
// or group is always met at one place.
std::vector<std::int64_t> every_nth(std::int64_t step, std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> out;
  for (std::int64_t place = end - 1; place >= first; place -= step) out.push_back(place);
  return out;
}

// What scores one word gives itself when it stands at every place of `count` and asks from those of `q_places`, for
// each head.
std::vector<Range> scores_of_one_word(const Specimen& specimen, const Vocabulary& vocabulary, std::int64_t word,
                                      std::int64_t count, const std::vector<std::int64_t>& q_places) {
  const std::vector<std::int64_t> asking(q_places.size(), word);
  const std::vector<std::int64_t> all(static_cast<std::size_t>(count), word);
  const Answer answer = attend(specimen, vocabulary.call(specimen, asking, q_places, all, MaskKind::causal));
  std::vector<Range> out(static_cast<std::size_t>(specimen.size.heads));
  for (std::size_t h = 0; h < out.size(); ++h) {
    for (const double score : of_head(answer, specimen.size, static_cast<std::int64_t>(h))) {
      if (std::isfinite(score)) out[h].take(score);  // seen
    }
  }
  return out;
}

struct Pair {
  std::int64_t key;
  std::int64_t query;
};

// Pairs of places by distance: of a line by i - j, of a square by rows and columns.
// All places are below 2 kTrainedPlaces (63 + 55 = 118), and every key is at or before its query. On a square the
// shifts keep rows and columns within the side, which is 12 for 128 places.
std::vector<std::vector<Pair>> pairs_by_distance(const Specimen& specimen) {
  const std::vector<std::int64_t> shifts{0, 1, 7, 40, 63};
  const std::vector<std::int64_t> distances{1, 3, 8, 21, 55};
  std::vector<std::vector<Pair>> out;
  if (specimen.layout == Layout::line) {
    for (const std::int64_t distance : distances) {
      std::vector<Pair>& pairs = out.emplace_back();
      for (const std::int64_t shift : shifts) pairs.push_back({shift, shift + distance});
    }
    return out;
  }
  const std::int64_t side = specimen.size.side();
  for (const auto& [rows, columns] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, -1), std::pair(3, 2)}) {
    std::vector<Pair>& pairs = out.emplace_back();
    for (const auto& [row, column] : {std::pair(0, 1), std::pair(1, 3), std::pair(4, 2), std::pair(6, 5)}) {
      pairs.push_back({row * side + column, (row + rows) * side + column + columns});
    }
  }
  return out;
}

}  // namespace

// One word stands everywhere, so that places alone count; the range is that of several words. A score above all that
// training has seen takes weight from every other key; one below them takes its own key's weight only, which is said
// and not held against the scheme.
Measured rise_beyond_training(const Entry& entry) {
  constexpr std::int64_t kWords = 4;
  // As far as the specimens' rules and regions extend (kFactor in rotation_specimens.cpp).
  constexpr std::int64_t kLonger = 4 * kTrainedPlaces;
  // Of the range of scores within: less is not told in `where`.
  constexpr double kWorthTelling = 0.01;
  const Made made(entry, {.places = kTrainedPlaces});
  if (made->end && *made->end <= kTrainedPlaces) return {kInfinity, formatted("there is no place {}", *made->end)};
  Specimen trained = *made;
  if (made->trained) trained.layer = *made->trained;
  const std::vector<std::int64_t> within_places = every_nth(3, 0, kTrainedPlaces);
  const std::vector<std::int64_t> beyond_places = every_nth(23, kTrainedPlaces, kLonger);
  const Vocabulary vocabulary(made->size, kWords);
  const auto heads = static_cast<std::size_t>(made->size.heads);
  std::vector<Range> all(heads);
  std::vector<double> above(heads, 0.0);
  std::vector<double> below(heads, 0.0);
  for (std::int64_t word = 0; word < kWords; ++word) {
    const auto within = scores_of_one_word(trained, vocabulary, word, kTrainedPlaces, within_places);
    const auto longer = scores_of_one_word(*made, vocabulary, word, kLonger, beyond_places);
    for (std::size_t h = 0; h < heads; ++h) {
      all[h].take(within[h].low);
      all[h].take(within[h].high);
      above[h] = std::max(above[h], longer[h].high - within[h].high);
      below[h] = std::max(below[h], within[h].low - longer[h].low);
    }
  }
  Measured out;
  double lowest = 0.0;
  for (std::size_t h = 0; h < heads; ++h) {
    out.number = std::max(out.number, above[h] / all[h].width());
    lowest = std::max(lowest, below[h] / all[h].width());
  }
  if (lowest > kWorthTelling) out.where = formatted("{:.2g} below", lowest);
  return out;
}

// Two words, always the same, stand at equal distances in different places, among other words.
Measured deviation_from_relative(const Entry& entry) {
  constexpr std::int64_t kWords = 16;
  constexpr std::int64_t kTokens = 2 * kTrainedPlaces;
  const Made made(entry, {.places = kTokens});
  const Vocabulary vocabulary(made->size, kWords);
  Numbers numbers(kTokens);
  const auto any_word = [&] { return 2 + static_cast<std::int64_t>(numbers.uniform() * (kWords - 2)); };
  std::vector<Range> all(static_cast<std::size_t>(made->size.heads));
  double most = 0.0;
  std::int64_t where = 0;
  for (const std::vector<Pair>& pairs : pairs_by_distance(*made)) {
    std::vector<Range> equal(all.size());
    for (const auto& [key, query] : pairs) {
      std::vector<std::int64_t> words(static_cast<std::size_t>(kTokens));
      for (std::int64_t& word : words) word = any_word();
      words[static_cast<std::size_t>(key)] = 0;
      words[static_cast<std::size_t>(query)] = 1;
      const Answer answer = attend(*made, vocabulary.call(*made, {1}, {query}, words, MaskKind::causal));
      for (std::size_t h = 0; h < all.size(); ++h) {
        const double score = answer.scores[h * static_cast<std::size_t>(kTokens) + static_cast<std::size_t>(key)];
        equal[h].take(score);
        all[h].take(score);
      }
    }
    for (const Range& range : equal) {
      if (range.width() > most) where = pairs.front().query - pairs.front().key;
      most = std::max(most, range.width());
    }
  }
  const auto widest =
      std::max_element(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.width() < b.width(); });
  return {most == 0.0 ? 0.0 : most / widest->width(), most > 0.0 ? formatted("at distance {}", where) : ""};
}

// Words all different. For each query, the mean score of keys that are near less that of keys that are far, over the
// standard deviation of the near ones; the mean of heads.
Measured fall_with_distance(const Entry& entry) {
  constexpr std::int64_t kTokens = 256;
  constexpr std::int64_t kQueries = 16;
  constexpr std::int64_t kNear = 16;
  const Made made(entry, {.places = kTokens});
  const Vocabulary vocabulary(made->size, kTokens);
  const std::vector<std::int64_t> words = first_places(kTokens);
  const std::vector<std::int64_t> asking(words.end() - kQueries, words.end());
  const Answer answer = attend(*made, vocabulary.call(*made, asking, asking, words, MaskKind::causal));
  double sum = 0.0;
  for (std::int64_t h = 0; h < made->size.heads; ++h) {
    const std::span<const double> scores = of_head(answer, made->size, h);
    double fall = 0.0;
    double squares = 0.0;
    for (std::int64_t row = 0; row < kQueries; ++row) {
      const auto own = static_cast<std::size_t>(asking[static_cast<std::size_t>(row)]);
      const std::span<const double> keys = scores.subspan(static_cast<std::size_t>(row * kTokens));
      const std::span<const double> near = keys.subspan(own + 1 - kNear, kNear);
      const std::span<const double> far = keys.first(own + 1 - 3 * kTokens / 4);  // three quarters of the text away
      fall += mean(near) - mean(far);
      for (const double score : near) squares += (score - mean(near)) * (score - mean(near));
    }
    sum += fall / kQueries / std::sqrt(squares / (kQueries * (kNear - 1)));
  }
  return {sum / static_cast<double>(made->size.heads)};
}

}  // namespace posenc::properties

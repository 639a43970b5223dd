// posenc plot attention: attention weights among a few words, without a scheme and with it.
//
// Two heat maps of [words, words], a query a row. Colours start at 0; where weights are negative, as linear attention's
// may be, at the least.
#include <algorithm>
#include <limits>
#include <utility>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/attended_words.h"
#include "plot/figures.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLongestName = 12;  // columns

// Masked weights are 0. As NaN they are hatched, and told apart from small ones.
void hide_the_future(std::vector<double>& weights, std::int64_t words) {
  for (std::int64_t i = 0; i < words; ++i) {
    for (std::int64_t j = i + 1; j < words; ++j) {
      weights[static_cast<std::size_t>(i * words + j)] = std::numeric_limits<double>::quiet_NaN();
    }
  }
}

}  // namespace

Figure figure_of(const AttentionPlot& plot) {
  AttendedWords attended = attend_words(plot);
  const std::int64_t count = std::ssize(attended.words);
  if (!plot.both_ways) {
    hide_the_future(attended.without, count);
    hide_the_future(attended.with, count);
  }
  std::vector<std::string> names;
  for (const std::string& word : attended.words) names.push_back(shorten(printable(word), kLongestName));
  const bool negative =
      std::any_of(attended.with.begin(), attended.with.end(), [](double weight) { return weight < 0.0; });
  return {.title = "Attention weights, without a scheme and with it",
          .detail = "One head whose queries and keys are the words; " + attended.detail,
          .content = HeatMaps{.rows = count,
                              .columns = count,
                              .row = {.label = "query (words)", .names = names},
                              .column = {.label = "key (words)", .names = names},
                              .value = "weight",
                              .least = negative ? std::optional<double>() : 0.0,
                              .nothing = plot.both_ways ? "" : "masked: the key is in the future",
                              .maps = {{.name = "without", .values = std::move(attended.without)},
                                       {.name = "with", .values = std::move(attended.with)}}}};
}

}  // namespace posenc::tool

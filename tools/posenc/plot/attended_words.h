// A few words that attend to one another: one head whose queries and keys are the words themselves, so that a query
// attends to its own word, with a scheme and without it.
#pragma once

#include <string>
#include <vector>

#include "plot/plot_arguments.h"

namespace posenc::tool {

//   without    softmax over j of x_i . x_j / sqrt(channels)      x: the vector of a word, the same wherever it stands
//   with       the same with the scheme; of --scheme linear both are weights of linear attention
//
// A masked key has the weight 0.
struct AttendedWords {
  std::vector<std::string> words;
  std::string detail;           // the scheme and its numbers
  std::vector<double> without;  // weights [words, words], query first
  std::vector<double> with;
};

// Throws UsageError for a scheme that is not known or would need something learned, and for too few or too many words.
AttendedWords attend_words(const AttentionPlot& plot);

}  // namespace posenc::tool

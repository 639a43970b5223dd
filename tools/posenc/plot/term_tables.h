// What a score term needs to be drawn alone. Of what a model would learn, tables hold the numbers of their rows, and
// MLPs give what they are asked, so that the picture shows which row, or which question, a query and a key have.
#pragma once

#include <cstdint>
#include <string>

#include "plot/drawn_layer.h"
#include "plot/term_word.h"

namespace posenc::tool {

struct TermPicture {
  DrawnLayer drawn;
  std::string value;           // what its numbers are
  std::string detail;          // the scheme and its numbers, in words
  bool over_content = false;   // what is drawn is what the term adds to q.k, which is not 0
  bool whole_numbers = false;  // rows of a table
  bool one_head = false;       // is drawn, and is what every head has
  bool over_grid = false;      // the tokens are a window's, row by row
};

// Of schemes over a grid the tokens are its window's, and not `queries` and `keys`. Throws UsageError for a scheme that
// has no picture of its own.
TermPicture term_picture(const DrawnTerm& term, std::int64_t queries, std::int64_t keys, MaskKind mask);

}  // namespace posenc::tool

// Scores of one word at every place: the matrix y_ij, in which only positions differ.
#include <vector>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/properties.h"
#include "properties/input_rows.h"
#include "properties/words.h"

namespace posenc::inline v0_2 {

// A vocabulary of one word, which stands at every place: q and k are equal everywhere but for the scheme.
ScoreMatrix score_matrix(std::string_view scheme, std::int64_t places, MaskKind mask) {
  if (places < 1) throw Error("score_matrix", {"places", "be at least 1", formatted("{}", places)});
  const properties::Entry& entry = properties::entry("score_matrix", scheme);
  const properties::Made made(entry, {.places = places});
  const std::vector<std::int64_t> word(static_cast<std::size_t>(places), 0);
  const properties::Vocabulary vocabulary(made->size, 1);
  properties::Answer answer = attend(*made, vocabulary.call(*made, word, properties::first_places(places), word, mask));
  return {.heads = made->layer.heads, .places = places, .values = std::move(answer.scores)};
}

}  // namespace posenc::inline v0_2

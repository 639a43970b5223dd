// What a scheme makes of a place, as a vector: the row of an input scheme, R(j) k of RoPE, the biases of ALiBi.
#pragma once

#include <cstdint>

#include "properties/numbers.h"
#include "properties/specimens.h"

namespace posenc::properties {

// Of places 0 to count - 1 of a sequence of that length. An input scheme's rows. Of others, what queries at the last
// place see of one key at each: with basis vectors as queries, and the scale taken off, the scores are the channels of
// the key as the scheme rotates and scales it, plus its biases. Of a value scheme, the output for one value.
Rows encodings(const Specimen& specimen, std::int64_t count);

// The vectors that a scheme rotates, scales or adds to, each with what it makes of it: keys or values, of which
// encodings are made, or random embeddings.
struct Changed {
  Rows before;
  Rows after;
  std::int64_t width;  // channels of one vector: a head's, or all of an embedding
};
Changed changed(const Specimen& specimen, const Rows& encodings);

}  // namespace posenc::properties

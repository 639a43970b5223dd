// The input stage of a specimen: the rows that are added to embeddings (sinusoids, learned, integers, binary), and the
// sums.
#pragma once

#include <cstdint>
#include <vector>

#include "properties/numbers.h"
#include "properties/specimens.h"

namespace posenc::properties {

// x_i at its place, [tokens, channels], through reference::add_input; x itself where there is no input scheme. A
// sequence of `length` tokens, by which normalised integers are divided.
Rows with_positions(const Specimen& specimen, const Rows& x, const std::vector<std::int64_t>& places,
                    std::int64_t length);

// p_i of places 0 to count - 1 of a sequence of that length; the specimen has an input scheme.
Rows position_rows(const Specimen& specimen, std::int64_t count);

// 0, 1, ..., count - 1
std::vector<std::int64_t> first_places(std::int64_t count);

}  // namespace posenc::properties

// What the kernels need of a term's weights, as floats. It follows from the layer alone, whichever tokens meet, but for
// how far biases by distance reach: a layer that is prepared (posenc/prepared_layer.h) keeps it, else a call makes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/attend/sine_rows.h"
#include "kernels/attention.h"
#include "math/primitives.h"
#include "posenc/parallel.h"

namespace posenc::cpu {

// b[h][d] of distances low .. low + count - 1.
struct BiasTable {
  std::int64_t low = 0;
  std::int64_t count = 0;
  std::vector<float> values;  // [heads][count]

  float at(std::int64_t head, std::int64_t distance) const {
    return values[static_cast<std::size_t>(head * count + math::entry_of(low, count, distance))];
  }
};

// Which of them a term has follows from its primitive; the others are empty.
struct TermVectors {
  std::vector<float> rows;     // [heads or 1][count][channels]
  std::vector<float> columns;  // KeyDistance: [heads or 1][channels][columns_row], for products with keys
  std::int64_t columns_row = 0;
  std::vector<float> given;       // QueryDistance: [heads or 1][count][channels]
  std::optional<SineRule> sines;  // SineDistance
  std::vector<float> weight;      // [heads * channels][width of sines]
  std::vector<float> added;       // v: [heads][channels], or empty
  BiasTable bias;                 // DistanceBias
};

// Of whose heads, by whose kernels.
struct TermMaker {
  std::int64_t heads;
  std::int64_t head_dim;
  const kernels::AttentionKernels& kernels;
  const Parallel& parallel;
  bool for_any_call = false;  // all places, and not those alone that occur in the term's distances

  TermVectors operator()(const math::Term& term) const;
};

// Whether `held`, made of the same layer, has all that the term of a call asks for.
bool covers(const TermVectors& held, const math::Term& term);

// For PreparedLayer::bytes.
std::int64_t bytes_of(const TermVectors& vectors);

}  // namespace posenc::cpu

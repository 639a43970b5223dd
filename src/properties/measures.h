// The number of each property (posenc/properties.h), and where it was found: properties.cpp asks for them by name.
#pragma once

#include <optional>
#include <string>

#include "properties/numbers.h"
#include "properties/specimens.h"

namespace posenc::properties {

// The number that a PropertyRule judges; `where` is for people: "places 31 and 32".
struct Measured {
  double number = 0.0;
  std::string where{};
};

// Of encodings of kMeasuredPlaces places (encoding_measures.cpp). Nothing: the question does not apply.
enum class Rounding : std::uint8_t { f32, bf16 };
Measured smallest_distance(const Rows& encodings, Rounding rounding);
std::optional<Measured> affine_residual(const Specimen& specimen, const Rows& encodings);
std::optional<Measured> largest_step(const Rows& encodings);
std::optional<Measured> change_of_length(const Specimen& specimen, const Rows& encodings);
Measured smallest_distance_on_square(const Entry& entry);
Measured parameters_per_place(const Entry& entry);

// Of scores (score_measures.cpp).
// Each makes the entry itself, for as many places as it asks for: kTrainedPlaces, twice as many, 256.
Measured rise_beyond_training(const Entry& entry);
Measured deviation_from_relative(const Entry& entry);
Measured fall_with_distance(const Entry& entry);

}  // namespace posenc::properties

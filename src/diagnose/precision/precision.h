// In what arithmetic the angles were made, by which of them leaves least.
#pragma once

#include <string>
#include <vector>

#include "diagnose/words/explain.h"

namespace posenc::inline v0_2::port {

struct FoundPrecision {
  std::vector<Steps> as_good;  // that noise does not tell from the best
  std::string words;           // "float32 table"; of several "float64 or float32"
  bool coarse = false;         // all of them are coarser than float32 and than the dtype of `after`
};

FoundPrecision found_precision(const MeasuredTable& measured, const Explanation& explanation);

std::string_view words(Steps steps) noexcept;

}  // namespace posenc::inline v0_2::port

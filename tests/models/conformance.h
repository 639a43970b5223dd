// How far a checkpoint's published numbers are from ours, how far roundings take them, and how far what is spoiled.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/checkpoints.h"
#include "models/model.h"

namespace posenc::test {

// All of a checkpoint's numbers, in the order in which they are published.
Numbers answers(const Published& published, const Model& model, const Setting& setting = {});
Numbers published_answers(const Published& published);

// The root of the mean squared difference.
double rms_difference(const Numbers& a, const Numbers& b);

// How far the roundings of a run in such arithmetic may take its numbers from ours (model_tolerances.h).
double rounding_bound(const Published& published, Roundings arithmetic);

// The largest difference among runs, and what roundings allow it.
struct Measured {
  double difference = 0;
  double bound = 0;
  std::string_view where{};  // the run
};

struct Conformance {
  Measured reference{};
  std::optional<Measured> kernels{};  // on every instruction set; where anything rotates
  struct Spoiled {
    std::string_view name;
    double difference;
  };
  std::vector<Spoiled> spoiled{};
};

Conformance conformance(const Checkpoint& checkpoint, const Published& published);

}  // namespace posenc::test

// What a PreparedInput holds: the scheme, checked; its frequencies; rows of sinusoids. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/input/sine_columns.h"
#include "posenc/add_input.h"
#include "posenc/line_allocator.h"

namespace posenc::cpu {

struct KeptInput {
  InputScheme scheme;
  LearnedInputWeights tables{};  // of LearnedInput
  std::int64_t channels = 0;
  std::int64_t axes = 1;
  double multiplier = 1.0;
  InputCombine combine = InputCombine::add;
  std::optional<SineColumns> sines{};  // of sinusoids, and of an axis of axis_sines

  // Rows of positions start .. start + count - 1, [count, row_floats()].
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::vector<float, LineAllocator<float>> rows{};

  // A row that is made has room for the float that SineColumns may write behind an odd number of channels.
  std::int64_t row_floats() const noexcept { return channels + channels % 2; }
};

struct KeptInputAccess {
  static PreparedInput make(std::unique_ptr<const KeptInput> kept) { return PreparedInput(std::move(kept)); }
  static const KeptInput& kept(const PreparedInput& prepared) { return prepared.kept(); }
};

// Checks a scheme and what is learned of it; without rows. `where`: the call, for errors.
KeptInput keep_input(std::string_view where, const InputScheme& scheme, const InputWeights& weights,
                     std::int64_t channels);

// Which places a scheme serves: of a table those of its rows, of bits as many as there are, else up to 2^53 either way,
// the offset added or not.
struct ServedPlaces {
  double first = 0;
  double last = 0;
  bool whole = false;

  bool has(double place) const noexcept;
};
ServedPlaces served_places(const KeptInput& kept);
// What to say of a place that is not among them: "must ...".
std::string must_be_served(const KeptInput& kept);

// A sinusoid's rows at these places, offset included, [count, row_floats()]; padding rows are 0.
void write_sinusoids(const KeptInput& kept, const kernels::KernelTable& kernels, const double* places,
                     std::int64_t count, float* rows, float* waves);
void write_sinusoids(const KeptInput& kept, const double* places, std::int64_t count, double* rows);

}  // namespace posenc::cpu

// Rows of the input stage (sinusoids, learned tables, integers, binary) of a specimen, through reference::add_input.
#include "properties/input_rows.h"

#include <numeric>
#include <type_traits>
#include <variant>

#include "posenc/error.h"
#include "posenc/reference.h"

namespace posenc::properties {
namespace {

void add(const LearnedInput& scheme, const Specimen& specimen, const reference::InputArgs& args) {
  reference::add_input(scheme, {.positions = specimen.input_table}, args);
}
void add(const SinusoidalInput& scheme, const Specimen&, const reference::InputArgs& args) {
  reference::add_input(scheme, {}, args);
}
void add(const IntegerInput& scheme, const Specimen&, const reference::InputArgs& args) {
  reference::add_input(scheme, args);
}
void add(const BinaryInput& scheme, const Specimen&, const reference::InputArgs& args) {
  reference::add_input(scheme, args);
}

// Of schemes of which there are no specimens.
template <typename Scheme>
constexpr bool kHasRows = !std::is_same_v<Scheme, AxialInput> && !std::is_same_v<Scheme, TileInput> &&
                          !std::is_same_v<Scheme, ConvolutionInput> && !std::is_same_v<Scheme, AxisSinesInput> &&
                          !std::is_same_v<Scheme, FourierInput> && !std::is_same_v<Scheme, PerceptronInput>;

}  // namespace

Rows with_positions(const Specimen& specimen, const Rows& x, const std::vector<std::int64_t>& places,
                    std::int64_t length) {
  if (!specimen.input) return x;
  Rows out = x;
  const reference::InputArgs args{.out = tensor(out.values.data(), {out.count(), out.width}),
                                  .x = tensor(x.values.data(), {x.count(), x.width}),
                                  .positions = std::span(places),
                                  .length = length};
  std::visit(
      [&](const auto& scheme) {
        if constexpr (kHasRows<std::decay_t<decltype(scheme)>>) add(scheme, specimen, args);
      },
      *specimen.input);
  return out;
}

// The scheme added to embeddings of zeros.
Rows position_rows(const Specimen& specimen, std::int64_t count) {
  const std::int64_t channels = specimen.size.channels();
  const Rows nothing{channels, std::vector<double>(static_cast<std::size_t>(count * channels))};
  return with_positions(specimen, nothing, first_places(count), count);
}

std::vector<std::int64_t> first_places(std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace posenc::properties

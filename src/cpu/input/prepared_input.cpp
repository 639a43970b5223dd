// prepare_input() of posenc/add_input.h: checks an input scheme and what is learned of it, once; computes the
// frequencies of sines, and the rows of sinusoids that are to be held.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "cpu/angles/check_table.h"
#include "cpu/call/heads_view.h"
#include "cpu/input/kept_input.h"
#include "cpu/machine/dispatch.h"
#include "math/check/parameter_checks.h"
#include "math/input/sinusoid.h"
#include "posenc/add_input.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Rows that are made at a time: places and waves fit the caches.
constexpr std::int64_t kPreparedRows = 64;

std::string table_shape(const ConstTensorView& view) {
  std::string out = "[";
  for (int axis = 0; axis < view.rank; ++axis) {
    out += formatted("{}{}", axis == 0 ? "" : ", ", view.shape[static_cast<std::size_t>(axis)]);
  }
  return out + "]";
}

// One overload for each scheme: its numbers, then its weights. What is no scheme of this stage's kernels is refused.
class InputCheck {
 public:
  InputCheck(std::string_view where, const InputWeights& weights, KeptInput& kept)
      : where_(where), weights_(weights), kept_(kept) {}

  void operator()(const LearnedInput& scheme) const {
    const auto& weights = weights_of<LearnedInputWeights>("LearnedInputWeights");
    if (kept_.channels == 0 && weights.positions.rank == 2) kept_.channels = weights.positions.shape[1];
    check_numbers(scheme.offset, scheme.embedding_multiplier, scheme.combine);
    check_table("weights.positions", weights.positions);
    if (scheme.positions != 0 && weights.positions.shape[0] != scheme.positions) {
      refuse("weights.positions", formatted("have {} rows", scheme.positions), table_shape(weights.positions));
    }
    if (!weights.token_types.empty()) check_table("weights.token_types", weights.token_types);
    if (scheme.token_types && (weights.token_types.empty() || weights.token_types.shape[0] != *scheme.token_types)) {
      refuse("weights.token_types", formatted("have {} rows", *scheme.token_types), table_shape(weights.token_types));
    }
    kept_.tables = weights;
  }

  void operator()(const SinusoidalInput& scheme) const {
    std::optional<double> scale;
    if (!std::holds_alternative<std::monostate>(weights_)) {
      scale = weights_of<SinusoidalInputWeights>("SinusoidalInputWeights").scale;
    }
    check_numbers(scheme.offset, scheme.embedding_multiplier, scheme.combine);
    if (scheme.convention > SinusoidConvention::xlnet) {
      refuse("scheme.convention", "be one of the conventions", formatted("{}", static_cast<int>(scheme.convention)));
    }
    if (auto problem = math::check_sinusoid_channels(scheme.convention, kept_.channels)) throw Error(where_, *problem);
    if (scale.has_value() != scheme.learned_scale) {
      refuse("weights.scale", scheme.learned_scale ? "be given to a scheme with a learned scale" : "be omitted for it",
             scale ? "given" : "omitted");
    }
    if (scale && !math::fits_float(*scale)) {
      refuse("weights.scale", formatted("be {}", math::kFitsFloat), formatted("{}", *scale));
    }
    kept_.sines = SineColumns::of(scheme, kept_.channels, scale.value_or(1.0));
  }

  void operator()(const IntegerInput& scheme) const { check_fixed(scheme); }
  void operator()(const BinaryInput& scheme) const { check_fixed(scheme); }

  void operator()(const AxisSinesInput& scheme) const {
    require_no_weights();
    if (auto problem = math::check_channels(kept_.channels)) throw Error(where_, *problem);
    if (scheme.learned_map) {
      refuse("scheme.learned_map", "be false: what is added otherwise is made of the sines by a perceptron", "true");
    }
    if (scheme.axes.empty()) refuse("scheme.axes", "name an axis", "empty");
    const std::int64_t step = 2 * std::ssize(scheme.axes);
    if (kept_.channels % step != 0) {
      refuse("channels", formatted("be a multiple of {}", step), formatted("{}", kept_.channels));
    }
    for (const auto& [field, value] :
         {std::pair<const char*, double>{"scheme.scale", scheme.scale}, {"scheme.offset", scheme.offset}}) {
      if (!std::isfinite(value)) refuse(field, "be finite", formatted("{}", value));
    }
    // Frequencies are w_k = base^(-2k/m), from 1 to nearly 1/base: none may be beyond what an angle can be.
    if (!(scheme.base >= 1 / kLargest && std::isfinite(scheme.base))) {
      refuse("scheme.base", "be finite and at least 2^-53", formatted("{}", scheme.base));
    }
    kept_.axes = std::ssize(scheme.axes);
    kept_.sines = SineColumns::of(scheme, kept_.channels);
  }

  void operator()(const AxialInput&) const { refuse_scheme("an axial one, whose tables the model's own code adds"); }
  void operator()(const TileInput&) const { refuse_scheme("one of tiles, which the model's own code gates"); }
  void operator()(const ConvolutionInput&) const { refuse_scheme("a convolution, which the model computes"); }
  void operator()(const FourierInput&) const { refuse_scheme("one of Fourier features, of the model's own matrix"); }
  void operator()(const PerceptronInput&) const { refuse_scheme("a perceptron, which the model computes"); }

 private:
  [[noreturn]] [[gnu::cold]] void refuse(std::string field, std::string must, std::string is) const {
    throw Error(where_, {std::move(field), std::move(must), std::move(is)});
  }
  [[noreturn]] [[gnu::cold]] void refuse_scheme(const char* is) const {
    refuse("scheme", "be learned, sinusoidal, integer, binary or axis_sines", is);
  }

  template <typename Weights>
  const Weights& weights_of(const char* name) const {
    const auto* const given = std::get_if<Weights>(&weights_);
    if (given == nullptr) {
      refuse("weights", formatted("be {}", name),
             std::holds_alternative<std::monostate>(weights_) ? "omitted" : "of another scheme");
    }
    return *given;
  }
  void require_no_weights() const {
    if (std::holds_alternative<std::monostate>(weights_)) return;
    refuse("weights", "be omitted for a scheme of which nothing is learned", "given");
  }

  void check_numbers(std::int64_t offset, double multiplier, InputCombine combine) const {
    if (!(std::abs(static_cast<double>(offset)) <= kLargest)) {
      refuse("scheme.offset", "be within 2^53 of 0", formatted("{}", offset));
    }
    if (!math::fits_float(multiplier)) {
      refuse("scheme.embedding_multiplier", formatted("be {}", math::kFitsFloat), formatted("{}", multiplier));
    }
    if (combine > InputCombine::multiply) {
      refuse("scheme.combine", "be add or multiply", formatted("{}", static_cast<int>(combine)));
    }
    kept_.multiplier = multiplier;
    kept_.combine = combine;
  }

  template <typename Fixed>
  void check_fixed(const Fixed& scheme) const {
    require_no_weights();
    check_numbers(scheme.offset, scheme.embedding_multiplier, scheme.combine);
    if (auto problem = math::check_channels(kept_.channels)) throw Error(where_, *problem);
  }

  // [rows, channels], of any dtype, whose channels are adjacent.
  void check_table(const char* field, const ConstTensorView& table) const {
    if (table.rank != 2 || table.shape[1] != kept_.channels || table.shape[0] < 0) {
      refuse(field, formatted("be [rows, {}]", kept_.channels), table_shape(table));
    }
    if (auto problem = math::check_channels(kept_.channels)) throw Error(where_, *problem);
    if (table.dtype > DType::f64) {
      refuse(formatted("{}.dtype", field), "be f32, f16, bf16 or f64", std::string(name(table.dtype)));
    }
    if (table.strides[1] != 1 && kept_.channels > 1) {
      refuse(formatted("{}.strides[1]", field), "be 1, since channels of a row are adjacent,",
             formatted("{}", table.strides[1]));
    }
    if (table.shape[0] == 0) return;
    if (table.data == nullptr) refuse(formatted("{}.data", field), "point to the elements", "null");
    if (!is_aligned(table)) {
      refuse(formatted("{}.data", field), formatted("be aligned to its elements, {} bytes,", bytes_of(table.dtype)),
             "between two");
    }
    (void)memory_of(where_, field, table);  // strides reach less than 2^63 bytes
  }

  std::string_view where_;
  const InputWeights& weights_;
  KeptInput& kept_;
};

// fairseq's padding_idx, the row before the first of a table with an offset.
bool has_padding(const KeptInput& kept) {
  const auto* const scheme = std::get_if<SinusoidalInput>(&kept.scheme);
  return scheme != nullptr && scheme->convention == SinusoidConvention::tensor2tensor && scheme->offset > 0;
}

// The first and last place, offset added or not, whose magnitude is at most 2^53.
ServedPlaces up_to_largest(std::int64_t offset) {
  const auto add = static_cast<double>(offset);
  return {std::max(-kLargest, -kLargest - add), std::min(kLargest, kLargest - add), false};
}

// Of `rows` rows of which place + offset is one.
ServedPlaces of_rows(double rows, std::int64_t offset) {
  const auto add = static_cast<double>(offset);
  return {0 - add, rows - 1 - add, true};
}

double offset_of(const KeptInput& kept) { return static_cast<double>(std::get<SinusoidalInput>(kept.scheme).offset); }

template <typename T>
void clear_padding(const KeptInput& kept, const double* places, std::int64_t count, T* rows) {
  if (!has_padding(kept)) return;
  for (std::int64_t t = 0; t < count; ++t) {
    if (places[t] == offset_of(kept) - 1) std::fill_n(rows + t * kept.row_floats(), kept.channels, T{0});
  }
}

}  // namespace

KeptInput keep_input(std::string_view where, const InputScheme& scheme, const InputWeights& weights,
                     std::int64_t channels) {
  if (channels < 0) throw Error(where, {"channels", "be at least 0", formatted("{}", channels)});
  KeptInput kept{.scheme = scheme, .channels = channels};
  std::visit(InputCheck(where, weights, kept), scheme);
  return kept;
}

bool ServedPlaces::has(double place) const noexcept {
  return place >= first && place <= last && (!whole || place == std::floor(place));
}

ServedPlaces served_places(const KeptInput& kept) {
  if (const auto* const of = std::get_if<LearnedInput>(&kept.scheme)) {
    return of_rows(static_cast<double>(kept.tables.positions.shape[0]), of->offset);
  }
  if (const auto* const of = std::get_if<SinusoidalInput>(&kept.scheme)) {
    return of->positions ? of_rows(static_cast<double>(*of->positions), of->offset) : up_to_largest(of->offset);
  }
  if (const auto* const of = std::get_if<IntegerInput>(&kept.scheme)) return up_to_largest(of->offset);
  if (const auto* const of = std::get_if<BinaryInput>(&kept.scheme)) {
    // Beyond 53 bits no place is served that a double does not hold.
    const double rows = std::ldexp(1.0, static_cast<int>(std::min<std::int64_t>(kept.channels, 53)));
    return of_rows(rows, of->offset);
  }
  return {-kLargest, kLargest, false};
}

std::string must_be_served(const KeptInput& kept) {
  const auto of_table = [](double rows, std::int64_t offset) {
    return formatted("find one of the table's {} rows, position + {},", rows, offset);
  };
  if (const auto* const of = std::get_if<LearnedInput>(&kept.scheme)) {
    return of_table(static_cast<double>(kept.tables.positions.shape[0]), of->offset);
  }
  const auto* const sinusoid = std::get_if<SinusoidalInput>(&kept.scheme);
  if (sinusoid != nullptr && sinusoid->positions) {
    return of_table(static_cast<double>(*sinusoid->positions), sinusoid->offset);
  }
  const ServedPlaces served = served_places(kept);
  return formatted("{}lie from {} to {}, which the scheme serves,", served.whole ? "be whole and " : "", served.first,
                   served.last);
}

void write_sinusoids(const KeptInput& kept, const kernels::KernelTable& kernels, const double* places,
                     std::int64_t count, float* rows, float* waves) {
  kept.sines->write(kernels, places, count, rows, kept.row_floats(), waves);
  clear_padding(kept, places, count, rows);
}

void write_sinusoids(const KeptInput& kept, const double* places, std::int64_t count, double* rows) {
  kept.sines->write(places, count, rows, kept.row_floats());
  clear_padding(kept, places, count, rows);
}

}  // namespace posenc::cpu

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kPrepareInput = "prepare_input";

void check_held(const cpu::KeptInput& kept, const PrepareInputOptions& options) {
  cpu::check_range(kPrepareInput, options.start, options.count);
  const cpu::ServedPlaces served = cpu::served_places(kept);
  for (const std::int64_t place : {options.start, options.start + options.count - 1}) {
    if (options.count == 0 || served.has(static_cast<double>(place))) continue;
    throw Error(kPrepareInput, {"start .. start + count - 1", cpu::must_be_served(kept), formatted("{}", place)});
  }
  const std::int64_t most =
      std::max<std::int64_t>(options.max_bytes, 0) / (kept.row_floats() * static_cast<std::int64_t>(sizeof(float)));
  if (options.count > most) {
    throw Error(kPrepareInput, {"count", formatted("be at most {} (max_bytes {})", most, options.max_bytes),
                                formatted("{}", options.count)});
  }
}

void hold_rows(cpu::KeptInput& kept, const PrepareInputOptions& options) {
  const kernels::KernelTable& kernels = cpu::kernels_for(kPrepareInput, options.isa);
  kept.start = options.start;
  kept.count = options.count;
  kept.rows.resize(static_cast<std::size_t>(kept.count * kept.row_floats()));
  const auto offset = static_cast<double>(std::get<SinusoidalInput>(kept.scheme).offset);
  std::array<double, cpu::kPreparedRows> places{};
  std::vector<float> waves(static_cast<std::size_t>(cpu::kPreparedRows * kept.sines->wave_floats()));
  for (std::int64_t first = 0; first < kept.count; first += cpu::kPreparedRows) {
    const std::int64_t count = std::min(cpu::kPreparedRows, kept.count - first);
    for (std::int64_t t = 0; t < count; ++t) {
      places[static_cast<std::size_t>(t)] = static_cast<double>(kept.start + first + t) + offset;
    }
    cpu::write_sinusoids(kept, kernels, places.data(), count, kept.rows.data() + first * kept.row_floats(),
                         waves.data());
  }
}

}  // namespace

PreparedInput::PreparedInput(std::unique_ptr<const cpu::KeptInput> kept) noexcept : kept_(std::move(kept)) {}
PreparedInput::PreparedInput(PreparedInput&&) noexcept = default;
PreparedInput& PreparedInput::operator=(PreparedInput&&) noexcept = default;
PreparedInput::~PreparedInput() = default;

const cpu::KeptInput& PreparedInput::kept() const {
  if (kept_ == nullptr) throw Error("PreparedInput", {"", "hold a scheme", "moved from"});
  return *kept_;
}

const InputScheme& PreparedInput::scheme() const { return kept().scheme; }
std::int64_t PreparedInput::channels() const { return kept().channels; }
std::int64_t PreparedInput::axes() const { return kept().axes; }
std::int64_t PreparedInput::start() const { return kept().start; }
std::int64_t PreparedInput::count() const { return kept().count; }
std::int64_t PreparedInput::bytes() const { return std::ssize(kept().rows) * static_cast<std::int64_t>(sizeof(float)); }

PreparedInput prepare_input(const InputScheme& scheme, const InputWeights& weights,
                            const PrepareInputOptions& options) {
  auto kept = std::make_unique<cpu::KeptInput>(cpu::keep_input(kPrepareInput, scheme, weights, options.channels));
  (void)cpu::kernels_for(kPrepareInput, options.isa);
  if (std::holds_alternative<SinusoidalInput>(scheme)) {
    check_held(*kept, options);
    if (options.count > 0) hold_rows(*kept, options);
  } else {
    cpu::check_range(kPrepareInput, options.start, options.count);
  }
  return cpu::KeptInputAccess::make(std::move(kept));
}

}  // namespace posenc::inline v0_2

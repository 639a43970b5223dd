// Rows of a few tokens, found or made: of a table a pointer, where its dtype is one that the kernel reads beside x;
// sines by the angle kernel, or of f64 by the C library; integers and bits as they are (math/input lists the formulas).
#include "cpu/input/input_block.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "cpu/call/heads_view.h"
#include "cpu/call/row_floats.h"

namespace posenc::cpu {
namespace {

const void* row_at(const ConstTensorView& table, std::int64_t row) {
  return static_cast<const char*>(table.data) + row * table.strides[0] * bytes_of(table.dtype);
}

// What rows are read as: the tables' dtype where the kernel reads it (that of x, or f32 beside f32, f16 and bf16), else
// T, converted.
template <typename T>
DType read_as(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) {
  const DType made = std::is_same_v<T, double> ? DType::f64 : DType::f32;
  if (!std::holds_alternative<LearnedInput>(kept.scheme)) return made;
  const DType table = kept.tables.positions.dtype;
  if (!args.token_types.empty() && kept.tables.token_types.dtype != table) return made;
  return table == call.dtype ? table : made;
}

// Rows are converted where they are not read as they stand.
bool converts(const ConstTensorView& table, DType as) { return table.dtype != as; }

template <typename T>
bool makes_rows(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) {
  if (!std::holds_alternative<LearnedInput>(kept.scheme)) return true;
  const DType as = read_as<T>(kept, args, call);
  return converts(kept.tables.positions, as) || (!args.token_types.empty() && converts(kept.tables.token_types, as));
}

// Whether the rows of all positions are held.
bool holds_all(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) {
  if (kept.count == 0) return false;
  const auto is_held = [&](double place) {
    const double row = place - static_cast<double>(kept.start);
    return row >= 0 && row < static_cast<double>(kept.count) && row == std::floor(row);
  };
  return std::visit(
      [&](const auto& given) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const auto first = static_cast<double>(given.start);
          return is_held(first) && is_held(first + static_cast<double>(call.rows - 1));
        } else {
          return std::ranges::all_of(given, [&](auto place) { return is_held(static_cast<double>(place)); });
        }
      },
      args.positions);
}

std::int64_t wave_floats(const KeptInput& kept) { return kept.sines ? kept.sines->wave_floats() : 0; }

}  // namespace

template <typename T>
std::int64_t InputBlock<T>::rows(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) noexcept {
  const std::int64_t of_unit = kUnitBytes / (kept.channels * call.element_bytes);
  const std::int64_t that_fit = makes_rows<T>(kept, args, call) ? kAim / kept.row_floats() : kRows;
  return std::clamp<std::int64_t>(std::min(of_unit, that_fit), 1, kRows);
}

template <typename T>
bool InputBlock<T>::makes(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) noexcept {
  if (!makes_rows<T>(kept, args, call)) return false;
  return std::is_same_v<T, double> || !holds_all(kept, args, call);
}

template <typename T>
bool InputBlock<T>::allocates(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) noexcept {
  return kept.axes > kAxes || (makes_rows<T>(kept, args, call) && kept.row_floats() > kCapacity);
}

template <typename T>
InputBlock<T>::InputBlock(const KeptInput& kept, const AddInputArgs& args, const InputCall& call,
                          const kernels::KernelTable& kernels)
    : kept_(kept),
      args_(args),
      call_(call),
      kernels_(kernels),
      row_dtype_(read_as<T>(kept, args, call)),
      made_(makes_rows<T>(kept, args, call) ? rows(kept, args, call) * kept.row_floats() : 0),
      made_types_(!args.token_types.empty() && makes_rows<T>(kept, args, call)
                      ? rows(kept, args, call) * kept.row_floats()
                      : 0),
      waves_(std::is_same_v<T, float> ? rows(kept, args, call) * wave_floats(kept) : 0),
      places_(kept.axes * kRows) {}

// Counted positions start anew in each packed sequence.
template <typename T>
void InputBlock<T>::place_rows(std::int64_t member, std::int64_t first, std::int64_t count) {
  double* const places = places_.data();
  std::visit(
      [&](const auto& given) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::span<const std::int32_t> bounds = args_.cu_seqlens;
          auto next = std::ranges::upper_bound(bounds, first);
          std::int64_t begin = next == bounds.begin() ? 0 : next[-1];
          for (std::int64_t t = 0; t < count; ++t) {
            while (next != bounds.end() && *next <= first + t) begin = *next++;
            places[t] = static_cast<double>(given.start + (first + t - begin));
          }
          for (std::int64_t axis = 1; axis < kept_.axes; ++axis) std::copy_n(places, count, places + axis * kRows);
        } else {
          const auto* const from = given.data() + (call_.shared_positions ? 0 : member * call_.rows) + first;
          for (std::int64_t axis = 0; axis < kept_.axes; ++axis) {
            for (std::int64_t t = 0; t < count; ++t) {
              places[axis * kRows + t] = static_cast<double>(from[axis * call_.axis_stride + t]);
            }
          }
        }
      },
      args_.positions);
}

template <typename T>
void InputBlock<T>::fill_positions(std::int64_t member, std::int64_t first, std::int64_t count) {
  place_rows(member, first, count);
  std::visit([&](const auto& scheme) { make(scheme, count); }, kept_.scheme);
}

template <typename T>
void InputBlock<T>::fill_types(std::int64_t member, std::int64_t first, std::int64_t count) {
  if (args_.token_types.empty()) return;
  const std::int64_t* const from = args_.token_types.data() + (call_.shared_types ? 0 : member * call_.rows) + first;
  for (std::int64_t t = 0; t < count; ++t) {
    types_[static_cast<std::size_t>(t)] =
        row_of(kept_.tables.token_types, from[t], made_types_.data() + t * kept_.row_floats());
  }
}

template <typename T>
const void* InputBlock<T>::row_of(const ConstTensorView& table, std::int64_t row, T* made) const {
  const void* const at = row_at(table, row);
  if (!converts(table, row_dtype_)) return at;
  if (table.dtype == DType::f64) {
    std::transform(static_cast<const double*>(at), static_cast<const double*>(at) + kept_.channels, made,
                   [](double x) { return static_cast<T>(x); });
    return made;
  }
  if constexpr (std::is_same_v<T, float>) {
    read_floats(kernels_, element_of(table.dtype), at, kept_.channels, made);
  } else {
    // By pieces, each as floats first.
    std::array<float, 256> piece;
    for (std::int64_t c = 0; c < kept_.channels; c += std::ssize(piece)) {
      const std::int64_t some = std::min<std::int64_t>(std::ssize(piece), kept_.channels - c);
      read_floats(kernels_, element_of(table.dtype), static_cast<const char*>(at) + c * bytes_of(table.dtype), some,
                  piece.data());
      std::copy_n(piece.data(), some, made + c);
    }
  }
  return made;
}

template <typename T>
void InputBlock<T>::make(const LearnedInput& scheme, std::int64_t count) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t row = static_cast<std::int64_t>(places_.data()[t]) + scheme.offset;
    positions_[static_cast<std::size_t>(t)] = row_of(kept_.tables.positions, row, made_row(t));
  }
}

// Held rows are floats, so f64 makes its own.
template <typename T>
void InputBlock<T>::make(const SinusoidalInput& scheme, std::int64_t count) {
  double* const places = places_.data();
  std::int64_t missing = 0;
  const auto start = static_cast<double>(kept_.start);
  for (std::int64_t t = 0; t < count; ++t) {
    const double row = places[t] - start;
    if (std::is_same_v<T, float> && row >= 0 && row < static_cast<double>(kept_.count) && row == std::floor(row)) {
      positions_[static_cast<std::size_t>(t)] = kept_.rows.data() + static_cast<std::int64_t>(row) * kept_.row_floats();
      continue;
    }
    positions_[static_cast<std::size_t>(t)] = made_row(missing);
    places[missing++] = places[t] + static_cast<double>(scheme.offset);
  }
  if (missing == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    write_sinusoids(kept_, kernels_, places, missing, made_.data(), waves_.data());
  } else {
    write_sinusoids(kept_, places, missing, made_.data());
  }
}

template <typename T>
void InputBlock<T>::make(const IntegerInput& scheme, std::int64_t count) {
  for (std::int64_t t = 0; t < count; ++t) {
    const double number = places_.data()[t] + static_cast<double>(scheme.offset);
    std::fill_n(made_row(t), kept_.channels, static_cast<T>(number / call_.length));
    positions_[static_cast<std::size_t>(t)] = made_row(t);
  }
}

// The highest bit first.
template <typename T>
void InputBlock<T>::make(const BinaryInput& scheme, std::int64_t count) {
  constexpr std::int64_t kBits = 63;
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t number = static_cast<std::int64_t>(places_.data()[t]) + scheme.offset;
    T* const row = made_row(t);
    std::fill_n(row, kept_.channels, T{0});
    for (std::int64_t bit = 0; bit < std::min(kept_.channels, kBits); ++bit) {
      row[kept_.channels - 1 - bit] = static_cast<T>((number >> bit) & 1);
    }
    positions_[static_cast<std::size_t>(t)] = row;
  }
}

template <typename T>
void InputBlock<T>::make(const AxisSinesInput& scheme, std::int64_t count) {
  for (std::int64_t axis = 0; axis < kept_.axes; ++axis) {
    double* const x = places_.data() + axis * kRows;
    const double length = scheme.normalised ? args_.lengths[static_cast<std::size_t>(axis)] : 1.0;
    for (std::int64_t t = 0; t < count; ++t) x[t] = scaled_coordinate(scheme, x[t], length);
    T* const columns = made_.data() + axis * kept_.sines->width();
    if constexpr (std::is_same_v<T, float>) {
      kept_.sines->write(kernels_, x, count, columns, kept_.row_floats(), waves_.data());
    } else {
      kept_.sines->write(x, count, columns, kept_.row_floats());
    }
  }
  for (std::int64_t t = 0; t < count; ++t) positions_[static_cast<std::size_t>(t)] = made_row(t);
}

template class InputBlock<float>;
template class InputBlock<double>;

}  // namespace posenc::cpu

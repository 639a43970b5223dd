// Checks of add_input: x and where it is read from, positions counted or listed, token types, lengths, packed
// sequences. Every position and token type must have a row.
#include "cpu/input/check_add_input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/angles/check_table.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/tensor_memory.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Beside an axis without cells; the models' own, arXiv 2005.12872.
constexpr double kBesideNoCells = 1e-6;

std::string sizes_of(const ConstTensorView& view) {
  std::string out = "[";
  for (int axis = 0; axis < view.rank; ++axis) {
    out += formatted("{}{}", axis == 0 ? "" : ", ", view.shape[static_cast<std::size_t>(axis)]);
  }
  return out + "]";
}

bool are_same_places(const ConstTensorView& a, const ConstTensorView& b) {
  if (a.data != b.data) return false;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(a.rank); ++axis) {
    if (a.shape[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

class AddInputCheck {
 public:
  AddInputCheck(std::string_view where, const KeptInput& kept, const AddInputArgs& args, InputCall& call)
      : where_(where), kept_(kept), args_(args), call_(call) {}

  void run() {
    check_parallel(where_, args_.parallel);
    check_shape("x", args_.x);
    check_from();
    call_.dtype = args_.x.dtype;
    call_.element_bytes = bytes_of(args_.x.dtype);
    const bool has_batch = args_.x.rank == 3;
    call_.batch = has_batch ? args_.x.shape[0] : 1;
    call_.rows = args_.x.shape[has_batch ? 1 : 0];
    check_count();
    check_sequences();
    check_lengths();
    std::visit([&](const auto& given) { check_positions(given); }, args_.positions);
    check_types();
    if (call_.batch * call_.rows > 0) check_memory();
  }

 private:
  [[noreturn]] [[gnu::cold]] void refuse(std::string field, std::string must, std::string is) const {
    throw Error(where_, {std::move(field), std::move(must), std::move(is)});
  }

  void check_shape(const char* field, const ConstTensorView& view) const {
    if (view.rank != 2 && view.rank != 3) {
      refuse(field, "be [tokens, channels] or [batch, tokens, channels]", sizes_of(view));
    }
    if (view.dtype > DType::f64) {
      refuse(formatted("{}.dtype", field), "be f32, f16, bf16 or f64", std::string(name(view.dtype)));
    }
    const auto last = static_cast<std::size_t>(view.rank - 1);
    for (std::size_t axis = 0; axis < last; ++axis) {
      if (view.shape[axis] >= 0) continue;
      refuse(formatted("{}.shape[{}]", field, axis), "be at least 0", formatted("{}", view.shape[axis]));
    }
    if (view.shape[last] != kept_.channels) {
      refuse(formatted("{}.shape[{}]", field, last), formatted("be the {} channels of the input", kept_.channels),
             formatted("{}", view.shape[last]));
    }
    if (view.strides[last] != 1 && kept_.channels > 1) {
      refuse(formatted("{}.strides[{}]", field, last), "be 1, since channels of a row are adjacent,",
             formatted("{}", view.strides[last]));
    }
  }

  void check_from() const {
    if (args_.x_from.empty()) return;
    check_shape("x_from", args_.x_from);
    if (args_.x_from.rank != args_.x.rank || args_.x_from.shape != args_.x.shape) {
      refuse("x_from.shape", formatted("be that of x, {},", sizes_of(args_.x)), sizes_of(args_.x_from));
    }
    if (args_.x_from.dtype != args_.x.dtype) {
      refuse("x_from.dtype", formatted("be that of x, {},", name(args_.x.dtype)),
             std::string(name(args_.x_from.dtype)));
    }
  }

  void check_count() const {
    std::int64_t all = 0;
    if (__builtin_mul_overflow(call_.batch, call_.rows, &all) || __builtin_mul_overflow(all, kept_.axes, &all)) {
      refuse("x.shape", "have fewer than 2^63 positions", "larger");
    }
  }

  // cu_seqlens begins with 0, ascends, and ends with the number of tokens.
  void check_sequences() const {
    const std::span<const std::int32_t> bounds = args_.cu_seqlens;
    if (bounds.empty()) return;
    if (args_.x.rank == 3) {
      refuse("cu_seqlens", "be omitted for x of rank 3, whose batch are sequences,", "given");
    }
    for (std::size_t s = 0; s < bounds.size(); ++s) {
      const std::int32_t least = s == 0 ? 0 : bounds[s - 1];
      if (bounds[s] >= least && (s > 0 || bounds[s] == 0)) continue;
      refuse(formatted("cu_seqlens[{}]", s), s == 0 ? "be 0" : formatted("be at least {}, the one before,", least),
             formatted("{}", bounds[s]));
    }
    if (bounds.back() == call_.rows) return;
    refuse(formatted("cu_seqlens[{}]", bounds.size() - 1), formatted("be the number of tokens, {},", call_.rows),
           formatted("{}", bounds.back()));
  }

  // Of integers and of axes, normalised: what coordinates are divided by.
  void check_lengths() {
    const auto* const integer = std::get_if<IntegerInput>(&kept_.scheme);
    if (integer != nullptr && integer->normalised) {
      if (!args_.length && !args_.cu_seqlens.empty()) {
        refuse("length", "be given where cu_seqlens are and integers are normalised", "omitted");
      }
      const std::int64_t length = args_.length.value_or(call_.rows);
      if (length < 1 && call_.batch * call_.rows > 0) refuse("length", "be at least 1", formatted("{}", length));
      call_.length = static_cast<double>(length);
    }
    const auto* const axes = std::get_if<AxisSinesInput>(&kept_.scheme);
    const std::size_t needed = axes != nullptr && axes->normalised ? axes->axes.size() : 0;
    if (args_.lengths.size() != needed) {
      refuse("lengths", formatted("have {} entries for this scheme", needed),
             formatted("{} long", args_.lengths.size()));
    }
    for (std::size_t a = 0; a < needed; ++a) {
      if (std::isfinite(args_.lengths[a]) && args_.lengths[a] > 0) continue;
      refuse(formatted("lengths[{}]", a), "be finite and above 0", formatted("{}", args_.lengths[a]));
    }
  }

  // A position is compared as a double with what is served; index -1 stands for a PositionRange.
  template <typename Position>
  void check_position(const ServedPlaces& served, Position position, std::int64_t axis, std::int64_t index) const {
    const auto x = static_cast<double>(position);
    bool is_served = served.has(x);
    if constexpr (sizeof(Position) == 8 && std::is_integral_v<Position>) {
      is_served = is_served && static_cast<Position>(x) == position;  // 2^53 + 1 is 2^53 as a double
    }
    const std::string field = is_served ? "" : index < 0 ? "positions" : formatted("positions[{}]", index);
    if (!is_served) refuse(field, must_be_served(kept_), formatted("{}", position));
    const auto* const axes = std::get_if<AxisSinesInput>(&kept_.scheme);
    if (axes == nullptr) return;
    const double length = axes->normalised ? args_.lengths[static_cast<std::size_t>(axis)] : 1.0;
    if (std::abs(scaled_coordinate(*axes, x, length)) <= kept_.sines->largest()) return;
    refuse(index < 0 ? "positions" : formatted("positions[{}]", index), "give angles of at most 2^53 radians",
           formatted("{}", position));
  }

  // Of a position and a number of tokens; what overflows is beyond every scheme.
  static std::int64_t sum(std::int64_t start, std::int64_t tokens) {
    std::int64_t out = 0;
    return __builtin_add_overflow(start, tokens, &out) ? std::numeric_limits<std::int64_t>::max() : out;
  }

  // Counted positions go up by 1, and what is served is one range: the first and the last are enough.
  void check_positions(PositionRange range) {
    call_.shared_positions = true;
    std::int64_t longest = call_.rows;
    if (!args_.cu_seqlens.empty()) {
      longest = 0;
      for (std::size_t s = 1; s < args_.cu_seqlens.size(); ++s) {
        longest = std::max<std::int64_t>(longest, args_.cu_seqlens[s] - args_.cu_seqlens[s - 1]);
      }
    }
    if (longest == 0 || call_.batch == 0) return;
    const ServedPlaces served = served_places(kept_);
    for (std::int64_t axis = 0; axis < kept_.axes; ++axis) {
      check_position(served, range.start, axis, -1);
      check_position(served, sum(range.start, longest - 1), axis, -1);
    }
  }

  template <typename Position>
  void check_positions(std::span<const Position> given) {
    const std::int64_t all = call_.batch * call_.rows;
    call_.shared_positions = std::ssize(given) == kept_.axes * call_.rows;
    if (!call_.shared_positions && std::ssize(given) != kept_.axes * all) {
      refuse("positions",
             formatted("have one entry for each of {} axes and {} tokens, {},", kept_.axes, all, kept_.axes * all),
             formatted("{} long", given.size()));
    }
    call_.axis_stride = call_.shared_positions ? call_.rows : all;
    const ServedPlaces served = served_places(kept_);
    for (std::int64_t axis = 0; axis < kept_.axes && all > 0; ++axis) {
      for (std::int64_t t = 0; t < call_.axis_stride; ++t) {
        const std::int64_t index = axis * call_.axis_stride + t;
        check_position(served, given[static_cast<std::size_t>(index)], axis, index);
      }
    }
  }

  void check_types() {
    const std::span<const std::int64_t> types = args_.token_types;
    const auto* const learned = std::get_if<LearnedInput>(&kept_.scheme);
    const std::int64_t all = call_.batch * call_.rows;
    call_.shared_types = true;
    if (types.empty()) {
      if (learned == nullptr || !learned->token_types || all == 0) return;
      refuse("token_types", formatted("be given, as the scheme adds one of {} rows,", *learned->token_types), "empty");
    }
    if (learned == nullptr || kept_.tables.token_types.empty()) {
      refuse("token_types", "be omitted for an input without a table of them", "given");
    }
    call_.shared_types = std::ssize(types) == call_.rows;
    if (!call_.shared_types && std::ssize(types) != all) {
      refuse("token_types", formatted("have one for each of {} tokens", all), formatted("{} long", types.size()));
    }
    const std::int64_t rows = kept_.tables.token_types.shape[0];
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (types[t] >= 0 && types[t] < rows) continue;
      refuse(formatted("token_types[{}]", t), formatted("be at least 0 and below {}", rows), formatted("{}", types[t]));
    }
  }

  void check_data(const char* field, const ConstTensorView& view) const {
    if (view.data == nullptr) refuse(formatted("{}.data", field), "point to the elements", "null");
    if (is_aligned(view)) return;
    refuse(formatted("{}.data", field), formatted("be aligned to its elements, {} bytes,", bytes_of(view.dtype)),
           "between two");
  }

  // Elements that are written have places of their own, and none of them is read elsewhere.
  void check_memory() {
    const ConstTensorView x = args_.x;
    const ConstTensorView from = args_.x_from.empty() ? x : args_.x_from;
    check_data("x", x);
    check_data("x_from", from);
    const Memory written = memory_of(where_, "x", x);
    check_places(where_, "x", written);
    if (!are_same_places(x, from) && !are_disjoint(written, memory_of(where_, "x_from", from))) {
      refuse("x_from", "be x itself or share no element with it", "overlapping");
    }
    for (const auto& [field, table] :
         {std::pair<const char*, const ConstTensorView&>{"weights.positions", kept_.tables.positions},
          {"weights.token_types", kept_.tables.token_types}}) {
      if (table.empty() || table.shape[0] == 0) continue;
      if (!are_disjoint(written, memory_of(where_, field, table))) {
        refuse(field, "share no element with x", "overlapping");
      }
    }
    const auto stride = [](const ConstTensorView& view, int axis) {
      const auto a = static_cast<std::size_t>(axis);
      return axis >= 0 && view.shape[a] > 1 ? view.strides[a] : 0;
    };
    call_.from = from.data;
    call_.to = args_.x.data;
    call_.from_batch = stride(from, x.rank - 3);
    call_.to_batch = stride(x, x.rank - 3);
    call_.from_row = stride(from, x.rank - 2);
    call_.to_row = stride(x, x.rank - 2);
  }

  std::string_view where_;
  const KeptInput& kept_;
  const AddInputArgs& args_;
  InputCall& call_;
};

}  // namespace

InputCall check_add_input(std::string_view where, const KeptInput& kept, const AddInputArgs& args) {
  InputCall call;
  AddInputCheck(where, kept, args, call).run();
  return call;
}

double scaled_coordinate(const AxisSinesInput& scheme, double coordinate, double length) noexcept {
  const double cells = scheme.normalised ? length + kBesideNoCells : 1.0;
  return scheme.scale * (coordinate + scheme.offset) / cells;
}

}  // namespace posenc::cpu

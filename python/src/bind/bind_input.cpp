// The input stage: rows, places, tables that grow, and what is added to embeddings; position ids of images and videos.
// input_row, places and grow_table (input.h), reference.add_input, grid_positions (grid_positions.h). Numbers here are
// doubles and lists; the fast call is in bind_add_input.cpp.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>

#include "arrays/arrays.h"
#include "describe/describe_input.h"
#include "describe/describe_schemes.h"
#include "describe/held_type.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/reference.h"
#include "whole.h"

namespace posenc::python {
namespace {

using LengthArgument = std::optional<std::int64_t>;

// ---- rows and places ----

// An overload for each scheme with fixed rows. place: a float, but for BinaryInput, whose bits need a whole number.
struct Row {
  std::int64_t channels;
  nb::handle place;
  nb::handle length;

  double at() const { return Convert<double>::from_python(place, {"input_row", "place"}); }
  std::vector<double> operator()(const SinusoidalInput& of) const { return input_row(of, channels, at()); }
  std::vector<double> operator()(const IntegerInput& of) const {
    return input_row(of, channels, at(), Convert<LengthArgument>::from_python(length, {"input_row", "length"}));
  }
  std::vector<double> operator()(const BinaryInput& of) const {
    return input_row(of, channels, Convert<std::int64_t>::from_python(place, {"input_row", "place"}));
  }
};

nb::object row_call(nb::handle scheme, Whole<"input_row", "channels"> channels, nb::handle place, nb::handle length) {
  using Fixed = std::variant<SinusoidalInput, IntegerInput, BinaryInput>;
  const Fixed fixed = Convert<Fixed>::from_python(scheme, {"input_row", "scheme"});
  return Convert<std::vector<double>>::to_python(std::visit(Row{channels, place, length}, fixed), {});
}

using Coordinates = std::vector<double>;

nb::object axis_row_call(const AxisSinesInput& scheme, std::int64_t channels, nb::handle place, nb::handle lengths) {
  const Coordinates at = Convert<Coordinates>::from_python(place, {"input_row", "place"});
  const Coordinates cells = Convert<Coordinates>::from_python(lengths, {"input_row", "lengths"});
  return Convert<Coordinates>::to_python(input_row(scheme, channels, at, cells), {});
}

// mask: truth values, one for each token (padding is false); any iterable, so lists of a tokenizer do.
nb::object places_call(nb::handle mask, Whole<"places", "past"> past, Whole<"places", "masked"> masked) {
  if (!nb::isinstance<nb::iterable>(mask)) refuse_type({"places", "mask"}, "be a list", mask);
  std::vector<std::uint8_t> counts;
  for (const nb::handle token : nb::iter(mask)) {
    const int is_there = PyObject_IsTrue(token.ptr());
    if (is_there < 0) throw nb::python_error();
    counts.push_back(static_cast<std::uint8_t>(is_there));
  }
  return Convert<std::vector<std::int64_t>>::to_python(places(counts, past, masked), {});
}

// ---- tables that grow ----

// The elements of a table of rank 2 or 3, of any dtype and strides, in C order.
std::vector<double> doubles_of(const ConstTensorView& table) {
  const auto size = [&](int axis) { return axis < table.rank ? table.shape[static_cast<std::size_t>(axis)] : 1; };
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < size(0); ++i) {
    for (std::int64_t j = 0; j < size(1); ++j) {
      if (table.rank == 2) numbers.push_back(reference::element(table, {i, j}));
      for (std::int64_t c = 0; table.rank == 3 && c < size(2); ++c) {
        numbers.push_back(reference::element(table, {i, j, c}));
      }
    }
  }
  return numbers;
}

// A new float64 array of the library of `like`.
nb::object as_array(nb::handle like, const std::vector<double>& numbers, std::initializer_list<std::int64_t> shape) {
  const NewArray made = new_array(like, DType::f64, shape);
  std::copy(numbers.begin(), numbers.end(), static_cast<double*>(made.view.data));
  return made.object;
}

// Runs without the GIL, the copy to doubles included: a table of vision may have millions of numbers.
template <typename Grow>
std::vector<double> grow(Grow call) {
  const nb::gil_scoped_release released;
  return call();
}

// [rows, channels] -> [new_rows, channels], linear.
nb::object grow_rows(nb::handle table, Whole<"grow_table", "new_rows"> new_rows, bool align_corners,
                     double scale_offset) {
  const ConstArray old(table, {"grow_table", "table"});
  const ConstTensorView& view = old.view();
  if (view.rank != 2) refuse({"grow_table", "table"}, "have rank 2", std::to_string(view.rank));
  const std::int64_t channels = view.shape[1];
  const RowPlaces places{.align_corners = align_corners, .scale_offset = scale_offset};
  const auto grown = grow([&] { return grow_table(doubles_of(view), view.shape[0], channels, new_rows, places); });
  return as_array(table, grown, {new_rows, channels});
}

// [height, width, channels] -> [to[0], to[1], channels], bicubic.
nb::object grow_grid(nb::handle table, const nb::tuple& to, nb::handle kernel, bool align_corners,
                     double scale_offset) {
  const char* where = "grow_table";
  const ConstArray old(table, {where, "table"});
  const ConstTensorView& view = old.view();
  if (view.rank != 3) refuse({where, "table"}, "have rank 3", std::to_string(view.rank));
  if (nb::len(to) != 2) refuse_type({where, "to"}, "be a pair of sizes", to);
  const TableGrid grid{.height = Convert<std::int64_t>::from_python(to[0], {where, "to"}),
                       .width = Convert<std::int64_t>::from_python(to[1], {where, "to"})};
  const RowPlaces places{.align_corners = align_corners, .scale_offset = scale_offset};
  const auto by = Convert<Bicubic>::from_python(kernel, {where, "kernel"});
  const auto grown = grow([&] {
    return grow_table(doubles_of(view), {view.shape[0], view.shape[1]}, view.shape[2], grid, by, places);
  });
  return as_array(table, grown, {grid.height, grid.width, view.shape[2]});
}

void bind_rows(nb::module_& m) {
  m.def(
      "input_row",
      [](nb::handle scheme, Whole<"input_row", "channels"> channels, nb::handle place, nb::handle length,
         nb::handle lengths) {
        if (!nb::isinstance<AxisSinesInput>(scheme)) return row_call(scheme, channels, place, length);
        return axis_row_call(*nb::inst_ptr<AxisSinesInput>(scheme), channels, place, lengths);
      },
      nb::arg("scheme"), nb::arg("channels"), nb::arg("place"), nb::kw_only(), nb::arg("length") = nb::none(),
      nb::arg("lengths") = nb::make_tuple(),
      nb::sig("def input_row(scheme: SinusoidalInput | IntegerInput | BinaryInput | AxisSinesInput, channels: int, "
              "place: float | collections.abc.Sequence[float], *, length: int | None = None, "
              "lengths: collections.abc.Sequence[float] = ()) -> tuple[float, ...]"),
      "[channels]: the row of a fixed encoding for a token at this place; a learned scale is not in it.\n\n"
      "length: what a normalised IntegerInput divides by. Of AxisSinesInput place has a coordinate for each axis, and "
      "lengths, where it is normalised, the cells of each. ValueError for a place beyond the table, and for a "
      "number of channels that the convention does not have.");
  m.def(
      "places", &places_call, nb::arg("mask"), nb::kw_only(), nb::arg("past") = 0, nb::arg("masked") = -1,
      nb::sig("def places(mask: collections.abc.Iterable[typing.Any], *, past: int = 0, masked: int = -1) -> "
              "tuple[int, ...]"),
      "The positions of tokens under a padding mask [tokens]: the n-th that counts stands at past + n, the others get "
      "`masked`. past: tokens that counted before, in a cache.");
  m.def("grow_table", &grow_rows, nb::arg("table"), nb::arg("new_rows"), nb::kw_only(),
        nb::arg("align_corners") = false, nb::arg("scale_offset") = 0.0,
        nb::sig(with_array_types("def grow_table(table: ArrayLike, new_rows: int, *, align_corners: bool = False, "
                                 "scale_offset: float = 0.0) -> typing.Any")
                    .c_str()),
        "A learned table of another size, float64, of the table's library: [rows, channels] by linear interpolation, "
        "as torch's interpolate(mode='linear'); or [height, width, channels] to another grid, as mode='bicubic', "
        "whose two values of `antialias` are two kernels. Rows that belong to no position must be removed before. "
        "scale_offset: 0.1 in Meta's DINOv2.");
  m.def("grow_table", &grow_grid, nb::arg("table"), nb::arg("to"), nb::kw_only(), nb::arg("kernel"),
        nb::arg("align_corners") = false, nb::arg("scale_offset") = 0.0,
        nb::sig(with_array_types(
                    "def grow_table(table: ArrayLike, to: tuple[int, int], *, kernel: " + Convert<Bicubic>::type() +
                    ", align_corners: bool = False, scale_offset: float = 0.0) -> typing.Any")
                    .c_str()));
}

// ---- what is added to embeddings ----

// Empty for None: the library says whether the scheme needs any.
template <typename Weights>
Weights held(nb::handle weights) {
  if (weights.is_none()) return {};
  if (!nb::isinstance<Held<Weights>>(weights)) {
    refuse_type({"reference.add_input", "weights"}, std::string("be ") + description(Type<Weights>{}).name, weights);
  }
  return nb::inst_ptr<Held<Weights>>(weights)->value;
}

// An overload for each kind of scheme. The GIL is released only where no Python object is looked at any more.
struct AddInput {
  nb::handle weights;
  const reference::InputArgs& args;

  void operator()(const LearnedInput& scheme) const {
    const auto given = held<LearnedInputWeights>(weights);
    const nb::gil_scoped_release released;
    reference::add_input(scheme, given, args);
  }
  void operator()(const SinusoidalInput& scheme) const {
    const auto given = held<SinusoidalInputWeights>(weights);
    const nb::gil_scoped_release released;
    reference::add_input(scheme, given, args);
  }
  template <typename Fixed>
  void operator()(const Fixed& scheme) const {
    if (!weights.is_none()) refuse_type({"reference.add_input", "weights"}, "be None: nothing is learned", weights);
    const nb::gil_scoped_release released;
    reference::add_input(scheme, args);
  }
};

nb::object reference_add_input_call(nb::handle scheme, nb::handle x, nb::handle weights, nb::handle positions,
                                    nb::handle token_types, nb::handle length) {
  using Known = std::variant<LearnedInput, SinusoidalInput, IntegerInput, BinaryInput>;
  const char* where = "reference.add_input";
  const Known known = Convert<Known>::from_python(scheme, {where, "scheme"});
  const ConstArray embeddings(x, {where, "x"});
  const PositionsArgument places(positions, {where, "positions"});
  const Numbers<std::int64_t> types(token_types, {where, "token_types"});
  const ConstTensorView& view = embeddings.view();
  const NewArray out = new_array(x, DType::f64, std::span(view.shape).first(static_cast<std::size_t>(view.rank)));
  const reference::InputArgs args{.out = out.view,
                                  .x = view,
                                  .positions = places.positions(),
                                  .token_types = types.span(),
                                  .length = Convert<LengthArgument>::from_python(length, {where, "length"})};
  std::visit(AddInput{weights, args}, known);
  return out.object;
}

void bind_reference_add_input(nb::module_& m) {
  bind_held<LearnedInputWeights>(m);
  bind_held<SinusoidalInputWeights>(m);
  m.def("_reference_add_input", &reference_add_input_call, nb::arg("scheme"), nb::arg("x"), nb::kw_only(),
        nb::arg("weights") = nb::none(), nb::arg("positions").none() = 0, nb::arg("token_types") = nb::none(),
        nb::arg("length") = nb::none(),
        nb::sig(with_array_types(
                    "def _reference_add_input(scheme: LearnedInput | SinusoidalInput | IntegerInput | BinaryInput, "
                    "x: ArrayLike, *, weights: LearnedInputWeights | SinusoidalInputWeights | None = None, "
                    "positions: PositionsLike = 0, token_types: IndicesLike | None = None, "
                    "length: int | None = None) -> typing.Any")
                    .c_str()),
        "The input stage: (m x_i + token type's row) + p_i, or times p_i; float64, the shape of x.\n\n"
        "x: embeddings [tokens, channels]. positions: the tokens' places, counted from 0; a scheme's offset is added "
        "here. token_types: int64 [tokens]. length: what normalised integers are divided by; default: the tokens. "
        "ValueError for what does not fit, a place or a token type beyond its table, and a table that is missing.");
}

// ---- images and videos ----

// [3, tokens], a view that keeps the GridPositions.
nb::object ids_of(nb::handle self) {
  const GridPositions& ids = *nb::inst_ptr<GridPositions>(self);
  const nb::ndarray<const std::int64_t, nb::memview, nb::device::cpu> view(
      ids.positions.data(), {3, static_cast<std::size_t>(ids.tokens)}, self);
  return nb::cast(view, nb::rv_policy::reference);
}

void bind_grid_positions(nb::module_& m) {
  bind_value<TextTokens>(m);
  bind_value<ImageGrid>(m);
  bind_value<VideoGrid>(m);
  nb::class_<GridPositions>(m, "GridPositions", nb::is_final(), "What grid_positions gives.")
      .def_prop_ro("positions", &ids_of, nb::for_getter(nb::sig("def positions(self) -> memoryview")),
                   "[3, tokens], int64: t, h, w. Nothing is copied; rotate takes it as it is.")
      .def_ro("tokens", &GridPositions::tokens)
      .def_ro("next_position", &GridPositions::next_position, "Of the text that follows.")
      .def_ro(
          "decode_delta", &GridPositions::decode_delta,
          "mrope_delta: next_position - tokens. Token n from `tokens` on stands at n + decode_delta on every axis.");
  m.def(
      "grid_positions",
      [](nb::handle items, nb::handle rule, Whole<"grid_positions", "spatial_merge_size"> spatial_merge_size,
         double tokens_per_second) {
        const char* where = "grid_positions";
        const auto all = Convert<std::vector<GridItem>>::from_python(items, {where, "items"});
        const GridSettings settings{.rule = Convert<GridRule>::from_python(rule, {where, "rule"}),
                                    .spatial_merge_size = spatial_merge_size,
                                    .tokens_per_second = tokens_per_second};
        return grid_positions(settings, all);
      },
      nb::arg("items"), nb::kw_only(), nb::arg("rule"), nb::arg("spatial_merge_size") = 2,
      nb::arg("tokens_per_second") = 2.0,
      nb::sig(("def grid_positions(items: collections.abc.Iterable[TextTokens | ImageGrid | VideoGrid], *, rule: " +
               Convert<GridRule>::type() +
               ", spatial_merge_size: int = 2, tokens_per_second: float = 2.0) -> GridPositions")
                  .c_str()),
      "Position ids for M-RoPE (Qwen2-VL, arXiv 2409.12191, 2.1): the coordinates of every token of a sequence of "
      "text, "
      "images and videos. tokens_per_second: of qwen2_5_vl. ValueError for a grid that spatial_merge_size does not "
      "divide, and for numbers that the rule does not read.");
}

}  // namespace

void bind_input(nb::module_& m) {
  bind_rows(m);
  bind_reference_add_input(m);
  bind_grid_positions(m);
}

}  // namespace posenc::python

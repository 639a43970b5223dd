// Tables of cos and sin, and angles without a table.
// A RotaryTable belongs to its Python object (held_table.h); cos(), sin() and rows are memoryviews of its floats, which
// keep it alive. Tables are made without the GIL: a long one takes seconds.
#include <algorithm>
#include <cstring>

#include "arrays/arrays.h"
#include "describe/describe_rope.h"
#include "held_table.h"
#include "module.h"
#include "posenc/rotary_table.h"
#include "signature.h"
#include "whole.h"

namespace posenc::python {
namespace {

// `where` names the function in errors. start, count and max_bytes are set by whoever has them.
TableOptions options_of(nb::handle length, nb::handle angles, nb::handle isa, const char* where) {
  return {.length = Convert<std::optional<std::int64_t>>::from_python(length, {where, "length"}),
          .angles = Convert<Angles>::from_python(angles, {where, "angles"}),
          .isa = Convert<Isa>::from_python(isa, {where, "isa"})};
}

// Behind `length`, where a function has it; Literal types name the words that are taken.
std::string options_signature() {
  return "angles: " + Convert<Angles>::type() + " = 'exact', isa: " + Convert<Isa>::type() + " = 'automatic'";
}

// Numbers of the table, read-only, which it owns.
nb::object shared(std::span<const float> numbers, std::initializer_list<std::size_t> shape, nb::handle table) {
  const nb::ndarray<const float, nb::memview, nb::device::cpu> view(numbers.data(), shape, table);
  return nb::cast(view, nb::rv_policy::reference);
}

const RotaryTable& table_of(nb::handle self) { return nb::inst_ptr<HeldTable>(self)->table; }

nb::object rows_of(nb::handle self) {
  const RotaryTable& table = table_of(self);
  // [0, 2, pairs] of a table on demand, which holds no row.
  const auto rows = static_cast<std::size_t>(table.on_demand() ? 0 : table.count());
  return shared(table.rows(), {rows, 2, static_cast<std::size_t>(table.pairs())}, self);
}

// A table of the caller's values is made again of its rows, which are copied only when that is asked for.
nb::object made_by(const HeldTable& self) {
  if (self.made.is_valid()) return self.made;
  const RotaryTable& table = self.table;
  nb::dict made;
  made["layout"] = nb::cast(table.layout());
  made["start"] = table.start();
  made["attention_factor"] = table.attention_factor();
  made["rows"] = nb::bytes(table.rows().data(), table.rows().size_bytes());
  return nb::make_tuple("_table_of_rows", made);
}

// Of one layout, of the same positions, and with the same bits. Tables on demand hold nothing but their rule, which is
// what they were made by.
bool are_equal(const HeldTable& a, const HeldTable& b) {
  const RotaryTable& x = a.table;
  const RotaryTable& y = b.table;
  if (!(x.layout() == y.layout()) || x.attention_factor() != y.attention_factor() || x.start() != y.start() ||
      x.count() != y.count() || x.on_demand() != y.on_demand()) {
    return false;
  }
  if (x.on_demand()) return a.made.equal(b.made);
  return x.rows().empty() || std::memcmp(x.rows().data(), y.rows().data(), x.rows().size_bytes()) == 0;
}

// Copies, pickles, == and hash.
void bind_copies(nb::class_<HeldTable>& bound) {
  bound
      .def(
          "__eq__",
          [](const HeldTable& self, nb::handle other) {
            return nb::isinstance<HeldTable>(other) && are_equal(self, *nb::inst_ptr<HeldTable>(other));
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const HeldTable& self) {
             const RotaryTable& table = self.table;
             return nb::hash(nb::make_tuple(table.pairs(), table.start(), table.count(), table.attention_factor()));
           })
      // It never changes: one is as good as two.
      .def(
          "__copy__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __copy__(self) -> RotaryTable"))
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, nb::arg("memo"),
          nb::sig("def __deepcopy__(self, memo: dict[int, typing.Any], /) -> RotaryTable"))
      .def(
          "__reduce__",
          [](const HeldTable& self) {
            return nb::make_tuple(nb::module_::import_("posenc._tables").attr("remade"), made_by(self));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, tuple[typing.Any, ...]]"))
      .def_prop_ro(
          "_made", [](const HeldTable& self) { return made_by(self); },
          nb::for_getter(nb::sig("def _made(self) -> tuple[str, dict[str, typing.Any]]")),
          "By which function, and its arguments: what a pickle holds.");
}

void bind_table_class(nb::module_& m) {
  nb::class_<HeldTable> bound(m, "RotaryTable", nb::is_final(),
                              "cos and sin of consecutive positions, made by make_table and its kin. A table never "
                              "changes; threads may share it. A pickle holds the call that made it, or the given "
                              "values; == compares layouts, positions and every bit of the rows.");
  bound
      .def_prop_ro(
          "layout", [](nb::handle self) { return nb::cast(table_of(self).layout()); },
          nb::for_getter(nb::sig("def layout(self) -> RotaryLayout")), "Which channels it rotates.")
      .def_prop_ro(
          "attention_factor", [](const HeldTable& self) { return self.table.attention_factor(); },
          "What cos and sin were multiplied by.")
      .def_prop_ro(
          "start", [](const HeldTable& self) { return self.table.start(); }, "The first position.")
      .def_prop_ro(
          "count", [](const HeldTable& self) { return self.table.count(); }, "Positions.")
      .def_prop_ro("pairs", [](const HeldTable& self) { return self.table.pairs(); })
      .def_prop_ro(
          "on_demand", [](const HeldTable& self) { return self.table.on_demand(); },
          "Whether it holds no row and makes those it is asked for.")
      .def(
          "cos",
          [](nb::handle self, Whole<"RotaryTable.cos", "position"> position) {
            const std::span<const float> row = table_of(self).cos(position);
            return shared(row, {row.size()}, self);
          },
          nb::arg("position"), nb::sig("def cos(self, position: int) -> memoryview"),
          "[pairs], float32, read-only. ValueError when start <= position < start + count does not hold.")
      .def(
          "sin",
          [](nb::handle self, Whole<"RotaryTable.sin", "position"> position) {
            const std::span<const float> row = table_of(self).sin(position);
            return shared(row, {row.size()}, self);
          },
          nb::arg("position"), nb::sig("def sin(self, position: int) -> memoryview"), "As cos().")
      .def_prop_ro("rows", &rows_of, nb::for_getter(nb::sig("def rows(self) -> memoryview")),
                   "[count, 2, pairs], float32, read-only: cos of every pair, then sin. Nothing is copied: "
                   "numpy.asarray(table.rows) is a view.")
      .def("__repr__", [](const HeldTable& self) {
        const RotaryTable& table = self.table;
        const std::string positions = table.on_demand() ? "on demand"
                                                        : "positions " + std::to_string(table.start()) + " to " +
                                                              std::to_string(table.start() + table.count() - 1);
        return "<RotaryTable of " + std::to_string(table.pairs()) + " pairs, " + positions + ">";
      });
  bind_copies(bound);
}

// What a call gives that computes for a while.
template <typename F>
auto without_gil(F&& call) {
  const nb::gil_scoped_release released;
  return call();
}

void bind_make_table(nb::module_& m) {
  const std::string options = options_signature();
  // One body for both overloads: a Rope, or a layout and frequencies of the caller's own. `made`: by what, as a dict.
  const auto make = [](nb::dict made, const auto&... scheme) {
    return [&, made](TableOptions table, std::int64_t start, std::int64_t count, std::int64_t max_bytes) mutable {
      table.start = start;
      table.count = count;
      table.max_bytes = max_bytes;
      made["start"] = start;
      made["count"] = count;
      made["max_bytes"] = max_bytes;
      made["angles"] = Convert<Angles>::to_python(table.angles, {});
      return HeldTable{without_gil([&] { return make_table(scheme..., table); }), nb::make_tuple("make_table", made)};
    };
  };
  m.def(
      "make_table",
      [=](const Rope& rope, Whole<"make_table", "start"> start, Whole<"make_table", "count"> count, nb::handle length,
          nb::handle angles, Whole<"make_table", "max_bytes"> max_bytes, nb::handle isa) {
        nb::dict made;
        made["rope"] = nb::cast(rope);
        const TableOptions wanted = options_of(length, angles, isa, "make_table");
        made["length"] = Convert<std::optional<std::int64_t>>::to_python(wanted.length, {});
        return make(made, rope)(wanted, start, count, max_bytes);
      },
      nb::arg("rope"), nb::kw_only(), nb::arg("start") = 0, nb::arg("count"), nb::arg("length") = nb::none(),
      nb::arg("angles") = "exact", nb::arg("max_bytes") = std::int64_t{1} << 30, nb::arg("isa") = "automatic",
      nb::sig(("def make_table(rope: Rope, *, start: int = 0, count: int, length: int | None = None, max_bytes: int = "
               "1073741824, " +
               options + ") -> RotaryTable")
                  .c_str()),
      "cos and sin of `count` positions from `start` on.\n\n"
      "'exact' is within 1 ulp of the true value for |position| <= 2^31; 'float32' and 'bfloat16' are what models run "
      "with. "
      "`length` is that of the sequence, for rules that depend on it. ValueError for a wrong scheme, a negative count, "
      "positions beyond 2^53, or more than max_bytes.");
  m.def(
      "make_table",
      [=](const RotaryLayout& layout, const Frequencies& frequencies, Whole<"make_table", "start"> start,
          Whole<"make_table", "count"> count, nb::handle angles, Whole<"make_table", "max_bytes"> max_bytes,
          nb::handle isa) {
        nb::dict made;
        made["layout"] = nb::cast(layout);
        made["frequencies"] = nb::cast(frequencies);
        const TableOptions wanted = options_of(nb::none(), angles, isa, "make_table");
        return make(made, layout, frequencies)(wanted, start, count, max_bytes);
      },
      nb::arg("layout"), nb::arg("frequencies"), nb::kw_only(), nb::arg("start") = 0, nb::arg("count"),
      nb::arg("angles") = "exact", nb::arg("max_bytes") = std::int64_t{1} << 30, nb::arg("isa") = "automatic",
      nb::sig(("def make_table(layout: RotaryLayout, frequencies: Frequencies, *, start: int = 0, count: int, "
               "max_bytes: int = 1073741824, " +
               options + ") -> RotaryTable")
                  .c_str()),
      "From the caller's own frequencies.");
  m.def(
      "table_on_demand",
      [](const Rope& rope, nb::handle length, nb::handle angles, nb::handle isa) {
        const TableOptions wanted = options_of(length, angles, isa, "table_on_demand");
        nb::dict made;
        made["rope"] = nb::cast(rope);
        made["length"] = Convert<std::optional<std::int64_t>>::to_python(wanted.length, {});
        made["angles"] = Convert<Angles>::to_python(wanted.angles, {});
        return HeldTable{table_on_demand(rope, wanted), nb::make_tuple("table_on_demand", made)};
      },
      nb::arg("rope"), nb::kw_only(), nb::arg("length") = nb::none(), nb::arg("angles") = "exact",
      nb::arg("isa") = "automatic",
      nb::sig(
          ("def table_on_demand(rope: Rope, *, length: int | None = None, " + options + ") -> RotaryTable").c_str()),
      "A table without rows: rotate makes those it needs, the very bits of make_table, for any position up to 2^53, "
      "whole or not.");
}

// ValueError for an array [count, something else]: as many numbers in another order would rotate by the wrong angles.
void require_rows_of_pairs(const ConstTensorView& view, const RotaryLayout& layout, const Place& place) {
  const std::int64_t pairs = layout.pairs();
  if (view.rank < 2 || pairs < 1) return;  // the layout is looked at by the library
  const std::int64_t count = view.shape[0];
  const std::int64_t width = view.shape[static_cast<std::size_t>(view.rank - 1)];
  if (view.rank == 2 && width == pairs) return;
  const std::string must = "be [count, " + std::to_string(pairs) + "], a number for each pair,";
  std::string is = "[";
  for (int axis = 0; axis < view.rank; ++axis) {
    is += (axis == 0 ? "" : ", ") + std::to_string(view.shape[static_cast<std::size_t>(axis)]);
  }
  is += ']';
  if (width == 2 * pairs) {
    is +=
        ", a number for each channel: pass one of each pair, x[:, :pairs] where halves repeat (transformers' rotary "
        "modules), x[:, ::2] where neighbours do";
  } else if (view.rank == 2 && count == pairs) {
    is += ": transpose it";
  }
  refuse(place, must, is);
}

// The numbers of an array of cos or sin in C order. ValueError for another dtype or rank, and for strides: nothing is
// converted here, as the values are taken as they are.
std::span<const float> floats_of(const ConstArray& array, const RotaryLayout& layout, const Place& place) {
  const ConstTensorView& view = array.view();
  require_rows_of_pairs(view, layout, place);
  const bool is_dense = view.rank == 2 && view.strides[1] == 1 && view.strides[0] == view.shape[1];
  if (!is_dense || view.dtype != DType::f32) refuse(place, "be float32 [count, pairs], elements adjacent", "otherwise");
  return {static_cast<const float*>(view.data), static_cast<std::size_t>(view.shape[0] * view.shape[1])};
}

// What made_by has said. ValueError for bytes that are no rows, which a pickle may hold.
HeldTable table_of_rows(const RotaryLayout& layout, Whole<"_table_of_rows", "start"> start, double factor,
                        const nb::bytes& rows) {
  const auto pairs = static_cast<std::size_t>(std::max<std::int64_t>(layout.pairs(), 1));
  const std::size_t row = 2 * pairs * sizeof(float);
  if (rows.size() % row != 0) refuse({"_table_of_rows", "rows"}, "be rows of cos and sin", "bytes of another number");
  std::vector<float> cos(rows.size() / row * pairs);
  std::vector<float> sin(cos.size());
  const auto* from = static_cast<const char*>(rows.data());
  for (std::size_t at = 0; at < cos.size(); at += pairs, from += row) {
    std::memcpy(cos.data() + at, from, row / 2);
    std::memcpy(sin.data() + at, from + row / 2, row / 2);
  }
  return {table_from_cos_sin(layout, cos, sin, start, factor), {}};
}

void bind_given_tables(nb::module_& m) {
  m.def("_table_of_rows", &table_of_rows, nb::arg("layout"), nb::kw_only(), nb::arg("start"),
        nb::arg("attention_factor"), nb::arg("rows"), "A table of given values from its pickle.");
  m.def(
      "table_from_cos_sin",
      [](const RotaryLayout& layout, nb::handle cos, nb::handle sin, Whole<"table_from_cos_sin", "start"> start,
         double factor) {
        const Place cos_place{"table_from_cos_sin", "cos"};
        const Place sin_place{"table_from_cos_sin", "sin"};
        const ConstArray cosines(cos, cos_place);
        const ConstArray sines(sin, sin_place);
        const std::span<const float> all_cos = floats_of(cosines, layout, cos_place);
        const std::span<const float> all_sin = floats_of(sines, layout, sin_place);
        return HeldTable{without_gil([&] { return table_from_cos_sin(layout, all_cos, all_sin, start, factor); }), {}};
      },
      nb::arg("layout"), nb::arg("cos"), nb::arg("sin"), nb::kw_only(), nb::arg("start") = 0,
      nb::arg("attention_factor") = 1.0,
      nb::sig(with_array_types("def table_from_cos_sin(layout: RotaryLayout, cos: ArrayLike, sin: ArrayLike, *, "
                               "start: int = 0, attention_factor: float = 1.0) -> RotaryTable")
                  .c_str()),
      "From given values, both float32 [count, pairs], taken as they are. ValueError for shapes that do not fit the "
      "layout.");
  m.def(
      "table_from_angles",
      [](const RotaryLayout& layout, nb::handle radians, Whole<"table_from_angles", "start"> start, double factor,
         nb::handle isa) {
        const Place place{"table_from_angles", "radians"};
        const Numbers<double> angles(radians, place);
        if (is_array(radians)) require_rows_of_pairs(ConstArray(radians, place).view(), layout, place);
        const auto by = Convert<Isa>::from_python(isa, {"table_from_angles", "isa"});
        return HeldTable{without_gil([&] { return table_from_angles(layout, angles.span(), start, factor, by); }), {}};
      },
      nb::arg("layout"), nb::arg("radians"), nb::kw_only(), nb::arg("start") = 0, nb::arg("attention_factor") = 1.0,
      nb::arg("isa") = "automatic",
      nb::sig(with_array_types("def table_from_angles(layout: RotaryLayout, radians: PositionsLike, *, "
                               "start: int = 0, attention_factor: float = 1.0, isa: " +
                               Convert<Isa>::type() + " = 'automatic') -> RotaryTable")
                  .c_str()),
      "From given angles in radians, float64 [count, pairs], |angle| <= 2^53: exact cos and sin, times the factor, "
      "rounded once. ValueError for others.");
}

// (cos, sin), new arrays of the library that `positions` is of. TypeError for a single number, which says no count.
nb::tuple cos_sin_of(const Rope& rope, nb::handle positions, const TableOptions& options) {
  const PositionsArgument given(positions, {"cos_sin", "positions"});
  return std::visit(
      [&](const auto& list) -> nb::tuple {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, PositionRange>) {
          refuse_type({"cos_sin", "positions"}, "be a list of them", positions);
        } else {
          const auto axes = static_cast<std::int64_t>(std::max<std::size_t>(rope.axes.names.size(), 1));
          // The list is [axes, rows]; a length that axes do not divide is refused by cos_sin_into.
          const std::int64_t rows = std::ssize(list) / axes;
          const NewArray cos = new_array(positions, DType::f32, {rows, rope.pairs()});
          const NewArray sin = new_array(positions, DType::f32, {rows, rope.pairs()});
          const auto numbers = [&](const NewArray& array) {
            return std::span(static_cast<float*>(array.view.data), static_cast<std::size_t>(rows * rope.pairs()));
          };
          {
            const nb::gil_scoped_release released;
            cos_sin_into(rope, list, numbers(cos), numbers(sin), options);
          }
          return nb::make_tuple(cos.object, sin.object);
        }
      },
      given.positions());
}

}  // namespace

void bind_table(nb::module_& m) {
  m.def(
      "_address",
      [](nb::handle array) {
        return reinterpret_cast<std::uintptr_t>(ConstArray(array, {"_address", "array"}).view().data);
      },
      nb::arg("array"), "Where the library sees the array's first element: for tests.");
  bind_table_class(m);
  bind_make_table(m);
  bind_given_tables(m);
  m.def(
      "cos_sin",
      [](const Rope& rope, nb::handle positions, nb::handle length, nb::handle angles, nb::handle isa) {
        return cos_sin_of(rope, positions, options_of(length, angles, isa, "cos_sin"));
      },
      nb::arg("rope"), nb::arg("positions"), nb::kw_only(), nb::arg("length") = nb::none(), nb::arg("angles") = "exact",
      nb::arg("isa") = "automatic",
      nb::sig(with_array_types("def cos_sin(rope: Rope, positions: PositionsLike, *, length: int | None = None, " +
                               options_signature() + ") -> tuple[typing.Any, typing.Any]")
                  .c_str()),
      "cos and sin, both float32 [n, pairs], of arbitrary positions [n] or [axes, n], without a table. They are arrays "
      "of the library that positions are of; memoryviews for a list.");
}

}  // namespace posenc::python

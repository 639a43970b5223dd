// Tables of cos and sin, and angles without a table.
#include <algorithm>

#include "arrays/arrays.h"
#include "describe/describe_rope.h"
#include "module.h"
#include "posenc/rotary_table.h"
#include "signature.h"

namespace posenc::python {
namespace {

TableOptions options_of(nb::handle length, nb::handle angles, nb::handle isa, const char* where) {
  return {.length = Convert<std::optional<std::int64_t>>::from_python(length, {where, "length"}),
          .angles = Convert<Angles>::from_python(angles, {where, "angles"}),
          .isa = Convert<Isa>::from_python(isa, {where, "isa"})};
}

std::string options_signature() {
  return "angles: " + Convert<Angles>::type() + " = 'exact', isa: " + Convert<Isa>::type() + " = 'automatic'";
}

// Numbers of the table, read-only, which it owns.
nb::object shared(std::span<const float> numbers, std::initializer_list<std::size_t> shape, nb::handle table) {
  const nb::ndarray<const float, nb::memview, nb::device::cpu> view(numbers.data(), shape, table);
  return nb::cast(view, nb::rv_policy::reference);
}

nb::object rows_of(nb::handle self) {
  const RotaryTable& table = *nb::inst_ptr<RotaryTable>(self);
  const auto rows = static_cast<std::size_t>(table.on_demand() ? 0 : table.count());
  return shared(table.rows(), {rows, 2, static_cast<std::size_t>(table.pairs())}, self);
}

void bind_table_class(nb::module_& m) {
  nb::class_<RotaryTable>(m, "RotaryTable", nb::is_final(),
                          "cos and sin of consecutive positions, made by make_table and its kin. A table never "
                          "changes; threads may share it. It cannot be pickled: pickle the Rope.")
      .def_prop_ro(
          "layout", [](nb::handle self) { return nb::cast(nb::inst_ptr<RotaryTable>(self)->layout()); },
          nb::for_getter(nb::sig("def layout(self) -> RotaryLayout")), "Which channels it rotates.")
      .def_prop_ro("attention_factor", &RotaryTable::attention_factor, "What cos and sin were multiplied by.")
      .def_prop_ro("start", &RotaryTable::start, "The first position.")
      .def_prop_ro("count", &RotaryTable::count, "Positions.")
      .def_prop_ro("pairs", &RotaryTable::pairs)
      .def_prop_ro("on_demand", &RotaryTable::on_demand, "Whether it holds no row and makes those it is asked for.")
      .def(
          "cos",
          [](nb::handle self, std::int64_t position) {
            const std::span<const float> row = nb::inst_ptr<RotaryTable>(self)->cos(position);
            return shared(row, {row.size()}, self);
          },
          nb::arg("position"), nb::sig("def cos(self, position: int) -> memoryview"),
          "[pairs], float32, read-only. ValueError when start <= position < start + count does not hold.")
      .def(
          "sin",
          [](nb::handle self, std::int64_t position) {
            const std::span<const float> row = nb::inst_ptr<RotaryTable>(self)->sin(position);
            return shared(row, {row.size()}, self);
          },
          nb::arg("position"), nb::sig("def sin(self, position: int) -> memoryview"), "As cos().")
      .def_prop_ro("rows", &rows_of, nb::for_getter(nb::sig("def rows(self) -> memoryview")),
                   "[count, 2, pairs], float32, read-only: cos of every pair, then sin. Nothing is copied: "
                   "numpy.asarray(table.rows) is a view.")
      .def("__repr__", [](const RotaryTable& table) {
        const std::string positions = table.on_demand() ? "on demand"
                                                        : "positions " + std::to_string(table.start()) + " to " +
                                                              std::to_string(table.start() + table.count() - 1);
        return "<RotaryTable of " + std::to_string(table.pairs()) + " pairs, " + positions + ">";
      });
}

void bind_make_table(nb::module_& m) {
  const std::string options = options_signature();
  const auto make = [](const auto&... scheme) {
    return [&](TableOptions table, std::int64_t start, std::int64_t count, std::int64_t max_bytes) {
      table.start = start;
      table.count = count;
      table.max_bytes = max_bytes;
      const nb::gil_scoped_release released;
      return make_table(scheme..., table);
    };
  };
  m.def(
      "make_table",
      [=](const Rope& rope, std::int64_t start, std::int64_t count, nb::handle length, nb::handle angles,
          std::int64_t max_bytes, nb::handle isa) {
        return make(rope)(options_of(length, angles, isa, "make_table"), start, count, max_bytes);
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
      [=](const RotaryLayout& layout, const Frequencies& frequencies, std::int64_t start, std::int64_t count,
          nb::handle angles, std::int64_t max_bytes, nb::handle isa) {
        return make(layout, frequencies)(options_of(nb::none(), angles, isa, "make_table"), start, count, max_bytes);
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
        return table_on_demand(rope, options_of(length, angles, isa, "table_on_demand"));
      },
      nb::arg("rope"), nb::kw_only(), nb::arg("length") = nb::none(), nb::arg("angles") = "exact",
      nb::arg("isa") = "automatic",
      nb::sig(
          ("def table_on_demand(rope: Rope, *, length: int | None = None, " + options + ") -> RotaryTable").c_str()),
      "A table without rows: rotate makes those it needs, the very bits of make_table, for any position up to 2^53, "
      "whole or not.");
}

std::span<const float> floats_of(const ConstArray& array, const Place& place) {
  const ConstTensorView& view = array.view();
  const bool is_dense = view.rank == 2 && view.strides[1] == 1 && view.strides[0] == view.shape[1];
  if (!is_dense || view.dtype != DType::f32) refuse(place, "be float32 [count, pairs], elements adjacent", "otherwise");
  return {static_cast<const float*>(view.data), static_cast<std::size_t>(view.shape[0] * view.shape[1])};
}

void bind_given_tables(nb::module_& m) {
  m.def(
      "table_from_cos_sin",
      [](const RotaryLayout& layout, nb::handle cos, nb::handle sin, std::int64_t start, double factor) {
        const Place cos_place{"table_from_cos_sin", "cos"};
        const Place sin_place{"table_from_cos_sin", "sin"};
        const ConstArray cosines(cos, cos_place);
        const ConstArray sines(sin, sin_place);
        const std::span<const float> all_cos = floats_of(cosines, cos_place);
        const std::span<const float> all_sin = floats_of(sines, sin_place);
        const nb::gil_scoped_release released;
        return table_from_cos_sin(layout, all_cos, all_sin, start, factor);
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
      [](const RotaryLayout& layout, nb::handle radians, std::int64_t start, double factor, nb::handle isa) {
        const Numbers<double> angles(radians, {"table_from_angles", "radians"});
        const auto by = Convert<Isa>::from_python(isa, {"table_from_angles", "isa"});
        const nb::gil_scoped_release released;
        return table_from_angles(layout, angles.span(), start, factor, by);
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

nb::tuple cos_sin_of(const Rope& rope, nb::handle positions, const TableOptions& options) {
  const PositionsArgument given(positions, {"cos_sin", "positions"});
  return std::visit(
      [&](const auto& list) -> nb::tuple {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, PositionRange>) {
          refuse_type({"cos_sin", "positions"}, "be a list of them", positions);
        } else {
          const auto axes = static_cast<std::int64_t>(std::max<std::size_t>(rope.axes.names.size(), 1));
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

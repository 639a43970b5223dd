// The schemes of the other stages, all alternatives of their variants; and their formulas, one number at a time.
// Schemes are values (describe/value_type.h) and what a plan's layers hold; the formulas are for tests and for
// teaching, since attend takes the scheme itself.
#include "describe/describe_schemes.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/scores.h"
#include "whole.h"

namespace posenc::python {

namespace {

// The score stage's formulas, one number at a time. distance: i - j.
void bind_formulas(nb::module_& m) {
  m.def("alibi_bias", &alibi_bias, nb::arg("scheme"), nb::arg("slope"), nb::arg("i"), nb::arg("j"),
        "What is added for a query at i and a key at j; `slope` is the head's.");
  m.def("t5_bucket", &t5_bucket, nb::arg("scheme"), nb::arg("distance"),
        "The row of the table, from 0 to buckets - 1, for a distance i - j.");
  m.def("deberta_row", &deberta_row, nb::arg("scheme"), nb::arg("distance"),
        "The row of the table of relative embeddings, from 0 to 2 span - 1, for a distance i - j.");
  m.def("deberta_span", &deberta_span, nb::arg("scheme"), "`buckets`, or max_distance where there are none.");
  m.def("kerple_bias", &kerple_bias, nb::arg("scheme"), nb::arg("r1"), nb::arg("r2"), nb::arg("distance"),
        "-r1 ln(1 + r2 |d|), or -r1 |d|^r2.");
  m.def("fire_input", &fire_input, nb::arg("c"), nb::arg("threshold"), nb::arg("distance"), nb::arg("i"),
        "psi(d) / psi(max(threshold, i)), psi(x) = ln(c x + 1): the input of FIRE's MLP.");
  m.def("sandwich_bias", &sandwich_bias, nb::arg("scheme"), nb::arg("head"), nb::arg("distance"),
        "For head h, from 0.");
  m.def("mlp_input", &mlp_input, nb::arg("scheme"), nb::arg("distance"), "The input of an MLP of the distance.");
  m.def("grid_row", &grid_row, nb::arg("scheme"), nb::arg("row_difference"), nb::arg("column_difference"),
        "The row of a table over a window: (di + rows - 1) (2 columns - 1) + dj + columns - 1.");
}

}  // namespace

void bind_schemes(nb::module_& m) {
  // A member's class before the one that holds it: TransformerXl.distances is a Distances.
  Alternatives<InputScheme>::bind(m);
  bind_value<Distances>(m);
  Alternatives<ScoreTerm>::bind(m);
  Alternatives<Regions>::bind(m);
  Alternatives<ValueScheme>::bind(m);
  Alternatives<QueryScale>::bind(m);

  m.def(
      "query_scale",
      // A handle, since None stands for std::monostate: no scale, and the answer is 1.
      [](nb::handle scheme, Whole<"query_scale", "position"> position) {
        return query_scale(Convert<QueryScale>::from_python(scheme, {"query_scale", "scheme"}), position);
      },
      nb::arg("scheme").none(), nb::arg("position"),
      nb::sig("def query_scale(scheme: Llama4Temperature | MinistralTemperature | LogNScale | BeamTemperature | "
              "InklingTemperature | None, position: int) -> float"),
      "What the query at this position is multiplied by; 1 without a scale.");
  m.def(
      "standing",
      [](nb::handle regions, double i, double j) {
        const Standing found = standing(Convert<Regions>::from_python(regions, {"standing", "regions"}), i, j);
        return nb::make_tuple(found.query, found.key);
      },
      nb::arg("regions").none(), nb::arg("i"), nb::arg("j"),
      nb::sig("def standing(regions: SelfExtend | ReRope | DualChunk | None, i: float, j: float) -> "
              "tuple[float, float]"),
      "The positions that RoPE has of a query at i and a key at j.");
  m.def(
      "alibi_slopes",
      [](const Alibi& scheme) { return Convert<std::vector<double>>::to_python(alibi_slopes(scheme), {}); },
      nb::arg("scheme"), nb::sig("def alibi_slopes(scheme: Alibi) -> tuple[float, ...]"),
      "What each head takes off a score for each token of distance, [heads].");
  bind_formulas(m);
}

}  // namespace posenc::python

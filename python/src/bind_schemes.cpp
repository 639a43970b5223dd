// The schemes of the other stages, all alternatives of their variants; and their formulas, one number at a time.
#include "describe_schemes.h"
#include "module.h"
#include "posenc/query_scale.h"
#include "posenc/regions.h"
#include "posenc/scores.h"
#include "value_type.h"

namespace posenc::python {

void bind_schemes(nb::module_& m) {
  Alternatives<InputScheme>::bind(m);
  bind_value<Distances>(m);
  Alternatives<ScoreTerm>::bind(m);
  Alternatives<Regions>::bind(m);
  Alternatives<ValueScheme>::bind(m);
  Alternatives<QueryScale>::bind(m);

  m.def(
      "query_scale",
      [](nb::handle scheme, std::int64_t position) {
        return query_scale(Convert<QueryScale>::from_python(scheme, {"query_scale", "scheme"}), position);
      },
      nb::arg("scheme").none(), nb::arg("position"),
      nb::sig("def query_scale(scheme: Llama4Temperature | MinistralTemperature | LogNScale | None, position: int) -> "
              "float"),
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
      "Where a query at i and a key at j stand, to the rotation.");
  m.def(
      "alibi_slopes",
      [](const Alibi& scheme) { return Convert<std::vector<double>>::to_python(alibi_slopes(scheme), {}); },
      nb::arg("scheme"), nb::sig("def alibi_slopes(scheme: Alibi) -> tuple[float, ...]"),
      "What each head takes off a score for each token of distance, [heads].");
  m.def("t5_bucket", &t5_bucket, nb::arg("scheme"), nb::arg("distance"),
        "The row of the table, from 0 to buckets - 1, for a distance i - j.");
  m.def("deberta_row", &deberta_row, nb::arg("scheme"), nb::arg("distance"),
        "The row of the table of relative embeddings, from 0 to 2 span - 1, for a distance i - j.");
}

}  // namespace posenc::python

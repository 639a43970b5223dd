// What a port's rotation did. Which rotation of which model is meant: posenc/_diagnose.py.
#include <deque>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "arrays/arrays.h"
#include "attend_arguments.h"
#include "describe/describe_diagnose.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/diagnose.h"
#include "posenc/diagnose_attention.h"
#include "posenc/diagnose_weights.h"
#include "signature.h"

namespace posenc::python {
namespace {

// Positions of any dtype as numbers; a start is `start`'s, and None is none.
std::vector<double> coordinates_of(nb::handle positions, const Place& place) {
  std::vector<double> out;
  if (positions.is_none()) return out;
  const PositionsArgument given(positions, place);
  std::visit(
      [&]<typename Given>(const Given& numbers) {
        if constexpr (std::is_same_v<Given, PositionRange>) {
          refuse_type(place, "be an array or a list; a first position is start", positions);
        } else {
          out.assign(numbers.begin(), numbers.end());
        }
      },
      given.positions());
  return out;
}

Diagnosis diagnosis_of(nb::handle before, nb::handle after, const Rotate* rotate, const Plan* plan, nb::handle length,
                       nb::handle start, nb::handle positions) {
  const char* where = "diagnose";
  using Whole = std::optional<std::int64_t>;
  const ConstArray x(given(before, {where, "before"}), {where, "before"});
  const ConstArray y(given(after, {where, "after"}), {where, "after"});
  const std::vector<double> places = coordinates_of(positions, {where, "positions"});
  const DiagnoseArgs args{.before = x.view(),
                          .after = y.view(),
                          .rotate = rotate,
                          .plan = plan,
                          .length = Convert<Whole>::from_python(length, {where, "length"}),
                          .start = Convert<Whole>::from_python(start, {where, "start"}),
                          .positions = places};
  const nb::gil_scoped_release released;
  return diagnose(args);
}

BothDiagnosis both_of(nb::handle queries_before, nb::handle queries_after, nb::handle keys_before,
                      nb::handle keys_after, const Rotate* rotate, const Plan* plan, nb::handle length,
                      nb::handle start, nb::handle positions) {
  const char* where = "diagnose";
  using Whole = std::optional<std::int64_t>;
  const ConstArray qx(given(queries_before, {where, "q before"}), {where, "q before"});
  const ConstArray qy(given(queries_after, {where, "q after"}), {where, "q after"});
  const ConstArray kx(given(keys_before, {where, "k before"}), {where, "k before"});
  const ConstArray ky(given(keys_after, {where, "k after"}), {where, "k after"});
  const std::vector<double> places = coordinates_of(positions, {where, "positions"});
  DiagnoseArgs queries{.before = qx.view(),
                       .after = qy.view(),
                       .rotate = rotate,
                       .plan = plan,
                       .length = Convert<Whole>::from_python(length, {where, "length"}),
                       .start = Convert<Whole>::from_python(start, {where, "start"}),
                       .positions = places};
  DiagnoseArgs keys = queries;
  keys.before = kx.view();
  keys.after = ky.view();
  const nb::gil_scoped_release released;
  return diagnose_both(queries, keys);
}

AttentionDiagnosis attention_of(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v, nb::handle scores,
                                nb::handle weights, nb::handle out, const Plan* plan, nb::handle score_weights,
                                nb::handle sinks, bool rotated, nb::handle q_order, nb::handle k_order,
                                nb::handle attn_mask, std::int64_t prefix, std::int64_t sequence) {
  const char* where = "diagnose_attention";
  const ConstArray queries(given(q, {where, "q"}), {where, "q"});
  const ConstArray keys(given(k, {where, "k"}), {where, "k"});
  const ConstArray values(v, {where, "v"});
  const ConstArray of_scores(scores, {where, "scores"});
  const ConstArray of_weights(weights, {where, "weights"});
  const ConstArray output(out, {where, "out"});
  const ConstArray mask(attn_mask, {where, "attn_mask"}, Bools::taken);
  const WeightArguments learned(where, score_weights, nb::none(), sinks);
  const Numbers<std::int64_t> of_queries(q_order, {where, "q_order"});
  const Numbers<std::int64_t> of_keys(k_order, {where, "k_order"});
  const AttentionDumpArgs args{.q = queries.view(),
                               .k = keys.view(),
                               .v = values.view(),
                               .scores = of_scores.view(),
                               .weights = of_weights.view(),
                               .out = output.view(),
                               .layer = &layer,
                               .plan = plan,
                               .learned = learned.weights(),
                               .rotated = rotated,
                               .q_order = of_queries.span(),
                               .k_order = of_keys.span(),
                               .attn_mask = mask.view(),
                               .prefix = prefix,
                               .sequence = sequence};
  const nb::gil_scoped_release released;
  return diagnose_attention(args);
}

PairingDiagnosis pairing_of(nb::handle layers, std::int64_t head_dim, std::int64_t first_channel, nb::handle dim) {
  const char* where = "diagnose_pairing";
  using Whole = std::optional<std::int64_t>;
  if (!nb::isinstance<nb::iterable>(layers)) refuse_type({where, "layers"}, "be pairs of arrays", layers);
  const std::int64_t width =
      Convert<Whole>::from_python(dim, {where, "dim"}).value_or(std::max<std::int64_t>(head_dim - first_channel, 0));
  std::deque<ConstArray> kept;
  std::vector<QueryKeyRows> rows;
  for (const nb::handle layer : nb::iter(layers)) {
    if (!nb::isinstance<nb::sequence>(layer) || nb::len(layer) != 2) {
      refuse_type({where, "layers"}, "be pairs of arrays, of queries and of keys", layer);
    }
    const nb::object q = layer[0];
    const nb::object k = layer[1];
    const ConstTensorView& of_q = kept.emplace_back(given(q, {where, "q"}), Place{where, "q"}).view();
    const ConstTensorView& of_k = kept.emplace_back(given(k, {where, "k"}), Place{where, "k"}).view();
    rows.push_back({.q = of_q, .k = of_k, .head_dim = head_dim, .first_channel = first_channel, .dim = width});
  }
  const nb::gil_scoped_release released;
  return diagnose_pairing(rows);
}

}  // namespace

void bind_diagnose(nb::module_& m) {
  bind_value<PortFinding>(m);
  bind_value<Diagnosis>(m)
      .def(
          "describe", [](const Diagnosis& diagnosis) { return describe(diagnosis); },
          "The verdict on the first line, then what was found and how to mend it.")
      .def(
          "to_json", [](const Diagnosis& diagnosis) { return to_json(diagnosis); }, "JSON as docs/diagnose.md says.");
  bind_value<BothDiagnosis>(m)
      .def(
          "describe", [](const BothDiagnosis& diagnosis) { return describe(diagnosis); },
          "The verdict on the first line, then queries and keys, each as a Diagnosis.")
      .def(
          "to_json", [](const BothDiagnosis& diagnosis) { return to_json(diagnosis); },
          "JSON as docs/diagnose.md says.");
  bind_value<AttentionDiagnosis>(m)
      .def(
          "describe", [](const AttentionDiagnosis& diagnosis) { return describe(diagnosis); },
          "The verdict on the first line, then what was found and how to mend it.")
      .def(
          "to_json", [](const AttentionDiagnosis& diagnosis) { return to_json(diagnosis); },
          "JSON as docs/diagnose.md says.");
  bind_value<PairingDiagnosis>(m)
      .def(
          "describe", [](const PairingDiagnosis& diagnosis) { return describe(diagnosis); },
          "The verdict on the first line, then what it rests on.")
      .def(
          "to_json", [](const PairingDiagnosis& diagnosis) { return to_json(diagnosis); },
          "JSON as docs/diagnose.md says.");
  m.def("_diagnose", &diagnosis_of, nb::arg("before"), nb::arg("after"), nb::kw_only(),
        nb::arg("rotate").none() = nb::none(), nb::arg("plan").none() = nb::none(),
        nb::arg("length").none() = nb::none(), nb::arg("start").none() = nb::none(),
        nb::arg("positions").none() = nb::none(),
        nb::sig(with_array_types("def _diagnose(before: ArrayLike, after: ArrayLike, *, rotate: Rotate | None = None, "
                                 "plan: Plan | None = None, length: int | None = None, start: int | None = None, "
                                 "positions: PositionsLike | None = None) -> Diagnosis")
                    .c_str()));
  m.def("_diagnose_both", &both_of, nb::arg("q_before"), nb::arg("q_after"), nb::arg("k_before"), nb::arg("k_after"),
        nb::kw_only(), nb::arg("rotate").none() = nb::none(), nb::arg("plan").none() = nb::none(),
        nb::arg("length").none() = nb::none(), nb::arg("start").none() = nb::none(),
        nb::arg("positions").none() = nb::none(),
        nb::sig(with_array_types("def _diagnose_both(q_before: ArrayLike, q_after: ArrayLike, k_before: ArrayLike, "
                                 "k_after: ArrayLike, *, rotate: Rotate | None = None, plan: Plan | None = None, "
                                 "length: int | None = None, start: int | None = None, "
                                 "positions: PositionsLike | None = None) -> BothDiagnosis")
                    .c_str()));
  m.def(
      "diagnose_attention", &attention_of, nb::arg("layer"), nb::arg("q"), nb::arg("k"),
      nb::arg("v").none() = nb::none(), nb::kw_only(), nb::arg("scores").none() = nb::none(),
      nb::arg("weights").none() = nb::none(), nb::arg("out").none() = nb::none(), nb::arg("plan").none() = nb::none(),
      nb::arg("score_weights").none() = nb::none(), nb::arg("sinks").none() = nb::none(), nb::arg("rotated") = true,
      nb::arg("q_order").none() = nb::none(), nb::arg("k_order").none() = nb::none(),
      nb::arg("attn_mask").none() = nb::none(), nb::arg("prefix") = 0, nb::arg("sequence") = 0,
      nb::sig(with_array_types(
                  "def diagnose_attention(layer: LayerPlan, q: ArrayLike, k: ArrayLike, v: ArrayLike | None = None, "
                  "*, scores: ArrayLike | None = None, weights: ArrayLike | None = None, out: ArrayLike | None = "
                  "None, plan: Plan | None = None, score_weights: Iterable[Any] | None = None, sinks: ArrayLike | "
                  "None = None, rotated: bool = True, q_order: IndicesLike | None = None, k_order: IndicesLike | "
                  "None = None, attn_mask: ArrayLike | None = None, prefix: int = 0, sequence: int = 0) -> "
                  "AttentionDiagnosis")
                  .c_str()),
      "What an attention did with its queries, keys and values, and what of it the layer's plan does not say.\n\n"
      "q, out: [tokens, heads, channels] or [batch, heads, tokens, channels]; k, v likewise, with kv_heads, or heads,\n"
      "which are these repeated. scores, which the softmax is of, and weights, which it makes: [heads, queries, keys]\n"
      "or [batch, heads, queries, keys]. One of scores, weights and out at least, v with out. rotated: q and k are\n"
      "as scores were made of them; else they are rotated here, by their order. sequence: which of the batch is\n"
      "looked at. score_weights and sinks as for attend. ValueError for what does not fit, and for a NaN.");
  m.def(
      "diagnose_pairing", &pairing_of, nb::arg("layers"), nb::arg("head_dim"), nb::kw_only(),
      nb::arg("first_channel") = 0, nb::arg("dim").none() = nb::none(),
      nb::sig(with_array_types(
                  "def diagnose_pairing(layers: collections.abc.Iterable[tuple[ArrayLike, ArrayLike]], head_dim: int, "
                  "*, first_channel: int = 0, dim: int | None = None) -> PairingDiagnosis")
                  .c_str()),
      "In which order the q and k projections of a checkpoint have their channels, told from their numbers alone.\n\n"
      "layers: (q, k) of each, [heads * head_dim, inputs] and [kv_heads * head_dim, inputs], as torch's Linear has\n"
      "its weight. dim: rotated channels, from first_channel on; all of them when omitted. pairing is 'half',\n"
      "'interleaved', or None, where trained numbers do not tell: docs/diagnose.md says how far to trust it.\n"
      "ValueError for rows that do not fit, and for a NaN or an infinity.");
}

}  // namespace posenc::python

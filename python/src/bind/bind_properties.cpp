// What position encodings are good for, measured.
// posenc.properties (properties.py). Results are facts, read-only and without ==; a scheme is named by a text of
// measured_schemes(), ValueError for any other. What computes for long does so without the GIL.
#include <nanobind/ndarray.h>

#include "describe/describe_properties.h"
#include "describe/fact_type.h"
#include "module.h"
#include "posenc/properties.h"
#include "whole.h"

namespace posenc::python {
namespace {

// What `measure` gives, found without the GIL.
// Nothing of Python may be looked at within `measure`.
template <typename Measure>
auto measured(Measure measure) {
  const nb::gil_scoped_release released;
  return measure();
}

// Copies: the results of a call belong to nobody else.
template <typename T>
nb::object tuple_of(const std::vector<T>& values) {
  return Convert<std::vector<T>>::to_python(values, {});
}

void bind_facts(nb::module_& m) {
  bind_value<MeasuredScheme>(m);
  bind_fact<PropertyRule>(m);
  bind_fact<PropertyResult>(m);
  bind_fact<DecayCurves>(m);
  bind_fact<SignalToNoise>(m);
  bind_fact<Cost>(m);
  bind_fact<FourTerms>(m);
  bind_fact<OrderSeen>(m);
  bind_fact<OrderExperiment>(m);
  nb::class_<ScoreMatrix>(m, "ScoreMatrix", nb::is_final(),
                          "Scores with the same token at every position, so that only positions differ.")
      .def_ro("heads", &ScoreMatrix::heads)
      .def_ro("places", &ScoreMatrix::places)
      .def_prop_ro(
          "values",
          [](nb::handle self) {
            const ScoreMatrix& matrix = *nb::inst_ptr<ScoreMatrix>(self);
            const auto heads = static_cast<std::size_t>(matrix.heads);
            const auto places = static_cast<std::size_t>(matrix.places);
            const nb::ndarray<const double, nb::memview, nb::device::cpu> view(matrix.values.data(),
                                                                               {heads, places, places}, self);
            return nb::cast(view, nb::rv_policy::reference);
          },
          nb::for_getter(nb::sig("def values(self) -> memoryview")),
          "[heads, places, places], float64, query first; what a causal mask hides is -inf. Nothing is copied.");
}

void bind_judgements(nb::module_& m) {
  m.def(
      "measured_schemes", [] { return tuple_of(measured_schemes()); },
      nb::sig("def measured_schemes() -> tuple[MeasuredScheme, ...]"),
      "The schemes whose names the functions of posenc.properties take, by stage.");
  m.def(
      "property_rules",
      [] {
        const std::span<const PropertyRule> rules = property_rules();
        return tuple_of(std::vector<PropertyRule>(rules.begin(), rules.end()));
      },
      nb::sig("def property_rules() -> tuple[PropertyRule, ...]"),
      "The ten properties in their order, each with the threshold that tells rounding from what a scheme does.");
  m.def(
      "measure_property",
      [](const std::string& scheme, nb::handle property) {
        const auto of = Convert<Property>::from_python(property, {"measure_property", "property"});
        return measured([&] { return measure_property(scheme, of); });
      },
      nb::arg("scheme"), nb::arg("property"),
      nb::sig(
          ("def measure_property(scheme: str, property: " + Convert<Property>::type() + ") -> PropertyResult").c_str()),
      "One property of one scheme (docs/properties.md). ValueError for a name that is not known.");
  m.def(
      "measure_properties",
      [](const std::string& scheme) { return tuple_of(measured([&] { return measure_properties(scheme); })); },
      nb::arg("scheme"), nb::sig("def measure_properties(scheme: str) -> tuple[PropertyResult, ...]"),
      "One result for each property, in their order.");
}

void bind_experiments(nb::module_& m) {
  m.def(
      "score_matrix",
      [](const std::string& scheme, Whole<"score_matrix", "places"> places, nb::handle mask) {
        const auto kind = Convert<MaskKind>::from_python(mask, {"score_matrix", "mask"});
        return measured([&] { return score_matrix(scheme, places, kind); });
      },
      nb::arg("scheme"), nb::kw_only(), nb::arg("places") = kTrainedPlaces, nb::arg("mask") = "bidirectional",
      nb::sig(("def score_matrix(scheme: str, *, places: int = 64, mask: " + Convert<MaskKind>::type() +
               " = 'bidirectional') -> ScoreMatrix")
                  .c_str()),
      "Scores by places alone. ValueError for less than 1 place, and for more than the scheme has.");
  m.def(
      "decay_curves",
      [](Whole<"decay_curves", "dim"> dim, double base, Whole<"decay_curves", "longest"> longest,
         Whole<"decay_curves", "step"> step, Whole<"decay_curves", "samples"> samples) {
        const DecayOptions options{.dim = dim, .base = base, .longest = longest, .step = step, .samples = samples};
        return measured([&] { return decay_curves(options); });
      },
      nb::kw_only(), nb::arg("dim") = DecayOptions{}.dim, nb::arg("base") = DecayOptions{}.base,
      nb::arg("longest") = DecayOptions{}.longest, nb::arg("step") = DecayOptions{}.step,
      nb::arg("samples") = DecayOptions{}.samples,
      "The curves behind RoPE's long-term decay, at distances 0, step, "
      "2 step, ... up to `longest`. ValueError for a dim that is not even or below 2, and for counts below 1.");
  m.def(
      "signal_to_noise",
      [](const std::string& scheme, nb::handle multipliers, nb::handle norm) {
        const auto all = Convert<std::vector<double>>::from_python(multipliers, {"signal_to_noise", "multipliers"});
        const auto kind = Convert<QkNorm::Kind>::from_python(norm, {"signal_to_noise", "norm"});
        return tuple_of(measured([&] { return signal_to_noise(scheme, all, kind); }));
      },
      nb::arg("scheme"), nb::arg("multipliers"), nb::kw_only(), nb::arg("norm") = "layer",
      nb::sig(("def signal_to_noise(scheme: str, multipliers: collections.abc.Iterable[float], *, norm: " +
               Convert<QkNorm::Kind>::type() + " = 'layer') -> tuple[SignalToNoise, ...]")
                  .c_str()),
      "How much of the token is left of norm(M x + p), for each M. ValueError for a scheme of another stage than "
      "input.");
  m.def(
      "four_terms", [](const std::string& scheme) { return measured([&] { return four_terms(scheme); }); },
      nb::arg("scheme"),
      "The sizes of token-token, token-position, position-token and position-position scores. ValueError for a scheme "
      "of another stage than input.");
  m.def(
      "order_experiment", [](const std::string& scheme) { return measured([&] { return order_experiment(scheme); }); },
      nb::arg("scheme"),
      "How far outputs of attention over a few words differ when their order does, under a mask and without.");
}

void bind_costs(nb::module_& m) {
  const CostSizes usual;
  m.def(
      "cost",
      [](const std::string& scheme, Whole<"cost", "tokens"> tokens, Whole<"cost", "heads"> heads,
         Whole<"cost", "head_dim"> head_dim) {
        return cost(scheme, {.tokens = tokens, .heads = heads, .head_dim = head_dim});
      },
      nb::arg("scheme"), nb::kw_only(), nb::arg("tokens") = usual.tokens, nb::arg("heads") = usual.heads,
      nb::arg("head_dim") = usual.head_dim,
      "What a scheme costs on top of plain attention, counted on what kernels compute. ValueError for a size below 1.");
  m.def(
      "plain_attention_cost",
      [](Whole<"plain_attention_cost", "tokens"> tokens, Whole<"plain_attention_cost", "heads"> heads,
         Whole<"plain_attention_cost", "head_dim"> head_dim) {
        return plain_attention_cost({.tokens = tokens, .heads = heads, .head_dim = head_dim});
      },
      nb::kw_only(), nb::arg("tokens") = usual.tokens, nb::arg("heads") = usual.heads,
      nb::arg("head_dim") = usual.head_dim,
      "q k^T and the weighted sum of values; the bytes are those of keys and values.");
}

}  // namespace

void bind_properties(nb::module_& m) {
  bind_facts(m);
  bind_judgements(m);
  bind_experiments(m);
  bind_costs(m);
}

}  // namespace posenc::python

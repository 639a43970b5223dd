// Schemes of research papers (posenc/reference_research.h). The members of a scheme's struct are keyword arguments.
// For posenc.reference: a score or a rotated head at a time, of lists or arrays of doubles. No plan holds these schemes
// and attend does not compute them (docs/schemes/research.md). Vectors live in the expression that calls the library.
#include <deque>

#include "arrays/arrays.h"
#include "convert.h"
#include "module.h"
#include "posenc/reference_research.h"
#include "signature.h"
#include "whole.h"

namespace posenc::python {
namespace {

// A vector [d], by its name in what is said when it is none.
// ValueError for an array that is not float64 and adjacent; a list of numbers is converted. None is empty.
struct Vector {
  Numbers<double> numbers;

  Vector(nb::handle given, const char* name) : numbers(given, {"reference", name}) {}
  operator std::span<const double>() const { return numbers.span(); }  // NOLINT: it stands for its numbers
};

nb::object tuple_of(const std::vector<double>& numbers) { return Convert<std::vector<double>>::to_python(numbers, {}); }

void bind_pope(nb::module_& m) {
  m.def(
      "_reference_pope_score",
      [](nb::handle q, nb::handle k, double i, double j, double base, nb::handle delta) {
        const Vector shifts(delta, "delta");
        return reference::pope_score({.base = base, .delta = shifts}, Vector(q, "q"), Vector(k, "k"), i, j);
      },
      nb::arg("q"), nb::arg("k"), nb::arg("i"), nb::arg("j"), nb::kw_only(), nb::arg("base") = 10000.0,
      nb::arg("delta") = nb::none(),
      nb::sig(with_array_types("def _reference_pope_score(q: PositionsLike, k: PositionsLike, i: float, j: float, *, "
                               "base: float = 10000.0, delta: PositionsLike | None = None) -> float")
                  .c_str()),
      "PoPE, arXiv 2509.10534: sum_c softplus(q_c) softplus(k_c) cos((j - i) w_c + delta_c), w_c = base^(-c/d). "
      "q, k: [d]; delta: [d], or none. ValueError for sizes that do not fit.");
}

const char* const kFopeSignature =
    "inv_freq: PositionsLike, cos_mix: PositionsLike, sin_mix: PositionsLike, "
    "dropped_sin: float = 1.0";

void bind_fope(nb::module_& m) {
  m.def(
      "_reference_fope",
      [](nb::handle x, double n, nb::handle inv_freq, nb::handle cos_mix, nb::handle sin_mix, double dropped) {
        const Vector w(inv_freq, "inv_freq"), c(cos_mix, "cos_mix"), s(sin_mix, "sin_mix");
        return tuple_of(reference::fope({w, c, s, dropped}, Vector(x, "x"), n));
      },
      nb::arg("x"), nb::arg("n"), nb::kw_only(), nb::arg("inv_freq"), nb::arg("cos_mix"), nb::arg("sin_mix"),
      nb::arg("dropped_sin") = 1.0,
      nb::sig(with_array_types(std::string("def _reference_fope(x: PositionsLike, n: float, *, ") + kFopeSignature +
                               ") -> tuple[float, ...]")
                  .c_str()),
      "FoPE, arXiv 2412.17739: a head [d], halves paired, at position n. inv_freq: [kept]; mixes: [kept, kept]. "
      "ValueError for sizes that do not fit.");
  m.def(
      "_reference_fope_score",
      [](nb::handle q, nb::handle k, double i, double j, nb::handle inv_freq, nb::handle cos_mix, nb::handle sin_mix,
         double dropped) {
        const Vector w(inv_freq, "inv_freq"), c(cos_mix, "cos_mix"), s(sin_mix, "sin_mix");
        return reference::fope_score({w, c, s, dropped}, Vector(q, "q"), Vector(k, "k"), i, j);
      },
      nb::arg("q"), nb::arg("k"), nb::arg("i"), nb::arg("j"), nb::kw_only(), nb::arg("inv_freq"), nb::arg("cos_mix"),
      nb::arg("sin_mix"), nb::arg("dropped_sin") = 1.0,
      nb::sig(with_array_types(std::string("def _reference_fope_score(q: PositionsLike, k: PositionsLike, i: float, "
                                           "j: float, *, ") +
                               kFopeSignature + ") -> float")
                  .c_str()),
      "fope(q, i) . fope(k, j), of heads q and k, both [d]. ValueError for sizes that do not fit.");
}

// Planes (a, b, w), and the vectors they look at.
struct Planes {
  std::deque<Vector> vectors;
  std::vector<reference::GrapePlane> planes;

  explicit Planes(nb::handle given) {
    for (const nb::handle plane : nb::iter(given)) {
      const nb::tuple parts(nb::borrow(plane));
      if (nb::len(parts) != 3) refuse_type({"reference.grape", "planes"}, "be of (a, b, frequency)", plane);
      const Vector& a = vectors.emplace_back(parts[0], "a");
      const Vector& b = vectors.emplace_back(parts[1], "b");
      planes.push_back({a, b, Convert<double>::from_python(parts[2], {"reference.grape", "frequency"})});
    }
  }
};

void bind_grape(nb::module_& m) {
  const std::string first = "planes: collections.abc.Iterable[tuple[PositionsLike, PositionsLike, float]], ";
  m.def(
      "_reference_grape",
      [](nb::handle planes, nb::handle x, double n) {
        return tuple_of(reference::grape(Planes(planes).planes, Vector(x, "x"), n));
      },
      nb::arg("planes"), nb::arg("x"), nb::arg("n"),
      nb::sig(with_array_types("def _reference_grape(" + first + "x: PositionsLike, n: float) -> tuple[float, ...]")
                  .c_str()),
      "GRAPE, arXiv 2512.07805: exp(n sum_p w_p L_p) x, L = a b^T - b a^T, of planes (a, b, w) that are orthogonal to "
      "each other. x, a, b: [d]; w in radians per position. ValueError for sizes that do not fit.");
  m.def(
      "_reference_grape_score",
      [](nb::handle planes, nb::handle q, nb::handle k, double i, double j) {
        return reference::grape_score(Planes(planes).planes, Vector(q, "q"), Vector(k, "k"), i, j);
      },
      nb::arg("planes"), nb::arg("q"), nb::arg("k"), nb::arg("i"), nb::arg("j"),
      nb::sig(with_array_types("def _reference_grape_score(" + first +
                               "q: PositionsLike, k: PositionsLike, i: float, j: float) -> float")
                  .c_str()),
      "grape(q, i) . grape(k, j), of heads q and k, both [d]. ValueError for sizes that do not fit.");
  m.def(
      "_reference_grape_bias",
      [](nb::handle q, nb::handle k, double i, double j, double rate, nb::handle query_gate, nb::handle key_gate) {
        const Vector of_query(query_gate, "query_gate"), of_key(key_gate, "key_gate");
        return reference::grape_bias({rate, of_query, of_key}, Vector(q, "q"), Vector(k, "k"), i, j);
      },
      nb::arg("q"), nb::arg("k"), nb::arg("i"), nb::arg("j"), nb::kw_only(), nb::arg("rate") = 1.0,
      nb::arg("query_gate") = nb::none(), nb::arg("key_gate") = nb::none(),
      nb::sig(with_array_types("def _reference_grape_bias(q: PositionsLike, k: PositionsLike, i: float, j: float, *, "
                               "rate: float = 1.0, query_gate: PositionsLike | None = None, "
                               "key_gate: PositionsLike | None = None) -> float")
                  .c_str()),
      "GRAPE's additive form, (4.6) and (4.7): what is added to the scaled product; without gates it is "
      "ALiBi. q, k and gates: [d]. ValueError for sizes that do not fit.");
}

void bind_others(nb::module_& m) {
  m.def(
      "_reference_path_score",
      [](nb::handle q, nb::handle k, nb::handle w, nb::handle betas) {
        return reference::path_score(Vector(q, "q"), Vector(k, "k"), Vector(w, "w"), Vector(betas, "betas"));
      },
      nb::arg("q"), nb::arg("k"), nb::arg("w"), nb::arg("betas"),
      nb::sig(with_array_types("def _reference_path_score(q: PositionsLike, k: PositionsLike, w: PositionsLike, "
                               "betas: PositionsLike) -> float")
                  .c_str()),
      "PaTH, arXiv 2505.16381: k . H_(j+1) ... H_i q, H_l = I - beta_l w_l w_l^T. w: [steps, d], of tokens j + 1 to "
      "i; betas: [steps]; q, k: [d]. ValueError for sizes that do not fit.");
  m.def(
      "_reference_relative_logit",
      [](nb::handle q, nb::handle k, nb::handle r, Whole<"reference.relative_logit", "i"> i,
         Whole<"reference.relative_logit", "j"> j, nb::handle profiles, nb::handle n_floor, double alpha) {
        const Vector all(profiles, "profiles");
        const auto floor =
            Convert<std::optional<std::int64_t>>::from_python(n_floor, {"reference.relative_logit", "n_floor"});
        return reference::relative_logit({all, floor, alpha}, Vector(q, "q"), Vector(k, "k"), Vector(r, "r"), i, j);
      },
      nb::arg("q"), nb::arg("k"), nb::arg("r"), nb::arg("i"), nb::arg("j"), nb::kw_only(), nb::arg("profiles"),
      nb::arg("n_floor") = nb::none(), nb::arg("alpha") = 0.1,
      nb::sig(with_array_types("def _reference_relative_logit(q: PositionsLike, k: PositionsLike, r: PositionsLike, "
                               "i: int, j: int, *, profiles: PositionsLike, n_floor: int | None = None, "
                               "alpha: float = 0.1) -> float")
                  .c_str()),
      "Relative logits of the content (Inkling): tau_i (q . k / d + r . P[:, i - j]), with the softmax scale. "
      "q, k: [d]; r: [rows of the profiles]; profiles: [rows, extent]. ValueError for sizes that do not fit.");
}

}  // namespace

void bind_research(nb::module_& m) {
  bind_pope(m);
  bind_fope(m);
  bind_grape(m);
  bind_others(m);
}

}  // namespace posenc::python

// The rotation as a value, its frequencies, and what maps coordinates to pairs.
// Rope, its scaling rules and axis maps as values; frequencies(), wavelengths(), check() as functions of them. `length`
// is None or the sequence's, in tokens.
#include <nanobind/stl/optional.h>

#include "describe/describe_rope.h"
#include "describe/fact_type.h"
#include "describe/value_type.h"
#include "module.h"
#include "posenc/plan.h"
#include "posenc/wavelength.h"
#include "whole.h"

namespace posenc::python {
namespace {

using Length = std::optional<std::int64_t>;

// `where`: the function's name, for errors.
Length length_of(nb::handle length, const char* where) {
  return Convert<Length>::from_python(length, {where, "length"});
}

void bind_axes(nb::module_& m) {
  using Names = std::vector<std::string>;
  using Sections = std::vector<std::int64_t>;
  // Taken by handle, so that any iterable will do.
  const auto names_of = [](nb::handle names, const char* where) {
    return Convert<Names>::from_python(names, {where, "names"});
  };
  const auto sections_of = [](nb::handle sections, const char* where) {
    return Convert<Sections>::from_python(sections, {where, "sections"});
  };
  m.def(
      "chunked_axes",
      [=](nb::handle names, nb::handle sections) {
        return chunked_axes(names_of(names, "chunked_axes"), sections_of(sections, "chunked_axes"));
      },
      nb::sig("def chunked_axes(names: collections.abc.Iterable[str], sections: collections.abc.Iterable[int]) -> "
              "AxisMap"),
      "Qwen2-VL's map: the first sections[0] pairs take axis 0, and so on.");
  m.def(
      "interleaved_axes",
      [=](nb::handle sections) { return interleaved_axes(sections_of(sections, "interleaved_axes")); },
      nb::sig("def interleaved_axes(sections: collections.abc.Iterable[int]) -> AxisMap"),
      "Qwen3-VL's map: sections of t, h, w; pairs 1::3 take h, pairs 2::3 take w, others t.");
  m.def(
      "alternating_axes",
      [=](nb::handle sections) { return alternating_axes(sections_of(sections, "alternating_axes")); },
      nb::sig("def alternating_axes(sections: collections.abc.Iterable[int]) -> AxisMap"),
      "Ernie 4.5-VL's map: sections of h, w, t; h and w alternate, the last pairs take t.");
  m.def(
      "axial_axes",
      [=](nb::handle names, Whole<"axial_axes", "pairs"> pairs) {
        return axial_axes(names_of(names, "axial_axes"), pairs);
      },
      nb::sig("def axial_axes(names: collections.abc.Iterable[str], pairs: int) -> AxisMap"),
      "2-D and 3-D vision: equal blocks of pairs, one per axis.");
}

void bind_wavelengths(nb::module_& m) {
  bind_fact<Wavelengths>(m);
  bind_fact<AngleError>(m);
  m.def(
      "wavelengths",
      [](const Rope& rope, Whole<"wavelengths", "trained_length"> trained_length, nb::handle length) {
        return wavelengths(rope, trained_length, length_of(length, "wavelengths"));
      },
      nb::arg("rope"), nb::arg("trained_length"), nb::kw_only(), nb::arg("length") = nb::none(),
      nb::sig("def wavelengths(rope: Rope, trained_length: int, *, length: int | None = None) -> Wavelengths"),
      "RoPE's wavelengths, in positions per turn, and what they say about a trained length, in tokens. `length`: "
      "of the sequence, for rules that depend on it; by default the trained one, and none where the rule breaks "
      "down "
      "there. ValueError for what check() finds, and for a trained_length below "
      "1.");
  m.def(
      "angle_error",
      [](const Rope& rope, nb::handle angles, Whole<"angle_error", "end"> end, Whole<"angle_error", "count"> count,
         nb::handle length) {
        const auto of = Convert<Angles>::from_python(angles, {"angle_error", "angles"});
        return angle_error(rope, of, end, count, length_of(length, "angle_error"));
      },
      nb::arg("rope"), nb::arg("angles"), nb::arg("end"), nb::kw_only(), nb::arg("count") = 64,
      nb::arg("length") = nb::none(),
      nb::sig(("def angle_error(rope: Rope, angles: " + Convert<Angles>::type() +
               ", end: int, *, count: int = 64, length: int | None = None) -> AngleError")
                  .c_str()),
      "The largest difference between tables in `angles` and the exact ones, over cos and sin of all pairs and the "
      "last `count` positions before `end`.");
}

}  // namespace

void bind_rope(nb::module_& m) {
  // Before Rope, which holds one of them, as does XPos a Rope.
  Alternatives<Scaling>::bind(m);
  bind_value<AxisMap>(m);
  bind_value<Rope>(m).def_prop_ro("pairs", &Rope::pairs, "dim / 2");
  bind_value<XPos>(m);
  bind_value<Frequencies>(m);
  bind_value<RotaryLayout>(m).def_prop_ro("pairs", &RotaryLayout::pairs, "dim / 2");
  bind_axes(m);

  m.def(
      "check",
      [](const Rope& rope, nb::handle length) -> std::optional<std::string> {
        // The words of the ValueError that every other function raises for it, without "[where]".
        const std::optional<Problem> problem = check(rope, length_of(length, "check"));
        if (!problem) return std::nullopt;
        return problem->field + " must " + problem->must + " but is " + problem->is;
      },
      nb::arg("rope"), nb::arg("length") = nb::none(),
      nb::sig("def check(rope: Rope, length: int | None = None) -> str | None"),
      "The first rule that `rope` breaks, in words, or None; with a length, also what holds up to the trained length "
      "only. Every function that takes a Rope raises ValueError for it.");
  m.def(
      "frequencies",
      [](const Rope& rope, nb::handle length, nb::handle arithmetic) {
        return frequencies(rope, length_of(length, "frequencies"),
                           Convert<Arithmetic>::from_python(arithmetic, {"frequencies", "arithmetic"}));
      },
      nb::arg("rope"), nb::kw_only(), nb::arg("length") = nb::none(), nb::arg("arithmetic") = "exact",
      nb::sig("def frequencies(rope: Rope, *, length: int | None = None, arithmetic: "
              "typing.Literal['exact', 'float32'] = 'exact') -> Frequencies"),
      "The frequencies of `rope` for a sequence of `length` tokens (largest position + 1).\n\n"
      "Without a length, dynamic NTK answers for its trained length and LongRoPE with its short list, as Hugging Face "
      "does. 'float32' rounds each step to float in the order of Hugging Face's code: what checkpoints were trained "
      "with. ValueError for what check() finds, for length < 1, and when a frequency overflows or vanishes.");
  m.def(
      "softmax_multiplier",
      [](nb::handle scaling) {
        return softmax_multiplier(Convert<Scaling>::from_python(scaling, {"softmax_multiplier", "scaling"}));
      },
      nb::arg("scaling").none(), nb::sig("def softmax_multiplier(scaling: YarnScaling | None) -> float"),
      "DeepSeek: YaRN's g(factor, mscale_all_dim)^2, by which such models multiply the softmax scale; else 1.");
  m.def("layout", &layout, nb::arg("rope"), "Which channels a table of this rotation rotates, by which coordinate.");
  m.def(
      "describe",
      [](nb::handle scaling) {
        return describe(Convert<Scaling>::from_python(scaling, {"describe", "scaling"}));
      },
      nb::arg("scaling").none(), nb::sig(("def describe(scaling: " + Convert<Scaling>::type() + ") -> str").c_str()),
      "A rule and its numbers under their JSON names: 'yarn, factor 40, ...'; no rule is 'none'.");
  bind_wavelengths(m);
}

}  // namespace posenc::python

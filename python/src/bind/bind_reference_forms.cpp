// The rotation in the forms in which the field writes it, one head at a time; and the norm of keys.
// One head as a list of doubles in, a tuple of floats out: for papers and tests, not for tensors. The four forms are
// equal to rounding (reference.h); `form` is the C++ function of each.
#include "arrays/arrays.h"
#include "describe/describe_rope.h"
#include "module.h"
#include "norm_argument.h"
#include "posenc/reference.h"
#include "posenc/reference_backward.h"
#include "signature.h"

namespace posenc::python {
namespace {

using Form = std::vector<double> (*)(const RotaryLayout&, std::span<const double>, std::span<const double>);

void bind_form(nb::module_& m, const char* name, Form form, const char* doc) {
  m.def(
      name,
      [form](const RotaryLayout& layout, nb::handle x, nb::handle angles) {
        const Numbers<double> head(x, {"reference", "x"});
        const Numbers<double> radians(angles, {"reference", "angles"});
        return Convert<std::vector<double>>::to_python(form(layout, head.span(), radians.span()), {});
      },
      nb::arg("layout"), nb::arg("x"), nb::arg("angles"),
      nb::sig(with_array_types(std::string("def ") + name +
                               "(layout: RotaryLayout, x: PositionsLike, angles: PositionsLike) -> tuple[float, ...]")
                  .c_str()),
      doc);
}

// float64, the shape of x. TypeError where `norm` is None: there is nothing to apply.
nb::object normalise_call(nb::handle x, const NormArgument& norm) {
  const ConstArray keys(x, {"reference.normalise", "x"});
  const ConstTensorView& view = keys.view();
  const NewArray out = new_array(x, DType::f64, std::span(view.shape).first(static_cast<std::size_t>(view.rank)));
  if (!norm.norm) refuse_type({"reference.normalise", "norm"}, "be a QkNorm", nb::none());
  {
    const nb::gil_scoped_release released;
    reference::normalise(out.view, view, *norm.norm);
  }
  return out.object;
}

// {"d_x", "d_weight", "d_bias"}, float64, of what there is.
nb::object normalise_backward_call(nb::handle x, nb::handle d_out, const NormArgument& norm) {
  const char* where = "reference.normalise_backward";
  const ConstArray keys(x, {where, "x"});
  const ConstArray gradient(d_out, {where, "d_out"});
  if (!norm.norm) refuse_type({where, "norm"}, "be a QkNorm", nb::none());
  nb::dict out;
  const auto written = [&](const char* name, const ConstTensorView& like) {
    if (like.empty()) return TensorView{};
    const NewArray made = new_array(x, DType::f64, std::span(like.shape).first(static_cast<std::size_t>(like.rank)));
    out[name] = made.object;
    return made.view;
  };
  const reference::NormaliseBackwardArgs args{.x = keys.view(),
                                              .d_out = gradient.view(),
                                              .norm = *norm.norm,
                                              .d_x = written("d_x", keys.view()),
                                              .d_weight = written("d_weight", norm.norm->weight),
                                              .d_bias = written("d_bias", norm.norm->bias)};
  {
    const nb::gil_scoped_release released;
    reference::normalise_backward(args);
  }
  return out;
}

}  // namespace

void bind_reference_forms(nb::module_& m) {
  bind_form(m, "_reference_rotate_matrix", &reference::rotate_matrix,
            "R x with the block-diagonal matrix R written out, RoFormer, arXiv 2104.09864, (15), (34).\n\n"
            "x: one head [head_dim]; angles: radians [dim / 2]. Channels outside the rotated part are copied. "
            "ValueError for sizes that do not fit.");
  bind_form(m, "_reference_rotate_complex", &reference::rotate_complex,
            "(x_a + i x_b) e^(i t), Meta's form. x: [head_dim], angles: radians [dim / 2], ValueError as for "
            "rotate_matrix.");
  bind_form(
      m, "_reference_rotate_pairwise", &reference::rotate_pairwise,
      "(a cos t - b sin t, a sin t + b cos t) for each pair, GPT-J's form. x: [head_dim], angles: radians [dim / 2], "
      "ValueError as for rotate_matrix.");
  bind_form(
      m, "_reference_rotate_half", &reference::rotate_half,
      "x * cos + rotate_half(x) * sin, Hugging Face's form. x: [head_dim], angles: radians [dim / 2], ValueError as "
      "for rotate_matrix.");
  m.def(
      "_reference_rotation_matrix",
      [](const RotaryLayout& layout, nb::handle angles) {
        const Numbers<double> radians(angles, {"reference.rotation_matrix", "angles"});
        return Convert<std::vector<double>>::to_python(reference::rotation_matrix(layout, radians.span()), {});
      },
      nb::arg("layout"), nb::arg("angles"),
      nb::sig(with_array_types("def _reference_rotation_matrix(layout: RotaryLayout, angles: PositionsLike) -> "
                               "tuple[float, ...]")
                  .c_str()),
      "The block-diagonal matrix itself, row by row, [head_dim * head_dim].");
  m.def(
      "_reference_normalise",
      [](nb::handle x, nb::handle norm, double epsilon, nb::handle weight, nb::handle bias, bool plus_one) {
        return normalise_call(x, {norm, epsilon, weight, bias, plus_one, "reference.normalise"});
      },
      nb::arg("x"), nb::arg("norm"), nb::kw_only(), nb::arg("norm_epsilon") = 1e-6, nb::arg("norm_weight") = nb::none(),
      nb::arg("norm_bias") = nb::none(), nb::arg("weight_plus_one") = false,
      nb::sig(with_array_types("def _reference_normalise(x: ArrayLike, norm: QkNorm, *, norm_epsilon: float = 1e-6, "
                               "norm_weight: ArrayLike | None = None, norm_bias: ArrayLike | None = None, "
                               "weight_plus_one: bool = False) -> typing.Any")
                  .c_str()),
      "The norm of keys that rotate_into_cache applies with RoPE; float64, the shape of x, "
      "[tokens, heads, head_dim]. ValueError for a norm or weights that do not fit.");
  m.def(
      "_reference_normalise_backward",
      [](nb::handle x, nb::handle d_out, nb::handle norm, double epsilon, nb::handle weight, nb::handle bias,
         bool plus_one) {
        return normalise_backward_call(x, d_out,
                                       {norm, epsilon, weight, bias, plus_one, "reference.normalise_backward"});
      },
      nb::arg("x"), nb::arg("d_out"), nb::arg("norm"), nb::kw_only(), nb::arg("norm_epsilon") = 1e-6,
      nb::arg("norm_weight") = nb::none(), nb::arg("norm_bias") = nb::none(), nb::arg("weight_plus_one") = false,
      nb::sig(with_array_types("def _reference_normalise_backward(x: ArrayLike, d_out: ArrayLike, norm: QkNorm, *, "
                               "norm_epsilon: float = 1e-6, norm_weight: ArrayLike | None = None, "
                               "norm_bias: ArrayLike | None = None, weight_plus_one: bool = False) -> "
                               "dict[str, typing.Any]")
                  .c_str()),
      "The gradients of normalise, where a loss has d_out of its result, [tokens, heads, head_dim] or [batch, heads, "
      "tokens, head_dim]: d_x, and d_weight and d_bias where there are these, in float64. ValueError for what does not "
      "fit.");
}

}  // namespace posenc::python

// The float64 reference.
// reference.rotate and reference.attend (posenc/reference.py): they take arrays of any dtype and return float64 of the
// caller's library. Slow by intent: Ctrl-C is seen once per token, and per row of a head.
#include "arrays/arrays.h"
#include "attend_arguments.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "posenc/reference.h"
#include "posenc/reference_attend.h"
#include "signal_watch.h"
#include "signature.h"

namespace posenc::python {
namespace {

nb::object rotate_call(const Rope& rope, nb::handle x, nb::handle positions, nb::handle direction, nb::handle length,
                       nb::handle angles, nb::handle cu_seqlens) {
  const char* where = "reference.rotate";
  const ConstArray from(x, {where, "x"});
  const PositionsArgument places(positions, {where, "positions"});
  const Numbers<std::int32_t> sequences(cu_seqlens, {where, "cu_seqlens"});
  const ConstTensorView& view = from.view();
  const NewArray out = new_array(x, DType::f64, std::span(view.shape).first(static_cast<std::size_t>(view.rank)));
  const reference::RotateArgs args{
      .out = out.view,
      .x = view,
      .positions = places.positions(),
      .direction = Convert<Direction>::from_python(direction, {where, "direction"}),
      .length = Convert<std::optional<std::int64_t>>::from_python(length, {where, "length"}),
      .angles = Convert<Angles>::from_python(angles, {where, "angles"}),
      .cu_seqlens = sequences.span(),
      .keep_going = SignalWatch()};
  finish([&] { return reference::rotate(rope, args); });
  return out.object;
}

// [heads, queries, keys], or [batch, heads, queries, keys]; q and k have the layouts of attend.
std::vector<std::int64_t> scores_shape(const ConstTensorView& q, const ConstTensorView& k) {
  if (q.rank == 4) return {q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
  return {q.shape[1], q.shape[0], k.shape[0]};
}

nb::object attend_in_double(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& given) {
  const char* where = "reference.attend";
  nb::dict keywords;
  keywords.update(given);
  const AttendArguments common(where, q, k, v, keywords);
  // True or False here: the reference writes into new arrays only, unlike attend.
  const nb::object lse_given = popped(keywords, "lse");
  const nb::object stage = popped(keywords, "scores");
  require_empty(keywords, where);
  if (common.q().rank < 3 || common.k().rank < 3) refuse({where, "q, k"}, "have rank 3 or 4", "less");

  const bool has_lse = !lse_given.is_none() && Convert<bool>::from_python(lse_given, {where, "lse"});
  reference::AttendArgs args{.q = common.q(), .k = common.k(), .v = common.v(), .keep_going = SignalWatch()};
  args.weights = common.weights();
  args.inputs = common.inputs();
  const NewArray out = new_array(q, DType::f64, common.out_shape(layer.value_dim));
  args.out = out.view;
  // In the order that the docstring promises; out alone where nothing else was asked for.
  nb::list results;
  results.append(out.object);
  if (has_lse) {
    const NewArray lse = new_array(q, DType::f64, common.lse_shape());
    args.lse = lse.view;
    results.append(lse.object);
  }
  if (!stage.is_none()) {
    args.stage = Convert<reference::ScoreStage>::from_python(stage, {where, "scores"});
    const NewArray scores = new_array(q, DType::f64, scores_shape(common.q(), common.k()));
    args.scores = scores.view;
    results.append(scores.object);
  }
  finish([&] { return reference::attend(layer, args); });
  return nb::len(results) == 1 ? nb::object(results[0]) : nb::object(nb::tuple(results));
}

}  // namespace

void bind_reference(nb::module_& m) {
  m.def("_reference_rotate", &rotate_call, nb::arg("rope"), nb::arg("x"), nb::kw_only(),
        nb::arg("positions").none() = 0, nb::arg("direction") = "forward", nb::arg("length") = nb::none(),
        nb::arg("angles") = "exact", nb::arg("cu_seqlens") = nb::none(),
        nb::sig(with_array_types("def _reference_rotate(rope: Rope, x: ArrayLike, *, positions: PositionsLike = 0, "
                                 "direction: " +
                                 Convert<Direction>::type() +
                                 " = 'forward', length: int | None = None, angles: " + Convert<Angles>::type() +
                                 " = 'exact', cu_seqlens: IndicesLike | None = None) -> typing.Any")
                    .c_str()),
        "rotate without its tables and kernels: float64, the shape of x, which may be of any dtype. ValueError for an "
        "array or positions that do not fit.");
  const std::string signature =
      std::string("def _reference_attend(layer: LayerPlan, q: ArrayLike, k: ArrayLike, v: ArrayLike, *, ") +
      kWeightsSignature + kInputsSignature + ", lse: bool = False, scores: " + Convert<reference::ScoreStage>::type() +
      " | None = None) -> typing.Any";
  const std::string doc =
      std::string(
          "Attention by its formula, one score at a time. Shapes as in attend; float64 comes out.\n\n"
          "  x_ij = scale tau_i (q~_i . k~_j + content terms)        q~, k~: rotated; tau: query scale\n"
          "  y_ij = x_ij + sum of bias terms\n"
          "  z_ij = cap tanh(y_ij / cap)\n"
          "  p_ij = exp(z_ij - m_i) / (sum_j exp(z_ij - m_i) + exp(sink_h - m_i))\n"
          "  o_i  = sum_j p_ij (v_j + value terms)\n\n"
          "Returns o; with lse=True and scores=STAGE a tuple of o, then ln of the sum of exp(z), then the scores "
          "[heads, "
          "queries, keys] or [batch, heads, queries, keys]: x is 'content', y 'biased', z 'capped', p 'weights'.\n\n") +
      kWeightsDoc + kInputsDoc;
  m.def("_reference_attend", &attend_in_double, nb::arg("layer"), nb::arg("q"), nb::arg("k"), nb::arg("v"),
        nb::arg("keywords"), nb::sig(with_array_types(signature).c_str()), doc.c_str());
}

}  // namespace posenc::python

// Linear attention with rotation.
// attend_linear, its recurrent state and its gradients, and those of the reference. Linear attention has no learned
// tables and no lse, so it does not share AttendArguments, but the names of inputs are the same.
#include "arrays/arrays.h"
#include "asked_gradients.h"
#include "attend_arguments.h"
#include "describe/describe_attention.h"
#include "describe/describe_plan.h"
#include "describe/written.h"
#include "kept.h"
#include "module.h"
#include "posenc/attend_linear.h"
#include "posenc/named_weights.h"
#include "posenc/reference_backward.h"
#include "posenc/reference_linear.h"
#include "signal_watch.h"
#include "signature.h"

namespace posenc::python {
namespace {

// LinearState, and the arrays that it is in.
struct HeldState {
  // As the caller gave them, for the properties; and S and z as the library writes them (attend_linear.h).
  nb::object products_given;
  nb::object totals_given;
  Array products;
  Array totals;

  HeldState(nb::handle s, nb::handle z)
      : products_given(nb::borrow(s)),
        totals_given(nb::borrow(z)),
        products(s, {"LinearState", "products"}),
        totals(z, {"LinearState", "totals"}) {}
};

// Of LayerInputs those that linear attention reads; others are taken, too, and refused by the library in its words.
const char* const kInputs =
    "q_positions: PositionsLike | None = None, k_positions: PositionsLike | None = None, "
    "cu_seqlens_q: IndicesLike | None = None, cu_seqlens_k: IndicesLike | None = None, length: int | None = None";

// q, k, v and what else both have. What linear attention has no place for, the library refuses.
struct Arguments {
  ConstArray q, k, v;
  Kept kept;
  LayerInputs inputs{};
  FeatureMap feature_map = FeatureMap::elu_plus_one;

  Arguments(const char* where, nb::handle queries, nb::handle keys, nb::handle values, nb::dict& keywords)
      : q(given(queries, {where, "q"}), {where, "q"}),
        k(given(keys, {where, "k"}), {where, "k"}),
        v(given(values, {where, "v"}), {where, "v"}) {
    kept.take_members(inputs, keywords, where);
    const nb::object map = popped(keywords, "feature_map");
    if (!map.is_none()) feature_map = Convert<FeatureMap>::from_python(map, {where, "feature_map"});
    if (q.view().rank < 3) refuse({where, "q"}, "have rank 3 or 4", std::to_string(q.view().rank));
  }

  // q's shape with value_dim channels.
  std::vector<std::int64_t> out_shape(std::int64_t channels) const {
    const auto rank = static_cast<std::ptrdiff_t>(q.view().rank);
    std::vector<std::int64_t> shape(q.view().shape.begin(), q.view().shape.begin() + rank);
    shape.back() = channels;
    return shape;
  }
};

// Returns `out`. The state is written in place: the caller passes the same LinearState to the next call.
nb::object attend_linear_call(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v,
                              const nb::kwargs& given) {
  const char* where = "attend_linear";
  nb::dict keywords;
  keywords.update(given);
  const Arguments common(where, q, k, v, keywords);
  const nb::object state = popped(keywords, "state");
  const Written out(popped(keywords, "out"), q, common.q.view().dtype, common.out_shape(layer.value_dim),
                    {where, "out"});
  AttendLinearArgs args{.out = out.view,
                        .q = common.q.view(),
                        .k = common.k.view(),
                        .v = common.v.view(),
                        .inputs = common.inputs,
                        .feature_map = common.feature_map,
                        .keep_going = SignalWatch()};
  if (!state.is_none()) {
    if (!nb::isinstance<HeldState>(state)) refuse_type({where, "state"}, "be a LinearState", state);
    const HeldState& held = *nb::inst_ptr<HeldState>(state);
    args.state = {.products = held.products.view(), .totals = held.totals.view()};
  }
  if (const nb::object angles = popped(keywords, "angles"); !angles.is_none()) {
    args.angles = Convert<Angles>::from_python(angles, {where, "angles"});
  }
  if (const nb::object isa = popped(keywords, "isa"); !isa.is_none()) {
    args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  }
  if (const nb::object threads = popped(keywords, "threads"); !threads.is_none()) {
    args.parallel.threads = Convert<std::int64_t>::from_python(threads, {where, "threads"});
  }
  require_empty(keywords, where);
  finish([&] { return attend_linear(layer, args); });
  return out.object;
}

nb::object reference_call(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& given) {
  const char* where = "reference.attend_linear";
  nb::dict keywords;
  keywords.update(given);
  const Arguments common(where, q, k, v, keywords);
  require_empty(keywords, where);
  const NewArray out = new_array(q, DType::f64, common.out_shape(layer.value_dim));
  const reference::AttendLinearArgs args{.out = out.view,
                                         .q = common.q.view(),
                                         .k = common.k.view(),
                                         .v = common.v.view(),
                                         .inputs = common.inputs,
                                         .feature_map = common.feature_map,
                                         .keep_going = SignalWatch()};
  finish([&] { return reference::attend_linear(layer, args); });
  return out.object;
}

nb::dict reference_backward_call(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v, nb::handle d_out,
                                 const nb::kwargs& given) {
  const char* where = "reference.attend_linear_backward";
  nb::dict keywords;
  keywords.update(given);
  const Arguments common(where, q, k, v, keywords);
  require_empty(keywords, where);
  const ConstArray of_out(d_out, {where, "d_out"});
  nb::dict results;
  const auto gradient = [&](const char* name, const ConstTensorView& like) {
    const NewArray made = new_array(q, DType::f64, std::span(like.shape).first(static_cast<std::size_t>(like.rank)));
    results[name] = made.object;
    return made.view;
  };
  reference::AttendLinearBackwardArgs args{.q = common.q.view(),
                                           .k = common.k.view(),
                                           .v = common.v.view(),
                                           .inputs = common.inputs,
                                           .feature_map = common.feature_map,
                                           .d_out = of_out.view(),
                                           .keep_going = [] { return false; }};
  // Refuses what does not fit, before memory is taken for gradients of such sizes; computes nothing.
  (void)reference::attend_linear_backward(layer, args);
  args.keep_going = SignalWatch();
  args.d_q = gradient("d_q", args.q);
  args.d_k = gradient("d_k", args.k);
  args.d_v = gradient("d_v", args.v);
  nb::dict of_weights;
  const std::vector<std::string> names = gradient_names(layer, {});
  std::vector<NamedGradient> learned;
  for (const std::string& name : names) {
    const NewArray made = new_array(q, DType::f64, gradient_shape(layer, {}, name));
    of_weights[name.c_str()] = made.object;
    learned.push_back({name, made.view});
  }
  args.d_weights = learned;
  results["d_weights"] = of_weights;
  finish([&] { return reference::attend_linear_backward(layer, args); });
  return results;
}

// A call's tensors are kept in this frame, which outlives it.
nb::object attend_linear_backward_call(const LayerPlan& layer, nb::handle q, nb::handle k, nb::handle v,
                                       nb::handle d_out, const nb::kwargs& given) {
  const char* where = "attend_linear_backward";
  nb::dict keywords;
  keywords.update(given);
  const Arguments common(where, q, k, v, keywords);
  const ConstArray of_out(d_out, {where, "d_out"});
  AskedGradients asked(where);
  AttendLinearBackwardArgs args{.q = common.q.view(),
                                .k = common.k.view(),
                                .v = common.v.view(),
                                .inputs = common.inputs,
                                .feature_map = common.feature_map,
                                .d_out = of_out.view(),
                                .keep_going = SignalWatch()};
  args.d_q = asked.take(keywords, "d_q", true, q, args.q.dtype, view_shape(args.q));
  args.d_k = asked.take(keywords, "d_k", true, k, args.k.dtype, view_shape(args.k));
  args.d_v = asked.take(keywords, "d_v", true, v, args.v.dtype, view_shape(args.v));
  asked.take_weights(popped(keywords, "d_weights"), q, layer, {});
  args.d_weights = asked.named();
  if (const nb::object angles = popped(keywords, "angles"); !angles.is_none()) {
    args.angles = Convert<Angles>::from_python(angles, {where, "angles"});
  }
  if (const nb::object isa = popped(keywords, "isa"); !isa.is_none()) {
    args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  }
  if (const nb::object threads = popped(keywords, "threads"); !threads.is_none()) {
    args.parallel.threads = Convert<std::int64_t>::from_python(threads, {where, "threads"});
  }
  require_empty(keywords, where);
  finish([&] { return attend_linear_backward(layer, args); });
  return asked.result();
}

std::string map_signature() { return ", feature_map: " + Convert<FeatureMap>::type() + " = 'elu_plus_one'"; }

}  // namespace

void bind_linear(nb::module_& m) {
  nb::class_<HeldState>(m, "LinearState", nb::is_final(),
                        "What keys add up to. A call of attend_linear adds its own to what is there: begin with zeros, "
                        "and go from call to call. It holds no positions: they are the caller's to continue.")
      .def(nb::init<nb::handle, nb::handle>(), nb::kw_only(), nb::arg("products"), nb::arg("totals"),
           nb::sig(with_array_types("def __init__(self, *, products: ArrayLike, totals: ArrayLike) -> None").c_str()))
      .def_prop_ro(
          "products", [](const HeldState& state) { return state.products_given; },
          "Written: float32 [sequences, kv_heads, head_dim, value_dim]; a batch is sequences.")
      .def_prop_ro(
          "totals", [](const HeldState& state) { return state.totals_given; },
          "Written: float32 [sequences, kv_heads, head_dim].");
  const auto signature = [](const std::string& array, const std::string& result) {
    return "def attend_linear(layer: LayerPlan, q: " + array + ", k: ArrayLike, v: ArrayLike, *, " + kInputs +
           map_signature() + ", state: LinearState | None = None, out: " + array +
           " | None = None, angles: " + Convert<Angles>::type() + " = 'exact', " + how_signature() + ") -> " + result;
  };
  def(m, {signature("ArrayT", "ArrayT"), signature("ArrayLike", "typing.Any")},
      "Linear attention with rotation, in time that grows with the tokens and not with their square. RoFormer, arXiv "
      "2104.09864, (19):\n\n"
      "  o_i = (R_i f(q_i))^T S_i / f(q_i)^T z_i        S_i = sum_j R_j f(k_j) v_j^T,  z_i = sum_j f(k_j)\n\n"
      "Shapes as in attend. Of the layer: its main rotations, sizes, and whether it is causal. feature_map: f. state: "
      "read and written, where keys came before or are to come. Where the denominator is 0, the output is 0.\n\n"
      "ValueError, before anything is written, for what does not fit, and for a layer with what linear attention has "
      "no "
      "place for. The GIL is released; Ctrl-C ends the call, whose output and state then hold nothing of use.",
      &attend_linear_call, nb::arg("layer"), nb::arg("q") = nb::none(), nb::arg("k") = nb::none(),
      nb::arg("v") = nb::none(), nb::arg("keywords"));
  def(m,
      {std::string("def attend_linear_backward(layer: LayerPlan, q: ArrayLike, k: ArrayLike, v: ArrayLike, "
                   "d_out: ArrayLike, *, ") +
       kInputs + map_signature() +
       ", d_q: bool | ArrayLike = True, d_k: bool | ArrayLike = True, d_v: bool | ArrayLike = True, d_weights: bool | "
       "collections.abc.Mapping[str, ArrayLike] = False, angles: " +
       Convert<Angles>::type() + " = 'exact', " + how_signature() + ") -> dict[str, typing.Any]"},
      "The backward pass of attend_linear, of a call without a state: from the gradient of its output those of q, k, v "
      "and of the frequencies, as a dict of arrays, in time that grows with the tokens and memory that does not.\n\n"
      "q, k, v and inputs: as attend_linear was given them. d_out: like its output, [tokens, heads, value_dim] or "
      "[batch, heads, tokens, value_dim]. d_q, d_k, d_v: True (the default) "
      "for a new array of the dtype and library of its tensor; False for none; or an array to write into. d_weights: "
      "True for all that gradient_names lists, float32; or a mapping from names to arrays of float32 or float64, which "
      "are written. Returns a dict by these words; 'd_weights' is a dict by name.\n\n"
      "Gradients are the same to the bit for any number of threads. ValueError, before anything is written, for what "
      "does not fit. The GIL is released; Ctrl-C ends the call.",
      &attend_linear_backward_call, nb::arg("layer"), nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("d_out"),
      nb::arg("keywords"));
  m.def("_reference_attend_linear", &reference_call, nb::arg("layer"), nb::arg("q"), nb::arg("k"), nb::arg("v"),
        nb::arg("keywords"),
        nb::sig(with_array_types("def _reference_attend_linear(layer: LayerPlan, q: ArrayLike, k: ArrayLike, "
                                 "v: ArrayLike, *, " +
                                 std::string(kInputs) +
                                 ", q_order: IndicesLike | None = None, k_order: IndicesLike | None = None, "
                                 "attn_mask: ArrayLike | None = None" +
                                 map_signature() + ") -> typing.Any")
                    .c_str()),
        "Linear attention by its formula; float64. q: [tokens, heads, head_dim] and all else as in attend_linear. "
        "ValueError for what does not fit.");
  m.def("_reference_attend_linear_backward", &reference_backward_call, nb::arg("layer"), nb::arg("q"), nb::arg("k"),
        nb::arg("v"), nb::arg("d_out"), nb::arg("keywords"),
        nb::sig(with_array_types("def _reference_attend_linear_backward(layer: LayerPlan, q: ArrayLike, k: ArrayLike, "
                                 "v: ArrayLike, d_out: ArrayLike, *, " +
                                 std::string(kInputs) +
                                 ", q_order: IndicesLike | None = None, k_order: IndicesLike | None = None, "
                                 "attn_mask: ArrayLike | None = None" +
                                 map_signature() + ") -> dict[str, typing.Any]")
                    .c_str()),
        "Gradients of linear attention by its formula, of L, where d_out is dL/d out, [tokens, heads, value_dim] or "
        "[batch, heads, tokens, value_dim] as q is: a dict of float64 arrays, 'd_q', "
        "'d_k', 'd_v', and 'd_weights', a dict by the names of gradient_names, which are those of frequencies. All "
        "else as in reference.attend_linear. ValueError for what does not fit.");
}

}  // namespace posenc::python

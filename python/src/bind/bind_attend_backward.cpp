// The backward pass of attention: gradients as a dict, by the names of arguments and of learned tables.
#include "arrays/arrays.h"
#include "asked_gradients.h"
#include "attend_arguments.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "posenc/attend_backward.h"
#include "prepared.h"
#include "signal_watch.h"
#include "signature.h"

namespace posenc::python {
namespace {

constexpr const char* kAttendBackward = "attend_backward";

// layer: a LayerPlan, or a PreparedLayer, which has weights of its own. A call's tensors are kept in this frame, which
// outlives it.
nb::object backward_call(nb::handle layer, nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse,
                         nb::handle d_out, const nb::kwargs& given) {
  const PreparedLayer* prepared = prepared_layer(layer);
  if (prepared == nullptr && !nb::isinstance<LayerPlan>(layer)) {
    refuse_type({kAttendBackward, "layer"}, "be a LayerPlan or a PreparedLayer", layer);
  }
  const LayerPlan& plan = prepared != nullptr ? prepared->layer() : *nb::inst_ptr<LayerPlan>(layer);
  nb::dict keywords;
  keywords.update(given);
  // Shapes of inputs before they are taken.
  const auto input = [&](const char* name) {
    return keywords.contains(name) ? ConstArray(keywords[name], {kAttendBackward, name})
                                   : ConstArray(nb::none(), {kAttendBackward, name});
  };
  const ConstArray log_forget = input("log_forget");
  const ConstArray row_gate = input("row_gate");
  const ConstArray bias = input("bias");
  const AttendArguments common(kAttendBackward, q, k, v, keywords);
  if (common.q().rank < 3) refuse({kAttendBackward, "q"}, "have rank 3 or 4", std::to_string(common.q().rank));
  const ConstArray out_array(out, {kAttendBackward, "out"});
  const ConstArray lse_array(lse, {kAttendBackward, "lse"});
  const ConstArray d_out_array(d_out, {kAttendBackward, "d_out"});
  const ConstArray d_lse(popped(keywords, "d_lse"), {kAttendBackward, "d_lse"});
  const ConstArray carry(popped(keywords, "carry"), {kAttendBackward, "carry"});
  const Array d_carry(popped(keywords, "d_carry"), {kAttendBackward, "d_carry"});
  const Numbers<std::int32_t> blocks(popped(keywords, "block_table"), {kAttendBackward, "block_table"});
  // Of paged keys gradients have the rows of the call.
  const auto rows_of = [&](const ConstTensorView& x) {
    std::vector<std::int64_t> shape = view_shape(x);
    const std::span<const std::int32_t> ends = common.inputs().cu_seqlens_k;
    if (blocks.span().empty() || ends.empty() || x.rank != 4) return shape;
    return std::vector<std::int64_t>{ends.back(), shape[2], shape[3]};
  };
  AskedGradients asked(kAttendBackward);
  AttendBackwardArgs args{.q = common.q(),
                          .k = common.k(),
                          .v = common.v(),
                          .pages = {.block_table = blocks.span()},
                          .weights = common.weights(),
                          .inputs = common.inputs(),
                          .out = out_array.view(),
                          .lse = lse_array.view(),
                          .d_out = d_out_array.view(),
                          .d_lse = d_lse.view(),
                          .carry = carry.view(),
                          .d_carry = d_carry.view()};
  args.d_q = asked.take(keywords, "d_q", true, q, common.q().dtype, view_shape(common.q()));
  args.d_k = asked.take(keywords, "d_k", true, k, common.k().dtype, rows_of(common.k()));
  args.d_v = asked.take(keywords, "d_v", true, v, common.v().dtype, rows_of(common.v()));
  args.d_bias = asked.take(keywords, "d_bias", false, q, DType::f32, view_shape(bias.view()));
  args.d_log_forget = asked.take(keywords, "d_log_forget", false, q, DType::f32, view_shape(log_forget.view()));
  args.d_row_gate = asked.take(keywords, "d_row_gate", false, q, DType::f32, view_shape(row_gate.view()));
  asked.take_weights(popped(keywords, "d_weights"), q, plan,
                     prepared != nullptr ? prepared->weights() : common.weights());
  args.d_weights = asked.named();
  const nb::object isa = popped(keywords, "isa");
  const nb::object threads = popped(keywords, "threads");
  require_empty(keywords, kAttendBackward);
  if (!isa.is_none()) args.isa = Convert<Isa>::from_python(isa, {kAttendBackward, "isa"});
  if (!threads.is_none())
    args.parallel.threads = Convert<std::int64_t>::from_python(threads, {kAttendBackward, "threads"});
  args.keep_going = SignalWatch();
  finish([&] { return prepared != nullptr ? attend_backward(*prepared, args) : attend_backward(plan, args); });
  return asked.result();
}

}  // namespace

void bind_attend_backward(nb::module_& m) {
  const std::string doc =
      std::string(
          "The backward pass of attend: from the gradient of its output those of q, k, v and of what the layer "
          "has learned, as a dict of arrays.\n\n"
          "layer: a LayerPlan, or the PreparedLayer of the forward pass, which has its weights: they must not have "
          "changed since it was made. q, k, v, weights and inputs: as attend was given them; out and lse: what it "
          "returned. d_out: like "
          "out; d_lse: like lse, or None for zeros. "
          "Tiles of the attention matrix are computed again, none is kept.\n\n"
          "d_q, d_k, d_v: True (the default) for a new array of the dtype and library of its tensor; False for none; "
          "or an array to write into. d_bias, d_log_forget, d_row_gate: likewise of inputs, float32, and not by "
          "default. Of paged keys d_k and d_v have the rows of the call, [tokens, kv_heads, channels]. d_weights: True "
          "for all that gradient_names lists, float32; or a mapping from names to arrays of float32 or float64, which "
          "are written. Returns a dict by these words; 'd_weights' is a dict by name.\n\n"
          "Where k and v are a part of the keys of a scheme that sums along them, and out and lse those of all parts: "
          "carry, what attend was given for this part; d_carry, like it, read and written, from the first part to the "
          "last.\n\n") +
      kWeightsDoc + kInputsDoc +
      "\n\nGradients are the same to the bit for any number of threads. ValueError, before anything is written, for "
      "what does not fit. The GIL is released; Ctrl-C ends the call.";
  def(m,
      {"def attend_backward(layer: LayerPlan | PreparedLayer, q: ArrayLike, k: ArrayLike, v: ArrayLike, out: "
       "ArrayLike, lse: "
       "ArrayLike, d_out: ArrayLike, *, " +
       std::string(kWeightsSignature) + kInputsSignature +
       ", block_table: IndicesLike | None = None, d_lse: ArrayLike | None = None, d_q: bool | ArrayLike = True, "
       "d_k: bool | ArrayLike = True, d_v: bool | ArrayLike = True, d_weights: bool | "
       "collections.abc.Mapping[str, ArrayLike] = False, d_bias: bool | ArrayLike = False, d_log_forget: bool | "
       "ArrayLike = False, "
       "d_row_gate: bool | ArrayLike = False, carry: ArrayLike | None = None, d_carry: ArrayLike | None = None, " +
       how_signature() + ") -> dict[str, typing.Any]"},
      doc.c_str(), &backward_call, nb::arg("layer"), nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("out"),
      nb::arg("lse"), nb::arg("d_out"), nb::arg("keywords"));
}

}  // namespace posenc::python

// Attention with every scheme, and results over parts of the keys as one.
// attend has nearly 30 keyword arguments. They come as **keywords and are taken from a dict: the members of LayerInputs
// by their description (kept.h), the others by name.
#include "arrays/arrays.h"
#include "attend_arguments.h"
#include "describe/describe_plan.h"
#include "describe/written.h"
#include "module.h"
#include "posenc/attend.h"
#include "prepared.h"
#include "signal_watch.h"
#include "signature.h"

namespace posenc::python {
namespace {

// layer: a LayerPlan, or a PreparedLayer, which has weights of its own: the library refuses others beside it. Returns
// `out`, or (out, lse). All that the call looks at is kept in this frame.
nb::object attend_call(nb::handle layer, nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& given) {
  const char* where = "attend";
  const PreparedLayer* prepared = prepared_layer(layer);
  if (prepared == nullptr && !nb::isinstance<LayerPlan>(layer)) {
    refuse_type({where, "layer"}, "be a LayerPlan or a PreparedLayer", layer);
  }
  const LayerPlan& plan = prepared != nullptr ? prepared->layer() : *nb::inst_ptr<LayerPlan>(layer);
  nb::dict keywords;
  keywords.update(given);
  const AttendArguments common(where, q, k, v, keywords, true);
  const Numbers<std::int32_t> blocks(popped(keywords, "block_table"), {where, "block_table"});
  const Array carry(popped(keywords, "carry"), {where, "carry"});
  const nb::object lse_given = popped(keywords, "lse");
  const nb::object out_given = popped(keywords, "out");
  const nb::object angles = popped(keywords, "angles");
  const nb::object products = popped(keywords, "products");
  const nb::object isa = popped(keywords, "isa");
  const nb::object threads = popped(keywords, "threads");
  require_empty(keywords, where);
  if (common.q().rank < 3) refuse({where, "q"}, "have rank 3 or 4", std::to_string(common.q().rank));

  // lse: True or False, or an array to write it into.
  const bool is_asked = PyBool_Check(lse_given.ptr()) != 0;
  const bool has_lse = is_asked ? lse_given.ptr() == Py_True : !lse_given.is_none();
  const Written out(out_given, q, common.q().dtype, common.out_shape(plan.value_dim), {where, "out"});
  const nb::object lse_out = is_asked ? nb::none() : lse_given;
  const std::optional<Written> lse =
      has_lse ? std::optional<Written>(std::in_place, lse_out, q, DType::f32, common.lse_shape(), Place{where, "lse"})
              : std::nullopt;
  AttendArgs args{.out = out.view,
                  .q = common.q(),
                  .k = common.k(),
                  .v = common.v(),
                  .k_quantised = common.k_quantised(),
                  .v_quantised = common.v_quantised(),
                  .pages = {.block_table = blocks.span()},
                  .weights = common.weights(),
                  .inputs = common.inputs(),
                  .lse = lse ? lse->view : TensorView{},
                  .carry = carry.view(),
                  .keep_going = SignalWatch()};
  if (!angles.is_none()) args.angles = Convert<Angles>::from_python(angles, {where, "angles"});
  if (!products.is_none()) args.products = Convert<Products>::from_python(products, {where, "products"});
  if (!isa.is_none()) args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  if (!threads.is_none()) args.parallel.threads = Convert<std::int64_t>::from_python(threads, {where, "threads"});
  // Without the GIL; KeyboardInterrupt where Ctrl-C ended it, with out, lse and carry half written.
  finish([&] { return prepared != nullptr ? attend(*prepared, args) : attend(plan, args); });
  if (lse) return nb::make_tuple(out.object, lse->object);
  return out.object;
}

// parts: pairs (out, lse) as attend returns them. New results are of the first part's library, dtype and shape.
nb::object merge_call(nb::handle parts, nb::handle sinks, nb::handle out, nb::handle lse) {
  const char* where = "merge";
  std::deque<ConstArray> arrays;
  std::vector<AttendPart> views;
  nb::object first;
  for (const nb::handle part : nb::iter(parts)) {
    const nb::tuple pair(nb::borrow(part));
    if (nb::len(pair) != 2) refuse_type({where, "parts"}, "be pairs of out and lse", part);
    if (!first.is_valid()) first = nb::object(pair[0]);
    const ConstTensorView part_out = arrays.emplace_back(pair[0], Place{where, "parts"}).view();
    views.push_back({part_out, arrays.emplace_back(pair[1], Place{where, "parts"}).view()});
  }
  if (views.empty()) refuse({where, "parts"}, "be at least one", "none");
  const auto shape_of = [](const ConstTensorView& x) {
    return std::vector<std::int64_t>(x.shape.begin(), x.shape.begin() + x.rank);
  };
  const Written merged(out, first, views[0].out.dtype, shape_of(views[0].out), {where, "out"});
  const Written merged_lse(lse, first, DType::f32, shape_of(views[0].lse), {where, "lse"});
  const ConstArray sink(sinks, {where, "sinks"});
  const MergeArgs args{.out = merged.view, .lse = merged_lse.view, .parts = views, .sinks = sink.view()};
  {
    const nb::gil_scoped_release released;
    merge(args);
  }
  return nb::make_tuple(merged.object, merged_lse.object);
}

}  // namespace

void bind_attend(nb::module_& m) {
  // Overloads for type checkers alone: without lse, with it, and for buffers that come back as memoryviews.
  const auto signature = [](const std::string& array, const std::string& lse, const std::string& result) {
    return "def attend(layer: LayerPlan | PreparedLayer, q: " + array +
           ", k: ArrayLike | Quantised, v: ArrayLike | Quantised, *, " + kWeightsSignature + kInputsSignature +
           ", block_table: IndicesLike | None = None, out: " + array + " | None = None, lse: " + lse +
           ", carry: ArrayLike | None = None, angles: " + Convert<Angles>::type() +
           " = 'exact', products: " + Convert<Products>::type() + " = 'f32', " + how_signature() + ") -> " + result;
  };
  const std::string doc =
      std::string(
          "Attention with the schemes of a layer, in one pass over tiles of keys: the attention matrix QK^T is "
          "never materialised.\n\n"
          "q: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; k, v likewise, with kv_heads and tokens "
          "of "
          "their own (v: value_dim channels), or with block_table, int32 [sequences, blocks], paged caches [blocks, "
          "block_size, kv_heads, channels]. float32, float16 or bfloat16 each, any strides but adjacent channels; k "
          "and v "
          "may be Quantised.\n\n"
          "Returns the output, like q and of q's library; with lse=True the pair of it and the log-sum-exp of scores "
          "without the sink, float32 [tokens, heads] or [batch, heads, tokens]. `out` and `lse` may be arrays to write "
          "into. carry: read and written where k and v are a part of the keys of a scheme that sums along them; "
          "like lse, and of CoPE and forget gates in one layer [2, ..], in its order. "
          "products='bf16' "
          "allows numbers to be rounded to bfloat16 before they are multiplied, where that is faster.\n\n"
          "layer: a PreparedLayer gives the same bits, and has the learned tables: these are omitted then.\n\n") +
      kWeightsDoc + kInputsDoc +
      "\n\nThe result of a query does not depend on the number of threads. ValueError, before anything is written, for "
      "what does not fit. The GIL is released; Ctrl-C ends the call, whose output then holds nothing of use.";
  def(m,
      {signature("ArrayT", "typing.Literal[False] = False", "ArrayT"),
       signature("ArrayT", "typing.Literal[True] | ArrayLike", "tuple[ArrayT, typing.Any]"),
       signature("ArrayLike", "bool | ArrayLike = False", "typing.Any")},
      doc.c_str(), &attend_call, nb::arg("layer"), nb::arg("q") = nb::none(), nb::arg("k") = nb::none(),
      nb::arg("v") = nb::none(), nb::arg("keywords"));
  def(m,
      {"def merge(parts: collections.abc.Iterable[tuple[ArrayT, ArrayLike]], *, sinks: ArrayLike | None = None, "
       "out: ArrayT | None = None, lse: ArrayLike | None = None) -> tuple[ArrayT, typing.Any]"},
      "Results (out, lse) of attend for the same queries over parts of the keys, as that over all of them: out and "
      "lse. sinks: [heads]; the parts are of a layer without. ValueError for arrays that do not fit each other.",
      &merge_call, nb::arg("parts"), nb::kw_only(), nb::arg("sinks") = nb::none(), nb::arg("out") = nb::none(),
      nb::arg("lse") = nb::none());
}

}  // namespace posenc::python

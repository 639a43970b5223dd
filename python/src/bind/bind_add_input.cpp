// The input stage on embeddings: add_input, and prepare_input, whose class posenc.PreparedInput keeps what was given.
// A call on few tokens takes microseconds, so arrays are exchanged once each, and weights are looked at by
// prepare_input.
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays/arrays.h"
#include "attend_arguments.h"
#include "describe/describe_input.h"
#include "describe/describe_schemes.h"
#include "describe/held_type.h"
#include "describe/value_type.h"
#include "describe/written.h"
#include "module.h"
#include "posenc/add_input.h"
#include "rotate_arguments.h"
#include "signal_watch.h"
#include "signature.h"
#include "whole.h"

namespace posenc::python {
namespace {

constexpr const char* kInputSchemes = "LearnedInput | SinusoidalInput | IntegerInput | BinaryInput | AxisSinesInput";
constexpr const char* kInputWeights = "LearnedInputWeights | SinusoidalInputWeights | None";

// PreparedInput looks at tables that somebody else owns: the object that keeps them is kept with it.
struct HeldInput {
  // Before `prepared`, whose views point into these arrays, and so destroyed after it.
  nb::object weights;
  PreparedInput prepared;
};

// None: nothing is learned. Whether the scheme needs any, and these, the library says.
InputWeights input_weights(nb::handle weights, const Place& place) {
  if (weights.is_none()) return {};
  if (nb::isinstance<Held<LearnedInputWeights>>(weights)) {
    return nb::inst_ptr<Held<LearnedInputWeights>>(weights)->value;
  }
  if (nb::isinstance<Held<SinusoidalInputWeights>>(weights)) {
    return nb::inst_ptr<Held<SinusoidalInputWeights>>(weights)->value;
  }
  refuse_type(place, "be LearnedInputWeights, SinusoidalInputWeights or None", weights);
}

HeldInput prepare_input_call(nb::handle scheme, std::int64_t channels, nb::handle weights, std::int64_t start,
                             std::int64_t count, std::int64_t max_bytes, nb::handle isa) {
  const char* where = "prepare_input";
  const InputScheme of = Convert<InputScheme>::from_python(scheme, {where, "scheme"});
  const InputWeights given = input_weights(weights, {where, "weights"});
  const PrepareInputOptions options{.channels = channels,
                                    .start = start,
                                    .count = count,
                                    .max_bytes = max_bytes,
                                    .isa = Convert<Isa>::from_python(isa, {where, "isa"})};
  PreparedInput prepared = [&] {
    const nb::gil_scoped_release released;
    return prepare_input(of, given, options);
  }();
  return {nb::borrow(weights), std::move(prepared)};
}

void bind_prepared_input(nb::module_& m) {
  nb::class_<HeldInput>(m, "PreparedInput", nb::is_final(),
                        "An input scheme ready for many calls of add_input: prepare_input makes it. It does not "
                        "change; threads may share it. It keeps the arrays of its weights, which must not change "
                        "either as long as calls are made.")
      .def_prop_ro(
          "scheme", [](const HeldInput& self) { return Convert<InputScheme>::to_python(self.prepared.scheme(), {}); },
          nb::for_getter(nb::sig((std::string("def scheme(self) -> ") + kInputSchemes).c_str())), "As it was given.")
      .def_prop_ro(
          "weights", [](const HeldInput& self) { return self.weights; },
          nb::for_getter(nb::sig((std::string("def weights(self) -> ") + kInputWeights).c_str())),
          "As they were given.")
      .def_prop_ro(
          "channels", [](const HeldInput& self) { return self.prepared.channels(); }, "Of the embeddings.")
      .def_prop_ro(
          "axes", [](const HeldInput& self) { return self.prepared.axes(); },
          "Coordinates of a position: 1, but for AxisSinesInput.")
      .def_prop_ro(
          "start", [](const HeldInput& self) { return self.prepared.start(); }, "Of the rows that are held.")
      .def_prop_ro(
          "count", [](const HeldInput& self) { return self.prepared.count(); }, "Of the rows that are held.")
      .def_prop_ro(
          "bytes", [](const HeldInput& self) { return self.prepared.bytes(); }, "Of the rows that are held.");
  const std::string signature =
      std::string("def prepare_input(scheme: ") + kInputSchemes + ", *, channels: int = 0, weights: " + kInputWeights +
      " = None, start: int = 0, count: int = 0, max_bytes: int = 1073741824, isa: " + Convert<Isa>::type() +
      " = 'automatic') -> PreparedInput";
  def(
      m, {signature},
      "What add_input makes of an input scheme before it looks at a token, made once: the frequencies of sines, and of "
      "SinusoidalInput rows of the positions start .. start + count - 1. Other positions are served too, and make "
      "their "
      "rows in the call, the same bits.\n\n"
      "channels: of the embeddings; 0 for LearnedInput, whose table has its own. weights: LearnedInputWeights, or "
      "SinusoidalInputWeights for a learned scale. ValueError for a scheme that add_input does not take, for weights "
      "and channels that do not fit it, and for rows of more than max_bytes. The GIL is released.",
      [](nb::handle scheme, Whole<"prepare_input", "channels"> channels, nb::handle weights,
         Whole<"prepare_input", "start"> start, Whole<"prepare_input", "count"> count,
         Whole<"prepare_input", "max_bytes"> max_bytes,
         nb::handle isa) { return prepare_input_call(scheme, channels, weights, start, count, max_bytes, isa); },
      nb::arg("scheme"), nb::kw_only(), nb::arg("channels") = 0, nb::arg("weights") = nb::none(), nb::arg("start") = 0,
      nb::arg("count") = 0, nb::arg("max_bytes") = PrepareInputOptions{}.max_bytes, nb::arg("isa") = "automatic");
}

// input: a PreparedInput, or a scheme, which is prepared for this one call.
nb::object call_add_input(nb::handle input, nb::handle x, nb::handle weights, nb::handle positions,
                          nb::handle token_types, nb::handle length, nb::handle lengths, nb::handle cu_seqlens,
                          nb::handle out, std::int64_t threads, nb::handle isa) {
  const char* where = "add_input";
  const HeldInput* const held = nb::isinstance<HeldInput>(input) ? nb::inst_ptr<HeldInput>(input) : nullptr;
  if (held != nullptr && !weights.is_none()) {
    refuse_type({where, "weights"}, "be None beside a PreparedInput, which has its own", weights);
  }
  std::optional<InputScheme> scheme;
  if (held == nullptr) scheme = Convert<InputScheme>::from_python(input, {where, "input"});
  const InputWeights own = input_weights(weights, {where, "weights"});
  const PositionsArgument places(positions, {where, "positions"});
  const Numbers<std::int64_t> types(token_types, {where, "token_types"});
  const Numbers<double> cells(lengths, {where, "lengths"});
  const Numbers<std::int32_t> sequences(cu_seqlens, {where, "cu_seqlens"});
  const Rotated rows(given(x, {where, "x"}), out, {where, "x"}, {where, "out"});
  const AddInputArgs args{
      .x = rows.out,
      .x_from = rows.x,
      .positions = places.positions(),
      .token_types = types.span(),
      .length = Convert<std::optional<std::int64_t>>::from_python(length, {where, "length"}),
      .lengths = cells.span(),
      .cu_seqlens = sequences.span(),
      .parallel = {.threads = threads},
      .isa = Convert<Isa>::from_python(isa, {where, "isa"}),
      .keep_going = SignalWatch(),
  };
  finish([&] { return held != nullptr ? add_input(held->prepared, args) : add_input(*scheme, own, args); });
  return rows.result;
}

// Of a gradient: True for a new array like `like` of that shape, an array, or False for none.
TensorView asked(nb::dict& results, std::deque<Written>& kept, const char* name, nb::handle given, nb::handle like,
                 DType dtype, const std::vector<std::int64_t>& shape) {
  if (given.is_none() || given.ptr() == Py_False) return {};
  const nb::object to = given.ptr() == Py_True ? nb::none() : nb::borrow(given);
  kept.emplace_back(to, like, dtype, shape, Place{"add_input_backward", name});
  results[name] = kept.back().object;
  return kept.back().view;
}

std::vector<std::int64_t> sizes_of(const ConstTensorView& x) { return {x.shape.begin(), x.shape.begin() + x.rank}; }

nb::object call_add_input_backward(nb::handle input, nb::handle d_out, nb::kwargs given_keywords) {
  const char* where = "add_input_backward";
  nb::dict keywords;
  keywords.update(given_keywords);
  const HeldInput* const held = nb::isinstance<HeldInput>(input) ? nb::inst_ptr<HeldInput>(input) : nullptr;
  const nb::object weights = popped(keywords, "weights");
  if (held != nullptr && !weights.is_none()) {
    refuse_type({where, "weights"}, "be None beside a PreparedInput, which has its own", weights);
  }
  std::optional<InputScheme> scheme;
  if (held == nullptr) scheme = Convert<InputScheme>::from_python(input, {where, "input"});
  const InputWeights own = input_weights(held != nullptr ? held->weights : weights, {where, "weights"});
  nb::object positions = popped(keywords, "positions");
  if (positions.is_none()) positions = nb::int_(0);
  const PositionsArgument places(positions, {where, "positions"});
  const Numbers<std::int64_t> types(popped(keywords, "token_types"), {where, "token_types"});
  const Numbers<double> cells(popped(keywords, "lengths"), {where, "lengths"});
  const Numbers<std::int32_t> sequences(popped(keywords, "cu_seqlens"), {where, "cu_seqlens"});
  const ConstArray of_out(given(d_out, {where, "d_out"}), {where, "d_out"});
  const ConstArray x(popped(keywords, "x"), {where, "x"});
  AddInputBackwardArgs args{
      .d_out = of_out.view(),
      .x = x.view(),
      .positions = places.positions(),
      .token_types = types.span(),
      .length = Convert<std::optional<std::int64_t>>::from_python(popped(keywords, "length"), {where, "length"}),
      .lengths = cells.span(),
      .cu_seqlens = sequences.span(),
      .keep_going = SignalWatch()};
  nb::dict results;
  std::deque<Written> kept;
  const LearnedInputWeights* const tables = std::get_if<LearnedInputWeights>(&own);
  const auto shape_of_table = [&](ConstTensorView LearnedInputWeights::*table) {
    return tables == nullptr ? std::vector<std::int64_t>{} : sizes_of(tables->*table);
  };
  nb::object d_x = popped(keywords, "d_x");
  if (d_x.is_none()) d_x = nb::bool_(true);
  args.d_x = asked(results, kept, "d_x", d_x, d_out, args.d_out.dtype, sizes_of(args.d_out));
  args.d_positions = asked(results, kept, "d_positions", popped(keywords, "d_positions"), d_out, DType::f32,
                           shape_of_table(&LearnedInputWeights::positions));
  args.d_token_types = asked(results, kept, "d_token_types", popped(keywords, "d_token_types"), d_out, DType::f32,
                             shape_of_table(&LearnedInputWeights::token_types));
  args.d_scale = asked(results, kept, "d_scale", popped(keywords, "d_scale"), d_out, DType::f32, {1});
  const nb::object isa = popped(keywords, "isa");
  const nb::object threads = popped(keywords, "threads");
  require_empty(keywords, where);
  if (!isa.is_none()) args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  if (!threads.is_none()) args.parallel.threads = Convert<std::int64_t>::from_python(threads, {where, "threads"});
  finish([&] {
    return held != nullptr ? add_input_backward(held->prepared, args) : add_input_backward(*scheme, own, args);
  });
  return results;
}

}  // namespace

void bind_add_input(nb::module_& m) {
  bind_prepared_input(m);
  def(m,
      {std::string("def add_input_backward(input: PreparedInput | ") + kInputSchemes +
       ", d_out: ArrayLike, *, weights: " + kInputWeights +
       " = None, x: ArrayLike | None = None, positions: PositionsLike = 0, token_types: IndicesLike | None = None, "
       "length: int | None = None, lengths: collections.abc.Iterable[float] | None = None, "
       "cu_seqlens: IndicesLike | None = None, d_x: bool | ArrayLike = True, d_positions: bool | ArrayLike = False, "
       "d_token_types: bool | ArrayLike = False, d_scale: bool | ArrayLike = False, " +
       how_signature() + ") -> dict[str, typing.Any]"},
      "The gradients of add_input: of x, of learned tables, of a learned scale, as a dict of arrays by these words.\n\n"
      "d_out: of what add_input returned, [tokens, channels] or [batch, tokens, channels] of float32, float16 or "
      "bfloat16. x: what it read, where rows multiply. All else "
      "as in add_input. d_x, d_positions, d_token_types, d_scale: True for a new array (float32, but d_x, which is "
      "like d_out); False for none; or an array to write into, tables' of any dtype, d_scale [1]; d_x may be d_out. "
      "Rows that no token takes get 0.\n\n"
      "A row's sum is that over its tokens in their order: the same to the bit for any number of threads. "
      "ValueError, before anything is written, for what does not fit. The GIL is released; Ctrl-C ends the call.",
      &call_add_input_backward, nb::arg("input"), nb::arg("d_out"), nb::arg("keywords"));
  const auto signature = [](const std::string& array, const std::string& result) {
    return std::string("def add_input(input: PreparedInput | ") + kInputSchemes + ", x: " + array +
           ", *, weights: " + kInputWeights +
           " = None, positions: PositionsLike = 0, token_types: IndicesLike | None = None, " +
           "length: int | None = None, lengths: collections.abc.Iterable[float] | None = None, " +
           "cu_seqlens: IndicesLike | None = None, out: " + array + " | None = None, " + how_signature() + ") -> " +
           result;
  };
  def(
      m, {signature("ArrayT", "ArrayT"), signature("ArrayLike", "typing.Any")},
      "The input stage: (m x_i + token type's row) + p_i, or times p_i.\n\n"
      "input: what prepare_input gave, or a scheme, which is prepared for this one call. x: embeddings [tokens, "
      "channels] or [batch, tokens, channels] of float32, float16, bfloat16 or float64, any strides but adjacent "
      "channels. Returns a new array of the caller's library, or writes into `out`, which may be x itself. float64 is "
      "computed in double, the others in float32, rounded once.\n\n"
      "positions: that of the first token of each sequence; or [tokens], for every sequence, or [batch * tokens], "
      "counted from 0: a scheme's offset is added to them. Of AxisSinesInput [axes, ...], with lengths, the cells of "
      "each axis, where it is normalised. token_types: int64 [tokens] or [batch * tokens]. length: what normalised "
      "integers are divided by; default: the tokens. cu_seqlens: int32 [sequences + 1], where packed sequences "
      "begin.\n\n"
      "ValueError, before anything is written, for what does not fit, a position or a token type beyond its table, "
      "and a table that is missing. The GIL is released.",
      [](nb::handle input, nb::handle x, nb::handle weights, nb::handle positions, nb::handle token_types,
         nb::handle length, nb::handle lengths, nb::handle cu_seqlens, nb::handle out,
         Whole<"add_input", "threads"> threads, nb::handle isa) {
        return call_add_input(input, x, weights, positions, token_types, length, lengths, cu_seqlens, out, threads,
                              isa);
      },
      nb::arg("input"), nb::arg("x"), nb::kw_only(), nb::arg("weights") = nb::none(), nb::arg("positions").none() = 0,
      nb::arg("token_types") = nb::none(), nb::arg("length") = nb::none(), nb::arg("lengths") = nb::none(),
      nb::arg("cu_seqlens") = nb::none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
      nb::arg("isa") = "automatic");
}

}  // namespace posenc::python

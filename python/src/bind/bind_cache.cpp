// Keys and values on their way into a cache and back, and weights for the other pairing.
// rotate_into_cache, rotate_into_cache_backward, permute_pairing and the order of channels behind it. All but gradients
// is written into the caller's arrays.
#include "arrays/arrays.h"
#include "asked_gradients.h"
#include "convert.h"
#include "describe/describe_plan.h"
#include "module.h"
#include "norm_argument.h"
#include "posenc/cache.h"
#include "posenc/cache/backward.h"
#include "posenc/pairing.h"
#include "quantised.h"
#include "rotate_arguments.h"
#include "signal_watch.h"
#include "signature.h"
#include "whole.h"

namespace posenc::python {
namespace {

// Of d_v: tokens as k has them, heads and channels as the cache. Of shapes that do not fit, the library says so.
std::vector<std::int64_t> shape_of_values(const CacheBackwardArgs& args) {
  std::vector<std::int64_t> out = view_shape(args.k);
  const ConstTensorView& cache = args.d_v_cache;
  if (cache.rank < 3 || out.size() < 3) return out;
  out[1] = cache.shape[static_cast<std::size_t>(cache.rank - 2)];
  out.back() = cache.shape[static_cast<std::size_t>(cache.rank - 1)];
  return out;
}

// k and v are read, the caches written. Ctrl-C ends it between rows: some are stored then.
void cache_call(nb::handle k, nb::handle v, nb::handle k_cache, nb::handle v_cache, nb::handle slots, nb::handle table,
                nb::handle positions, const NormArgument& norm, nb::handle cu_seqlens, std::int64_t threads,
                nb::handle isa) {
  const char* where = "rotate_into_cache";
  const ConstArray keys(k, {where, "k"});
  const ConstArray values(v, {where, "v"});
  const bool codes_of_keys = is_quantised(k_cache);
  const bool codes_of_values = is_quantised(v_cache);
  const Array key_cache(codes_of_keys ? nb::none() : nb::borrow(k_cache), {where, "k_cache"});
  const Array value_cache(codes_of_values ? nb::none() : nb::borrow(v_cache), {where, "v_cache"});
  QuantisedArgument key_codes, value_codes;
  if (codes_of_keys) key_codes = QuantisedArgument(k_cache, {where, "k_cache"}, true);
  if (codes_of_values) value_codes = QuantisedArgument(v_cache, {where, "v_cache"}, true);
  const Numbers<std::int64_t> rows(slots, {where, "slots"});
  const Numbers<std::int32_t> sequences(cu_seqlens, {where, "cu_seqlens"});
  const PositionsArgument places(positions, {where, "positions"});
  // None: keys are not rotated, and positions are not read.
  const std::optional<Tables> tables =
      table.is_none() ? std::nullopt : std::optional<Tables>(std::in_place, table, Place{where, "table"});
  CacheArgs args{.k = keys.view(), .v = values.view(), .positions = places.positions()};
  if (tables) args.table = tables->one();
  if (tables) args.tables = tables->many();
  args.norm = norm.norm;
  args.k_cache = key_cache.view();
  args.v_cache = value_cache.view();
  args.k_quantised = key_codes.view();
  args.v_quantised = value_codes.view();
  args.slots = rows.span();
  args.cu_seqlens = sequences.span();
  args.parallel.threads = threads;
  args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  args.keep_going = SignalWatch();
  finish([&] { return rotate_into_cache(args); });
}

// k, and gradients of the cache, by their keywords; gradients come as a dict, new or the caller's own arrays.
nb::object cache_backward_call(nb::handle k, nb::kwargs given_keywords) {
  const char* where = "rotate_into_cache_backward";
  nb::dict keywords;
  keywords.update(given_keywords);
  const ConstArray keys(given(k, {where, "k"}), {where, "k"});
  const nb::object of_values = popped(keywords, "d_v_cache");
  const ConstArray d_k_cache(popped(keywords, "d_k_cache"), {where, "d_k_cache"});
  const ConstArray d_v_cache(of_values, {where, "d_v_cache"});
  const Numbers<std::int64_t> rows(popped(keywords, "slots"), {where, "slots"});
  const Numbers<std::int32_t> sequences(popped(keywords, "cu_seqlens"), {where, "cu_seqlens"});
  nb::object positions = popped(keywords, "positions");
  if (positions.is_none()) positions = nb::int_(0);
  const PositionsArgument places(positions, {where, "positions"});
  const nb::object table = popped(keywords, "table");
  const std::optional<Tables> tables =
      table.is_none() ? std::nullopt : std::optional<Tables>(std::in_place, table, Place{where, "table"});
  const nb::object scheme = popped(keywords, "norm");
  const nb::object epsilon = popped(keywords, "norm_epsilon");
  const nb::object weight = popped(keywords, "norm_weight");
  const nb::object bias = popped(keywords, "norm_bias");
  const nb::object plus_one = popped(keywords, "weight_plus_one");
  const NormArgument norm(
      scheme, epsilon.is_none() ? KeyNorm{}.epsilon : Convert<double>::from_python(epsilon, {where, "norm_epsilon"}),
      weight, bias, !plus_one.is_none() && Convert<bool>::from_python(plus_one, {where, "weight_plus_one"}), where);
  CacheBackwardArgs args{.d_k_cache = d_k_cache.view(),
                         .d_v_cache = d_v_cache.view(),
                         .k = keys.view(),
                         .positions = places.positions(),
                         .norm = norm.norm,
                         .slots = rows.span(),
                         .cu_seqlens = sequences.span(),
                         .keep_going = SignalWatch()};
  if (tables) args.table = tables->one();
  if (tables) args.tables = tables->many();
  AskedGradients asked(where);
  args.d_k = asked.take(keywords, "d_k", true, k, args.k.dtype, view_shape(args.k));
  args.d_v = asked.take(keywords, "d_v", !of_values.is_none(), k, args.d_v_cache.dtype, shape_of_values(args));
  const KeyNorm none{};
  const KeyNorm& of = args.norm ? *args.norm : none;
  // Of what is not there the library refuses a gradient, of whatever shape.
  const auto shape_of = [](const ConstTensorView& x) {
    return x.empty() ? std::vector<std::int64_t>{1} : view_shape(x);
  };
  args.d_norm_weight = asked.take(keywords, "d_norm_weight", false, k, DType::f32, shape_of(of.weight));
  args.d_norm_bias = asked.take(keywords, "d_norm_bias", false, k, DType::f32, shape_of(of.bias));
  const nb::object isa = popped(keywords, "isa");
  const nb::object threads = popped(keywords, "threads");
  require_empty(keywords, where);
  if (!isa.is_none()) args.isa = Convert<Isa>::from_python(isa, {where, "isa"});
  if (!threads.is_none()) args.parallel.threads = Convert<std::int64_t>::from_python(threads, {where, "threads"});
  finish([&] { return rotate_into_cache_backward(args); });
  return asked.result();
}

// In place; returns x itself, for calls within an expression. There is no keep_going: weights are permuted once.
nb::object permute_call(nb::handle x, const RotaryLayout& layout, nb::handle to) {
  const Array rows(x, {"permute_pairing", "x"});
  const PermuteArgs args{
      .x = rows.view(), .layout = layout, .to = Convert<Pairing>::from_python(to, {"permute_pairing", "to"})};
  {
    const nb::gil_scoped_release released;
    permute_pairing(args);
  }
  return nb::borrow(x);
}

}  // namespace

void bind_cache(nb::module_& m) {
  const std::string signature =
      "def rotate_into_cache(k: ArrayLike, v: ArrayLike | None = None, *, k_cache: ArrayLike | Quantised, "
      "v_cache: ArrayLike | Quantised | None = None, slots: IndicesLike, "
      "table: RotaryTable | collections.abc.Sequence[RotaryTable] | None = None, positions: PositionsLike = 0, "
      "norm: QkNorm | None = None, norm_epsilon: float = 1e-6, norm_weight: ArrayLike | None = None, "
      "norm_bias: ArrayLike | None = None, weight_plus_one: bool = False, cu_seqlens: IndicesLike | None = None, " +
      how_signature() + ") -> None";
  m.def(
      "rotate_into_cache",
      [](nb::handle k, nb::handle v, nb::handle k_cache, nb::handle v_cache, nb::handle slots, nb::handle table,
         nb::handle positions, nb::handle norm, double epsilon, nb::handle weight, nb::handle bias, bool plus_one,
         nb::handle cu_seqlens, Whole<"rotate_into_cache", "threads"> threads, nb::handle isa) {
        cache_call(k, v, k_cache, v_cache, slots, table, positions,
                   {norm, epsilon, weight, bias, plus_one, "rotate_into_cache"}, cu_seqlens, threads, isa);
      },
      nb::arg("k"), nb::arg("v").none() = nb::none(), nb::kw_only(), nb::arg("k_cache"),
      nb::arg("v_cache") = nb::none(), nb::arg("slots").none(), nb::arg("table") = nb::none(),
      nb::arg("positions").none() = 0, nb::arg("norm") = nb::none(), nb::arg("norm_epsilon") = 1e-6,
      nb::arg("norm_weight") = nb::none(), nb::arg("norm_bias") = nb::none(), nb::arg("weight_plus_one") = false,
      nb::arg("cu_seqlens") = nb::none(), nb::arg("threads") = 0, nb::arg("isa") = "automatic",
      nb::sig(with_array_types(signature).c_str()),
      "Keys normalised, rotated, converted and stored in a KV cache, with values, in one pass over memory.\n\n"
      "k: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; v likewise, with heads and channels of its "
      "own. k_cache, v_cache: written, [rows, heads, head_dim], or paged [blocks, block_size, heads, head_dim]. slots: "
      "int64, the row for each token, in paged caches block * block_size + place; -1: not stored. Without a table keys "
      "are not rotated. norm: layer.qk_norm, with norm_weight [head_dim] or [heads * head_dim] if and only if it is "
      "weighted. Each tensor is float32, float16 or bfloat16 of its own; caches may be Quantised. ValueError, before "
      "anything is written, for "
      "what does not fit.");
  def(m,
      {"def rotate_into_cache_backward(k: ArrayLike, *, d_k_cache: ArrayLike, d_v_cache: ArrayLike | None = None, "
       "slots: IndicesLike, table: RotaryTable | collections.abc.Sequence[RotaryTable] | None = None, "
       "positions: PositionsLike = 0, norm: QkNorm | None = None, norm_epsilon: float = 1e-6, "
       "norm_weight: ArrayLike | None = None, norm_bias: ArrayLike | None = None, weight_plus_one: bool = False, "
       "cu_seqlens: IndicesLike | None = None, d_k: bool | ArrayLike = True, d_v: bool | ArrayLike | None = None, "
       "d_norm_weight: bool | ArrayLike = False, d_norm_bias: bool | ArrayLike = False, " +
       how_signature() + ") -> dict[str, typing.Any]"},
      "The gradients of rotate_into_cache: of keys, of values, of the norm's weight and bias, as a dict by these "
      "words.\n\n"
      "k: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]. d_k_cache, d_v_cache: of what it wrote, "
      "[rows, "
      "heads, head_dim] or [blocks, block_size, heads, head_dim]; all else as it was given. Of queries too, which have "
      "such norms: k is q then. d_k, d_v, d_norm_weight, d_norm_bias: True for a new array, False for none, or an "
      "array "
      "to write into; new ones have the dtype of k, of d_v_cache, and float32. d_v is written where there is "
      "d_v_cache. "
      "A token whose slot is -1 has gradients of 0.\n\n"
      "Sums are the same to the bit for any number of threads. ValueError, before anything is written, for what does "
      "not fit. The GIL is released; Ctrl-C ends the call.",
      &cache_backward_call, nb::arg("k"), nb::arg("keywords"));
  m.def(
      "pairing_order",
      [](const RotaryLayout& layout, nb::handle to) {
        const auto pairing = Convert<Pairing>::from_python(to, {"pairing_order", "to"});
        return Convert<std::vector<std::int64_t>>::to_python(pairing_order(layout, pairing), {});
      },
      nb::arg("layout"), nb::arg("to"),
      nb::sig("def pairing_order(layout: RotaryLayout, to: typing.Literal['half', 'interleaved']) -> tuple[int, ...]"),
      "[head_dim]: channel c of the result is channel order[c] of what it is made from. layout: of the source.");
  def(m,
      {"def permute_pairing(x: ArrayT, layout: RotaryLayout, to: typing.Literal['half', 'interleaved']) -> ArrayT",
       "def permute_pairing(x: ArrayLike, layout: RotaryLayout, to: typing.Literal['half', 'interleaved']) -> "
       "typing.Any"},
      "Rows of a q or k projection [heads * head_dim, ...], their bias or norm weights, for the other pairing, in "
      "place; returns x. layout: of what x is now. Bit by bit: there and back is the identity. "
      "ValueError for rows that are no whole heads.",
      &permute_call, nb::arg("x"), nb::arg("layout"), nb::arg("to"));
}

}  // namespace posenc::python
